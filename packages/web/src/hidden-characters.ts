/** Controls, bidirectional and zero-width characters, and separators of lines: `⟨U+202E⟩`. */
const hidden = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu

interface Part {
  readonly text: string
  readonly isHidden: boolean
}

/** The text in its order, with what cannot be seen replaced by its number. */
export function hiddenCharacters(text: string): readonly Part[] {
  const parts: Part[] = []
  let at = 0
  for (const found of text.matchAll(hidden)) {
    if (found.index > at) parts.push({ text: text.slice(at, found.index), isHidden: false })
    const number = found[0].codePointAt(0)?.toString(16).toUpperCase().padStart(4, "0")
    parts.push({ text: `⟨U+${number}⟩`, isHidden: true })
    at = found.index + found[0].length
  }
  if (at < text.length) parts.push({ text: text.slice(at), isHidden: false })
  return parts
}
