// Where archive segments lie: files with a name, written once and read in ranges. The drivers are
// folder-storage.ts and s3-storage.ts; open-archive.ts chooses one. Nothing that storage answers is
// believed: who reads compares it with the journal's records.

export interface StoredFile {
  readonly name: string
  readonly bytes: number
}

export interface ByteRange {
  readonly start: number
  /** The byte after the last one. */
  readonly end: number
}

/** Every method throws an `ArchiveFailure` if storage does not do as it should. */
export interface ArchiveStorage {
  /** What sentences call it. */
  readonly name: string
  /** On stable storage when it resolves. Doing it twice changes nothing. */
  put(name: string, bytes: Uint8Array): Promise<void>
  /** Exactly these bytes; undefined if there is no such file. */
  get(name: string, range: ByteRange): Promise<Uint8Array | undefined>
  /** All files whose name begins so, with those that a killed `put` has left. */
  list(prefix: string): AsyncIterable<StoredFile>
  /** Does nothing if there is no such file. */
  delete(name: string): Promise<void>
  close(): void
}

/** Storage cannot be reached, refuses, or answers something else than was asked for. */
export class ArchiveFailure extends Error {
  override readonly name = "ArchiveFailure"
}
