import type { Child } from "../elements/elements.ts"

/** Terms and values, without those that have no value. */
export function Facts({
  rows,
}: {
  readonly rows: readonly (readonly [term: string, value: Child])[]
}) {
  return (
    <dl class="facts">
      {rows
        .filter(([, value]) => value !== undefined && value !== "")
        .map(([term, value]) => (
          <>
            <dt>{term}</dt>
            <dd>{value}</dd>
          </>
        ))}
    </dl>
  )
}
