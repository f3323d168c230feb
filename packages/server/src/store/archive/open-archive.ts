// Opens the storage of segments: the one place that chooses the driver.

import { join } from "node:path"
import type { Clock } from "../../clock.ts"
import type { ArchivePlace } from "../../config.ts"
import type { ArchiveStorage } from "./archive-storage.ts"
import { openFolderStorage } from "./folder-storage.ts"
import { openS3Storage } from "./s3-storage.ts"

export function openArchive(place: ArchivePlace, clock: Clock): ArchiveStorage {
  return place.kind === "folder" ? openFolderStorage(place.path) : openS3Storage(place, clock)
}

/** The default place of segments. */
export function archiveIn(data: string): ArchivePlace {
  return { kind: "folder", path: join(data, "archive") }
}
