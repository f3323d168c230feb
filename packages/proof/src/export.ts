import { AssertionError } from "./assert.ts"
import { commitsTo, parseBody } from "./body.ts"
import { createChain } from "./chain.ts"
import { readDestroyed } from "./destroyed.ts"
import { createMissingContent, type MissingContent, type MissingCounts } from "./missing-content.ts"
import type { Checkpoint } from "./checkpoint.ts"
import type { Verify } from "./ed25519.ts"
import { equalBytes, fromHex, fromUtf8, utf8 } from "./encoding.ts"
import { createFrontier } from "./frontier.ts"
import { definedOf } from "./json.ts"
import { parseGenesis, readLineage, type Born, type Continued } from "./genesis.ts"
import {
  bodiesPath,
  disclosuresPath,
  epochPath,
  formatTrustPolicy,
  packGroup,
  packPaths,
  parseBodyLine,
  parseDisclosureLine,
} from "./pack-form.ts"
import type { RecordFields } from "./record.ts"
import { openBody } from "./sealed.ts"
import { sha256, type Sha256 } from "./sha256.ts"
import { parseBundle, tilePath, tileWidth } from "./tile.ts"
import { isTrusted, openCheckpoint, signerOf } from "./trust.ts"
import { parseVkey, type Vkey } from "./vkey.ts"

/**
 * Checks an export: a whole ledger as a folder, which is a tlog at the same time.
 *
 *     genesis      the genesis is readable; its hash is the ledgerId
 *     epochs       if the ledger continues others: each is below epochs/ and is continued by the next
 *     checkpoint   the log's key signed the checkpoint, under the ledger's own name
 *     records      each is of this ledger, in its place, linked to the one before it, and not older
 *     tiles        each follows from the records
 *     content      each record commits to its body, which is canonical
 *     disclosures  each belongs to a digest in its body
 *     root         the checkpoint was signed for these records
 *     key          the caller trusts the log's key
 *
 * to the first that fails. Earlier ledgers are checked in the same way, oldest first. Their root is
 * in the next genesis, so they need no key, and their checkpoint may cover fewer entries, or be
 * missing. Files are requested one at a time, when needed, and not kept. Missing bodies and
 * disclosures are counted, separately if an entry of kind 04 or 07 explains them. They may be
 * withheld, and nothing else depends on them.
 */
export type ExportVerdict = ExportReport &
  (
    | { readonly verdict: "genuine" }
    | { readonly verdict: "unconfirmed"; readonly because: "key_not_trusted" }
    | {
        readonly verdict: "refuted"
        readonly failure: ExportCheckName
        readonly file?: string
        readonly sequence?: number
      }
  )

export type ExportCheckName = (typeof checkNames)[number]

export type ExportReport = MissingCounts & {
  readonly checks: readonly { readonly name: ExportCheckName; readonly ok: boolean }[]
  readonly checkpoint?: Checkpoint
  /** The key of the log that signed the checkpoint: a trusted one if there is one. */
  readonly key?: Vkey
  /** Number of ledgers in the export; each continues the one before. */
  readonly epochs: number
  /** Entries checked in all ledgers, up to the failure if there is one. */
  readonly entries: number
  readonly bodies: number
  readonly disclosures: number
}

/** Bytes of a file by its path in the export; undefined if it is missing. */
export type ExportFiles = (path: string) => Uint8Array | undefined

export type ExportOptions = {
  readonly trustedKeys?: readonly string[]
  readonly hash?: Sha256
  readonly verify?: Verify
}

