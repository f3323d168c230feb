import type { Child } from "../elements/jsx-runtime.ts"

/** Terms and values. What has no value is left out. */
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
