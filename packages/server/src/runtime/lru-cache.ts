// A cache that keeps the values used last.

export interface Lru<V> {
  get(key: string): V | undefined
  set(key: string, value: V): void
  delete(key: string): void
}

export function createLru<V>(most: number): Lru<V> {
  // A map keeps the order in which its keys were set.
  const values = new Map<string, V>()
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
      values.delete(key)
      values.set(key, value)
      const [oldest = key] = values.keys()
      if (values.size > most) values.delete(oldest)
    },
    delete: (key) => void values.delete(key),
  }
}