export function verifyExport(
  files: ExportFiles,
  { trustedKeys = [], hash = sha256, verify }: ExportOptions = {},
): ExportVerdict {
  const missing = createMissingContent()
  const counts: Counts = { epochs: 0, entries: 0, bodies: 0, disclosures: 0, missing }
  const counted = () => {
    const { missing: _, ...others } = counts
    return { ...others, ...missing.counts }
  }
  const geneses = genesesOf(files)
  const lineage = readLineage(geneses, hash)
  const names = checkNames.filter((name) => name !== "epochs" || geneses.length > 1)
  const refute = ({ name, file, sequence }: Wrong, head?: Head): ExportVerdict => ({
    verdict: "refuted",
    failure: name,
    ...definedOf({ file, sequence }),
    checks: [
      ...names.slice(0, Math.max(names.indexOf(name), 0)).map((one) => ({ name: one, ok: true })),
      { name, ok: false },
    ],
    ...signedBy(head),
    ...counted(),
  })
  if (lineage === undefined) return refute(brokenLineage(geneses))

  for (const [at, born] of [...lineage.entries()].toReversed()) {
    const successor = lineage[at - 1]?.genesis.continues
    const within = successor === undefined ? "" : epochPath(lineage.length - at, "")
    const own: ExportFiles = (path) => files(`${within}${path}`)
    const head = readHead(own, born, successor, trustedKeys, verify)
    const wrong = "name" in head ? head : checkEntries(own, head, counts, hash)
    if (wrong !== undefined) {
      const file = wrong.file === undefined ? {} : { file: `${within}${wrong.file}` }
      return refute({ ...wrong, ...file }, "name" in head ? undefined : head)
    }
    counts.epochs += 1
    if (successor !== undefined || "name" in head) continue
    const checks = names.map((name) => ({ name, ok: name !== "key" || head.isTrusted }))
    const report = { checks, ...signedBy(head), ...counted() }
    return head.isTrusted
      ? { verdict: "genuine", ...report }
      : { verdict: "unconfirmed", because: "key_not_trusted", ...report }
  }
  throw new AssertionError("a lineage ends with the ledger itself")
}

const checkNames = [
  "genesis",
  "epochs",
  "checkpoint",
  "records",
  "tiles",
  "content",
  "disclosures",
  "root",
  "key",
] as const

type Wrong = { readonly name: ExportCheckName; readonly file?: string; readonly sequence?: number }
type Counts = {
  epochs: number
  entries: number
  bodies: number
  disclosures: number
  readonly missing: MissingContent
}
type Head = {
  readonly born: Born
  /** The signed checkpoint. For an earlier ledger it may cover less, or be missing. */
  readonly checkpoint: Checkpoint | undefined
  /** The entries that must exist. */
  readonly size: number
  readonly root: Uint8Array
  readonly key?: Vkey | undefined
  readonly isTrusted: boolean
}

function signedBy({ checkpoint, key }: Partial<Head> = {}): Pick<
  ExportReport,
  "checkpoint" | "key"
> {
  return definedOf({ checkpoint, key })
}

/** Newest first, beginning with the ledger's own. */
function genesesOf(files: ExportFiles): readonly string[] {
  const geneses = [textOf(files(packPaths.genesis)) ?? ""]
  for (let number = 1; ; number++) {
    const genesis = files(epochPath(number, packPaths.genesis))
    if (genesis === undefined) return [geneses[0] ?? "", ...geneses.slice(1).toReversed()]
    geneses.push(textOf(genesis) ?? "")
  }
}

/** The genesis at fault: it is unreadable, or the ones before it are missing or different. */
function brokenLineage([own = "", ...earlier]: readonly string[]): Wrong {
  if (parseGenesis(own) === undefined) return { name: "genesis", file: packPaths.genesis }
  return { name: "epochs", file: epochPath(Math.max(earlier.length, 1), packPaths.genesis) }
}

