// Storage of archive segments: named files, written once and read in ranges. The drivers are
// folder-storage.ts and s3-storage.ts; open-archive.ts chooses one. Storage is not trusted: readers
// compare its data with the journal's records.

export interface StoredFile {
  readonly name: string
  readonly bytes: number
}

export interface ByteRange {
  readonly start: number
  /** The byte after the last one. */
  readonly end: number
}

/** Every method throws an `ArchiveFailure` if storage fails. */
export interface ArchiveStorage {
  /** Its name in messages. */
  readonly name: string
  /**
   * The file is on stable storage when it resolves. Idempotent. `wasPut`: something in its folder
   * was put once, so a folder that is missing is a failure: its disk may not be mounted, and would
   * hide the file later.
   */
  put(name: string, bytes: Uint8Array, wasPut?: boolean): Promise<void>
  /** Returns exactly these bytes. Undefined if there is no such file. */
  get(name: string, range: ByteRange): Promise<Uint8Array | undefined>
  /**
   * All files whose name begins with the prefix, including remains of a killed `put`. `wasPut`: as
   * for `put`.
   */
  list(prefix: string, wasPut?: boolean): AsyncIterable<StoredFile>
  /** Does nothing if there is no such file. */
  delete(name: string): Promise<void>
  close(): void
}

/** Storage cannot be reached, refuses, or returns something else than requested. */
export class ArchiveFailure extends Error {
  override readonly name = "ArchiveFailure"
}
