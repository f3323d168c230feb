/** Sequences, both ends included. A list of them is ascending and without overlap. */
export type SequenceRange = { readonly first: number; readonly last: number }

/** Adds a range after the others, as a part of the last one if it continues that. */
export function addRange(ranges: SequenceRange[], { first, last }: SequenceRange): void {
  const before = ranges.at(-1)
  if (before?.last === first - 1) ranges[ranges.length - 1] = { first: before.first, last }
  else ranges.push({ first, last })
}

/** The sequences of `all` that are not in `taken`. */
export function withoutRanges(
  all: readonly SequenceRange[],
  taken: readonly SequenceRange[],
): SequenceRange[] {
  const left: SequenceRange[] = []
  let next = 0
  for (const { first, last } of all) {
    let from = first
    while (next < taken.length && (taken[next]?.last ?? 0) < first) next += 1
    for (let at = next; from <= last; at++) {
      const { first: start, last: end } = taken[at] ?? { first: Infinity, last: Infinity }
      if (start > from) left.push({ first: from, last: Math.min(last, start - 1) })
      from = end + 1
    }
  }
  return left
}

/** How many sequences they have. */
export function lengthOfRanges(ranges: readonly SequenceRange[]): number {
  return ranges.reduce((sum, { first, last }) => sum + last - first + 1, 0)
}
