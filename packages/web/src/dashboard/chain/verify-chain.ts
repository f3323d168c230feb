// Reads the records of a log and checks that each is at its index and linked to the one before, and
// that the tree over them has the root that the log's key has signed. Runs in a worker; tests call
// it directly.

import {
  consistencyNodes,
  consistencyProof,
  createChain,
  createFrontier,
  equalBytes,
  fromHex,
  fromUtf8,
  formatVkey,
  inclusionNodes,
  inclusionProof,
  levelWidth,
  nodeInTile,
  openNote,
  parseCheckpoint,
  parseRecord,
  parseVkey,
  readLineage,
  recordBytes,
  tileOf,
  tilePath,
  tileWidth,
  verifyConsistency,
  verifyInclusion,
  type Born,
  type Checkpoint,
  toHex,
  type PlaceFault,
  type Subtree,
} from "@tallystick/proof"

/** Returns a file of the log, by the number of its epoch, from 1. Throws if there is none. */
export type ReadLog = (epoch: number, path: string) => Promise<Uint8Array>

/** Of sequences. */
export interface Range {
  readonly from: number
  readonly to: number
}

export interface ChainTask {
  /** The epochs, oldest first. */
  readonly geneses: readonly string[]
  /** Keys that the log names, and those that the reader trusts. */
  readonly keys: readonly string[]
  readonly trustedKeys: readonly string[]
  /** Absent for the whole signed chain. */
  readonly range?: Range
}

export type ChainFinding =
  | {
      readonly holds: true
      readonly from: number
      readonly to: number
      /** The last entry that the checkpoint covers. */
      readonly signedTo: number
      readonly isTrusted: boolean
    }
  | {
      readonly holds: false
      readonly what: "genesis" | "checkpoint" | "root" | "record" | "tile" | PlaceFault
      readonly sequence?: number
      /** The hashes of a broken link, in hex. */
      readonly expected?: string
      readonly found?: string
    }

/** Records in one request: the service's maximum. */
const pieceRecords = 4096
/** Requests at once: fewer than the reads that the service allows one workspace. */
const ahead = 3

/** Calls `tell` with the number of checked entries, and of all. */
export async function verifyChain(
  read: ReadLog,
  task: ChainTask,
  tell: (done: number, of: number) => void,
): Promise<ChainFinding> {
  const lineage = readLineage(task.geneses.toReversed())?.toReversed()
  if (lineage === undefined) return { holds: false, what: "genesis" }
  const signed = openSigned(await read(lineage.length, "checkpoint"), lineage, task)
  if (signed === undefined) return { holds: false, what: "checkpoint" }
  const parts = lineage.map((born, at) => partOf(born, at, lineage, signed.checkpoint))
  const last = parts.at(-1)
  const signedTo = last === undefined ? 0 : last.born.earlierEntries + last.size
  const from = Math.max(task.range?.from ?? 1, 1)
  const to = Math.min(task.range?.to ?? signedTo, signedTo)
  if (from > to) throw new Error("there is no signed entry to check")
  let done = 0
  const count = (records: number): void => {
    done += records
    tell(done, to - from + 1)
  }
  for (const part of parts) {
    const { earlierEntries } = part.born
    const [start, end] = [
      Math.max(from - earlierEntries, 1),
      Math.min(to - earlierEntries, part.size),
    ]
    const fault =
      start <= end
        ? await checkPart(read, part, start - 1, end, count)
        : part === last && (await checkBirth(read, part))
    if (fault) return fault
  }
  return { holds: true, from, to, signedTo, isTrusted: signed.isTrusted }
}

interface Part {
  readonly epoch: number
  readonly born: Born
  readonly size: number
  readonly root: Uint8Array
}

/** The genesis of the next epoch says where a former one ends. */
function partOf(born: Born, at: number, lineage: readonly Born[], checkpoint: Checkpoint): Part {
  const next = lineage[at + 1]?.genesis.continues
  const { size, root } =
    next === undefined
      ? checkpoint
      : { size: next.size, root: fromHex(next.root) ?? new Uint8Array() }
  return { epoch: at + 1, born, size, root }
}

function openSigned(note: Uint8Array, lineage: readonly Born[], task: ChainTask) {
  const signed = signedCheckpoint(fromUtf8(note) ?? "", task)
  return signed?.checkpoint.origin === lineage.at(-1)?.genesis.origin ? signed : undefined
}

/** Undefined if none of the keys has signed it as the key of its log. */
function signedCheckpoint(text: string, { keys, trustedKeys }: ChainTask) {
  const opened = openNote(
    text,
    [...keys, ...trustedKeys].flatMap((vkey) => parseVkey(vkey) ?? []),
  )
  const checkpoint = opened.ok ? parseCheckpoint(opened.text) : undefined
  if (!opened.ok || checkpoint === undefined) return undefined
  const signers = opened.signatures.filter(
    ({ key }) => key.type === "log" && key.name === checkpoint.origin,
  )
  if (signers.length === 0) return undefined
  const isTrusted = signers.some(({ key }) => trustedKeys.includes(formatVkey(key)))
  return { checkpoint, isTrusted }
}

/**
 * Checks entries `start` to `end`, without `end`, of one ledger. All entries together have the
 * root. For a range, the last one is proven to be in the tree, and it is linked to all before it.
 */
