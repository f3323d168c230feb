// Writes a ledger as a folder of plain files, which is also a tlog (docs/format.md), so that anyone
// can check it without us. Files that exist are kept: an interrupted export continues, and a later
// one adds new entries. The checkpoint is written last, after everything that it covers.

import { existsSync, readdirSync, renameSync, rmdirSync, rmSync } from "node:fs"
import { dirname, join, resolve } from "node:path"
import {
  bodiesPath,
  bundle,
  createChain,
  createFrontier,
  disclosuresPath,
  epochPath,
  equalBytes,
  formatBodyLine,
  formatDisclosureLine,
  formatTrustPolicy,
  levelWidth,
  packPaths,
  parseCheckpoint,
  parseTilePath,
  tilePath,
  tileWidth,
  type Tile,
} from "@tallystick/proof"
import { disclosuresOf } from "../store/opened-entry.ts"
import { syncPath, writeSynced } from "../runtime/durable-file.ts"
import { makeFolder } from "../runtime/make-folder.ts"
import { readIfThere } from "../runtime/read-if-there.ts"
import { StartError } from "../error.ts"
import { sha256 } from "../runtime/sha256.ts"
import { takeEntry } from "../store/check-entry.ts"
import { bodiless, readGone } from "../store/destroyed.ts"
import { epochsOf, type Epoch } from "../store/epochs.ts"
import { vkeyOf } from "../store/log-keys.ts"
import { closing } from "../runtime/closing.ts"
import { openWhole } from "../store/open-offline.ts"
import { placeName, type StorePlace } from "../store/open.ts"
import type { Whole } from "../store/whole-ledger.ts"
import type { Stored } from "../store/entries.ts"

export interface ExportResult {
  /** Entries that the checkpoint covers. */
  readonly entries: number
  /** Entries that were not in the folder before. */
  readonly added: number
}

export interface ExportOptions extends StorePlace {
  readonly workspace: string
  readonly folder: string
  /**
   * Called before anything is written, with the number of entries, and whether the data is the copy
   * of a backup.
   */
  readonly announce: (entries: number, isCopy: boolean) => Promise<void>
  readonly progress: (done: number) => void
}

/** Writes the ledger as it is now, up to its last checkpoint. The service may run. */
export async function exportLedger({
  workspace,
  folder,
  announce,
  progress,
  ...place
}: ExportOptions): Promise<ExportResult> {
  await using whole = closing(await openWhole(place, { alone: false }))
  const document = await whole.registry.get("workspace", workspace, workspace)
  if (document === undefined)
    throw new StartError(`there is no workspace ${workspace} in ${placeName(place)}`)
  const [epoch, ...former] = epochsOf(document)
  const checkpoint = await whole.index?.checkpoint(epoch.workspace, epoch.number)
  if (checkpoint === undefined)
    throw new StartError(
      `workspace ${workspace} has no checkpoint yet; start the service, and it signs one`,
    )
  // Throws, before the export is announced, if the folder holds something else.
  const files = openFolder(folder, epoch, checkpoint.size)
  await announce(epoch.before + checkpoint.size, whole.isCopy)
  let added = 0
  for (const one of former.toReversed())
    added += await exportFormer(whole, one, join(folder, epochPath(one.number, "")), progress)
  const vkey = await vkeyOf(whole.registry, epoch, checkpoint.note)
  added += await writeEntries(whole, epoch, checkpoint, files, progress)
  signOff(files, vkey, checkpoint.note)
  files.dropPartials(checkpoint.size)
  return { entries: epoch.before + checkpoint.size, added }
}

/**
 * Writes an epoch that ended. Its last checkpoint may cover fewer entries: both sizes get their
 * partial tiles.
 */
