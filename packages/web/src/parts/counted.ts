/** `1,200`. */
export function number(of: number): string {
  return of.toLocaleString("en-GB")
}

/** `#1,200`: the place of an entry in its chain. */
export function numbered(sequence: number | undefined): string {
  return sequence === undefined ? "" : `#${number(sequence)}`
}

/** `1 entry`, `1,200 entries`. */
export function counted(count: number, one: string, many: string): string {
  return `${number(count)} ${count === 1 ? one : many}`
}