async function checkPart(
  read: ReadLog,
  { epoch, born, size, root }: Part,
  start: number,
  end: number,
  count: (records: number) => void,
): Promise<ChainFinding | undefined> {
  const { ledgerId, earlierEntries } = born
  const isWhole = start === 0 && end === size
  const tree = createFrontier()
  let chain = createChain(ledgerId)
  // The hash that the first entry links to.
  const first = Math.max(start - 1, 0)
  for await (const { from, to, records } of pieces(read, epoch, first, end)) {
    for (let index = from; index < to; index++) {
      const record = records.subarray(
        (index - from) * recordBytes,
        (index - from + 1) * recordBytes,
      )
      if (index < start) {
        chain = createChain(ledgerId, undefined, start, record)
        continue
      }
      const before = chain.previousHash
      const taken = chain.take(record)
      if (typeof taken === "string")
        return {
          holds: false,
          what: taken,
          sequence: earlierEntries + index + 1,
          ...ends(taken, record, before),
        }
      if (isWhole) tree.append(chain.previousHash)
    }
    count(to - Math.max(from, start))
  }
  const isSigned = isWhole
    ? equalBytes(tree.root(), root)
    : await isIncluded(read, epoch, chain.previousHash, end - 1, size, root)
  return isSigned ? undefined : { holds: false, what: "root", sequence: earlierEntries + end }
}

/**
 * Only records tie a genesis to a signed tree. That of the newest ledger commits to all former
 * ledgers.
 */
async function checkBirth(read: ReadLog, part: Part): Promise<ChainFinding | undefined> {
  if (part.size === 0) return { holds: false, what: "genesis" }
  return checkPart(read, part, 0, 1, () => {})
}

function ends(fault: PlaceFault | "record", record: Uint8Array, before: Uint8Array) {
  const fields = fault === "link" ? parseRecord(record) : undefined
  return fields && { expected: toHex(before), found: toHex(fields.previousHash) }
}

/**
 * The records from one index up to another, without that one. If the answer is short, the last ones
 * are missing.
 */
interface Piece {
  readonly from: number
  readonly to: number
  readonly records: Uint8Array
}

async function* pieces(
  read: ReadLog,
  epoch: number,
  start: number,
  end: number,
): AsyncGenerator<Piece> {
  const waiting: Promise<Piece>[] = []
  for (let from = start; from < end || waiting.length > 0; from += pieceRecords) {
    if (from < end) {
      const asked = pieceOf(read, epoch, from, Math.min(from + pieceRecords, end))
      // A failure is reported when its turn comes.
      asked.catch(() => {})
      waiting.push(asked)
    }
    if (waiting.length < ahead && from + pieceRecords < end) continue
    const next = waiting.shift()
    if (next !== undefined) yield await next
  }
}

async function pieceOf(read: ReadLog, epoch: number, from: number, to: number): Promise<Piece> {
  const records = await read(epoch, `records?after=${from}&limit=${to - from}`)
  return { from, to, records }
}

async function isIncluded(
  read: ReadLog,
  epoch: number,
  leaf: Uint8Array,
  index: number,
  size: number,
  root: Uint8Array,
): Promise<boolean> {
  const node = await nodesOf(read, epoch, inclusionNodes(index, size), size)
  return verifyInclusion(leaf, index, size, inclusionProof(index, size, node), root)
}

/** Whether the log that is signed now begins with the entries of a kept checkpoint. */
export type KeptFinding = "same log" | "other log" | "not signed" | "newer"

/** A checkpoint of a former epoch is compared with what the next epoch continues. */
export async function compareKept(
  read: ReadLog,
  task: ChainTask,
  kept: string,
): Promise<KeptFinding> {
  const lineage = readLineage(task.geneses.toReversed())?.toReversed() ?? []
  const older = signedCheckpoint(kept, task)
  const newest = openSigned(await read(lineage.length, "checkpoint"), lineage, task)
  if (older === undefined || newest === undefined) return "not signed"
  const { origin, size, root } = older.checkpoint
  const parts = lineage.map((born, at) => partOf(born, at, lineage, newest.checkpoint))
  const [part, last] = [parts.find(({ born }) => born.genesis.origin === origin), parts.at(-1)]
  if (part === undefined || last === undefined) return "other log"
  if (part !== last && (await checkBirth(read, last)) !== undefined) return "other log"
  if (size > part.size) return "newer"
  const node = await nodesOf(read, part.epoch, consistencyNodes(size, part.size), part.size)
  const proof = consistencyProof(size, part.size, node)
  return verifyConsistency(size, root, part.size, part.root, proof) ? "same log" : "other log"
}

async function nodesOf(
  read: ReadLog,
  epoch: number,
  wanted: readonly Subtree[],
  size: number,
): Promise<(level: number, n: number) => Uint8Array> {
  const tiles = new Map<string, Uint8Array>()
  const pathOf = (level: number, index: number): string =>
    tilePath(level, index, Math.min(tileWidth, levelWidth(level, size) - index * tileWidth))
  for (const { level, n } of wanted) {
    const slice = tileOf(level, n)
    const path = pathOf(slice.level, slice.index)
    if (!tiles.has(path)) tiles.set(path, await read(epoch, path))
  }
  return (level, n) => {
    const slice = tileOf(level, n)
    const tile = tiles.get(pathOf(slice.level, slice.index)) ?? new Uint8Array()
    return nodeInTile(tile, slice.start, slice.count)
  }
}
