// Checks the stored data at a start, before anything is added to it.

import { existsSync } from "node:fs"
import { dirname } from "node:path"
import { statsOf } from "./check-places.ts"
import { isArchiveAway, StartError } from "../error.ts"
import { recheck } from "../ledger/recheck.ts"
import type { Limits } from "../limits.ts"
import type { Head } from "../store/entries.ts"
import { epochsOf } from "../store/epochs.ts"
import { every } from "../store/all-documents.ts"
import type { SignedHead } from "../store/heads.ts"
import { largestHeads, placeName, tellSignedHeads, type StorePlace } from "../store/open.ts"
import type { Workspace } from "../store/documents.ts"
import type { Registry, Store } from "../store/store.ts"

export interface CheckedStore {
  readonly workspaces: readonly Workspace[]
  /** Why the data is read-only, and what to do. Undefined if it can be written to. */
  readonly readOnly: string | undefined
  /** Origins of signed ledgers that this data does not have. */
  readonly missing: readonly string[]
  /** When the newest entry was recorded. */
  readonly newestMs: number | undefined
}

/** A newest entry that is further ahead shows that the clock was set back. */
export const clockBackMs = 1000

/**
 * How many entries a start checks in all workspaces together. In each, it checks at most the last
 * `recheckEntries`.
 */
const recheckTotal = 20_000

export async function checkStore(
  store: Store,
  headsPath: string,
  place: StorePlace,
  limits: Limits,
): Promise<CheckedStore> {
  // Asked first: another server of a database may just make the first workspace.
  const isEmpty = await store.journal.isEmpty()
  const workspaces = await allWorkspaces(store.registry)
  if (!existsSync(dirname(headsPath)))
    throw new StartError(
      `the folder of the heads file ${headsPath} does not exist; make it, or set TALLYSTICK_HEADS`,
    )
  await tellSignedHeads(headsPath, place)
  const heads = await largestHeads(headsPath, place)
  const missing = missingOf(heads, workspaces)
  if (workspaces.length === 0 && missing.length > 0)
    throw new StartError(
      `nothing is recorded in the data folder, and ${headsPath} says that something was signed: check that the disk with the data is mounted, and put the data back; to start over, remove that file`,
    )
  if (workspaces.length === 0 && !isEmpty)
    throw new StartError(
      `${placeName(place)} has entries of no workspace, as a copy has that was cut short: run tallystick copy into it again, which continues`,
    )
  await recheckAll(store, workspaces, limits.recheckEntries)
  const ends = new Map<string, Head>()
  let newestMs: number | undefined
  for (const { id } of workspaces) {
    const end = await store.journal.head(id)
    if (end === undefined) continue
    ends.set(id, end)
    newestMs = Math.max(newestMs ?? 0, end.timeMs)
  }
  const readOnly =
    behindHeads(ends, workspaces, heads) ??
    store.readOnly ??
    (workspaces.length === 0 ? undefined : withoutHeads(headsPath, place))
  return { workspaces, readOnly, missing, newestMs }
}

/**
 * The service makes the file before the first workspace. Where it is not there, the data may be
 * older than what was signed. A server of a database may be new, and the database lists it too.
 */
export function withoutHeads(path: string, { databaseUrl }: StorePlace): string | undefined {
  return databaseUrl !== undefined || statsOf(path) !== undefined
    ? undefined
    : `the heads file ${path} does not exist, so nobody knows what was signed, and the data is read-only. Put the file back, or set TALLYSTICK_HEADS to it; if it is lost, make an empty file of this name; then start again`
}

/** Origins in the heads file that no epoch of these workspaces has. */
export function missingOf(
  heads: ReadonlyMap<string, SignedHead>,
  workspaces: readonly Workspace[],
): readonly string[] {
  const known = new Set(
    workspaces.flatMap((workspace) => epochsOf(workspace).map(({ origin }) => origin)),
  )
  return [...heads.keys()].filter((origin) => !known.has(origin))
}

export function allWorkspaces(registry: Registry): Promise<readonly Workspace[]> {
  return Array.fromAsync(every(registry, "workspace", undefined))
}

async function recheckAll(
  store: Store,
  workspaces: readonly Workspace[],
  entriesMax: number,
): Promise<void> {
  const entries = Math.max(1, Math.min(entriesMax, Math.floor(recheckTotal / workspaces.length)))
  for (const workspace of workspaces) {
    const wrong = await recheck(store, workspace, entries).catch(unlessAway)
    if (wrong !== undefined)
      throw new StartError(
        `${wrong}; the service does not add entries to it. Restore a backup, or look at the disk`,
      )
  }
}

/**
 * The service records even while the archive is unreachable. The auditor reads the archive later.
 */
function unlessAway(error: unknown): undefined {
  if (!isArchiveAway(error)) throw error
}

/**
 * Data that ends before what was signed is read-only: writing to it would make a second history
 * under the same name.
 */
function behindHeads(
  ends: ReadonlyMap<string, Head>,
  workspaces: readonly Workspace[],
  heads: ReadonlyMap<string, SignedHead>,
): string | undefined {
  for (const workspace of workspaces) {
    const [{ origin, before }] = epochsOf(workspace)
    const signed = heads.get(origin)
    const entries = ends.get(workspace.id)?.sequence ?? 0
    const lost = signed && endsBefore(workspace.id, entries, before + signed.size)
    if (lost !== undefined)
      return `the data is older than what was signed, so it is read-only: ${lost}. Put the newer data back; if it is lost, stop the service and run tallystick resume`
  }
  return undefined
}

export function endsBefore(
  workspace: string,
  entries: number,
  signedEntries: number,
): string | undefined {
  return entries < signedEntries
    ? `workspace ${workspace} ends at entry ${entries}, and ${signedEntries} were signed`
    : undefined
}
