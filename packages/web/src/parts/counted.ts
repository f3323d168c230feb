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

/** `14.2 MB` */
export function sizeText(bytes: number): string {
  const [unit, size] = units.find(([, each]) => bytes >= each) ?? ["B", 1]
  return size === 1 ? `${bytes} B` : `${(bytes / size).toFixed(1)} ${unit}`
}

const units = [
  ["TB", 1e12],
  ["GB", 1e9],
  ["MB", 1e6],
  ["kB", 1e3],
] as const
