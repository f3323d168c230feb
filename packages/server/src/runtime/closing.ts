/** For `await using`: closes the thing at the end of the block, whatever happens in it. */
export function closing<T extends { close(): void | Promise<void> }>(
  thing: T,
): T & AsyncDisposable {
  return Object.assign(thing, { [Symbol.asyncDispose]: async () => thing.close() })
}
