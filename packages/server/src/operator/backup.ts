// Copies a ledger into a new folder, also while the service runs, and accepts the copy only after
// it has hashed every entry again.

import { randomBytes } from "node:crypto"
import { copyFileSync, existsSync, mkdirSync, renameSync, rmSync } from "node:fs"
import { dirname, join, resolve } from "node:path"
import { equalBytes } from "@tallystick/proof"
import { delay, isoTime, systemClock } from "../clock.ts"
import { copySegments, listSegments, segmentsOf } from "./backup-archive.ts"
import { statsOf } from "./check-places.ts"
import { allWorkspaces } from "./check-store.ts"
import { syncPath } from "../runtime/durable-file.ts"
import { makeFolder } from "../runtime/make-folder.ts"
import { StartError } from "../error.ts"
import { lossOf, rehash, type RehashResult } from "./rehash-chain.ts"
import { knownSecrets } from "./secret-files.ts"
import { readHeads, type SignedHead } from "../store/heads.ts"
import { noteBackup, type LastBackup } from "../store/last-backup.ts"
import { ConfigError, type ArchivePlace } from "../config.ts"
import { withArchive } from "../store/archive/archived-bodies.ts"
import { archiveIn } from "../store/archive/open-archive.ts"
import { closing } from "../runtime/closing.ts"
import type { Snapshot } from "../store/offline.ts"
import { openSqliteSnapshot } from "../store/sqlite/offline.ts"
import type { Head } from "../store/entries.ts"
import { openKeyring } from "../workspace/stored-keyring.ts"

export interface BackupOptions {
  readonly data: string
  readonly archive: ArchivePlace
  readonly heads: string
  readonly target: string
  readonly withSecrets: boolean
  /** Whether segments are copied, too. */
  readonly withArchive: boolean
  readonly progress: (progress: BackupProgress) => void
}

export type BackupProgress =
  | { readonly kind: "copied"; readonly done: number; readonly pages: number }
  | { readonly kind: "archived"; readonly done: number; readonly segments: number }
  | { readonly kind: "hashed"; readonly workspace: string; readonly done: number }

export interface BackupResult {
  readonly workspaces: number
  readonly entries: number
  readonly secrets: readonly string[]
  /** The number of archive segments that it needs. It has them, or `archive-files` names them. */
  readonly segments: number
  /**
   * Whether the note of the last backup was written. The user who makes the backup may not be
   * allowed to write there.
   */
  readonly isNoted: boolean
}

const secretFiles = ["secret", "root-key"]

export async function backUp({
  data,
  archive,
  heads: headsPath,
  target,
  withSecrets,
  withArchive: hasArchive,
  progress,
}: BackupOptions): Promise<BackupResult> {
  const path = resolve(target)
  const at = isoTime(systemClock.now())
  if (existsSync(path))
    throw new StartError(`${target} exists already; a backup never overwrites anything`)
  makeFolder(dirname(path))
  const fresh = `${path}.${randomBytes(8).toString("hex")}`
  mkdirSync(fresh, { mode: 0o700 })
  try {
    // Read first: the copy must have everything that is signed at this moment.
    const heads = await readHeads(headsPath)
    const copied = await copy(data, fresh, progress)
    const segments = await segmentsOf(fresh)
    if (hasArchive)
      await copySegments(segments, archive, fresh, (done) =>
        progress({ kind: "archived", done, segments: segments.length }),
      )
    else listSegments(segments, fresh)
    const place = hasArchive ? archiveIn(fresh) : archive
    const checked = await check(fresh, place, copied, heads, progress)
    const secrets = withSecrets ? copySecrets(data, fresh) : []
    await requireOpening(data, fresh)
    syncPath(fresh)
    if (existsSync(path))
      throw new StartError(
        `another process has made ${target} meanwhile; a backup never overwrites anything`,
      )
    renameSync(fresh, path)
    syncPath(dirname(path))
    await signed(headsPath, checked)
    const entries = checked.reduce((sum, one) => sum + one.entries, 0)
    const isNoted = noted(data, { at, entries })
    return { workspaces: checked.length, entries, secrets, segments: segments.length, isNoted }
  } catch (error) {
    rmSync(fresh, { recursive: true, force: true })
    throw error
  }
}

