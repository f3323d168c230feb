// A map from keys to numbers. V8's own Map interns each string that it looks up, which costs as
// much as hashing an entry, and keeps it in the string table until the next garbage collection.

import { assert } from "@tallystick/proof"

export interface KeyPlaces {
  get(key: string): number | undefined
  /** Setting a key again replaces its number. */
  set(key: string, place: number): void
}

/** For keys whose last characters are spread evenly, as those of digests are. */
export function createKeyPlaces(keysMax: number): KeyPlaces {
  // At least half of the slots are free, so a key is found after one step or two.
  const size = 2 ** Math.ceil(Math.log2(2 * keysMax + 2))
  /** One more than the key's index; 0 in a free slot. */
  const slots = new Int32Array(size)
  const keys: string[] = []
  const places: number[] = []

  /** The slot of this key, or the free slot for it. */
  const slotOf = (key: string): number => {
    let slot = spread(key) & (size - 1)
    for (let held = slots[slot]; held !== undefined && held !== 0; held = slots[slot]) {
      if (keys[held - 1] === key) break
      slot = (slot + 1) & (size - 1)
    }
    return slot
  }
  return {
    get(key) {
      const held = slots[slotOf(key)] ?? 0
      return held === 0 ? undefined : places[held - 1]
    },
    set(key, place) {
      const slot = slotOf(key)
      const held = slots[slot] ?? 0
      if (held > 0) {
        places[held - 1] = place
        return
      }
      assert(keys.length < keysMax, "there is room for so many keys")
      slots[slot] = keys.push(key)
      places.push(place)
    },
  }
}

function spread(key: string): number {
  let mixed = key.length
  for (let at = Math.max(0, key.length - 8); at < key.length; at++)
    mixed = Math.imul(mixed ^ key.charCodeAt(at), 0x01000193)
  return mixed ^ (mixed >>> 15)
}
