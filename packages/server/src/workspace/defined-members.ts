type Defined<T> = { readonly [K in keyof T]?: Exclude<T[K], undefined> }

/** Without undefined members, which would overwrite others in a spread. */
export function definedOf<T extends object>(value: T): Defined<T> {
  // The result has members of `value` only.
  return Object.fromEntries(
    Object.entries(value).filter(([, member]) => member !== undefined),
  ) as Defined<T>
}
