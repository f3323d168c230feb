import { Lines } from "../parts/text.tsx"
import { wordDifference } from "./word-difference.ts"

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