async function exportFormer(
  whole: Whole,
  epoch: Epoch,
  folder: string,
  progress: (done: number) => void,
): Promise<number> {
  const { end = 0, before, root = new Uint8Array(), checkpoint } = epoch
  const size = end - before
  // The vkey is written last, and an ended epoch never grows.
  if (existsSync(join(folder, packPaths.vkey))) return 0
  const files = openFolder(folder, epoch, size)
  if (checkpoint !== undefined && checkpoint.size < size)
    await writeEntries(whole, epoch, checkpoint, files, () => {})
  const added = await writeEntries(whole, epoch, { size, root }, files, progress)
  if (checkpoint !== undefined) files.put(packPaths.checkpoint, Buffer.from(checkpoint.note))
  signOff(files, await vkeyOf(whole.registry, epoch, checkpoint?.note))
  return added
}

function signOff(files: Folder, vkey: string, note?: string): void {
  files.put(packPaths.policy, Buffer.from(formatTrustPolicy(vkey)))
  // Before the names that say that everything is there, all others are on the disk.
  files.syncNames()
  files.put(packPaths.vkey, Buffer.from(`${vkey}\n`))
  if (note !== undefined) files.put(packPaths.checkpoint, Buffer.from(note))
  files.syncNames()
}

async function writeEntries(
  { journal, registry }: Whole,
  { workspace, before, ledgerId }: Epoch,
  checkpoint: { readonly size: number; readonly root: Uint8Array },
  files: Folder,
  progress: (done: number) => void,
): Promise<number> {
  const { size, root } = checkpoint
  const tree = createFrontier(undefined, sha256)
  // Above level 0 there is one hash for 256 entries: 125 KB for a million entries.
  const upper: Uint8Array[][] = []
  const chain = createChain(ledgerId, sha256)
  let added = 0
  for (let group = 0; group * tileWidth < size; group++) {
    const first = group * tileWidth
    const width = Math.min(tileWidth, size - first)
    const entries = await readGroup(journal, workspace, before + first, width)
    const goneAt = await readGone(registry, workspace, bodiless(entries))
    const hashes = entries.map((entry, at) => {
      // A broken entry must not go into an export.
      const taken = takeEntry(chain, before, entry, goneAt(entry.sequence))
      if (typeof taken === "string") throw broken(before + first + at + 1)
      return chain.previousHash
    })
    if (hashes.length !== width) throw broken(before + first + hashes.length + 1)
    for (const hash of hashes) {
      tree.append(hash, (level, _, subtree) => {
        if (level > 0 && level % 8 === 0) (upper[level / 8] ??= []).push(subtree)
      })
    }
    added += files.putGroup(group, entries, Buffer.concat(hashes))
    progress(before + tree.size)
  }
  if (!equalBytes(tree.root(), root)) {
    throw new StartError(
      `the first ${size} entries of workspace ${workspace} are not those that were signed; run tallystick fsck for details. The export is not complete`,
    )
  }
  for (const [level, hashes] of upper.entries()) {
    for (let at = 0; at < (hashes?.length ?? 0); at += tileWidth) {
      const tile = hashes?.slice(at, at + tileWidth) ?? []
      files.put(tilePath(level, at / tileWidth, tile.length), Buffer.concat(tile))
    }
  }
  return added
}

/** One read may return fewer if they are large. */
async function readGroup(
  journal: Whole["journal"],
  workspace: string,
  after: number,
  width: number,
): Promise<readonly Stored[]> {
  const entries: Stored[] = []
  while (entries.length < width) {
    const last = entries.at(-1)?.sequence ?? after
    const more = await journal.after(workspace, last, width - entries.length)
    if (more.length === 0) break
    entries.push(...more)
  }
  return entries
}

function broken(sequence: number): StartError {
  return new StartError(
    `entry ${sequence} is not what was recorded; run tallystick fsck for details. The folder has the entries before it`,
  )
}

// The folder --------------------------------------------------------------------------------------

interface Folder {
  put(path: string, content: Uint8Array): void
  /** Writes the entries of one tile. Returns how many of them are new. */
  putGroup(group: number, entries: readonly Stored[], hashes: Uint8Array): number
  /** Syncs the folders, also those that an interrupted export made. */
  syncNames(): void
  /** Removes partial tiles that a larger tile has replaced. */
  dropPartials(size: number): void
}

