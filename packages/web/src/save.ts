export const saveIcon = "M8 2.5v8m-3-3 3 3 3-3M3 13.5h10"

/** Offers a file as a download. It never leaves the browser. */
export function save(name: string, content: BlobPart, type: string): void {
  const address = URL.createObjectURL(new Blob([content], { type }))
  const link = document.createElement("a")
  link.href = address
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(address), 60_000)
}
