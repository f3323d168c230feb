/**
 * Controls, bidirectional and zero-width characters, separators of lines, fillers, variation
 * selectors, and the empty Braille pattern. Some belong to an emoji such as ❤️, and are shown by
 * their number there too: two texts that differ must never look alike, and not every font draws
 * the difference.
 */
const hidden = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/gu

interface Part {
  readonly text: string
  readonly isHidden: boolean
}

/** The text in order, with invisible characters replaced by their numbers: `⟨U+202E⟩`. */
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

/** The same as one text. Printed, it cannot move the cursor or turn the line round. */
export function printable(text: string): string {
  return hiddenCharacters(text)
    .map((part) => part.text)
    .join("")
}

/**
 * JSON without a hidden character: those in its strings are escaped, which means the same to every
 * reader. In one line, unless members are indented by so many spaces.
 */
export function printableJson(value: unknown, indent?: number): string {
  return JSON.stringify(value, null, indent).replace(hidden, (character) =>
    character === "\n" // between members: in a string it is escaped already
      ? character
      : Array.from(
          { length: character.length },
          (_, at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, "0")}`,
        ).join(""),
  )
}
