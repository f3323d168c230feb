// When a change is refused: the one rule of the registry, the same for every driver.

import type { Change } from "./store.ts"

/**
 * The place of the first change that is not of the version which it would find, those before it
 * being made; -1 when there is none.
 */
export function conflictIn(
  changes: readonly Change[],
  versionOf: (change: Change) => number,
): number {
  if (changes.length === 0) return -1
  const versions = new Map<string, number>()
  return changes.findIndex((change) => {
    const key = `${change.kind}/${change.id}`
    if (change.version !== (versions.get(key) ?? versionOf(change))) return true
    versions.set(key, change.value === null ? 0 : change.version + 1)
    return false
  })
}
