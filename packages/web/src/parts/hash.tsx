// A hash in groups of four. The first and the last are in full strength: those are what people
// compare.

export function Hash({
  of: hex,
  short = false,
}: {
  readonly of: string
  readonly short?: boolean
}) {
  const groups = hex.match(/.{1,4}/g) ?? []
  if (short && groups.length > 3)
    return (
      <span class="hash" title={hex}>
        <b>{groups[0]}</b> {groups[1]} … <b>{groups.at(-1)}</b>
      </span>
    )
  return (
    <span class="hash whole">
      {groups.map((group, at) =>
        at === 0 || at === groups.length - 1 ? <b>{group}</b> : <span>{group}</span>,
      )}
    </span>
  )
}
