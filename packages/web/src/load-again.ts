/**
 * Loads a later part of a page. Browsers remember that it could not be loaded, under its address, so
 * it is asked for once more with a query.
 */
export function loadAgain<Part>(load: () => Promise<Part>): Promise<Part> {
  return load().catch((error: unknown) => {
    const [address] = /http\S+\.js/.exec(String(error)) ?? []
    if (address === undefined) throw error
    const another: string = `${address}?${Date.now()}`
    // The same file.
    return import(another) as Promise<Part>
  })
}
