// Values that this browser stores between visits. Pages also work where it stores nothing, as in a
// private window or in a page that was opened from a file.

export interface Kept<Value> {
  get(): Value
  set(value: Value): void
  /**
   * Calls `changed` after each change, in this tab or another one, until the returned function is
   * called.
   */
  watch(changed: () => void): () => void
}

export function keep<Value>(
  name: string,
  read: (text: string | null) => Value,
  write: (value: Value) => string,
): Kept<Value> {
  const key = `tallystick ${name}`
  const watchers = new Set<() => void>()
  let value: Value | undefined
  const tell = (): void => watchers.forEach((changed) => changed())
  addEventListener("storage", (event) => {
    if (event.key !== key) return
    value = undefined
    tell()
  })
  return {
    get: () => (value ??= read(attempt(() => localStorage.getItem(key)) ?? null)),
    set(next) {
      value = next
      attempt(() => localStorage.setItem(key, write(next)))
      tell()
    },
    watch(changed) {
      watchers.add(changed)
      return () => void watchers.delete(changed)
    },
  }
}

/** Empty until it is set. */
export function keepText(name: string): Kept<string> {
  return keep(
    name,
    (text) => text ?? "",
    (text) => text,
  )
}

/** Undefined if it throws, as where the browser stores nothing. */
export function attempt<Result>(action: () => Result): Result | undefined {
  try {
    return action()
  } catch {
    return undefined
  }
}