/** Makes the copy. Returns the head of every workspace at its beginning. */
async function copy(
  data: string,
  fresh: string,
  progress: BackupOptions["progress"],
): Promise<ReadonlyMap<string, Head | undefined>> {
  await using snapshot = closing(openSqliteSnapshot(data))
  const heads = await headsOf(snapshot)
  await snapshot.copyTo(fresh, (done, pages) => progress({ kind: "copied", done, pages }))
  return heads
}

async function headsOf({
  journal,
  registry,
}: Snapshot): Promise<ReadonlyMap<string, Head | undefined>> {
  const heads = new Map<string, Head | undefined>()
  for (const { id } of await allWorkspaces(registry)) heads.set(id, await journal.head(id))
  return heads
}

/** Reads the copy back from the disk. Throws if anything is missing or wrong. */
async function check(
  fresh: string,
  archive: ArchivePlace,
  copied: ReadonlyMap<string, Head | undefined>,
  signed: ReadonlyMap<string, SignedHead>,
  progress: BackupOptions["progress"],
): Promise<readonly RehashResult[]> {
  await using snapshot = closing(withArchive(openSqliteSnapshot(fresh), archive, systemClock))
  const workspaces = await allWorkspaces(snapshot.registry)
  if (workspaces.length !== copied.size)
    throw unlike(`${workspaces.length} workspaces of ${copied.size}`)
  const all: RehashResult[] = []
  for (const workspace of workspaces) {
    const one = await rehash(snapshot, workspace, signed.get(workspace.value.origin), (id, done) =>
      progress({ kind: "hashed", workspace: id, done }),
    )
    const head = copied.get(workspace.id)
    const wrong = one.broken ?? lossOf(one)
    if (wrong !== undefined)
      throw new StartError(
        `${wrong}; no backup was made. Restore an older backup, or look at the disk`,
      )
    if (
      head?.sequence !== one.entries ||
      one.hash === undefined ||
      !equalBytes(head.hash, one.hash)
    )
      throw unlike(
        `${one.entries} entries of workspace ${one.workspace}, which had ${head?.sequence ?? 0}`,
      )
    all.push(one)
  }
  return all
}

/**
 * Waits until everything that was copied is signed, which a running service does within a second. A
 * heads file that is copied after this covers the whole copy, which `resume` needs to continue in
 * the same epoch. Gives up after three seconds if no service runs.
 */
async function signed(headsPath: string, copied: readonly RehashResult[]): Promise<void> {
  const endMs = systemClock.elapsed() + signWaitMs
  while (systemClock.elapsed() < endMs) {
    const heads = await readHeads(headsPath)
    if (copied.every(({ origin, size }) => (heads.get(origin)?.size ?? 0) >= size)) return
    await delay(50)
  }
}

const signWaitMs = 3000

/** The copy is complete even if this note cannot be written. */
function noted(data: string, backup: LastBackup): boolean {
  try {
    noteBackup(data, backup)
    return true
  } catch {
    return false
  }
}

function unlike(what: string): StartError {
  return new StartError(
    `the copy has ${what}: it differs from the original, and was removed. Look at the disk`,
  )
}

/** The secret may have been rotated since the copy began, or be one that nobody uses any more. */
async function requireOpening(data: string, fresh: string): Promise<void> {
  await using snapshot = closing(openSqliteSnapshot(fresh))
  try {
    const { secret, previous } = knownSecrets({ ...nothingGiven, data: fresh })
    if (secret !== undefined) await openKeyring(snapshot.registry, { secret, previous })
  } catch (cause) {
    if (!(cause instanceof StartError || cause instanceof ConfigError)) throw cause
    throw new StartError(
      `${join(data, "secret")} does not open the copy, so no backup was made: if the secret was rotated at this moment, run it again; if the service has its secret from elsewhere, remove that file, or add --without-secrets`,
      { cause },
    )
  }
}

const nothingGiven = {
  secret: undefined,
  previousSecret: undefined,
  rootKey: undefined,
  previousRootKey: undefined,
}

/** The secrets of the folder, if it has any. */
export function copySecrets(data: string, fresh: string): readonly string[] {
  const kept = secretFiles.filter(
    (name) => statsOf(join(data, name)) !== undefined && !existsSync(join(fresh, name)),
  )
  for (const name of kept) {
    copyFileSync(join(data, name), join(fresh, name))
    syncPath(join(fresh, name))
  }
  return kept
}
