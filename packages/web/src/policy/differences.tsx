import { Text } from "../parts/text.tsx"
import { wordDifference } from "./word-difference.ts"

/** What is new in a text, and what is gone, word by word. */
export function Differences({
  before,
  after,
}: {
  readonly before: string
  readonly after: string
}) {
  return (
    <>
      {wordDifference(before, after).map(({ is, text }) =>
        is === "kept" ? (
          <Lines of={text} />
        ) : is === "added" ? (
          <ins>
            <Lines of={text} />
          </ins>
        ) : (
          <del>
            <Lines of={text} />
          </del>
        ),
      )}
    </>
  )
}

/** Lines stay lines: a newline is one of the characters that are otherwise shown by their number. */
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