function readHead(
  files: ExportFiles,
  born: Born,
  successor: Continued | undefined,
  trustedKeys: readonly string[],
  verify: Verify | undefined,
): Head | Wrong {
  const { origin } = born.genesis
  const vkey = textOf(files(packPaths.vkey))?.trimEnd() ?? ""
  const key = parseVkey(vkey)
  if (key?.type !== "log" || key.name !== origin)
    return { name: "checkpoint", file: packPaths.vkey }
  const policy = textOf(files(packPaths.policy))
  if (policy !== undefined && policy !== formatTrustPolicy(vkey))
    return { name: "checkpoint", file: packPaths.policy }
  const note = files(packPaths.checkpoint)
  const kept = successor && {
    size: successor.size,
    root: fromHex(successor.root) ?? new Uint8Array(),
  }
  if (kept !== undefined && note === undefined)
    return { born, checkpoint: undefined, ...kept, isTrusted: false }
  const signed = openCheckpoint(textOf(note) ?? "", key, trustedKeys, verify)
  const isSigned = signed?.signatures.some((one) => one.key === key) === true
  // The next genesis binds an earlier one; only an entry binds the newest.
  if (
    !isSigned ||
    signed.checkpoint.origin !== origin ||
    (kept === undefined && signed.checkpoint.size === 0) ||
    signed.checkpoint.size > (kept?.size ?? signed.checkpoint.size)
  )
    return { name: "checkpoint", file: packPaths.checkpoint }
  const { checkpoint } = signed
  return {
    born,
    checkpoint,
    ...(kept ?? { size: checkpoint.size, root: checkpoint.root }),
    key: signerOf(signed, trustedKeys),
    isTrusted: isTrusted(signed, trustedKeys),
  }
}

function checkEntries(
  files: ExportFiles,
  { born: { genesis, ledgerId, earlierEntries }, checkpoint, size, root }: Head,
  counts: Counts,
  hash: Sha256,
): Wrong | undefined {
  const tree = createFrontier(undefined, hash)
  const upper = createUpperTiles(files, size)
  const chain = createChain(ledgerId, hash)
  for (let group = 0; group * tileWidth < size; group++) {
    const width = Math.min(tileWidth, size - group * tileWidth)
    const file = tilePath("entries", group, width)
    const records = parseBundle(files(file) ?? new Uint8Array())
    if (records?.length !== width) return { name: "records", file }
    const tile = files(tilePath(0, group, width)) ?? new Uint8Array()
    const content = readContent(files, group, size)
    if ("name" in content) return content
    for (const [at, record] of records.entries()) {
      const index = group * tileWidth + at
      const sequence = earlierEntries + index + 1
      const fields = chain.take(record)
      if (typeof fields === "string") return { name: "records", file, sequence }
      if (!equalBytes(tile.subarray(at * 32, at * 32 + 32), chain.previousHash))
        return { name: "tiles", file: tilePath(0, group, width), sequence }
      const place = { sequence, workspaceId: genesis.workspaceId }
      const wrong = checkContent(content, fields, place, counts, hash)
      if (wrong !== undefined)
        return {
          name: wrong,
          file: wrong === "content" ? bodiesPath(group) : disclosuresPath(group),
          sequence,
        }
      tree.append(chain.previousHash, upper.completed)
      if (upper.wrong() !== undefined) return { name: "tiles", ...upper.wrong(), sequence }
      if (tree.size === checkpoint?.size && !equalBytes(tree.root(), checkpoint.root))
        return { name: "root", file: packPaths.checkpoint }
      counts.entries = sequence
    }
    if (tile.length !== width * 32) return { name: "tiles", file: tilePath(0, group, width) }
  }
  const wrong = upper.ended()
  if (wrong !== undefined) return { name: "tiles", file: wrong }
  return equalBytes(tree.root(), root) ? undefined : { name: "root", file: packPaths.checkpoint }
}

type GroupContent = {
  readonly bodies: ReadonlyMap<number, { readonly salt: Uint8Array; readonly body: string }>
  readonly disclosures: ReadonlyMap<number, readonly string[]>
}

