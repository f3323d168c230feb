// Text from outside. It is only ever text: nothing in it becomes markup or a link. Invisible
// characters, and those that change the direction of the line, are shown by their code.

import { hiddenCharacters } from "@tallystick/proof"

interface TextProps {
  readonly of: string
  /** The element around it, if any, with its class and link. */
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

interface UnseenProps {
  readonly of: string
  /** Words before it. */
  readonly after?: string
}

/** What a button or a link is about, for screen readers. */
export function Unseen({ of, after = " " }: UnseenProps) {
  return (
    <span class="unseen">
      {after}
      <Text of={of} />
    </span>
  )
}

export function Value({ of: value }: { readonly of: unknown }) {
  return <Text of={typeof value === "string" ? value : (JSON.stringify(value) ?? "")} />
}

/** Keeps line breaks, which other text shows by their code. */
export function Lines({ of: text }: { readonly of: string }) {
  return (
    <>
      {text.split(/\r?\n/).map((line, at) => (
        <>
          {at > 0 && "\n"}
          <Text of={line} />
        </>
      ))}
    </>
  )
}
