// Checks that storage is the archive of this data, before something new is written there. What is
// written to the folder of a disk that is not mounted, or under a mistyped prefix, cannot be found
// later.

import { every } from "../store/all-documents.ts"
import { ArchiveFailure, type ArchiveStorage } from "../store/archive/archive-storage.ts"
import type { Registry } from "../store/store.ts"

/** A single segment may be missing: its removal was interrupted, or it is damaged. */
const triedMax = 10

/** Throws if segments are recorded, of whichever workspaces, and storage has none of them. */
export function createArchiveCheck(
  registry: Pick<Registry, "list">,
  storage: Pick<ArchiveStorage, "get" | "name">,
): () => Promise<void> {
  /** A segment that storage had at the last check. */
  let known: string | undefined
  const has = async (file: string) => (await storage.get(file, { start: 0, end: 1 })) !== undefined
  return async () => {
    if (known !== undefined && (await has(known))) return
    known = undefined
    let tried = 0
    for await (const { id } of every(registry, "workspace", undefined)) {
      const left = triedMax - tried
      if (left === 0) break
      for (const { value } of await registry.list("archive-segment", id, undefined, left)) {
        if (await has(value.file)) {
          known = value.file
          return
        }
        tried += 1
      }
    }
    if (tried > 0)
      throw new ArchiveFailure(
        `${storage.name} has none of the segments that are recorded: is its disk mounted? Has its address changed?`,
      )
  }
}