function openFolder(
  folder: string,
  { before, geneses: [genesis = ""] }: Epoch,
  size: number,
): Folder {
  makeFolder(folder)
  const at = (path: string): string => join(folder, path)
  const read = (path: string): Buffer | undefined => readIfThere(at(path))
  const put = (path: string, content: Uint8Array): void => {
    makeFolder(dirname(at(path)))
    // Every file is synced, and its name later, because a checkpoint on the disk must never cover
    // entries that are not.
    writeSynced(`${at(path)}.new`, content)
    renameSync(`${at(path)}.new`, at(path))
  }
  const found = read(packPaths.genesis)?.toString("utf8")
  if (found !== undefined && found !== genesis)
    throw new StartError(`${folder} is an export of another ledger; name another folder`)
  const isBegun = readdirSync(folder).every((name) => name === `${packPaths.genesis}.new`)
  if (found === undefined && !isBegun)
    throw new StartError(`${folder} holds something else; an export never overwrites anything`)
  const note = read(packPaths.checkpoint)?.toString("utf8") ?? ""
  const had = parseCheckpoint(note.slice(0, note.lastIndexOf("\n\n") + 1))?.size ?? 0
  if (had > size)
    throw new StartError(
      `${folder} has ${had} entries, and the last checkpoint of the data covers ${size}: the data is older than its export`,
    )
  if (found === undefined) put(packPaths.genesis, Buffer.from(genesis))

  return {
    put,
    putGroup(group, entries, hashes) {
      const width = entries.length
      const known = read(tilePath(0, group))
      if (known !== undefined && !equalBytes(known.subarray(0, hashes.length), hashes))
        throw new StartError(
          `${at(tilePath(0, group))} has other hashes than the data: it belongs to another history, or was changed`,
        )
      // A full tile is written after the other files of its group, so those exist too.
      if (known !== undefined && width === tileWidth) return 0
      // What was erased meanwhile goes first: a disclosure without its body is refuted.
      const sealed = entries.flatMap((entry) => disclosureLine(entry, before) ?? [])
      if (sealed.length > 0) put(disclosuresPath(group), linesOf(sealed))
      else rmSync(at(disclosuresPath(group)), { force: true })
      put(bodiesPath(group), linesOf(entries.flatMap((entry) => bodyLine(entry, before) ?? [])))
      put(tilePath("entries", group, width), bundle(entries.map(({ record }) => record)))
      put(tilePath(0, group, width), hashes)
      return Math.max(0, Math.min(width, group * tileWidth + width - had))
    },
    syncNames() {
      const below = readdirSync(folder, { recursive: true, withFileTypes: true })
      for (const one of below) if (one.isDirectory()) syncPath(join(one.parentPath, one.name))
      syncPath(folder)
      syncPath(dirname(resolve(folder)))
    },
    dropPartials: (of) => dropPartials(folder, of),
  }
}

/** Also removes the temporary files of an interrupted export. */
function dropPartials(folder: string, size: number): void {
  for (const path of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
    const tile = parseTilePath(path)
    const isPast = tile !== undefined && tile.width < tileWidth && !isAtEdge(tile, size)
    if (!isPast && !path.endsWith(".new")) continue
    rmSync(join(folder, path))
    if (isPast && readdirSync(join(folder, dirname(path))).length === 0)
      rmdirSync(join(folder, dirname(path)))
  }
}

function isAtEdge({ level, index, width }: Tile, size: number): boolean {
  const hashes = levelWidth(level === "entries" ? 0 : level, size)
  return index === Math.floor(hashes / tileWidth) && width === hashes % tileWidth
}

/** Undefined if the body was destroyed. */
function bodyLine({ sequence, body, bodySalt }: Stored, before: number): string | undefined {
  if (body === undefined || bodySalt === undefined) return undefined
  const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString("utf8")
  return formatBodyLine({ index: sequence - 1 - before, salt: bodySalt, body: text })
}

function disclosureLine(entry: Stored, before: number): string | undefined {
  const disclosures = disclosuresOf(entry)
  return disclosures.length === 0
    ? undefined
    : formatDisclosureLine({ index: entry.sequence - 1 - before, disclosures })
}

function linesOf(lines: readonly string[]): Uint8Array {
  return Buffer.from(lines.map((line) => `${line}\n`).join(""))
}
