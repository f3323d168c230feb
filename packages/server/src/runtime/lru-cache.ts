// A cache that evicts the least recently used values.

export interface Lru<V, K = string> {
  get(key: K): V | undefined
  set(key: K, value: V): void
  delete(key: K): void
  /** The least recently used first. Values that are looked at so do not count as used. */
  entries(): Iterable<readonly [K, V]>
}

/**
 * `most` is the largest total weight. By default each value weighs 1. `gone` is told each value that
 * is not cached any more.
 */
export function createLru<V, K = string>(
  most: number,
  weigh: (value: V) => number = () => 1,
  gone: (value: V) => void = () => {},
): Lru<V, K> {
  // A map keeps the order in which its keys were set.
  const values = new Map<K, V>()
  let weight = 0
  const remove = (key: K): void => {
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
