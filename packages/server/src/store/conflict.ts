// The rule for conflicting changes of documents, which all drivers share.

import type { Change } from "./documents.ts"

/**
 * The index of the first change whose document is not at the version that it replaces, once the
 * changes before it are applied; -1 if there is none.
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