/** Files beyond the checkpoint come from an interrupted export and are not checked. */
function readContent(files: ExportFiles, group: number, size: number): GroupContent | Wrong {
  const bodies = new Map<number, { readonly salt: Uint8Array; readonly body: string }>()
  const disclosures = new Map<number, readonly string[]>()
  const isOf = (index: number): boolean => Math.floor(index / packGroup) === group
  for (const text of linesOf(files(bodiesPath(group)))) {
    const line = parseBodyLine(text)
    if (line === undefined || !isOf(line.index) || bodies.has(line.index))
      return { name: "content", file: bodiesPath(group) }
    if (line.index < size) bodies.set(line.index, line)
  }
  for (const text of linesOf(files(disclosuresPath(group)))) {
    const line = parseDisclosureLine(text)
    if (line === undefined || !isOf(line.index) || disclosures.has(line.index))
      return { name: "disclosures", file: disclosuresPath(group) }
    if (line.index < size) disclosures.set(line.index, line.disclosures)
  }
  return { bodies, disclosures }
}

function checkContent(
  { bodies, disclosures }: GroupContent,
  record: RecordFields,
  { sequence, workspaceId }: { readonly sequence: number; readonly workspaceId: string },
  counts: Counts,
  hash: Sha256,
): "content" | "disclosures" | undefined {
  const line = bodies.get(record.index)
  const shown = disclosures.get(record.index) ?? []
  if (line === undefined) {
    counts.missing.addBody(sequence)
    return shown.length > 0 ? "disclosures" : undefined
  }
  if (!commitsTo(record, line.salt, utf8(line.body), hash)) return "content"
  const body = parseBody(line.body, workspaceId)
  if (typeof body === "string") return "content"
  const opened = openBody(body, shown, hash)
  if (!opened.ok) return "disclosures"
  counts.bodies += 1
  counts.disclosures += shown.length
  counts.missing.addFields(sequence, opened.missing)
  const destroyed = readDestroyed(record.kind, sequence, body)
  if (destroyed !== undefined) counts.missing.explain(destroyed)
  return undefined
}

/** Tiles above level 0, each held in memory only while it grows. */
function createUpperTiles(files: ExportFiles, size: number) {
  const growing = new Map<number, { readonly index: number; readonly hashes: Uint8Array[] }>()
  let wrong: { readonly file: string } | undefined
  const compare = (
    level: number,
    { index, hashes }: { readonly index: number; readonly hashes: readonly Uint8Array[] },
  ): string | undefined => {
    const path = tilePath(level, index, hashes.length)
    const tile = files(path) ?? new Uint8Array()
    const holds =
      tile.length === hashes.length * 32 &&
      hashes.every((hash, at) => equalBytes(hash, tile.subarray(at * 32, at * 32 + 32)))
    return holds ? undefined : path
  }
  return {
    completed: (level: number, n: number, hash: Uint8Array): void => {
      if (level === 0 || level % 8 !== 0) return
      const at = level / 8
      const index = Math.floor(n / tileWidth)
      const known = growing.get(at) ?? { index, hashes: [] }
      known.hashes.push(hash)
      growing.set(at, known)
      if (known.hashes.length < tileWidth) return
      growing.delete(at)
      const file = compare(at, known)
      if (file !== undefined) wrong ??= { file }
    },
    wrong: () => wrong,
    /** The partial tile of each level, at the right edge of the tree of this size. */
    ended(): string | undefined {
      for (const [level, tile] of growing) {
        const file = size === 0 ? undefined : compare(level, tile)
        if (file !== undefined) return file
      }
      return undefined
    },
  }
}

function textOf(bytes: Uint8Array | undefined): string | undefined {
  return bytes === undefined ? undefined : fromUtf8(bytes)
}

/**
 * Lines without their newlines. If the last newline is missing, one unreadable line replaces all.
 */
function linesOf(bytes: Uint8Array | undefined): readonly string[] {
  const lines = (textOf(bytes ?? new Uint8Array()) ?? "\u0000").split("\n")
  return lines.pop() === "" ? lines : ["\u0000"]
}
