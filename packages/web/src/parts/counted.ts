/** `1 entry`, `1,200 entries`. */
export function counted(count: number, one: string, many: string): string {
  return `${count.toLocaleString("en-GB")} ${count === 1 ? one : many}`
}
