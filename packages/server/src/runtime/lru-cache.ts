// A cache that evicts the least recently used values.

export interface Lru<V> {
  get(key: string): V | undefined
  set(key: string, value: V): void
  delete(key: string): void
  /** The least recently used first. Values that are looked at so do not count as used. */
  entries(): Iterable<readonly [string, V]>
}

/**
 * `most` is the largest total weight. By default each value weighs 1. `gone` is told each value that
 * is not cached any more.
 */
export function createLru<V>(
  most: number,
  weigh: (value: V) => number = () => 1,
  gone: (value: V) => void = () => {},
): Lru<V> {
  // A map keeps the order in which its keys were set.
  const values = new Map<string, V>()
  let weight = 0
  const remove = (key: string): void => {
    const value = values.get(key)
    if (value === undefined) return
    values.delete(key)
    weight -= weigh(value)
    gone(value)
  }
  return {
    get(key) {
      const value = values.get(key)
      if (value !== undefined) {
        values.delete(key)
        values.set(key, value)
      }
      return value
    },
    set(key, value) {
      remove(key)
      values.set(key, value)
      weight += weigh(value)
      for (const oldest of values.keys()) {
        if (weight <= most) break
        remove(oldest)
      }
    },
    delete: remove,
    entries: () => values.entries(),
  }
}
