// The numbers of workspaces. The rows of entries contain them instead of the ids. They never change.

import type { DatabaseSync } from "node:sqlite"

export function workspaceNumbers(file: DatabaseSync): (workspace: string) => number | undefined {
  const select = file.prepare("SELECT number FROM workspaces WHERE id = ?")
  return remembered((workspace) => {
    const row = select.get(workspace)
    return row && Number(row["number"])
  })
}

export function workspaceIds(file: DatabaseSync): (number: number) => string | undefined {
  const select = file.prepare("SELECT id FROM workspaces WHERE number = ?")
  return remembered((number) => {
    const row = select.get(number)
    return row && String(row["id"])
  })
}

function remembered<Key, Found>(
  find: (key: Key) => Found | undefined,
): (key: Key) => Found | undefined {
  const known = new Map<Key, Found>()
  return (key) => {
    const seen = known.get(key)
    if (seen !== undefined) return seen
    const found = find(key)
    if (found !== undefined) known.set(key, found)
    return found
  }
}
