// Text from outside. It is only ever text: nothing in it becomes markup or a link. Characters that
// are not seen, or that would turn the line round, are shown by their number.

import { hiddenCharacters } from "@tallystick/proof"

export function Text({ of: text }: { readonly of: string }) {
  const parts = hiddenCharacters(text)
  return (
    <bdi>
      {parts.map(({ text: part, isHidden }) =>
        isHidden ? <span class="hidden-character">{part}</span> : part,
      )}
    </bdi>
  )
}

/** A value of any kind, as text. */
export function Value({ of: value }: { readonly of: unknown }) {
  return <Text of={typeof value === "string" ? value : (JSON.stringify(value) ?? "")} />
}
