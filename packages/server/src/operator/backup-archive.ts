// The archive in a backup: copies of the segments that it needs, or a list of their names.

import { join } from "node:path"
import { systemClock } from "../clock.ts"
import type { ArchivePlace } from "../config.ts"
import { StartError } from "../error.ts"
import { closing } from "../runtime/closing.ts"
import { writeSynced } from "../runtime/durable-file.ts"
import { readSegment } from "../store/archive/archive-segment.ts"
import { archiveIn, openArchive } from "../store/archive/open-archive.ts"
import { createSegmentDirectory } from "../store/archive/segment-directory.ts"
import type { ArchiveSegmentDocument } from "../store/documents.ts"
import { openSqliteSnapshot } from "../store/sqlite/offline.ts"
import { allWorkspaces } from "./check-store.ts"

export const archiveList = "archive-files"

/** The segments that the ledger in a folder needs. */
export async function segmentsOf(folder: string): Promise<readonly ArchiveSegmentDocument[]> {
  await using snapshot = closing(openSqliteSnapshot(folder))
  const directory = createSegmentDirectory(snapshot.registry)
  const segments: ArchiveSegmentDocument[] = []
  for (const { id } of await allWorkspaces(snapshot.registry))
    segments.push(...(await directory.list(id)))
  return segments
}

/** Copies them to the place where a ledger in this folder looks for them. */
export async function copySegments(
  segments: readonly ArchiveSegmentDocument[],
  archive: ArchivePlace,
  folder: string,
  progress: (done: number) => void,
): Promise<void> {
  await using from = closing(openArchive(archive, systemClock))
  await using to = closing(openArchive(archiveIn(folder), systemClock))
  for (const [at, segment] of segments.entries()) {
    const read = await readSegment(from, segment)
    if (typeof read === "string")
      throw new StartError(
        `the segment ${segment.file} ${read}; no backup was made. If something was erased at this moment, run it again`,
      )
    await to.put(segment.file, read.content)
    progress(at + 1)
  }
}

export function listSegments(segments: readonly ArchiveSegmentDocument[], folder: string): void {
  if (segments.length === 0) return
  writeSynced(join(folder, archiveList), segments.map(({ file }) => `${file}\n`).join(""))
}
