// The chain of one epoch of a workspace, walked from its first entry to its last: each record, its link, its body's hash, and the tree over all of
// them, held against every size and root that somebody has signed or kept.

import {
  bodyHash,
  createFrontier,
  equalBytes,
  eventHash,
  formatCheckpoint,
  fromUtf8,
  isJsonObject,
  openBody,
  openNote,
  parseJson,
  parseRecord,
  parseVkey,
  tileWidth,
  toHex,
  type Frontier,
  type Kind,
} from "@tallystick/proof"
import { disclosuresOf } from "./entry.ts"
import type { Fault } from "./fsck.ts"
import { sha256 } from "./sha256.ts"
import type { Epoch } from "./store/epochs.ts"
import type { Checkpoint, KeptIndex, Stored, Whole } from "./store/store.ts"

/** A size and a root that the chain must have, and who says so. */
export interface Watched {
  readonly size: number
  readonly root: Uint8Array
  readonly by: string
  /** As it was signed, if it was. */
  readonly note?: string
}

export interface Walked {
  /** Up to the first one that does not hold. */
  readonly entries: number
  readonly root: Uint8Array
  /** The keys that the chain itself announces. */
  readonly vkeys: readonly string[]
  readonly faults: readonly Fault[]
  /** It ended before its last entry. */
  readonly isBroken: boolean
}

const entriesPerRead = 1000
const levelsPerTile = 8
const hashBytes = 32

export function walkChain(whole: Whole, epoch: Epoch, watched: readonly Watched[], progress: (done: number) => void): Walked {
  const { workspace: id, name, before, end, ledgerId: ledger } = epoch
  // Entries are counted from the epoch's first, until all is found.
  const faults: Fault[] = []
  const vkeys: string[] = []
  const tree = createFrontier(undefined, sha256)
  const checkpoint = end === undefined ? whole.index?.checkpoint(name) : epoch.checkpoint
  const roots = watchRoots(id, [...watched, ...keptRoots(checkpoint), ...goneOnFrom(epoch)], faults)
  const tiles = watchTiles(whole.index, epoch, faults)
  const edge = watchEdge(whole.index, epoch, faults)
  const place: Place = { before, index: 0, timeMs: 0, kind: "admin", ledger, previous: ledger }
  let broken = false
  while (!broken) {
    const left = (end ?? Infinity) - before - tree.size
    const entries = whole.entries(id, before + tree.size, Math.min(entriesPerRead, left))
    if (entries.length === 0) break
    for (const entry of entries) {
      const wrong = check(entry, place)
      if (wrong !== undefined) {
        faults.push({ workspace: id, sequence: place.index + 1, what: wrong })
        broken = true
        break
      }
      if (place.kind === "key" || place.index === 1) vkeys.push(...announced(entry))
      tree.append(place.previous, tiles)
      roots.grown(tree)
      edge.grown(tree)
    }
    progress(before + tree.size)
  }
  if (!broken) {
    if (end === undefined) faults.push(...endFaults(whole, epoch, tree.size))
    roots.ended(tree.size)
    edge.ended(tree.size)
  }
  faults.push(...checkpointFaults(checkpoint, epoch, vkeys, broken ? tree.size : undefined))
  return { entries: tree.size, root: tree.root(), vkeys, faults: faults.map((fault) => counted(fault, before)), isBroken: broken }
}

/** By the sequences of the workspace. */
function counted(fault: Fault, before: number): Fault {
  const { sequence, upTo } = fault
  return {
    ...fault,
    ...(sequence !== undefined && { sequence: before + sequence }),
    ...(upTo !== undefined && { upTo: before + upTo }),
  }
}

/** Where the next entry must fit. */
interface Place {
  readonly before: number
  index: number
  timeMs: number
  /** Of the entry before. */
  kind: Kind
  readonly ledger: Uint8Array
  previous: Uint8Array
}

/** What is wrong with an entry in this place, if anything; if nothing is, the place is then that of the next one. */
function check({ sequence, record, bodySalt, body }: Stored, place: Place): string | undefined {
  if (sequence !== place.before + place.index + 1) return `it is not there; the next one that is kept is entry ${sequence}`
  const fields = parseRecord(record)
  if (fields === undefined) return "the record is not one"
  if (fields.index !== place.index) return `the record is that of entry ${place.before + fields.index + 1}`
  if (!same(fields.ledgerId, place.ledger)) return "the record is of another ledger"
  if (!same(fields.previousHash, place.previous))
    return `the record follows ${toHex(fields.previousHash)}, and what stands before it is ${toHex(place.previous)}`
  if (fields.timeMs < place.timeMs) return "the record is older than the one before it"
  if (bodySalt === undefined || body === undefined) return "the body is not there, and no entry says that it was removed"
  if (!same(bodyHash(bodySalt, body, sha256), fields.bodyHash)) return "the body is not the one that the record was made of"
  place.index += 1
  place.timeMs = fields.timeMs
  place.kind = fields.kind
  place.previous = eventHash(record, sha256)
  return undefined
}

/** By the platform: a million entries have three million pairs of hashes. */
function same(one: Uint8Array, other: Uint8Array): boolean {
  return Buffer.compare(one, other) === 0
}

