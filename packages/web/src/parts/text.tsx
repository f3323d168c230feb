// Text from outside. It is only ever text: nothing in it becomes markup or a link. Characters that
// are not seen, or that would turn the line round, are shown by their number.

import { hiddenCharacters } from "@tallystick/proof"

interface TextProps {
  readonly of: string
  /** The element around it, if it has one of its own, with its class and what it leads to. */
  readonly in?: string
  readonly class?: string
  readonly href?: string
}

export function Text({ of: text, in: Around, ...attributes }: TextProps): Node {
  const shown = (
    <bdi>
      {hiddenCharacters(text).map(({ text: part, isHidden }) =>
        isHidden ? <span class="hidden-character">{part}</span> : part,
      )}
    </bdi>
  )
  return Around === undefined ? shown : <Around {...attributes}>{shown}</Around>
}

/** A value of any kind, as text. */
export function Value({ of: value }: { readonly of: unknown }) {
  return <Text of={typeof value === "string" ? value : (JSON.stringify(value) ?? "")} />
}
