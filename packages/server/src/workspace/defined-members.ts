/** Without undefined members, which would overwrite others in a spread. */
export function definedOf<T extends object>(
  value: T,
): { readonly [K in keyof T]?: Exclude<T[K], undefined> } {
  // The result has members of `value` only.
  return Object.fromEntries(
    Object.entries(value).filter(([, member]) => member !== undefined),
  ) as Partial<T> as never
}
