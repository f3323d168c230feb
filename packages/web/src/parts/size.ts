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