/** The key that an entry announces, if it does. */
function announced(entry: Stored): readonly string[] {
  const parsed = parseJson(fromUtf8(entry.body ?? new Uint8Array()) ?? "")
  const opened = isJsonObject(parsed) ? openBody(parsed, disclosuresOf(entry), sha256) : undefined
  const metadata = opened?.ok === true ? opened.value["metadata"] : undefined
  const vkey = isJsonObject(metadata) ? metadata["vkey"] : undefined
  return typeof vkey === "string" ? [vkey] : []
}

/** What a former epoch had when it ended, by the genesis of the one that goes on from it. */
function goneOnFrom({ before, end, root }: Epoch): readonly Watched[] {
  return end === undefined || root === undefined ? [] : [{ size: end - before, root, by: "the epoch that goes on from them" }]
}

function keptRoots(checkpoint: Checkpoint | undefined): readonly Watched[] {
  return checkpoint === undefined ? [] : [{ size: checkpoint.size, root: checkpoint.root, by: "the checkpoint that is kept" }]
}

function watchRoots(workspace: string, watched: readonly Watched[], faults: Fault[]) {
  let good = 0
  return {
    grown(tree: Frontier): void {
      for (const { size, root, by } of watched) {
        if (size !== tree.size) continue
        if (equalBytes(tree.root(), root)) good = size
        else
          faults.push({
            workspace,
            sequence: good + 1,
            upTo: size,
            what: `they are not the ones that were signed: ${by} has another root for them`,
          })
      }
    },
    ended(entries: number): void {
      for (const { size, by } of watched) {
        if (size <= entries) continue
        faults.push({ workspace, sequence: entries + 1, what: `it is not there, nor is any behind it; by ${by}, ${size} were signed` })
      }
    },
  }
}

/** What the tree closes, against the tiles that are kept of it: level 0 is the records' own hashes. */
function watchTiles(index: KeptIndex | undefined, { workspace, name }: Epoch, faults: Fault[]) {
  const kept = index?.tree(name)?.size ?? 0
  const tiles = new Map<number, { readonly tile: number; readonly hashes: Uint8Array }>()
  let isFound = false
  return (level: number, n: number, hash: Uint8Array): void => {
    if (level === 0 || level % levelsPerTile !== 0 || isFound) return
    const end = (n + 1) * 2 ** level
    if (index === undefined || end > kept) return
    const [tileLevel, tile] = [level / levelsPerTile, Math.floor(n / tileWidth)]
    let known = tiles.get(tileLevel)
    if (known?.tile !== tile) tiles.set(tileLevel, (known = { tile, hashes: index.tile(name, tileLevel, tile) }))
    const at = (n % tileWidth) * hashBytes
    if (equalBytes(known.hashes.subarray(at, at + hashBytes), hash)) return
    isFound = true
    const what = `tile ${tile} of level ${tileLevel} has another hash for them`
    faults.push({ workspace, sequence: n * 2 ** level + 1, upTo: end, what })
  }
}

/** The tree's right edge as it is kept, against the one that the entries make. */
function watchEdge(index: KeptIndex | undefined, { workspace, name }: Epoch, faults: Fault[]) {
  const kept = index?.tree(name)
  return {
    grown(tree: Frontier): void {
      if (kept === undefined || kept.size !== tree.size) return
      const { hashes } = tree.save()
      const place = hashes.findIndex((hash, at) => !equalBytes(hash, kept.hashes[at] ?? new Uint8Array()))
      if (place < 0 && kept.hashes.length === hashes.length) return
      faults.push({ workspace, sequence: 1, upTo: kept.size, what: "the tree that is kept is not the one that they make" })
    },
    ended(entries: number): void {
      if (kept === undefined || kept.size <= entries) return
      faults.push({ workspace, sequence: entries + 1, what: `it is not there, and the tree that is kept has ${kept.size} entries` })
    },
  }
}

/** What is derived of entries that are not there. */
function endFaults(whole: Whole, { workspace, before }: Epoch, entries: number): readonly Fault[] {
  const faults: Fault[] = []
  const ahead = (of: number, what: string): void => {
    if (of > before + entries) faults.push({ workspace, sequence: entries + 1, what: `it is not there, and ${what} up to entry ${of}` })
  }
  ahead(whole.index?.position(workspace) ?? 0, "the index goes")
  ahead(whole.filed(workspace), "the search is filled")
  if (entries === 0) faults.push({ workspace, sequence: 1, what: "it is not there, though a workspace is made by it" })
  return faults
}

/** The kept checkpoint is what it was signed as. Where the walk ended early, its key may not have been seen. */
function checkpointFaults(
  checkpoint: Checkpoint | undefined,
  { workspace, origin }: Epoch,
  vkeys: readonly string[],
  brokenAt: number | undefined,
): readonly Fault[] {
  if (checkpoint === undefined || brokenAt !== undefined) return []
  const { size, root, note } = checkpoint
  const keys = vkeys.map((vkey) => parseVkey(vkey)).filter((key) => key !== undefined)
  const opened = openNote(
    note,
    keys.filter(({ name }) => name === origin),
  )
  const at = { workspace, sequence: size }
  if (!opened.ok)
    return [{ ...at, what: `the checkpoint that is kept is not signed by a key that the ledger announced (${opened.reason})` }]
  if (root.length !== hashBytes || opened.text !== formatCheckpoint({ origin, size, root }))
    return [{ ...at, what: "the checkpoint that is kept says another size or root than it was signed with" }]
  return []
}
