// A test aid: recomputes a chain from the entries in the journal. It shares no code with the
// writer: it has its own offsets, its own canonical form, and uses the platform's SHA-256. Every
// test that writes ends with it.

import { strict as assert } from "node:assert"
import { hash } from "node:crypto"
import type { Stored } from "./entries.ts"
import type { JournalReader } from "./store.ts"

/** The recomputed chain, so that a test can compare it with receipts. */
export interface ExpectedChain {
  readonly size: number
  /**
   * The hash of every entry, in order: the leaves of the workspace's tree, or of one tree for each
   * epoch.
   */
  readonly hashes: readonly string[]
  /** The ledgerId of the newest epoch. */
  readonly ledgerId: string | undefined
  /** For each epoch, the number of entries before it. */
  readonly epochs: readonly number[]
}

const pageEntries = 1000

/**
 * Fails unless the workspace's entries are one chain without a gap, and each matches its body and
 * its disclosures. Missing content must be recorded as destroyed by a later entry of an expiry or
 * an erasure, and by no other.
 */
export async function expectChain(
  journal: Pick<JournalReader, "head" | "after">,
  workspace: string,
): Promise<ExpectedChain> {
  const hashes: string[] = []
  const seen = { receipts: new Set<string>(), keys: new Set<string>() }
  /** Missing content that no entry has explained yet: a sequence, or a sequence and a digest. */
  const missing = new Set<string>()
  const epochs: number[] = []
  let ledgerId: string | undefined
  let timeMs = 0n
  for (;;) {
    const entries = await journal.after(workspace, hashes.length, pageEntries)
    for (const entry of entries) {
      const record = Buffer.from(entry.record)
      const say = (what: string) => `${workspace}, entry ${hashes.length + 1}: ${what}`
      assert.equal(entry.workspace, workspace, say("it is of the workspace that was asked for"))
      assert.equal(entry.sequence, hashes.length + 1, say("sequences have no gap"))
      assert.equal(record.length, 118, say("a record has 118 bytes"))
      assert.equal(record.toString("latin1", 0, 4), "ALR1", say("a record begins with its tag"))
      assert.ok((record[4] ?? 0) >= 1 && (record[4] ?? 0) <= 8, say("its kind is known"))
      assert.equal(record[5], 0, say("no flag is set"))
      const index = Number(record.readBigUInt64BE(6))
      if (index === 0) {
        if (ledgerId !== undefined)
          expectGoingOn(entry, { ledgerId, hashes: hashes.slice(epochs.at(-1) ?? 0) }, say)
        epochs.push(hashes.length)
        ledgerId = record.toString("hex", 22, 54)
      }
      const before = epochs.at(-1) ?? 0
      assert.equal(index, hashes.length - before, say("its index is its place"))
      assert.ok(record.readBigUInt64BE(14) >= timeMs, say("times never go back"))
      timeMs = record.readBigUInt64BE(14)
      assert.equal(record.toString("hex", 22, 54), ledgerId, say("all are of one ledger"))
      const previous = index === 0 ? ledgerId : hashes.at(-1)
      assert.equal(record.toString("hex", 54, 86), previous, say("it follows the entry before it"))
      const bodyHash = record.toString("hex", 86, 118)
      for (const one of expectBody(entry, bodyHash, index === 0 ? ledgerId : undefined, say))
        missing.add(one)
      if (record[4] === 4 || record[4] === 7) explain(missing, entry)
      expectOnce(seen, entry, say)
      hashes.push(sha256(Buffer.from([0]), record).toString("hex"))
    }
    if (entries.length === 0) break
  }
  assert.deepEqual([...missing], [], `${workspace}: entries record all other destroyed content`)
  const head = await journal.head(workspace)
  assert.equal(head?.sequence ?? 0, hashes.length, `${workspace}: the head is the last entry`)
  if (head !== undefined) {
    assert.equal(
      Buffer.from(head.hash).toString("hex"),
      hashes.at(-1),
      `${workspace}: the head has the last entry's hash`,
    )
    assert.equal(BigInt(head.timeMs), timeMs, `${workspace}: the head has the last entry's time`)
  }
  return { size: hashes.length, hashes, ledgerId, epochs }
}

/**
 * A new ledger continues from all entries so far: its first entry names the former ledger and its
 * last head.
 */
function expectGoingOn(
  { body }: Stored,
  { ledgerId, hashes }: { readonly ledgerId: string; readonly hashes: readonly string[] },
  say: (what: string) => string,
): void {
  const { action, metadata } = membersOf(JSON.parse(Buffer.from(body ?? []).toString("utf8")))
  assert.equal(action, "ledger.epoch.open", say("only a new epoch begins anew"))
  const continues = membersOf(membersOf(membersOf(metadata)["genesis"])["continues"])
  assert.equal(continues["ledgerId"], ledgerId, say("it continues the ledger before it"))
  assert.equal(continues["size"], hashes.length, say("it continues all kept entries"))
  assert.equal(
    continues["root"],
    rootOf(hashes).toString("hex"),
    say("it names the root of the kept entries"),
  )
}

/** RFC 6962, section 2.1. */
function rootOf(leaves: readonly string[]): Buffer {
  if (leaves.length < 2) return Buffer.from(leaves[0] ?? "", "hex")
  let half = 1
  while (half * 2 < leaves.length) half *= 2
  const [left, right] = [rootOf(leaves.slice(0, half)), rootOf(leaves.slice(half))]
  return sha256(Buffer.from([1]), left, right)
}

/** Applies an entry that records destroyed content of earlier entries. */
function explain(missing: Set<string>, { body, sequence }: Stored): void {
  if (body === undefined) return
  const said = membersOf(membersOf(JSON.parse(Buffer.from(body).toString("utf8")))["metadata"])
  const { bodies = [], fields = [] } = said
  assert.ok(Array.isArray(bodies) && Array.isArray(fields))
  for (const [first, last] of bodies) {
    assert.ok(Number(last) < sequence, "only what was recorded before is destroyed")
    for (const one of missing) {
      const at = Number(one.split(" ")[0])
      if (at >= Number(first) && at <= Number(last)) missing.delete(one)
    }
  }
  for (const { sequence: at, digests } of fields)
    for (const digest of digests) missing.delete(`${at} ${digest}`)
}

/** Returns the missing content. `ledgerId` is given for the first entry of a ledger. */
function expectBody(
  entry: Stored,
  bodyHash: string,
  ledgerId: string | undefined,
  say: (what: string) => string,
): readonly string[] {
  const { body, bodySalt, receipt, idem, workspace, disclosures, sequence } = entry
  if (body === undefined) {
    assert.equal(bodySalt, undefined, say("a body goes with its salt"))
    assert.equal(disclosures, "", say("a body goes with its disclosures"))
    return [`${sequence}`]
  }
  assert.equal(bodySalt?.length, 16, say("a body has a salt"))
  assert.equal(
    sha256(Buffer.from("ALB1"), bodySalt ?? noBytes, body).toString("hex"),
    bodyHash,
    say("the body has the record's hash"),
  )
  const text = utf8.decode(body)
  const said = membersOf(JSON.parse(text))
  assert.equal(canonicalText(said), text, say("the body is in canonical form"))
  assert.equal(said["workspaceId"], workspace, say("the body names its workspace"))
  assert.equal(said["receipt"], receipt, say("the body names its receipt"))
  assert.equal(said["idem"], idem, say("the body names its key"))
  const genesis = membersOf(said["metadata"] ?? {})["genesis"]
  if (ledgerId !== undefined && genesis !== undefined) {
    assert.equal(
      sha256(Buffer.from(`ALG1${canonicalText(genesis)}`)).toString("hex"),
      ledgerId,
      say("the genesis is the ledger's"),
    )
  }
  const lost = expectDisclosures(said, disclosures === "" ? [] : disclosures.split("~"), say)
  return lost.map((digest) => `${sequence} ${digest}`)
}

/** Each disclosure has its digest in the body. Returns the digests without a disclosure. */
function expectDisclosures(
  said: Members,
  disclosures: readonly string[],
  say: (what: string) => string,
): readonly string[] {
  const expected = digestsIn(said)
  const salts = new Set<unknown>()
  const found = disclosures.map((disclosure) => {
    const parts: unknown = JSON.parse(Buffer.from(disclosure, "base64url").toString("utf8"))
    assert.ok(Array.isArray(parts) && parts.length === 3, say("a disclosure has three parts"))
    assert.equal(
      Buffer.from(canonicalText(parts)).toString("base64url"),
      disclosure,
      say("a disclosure is in canonical form"),
    )
    salts.add(parts[0])
    return hash("sha256", disclosure, "base64url")
  })
  const strange = found.filter((digest) => !expected.includes(digest))
  assert.deepEqual(strange, [], say("each disclosure has its digest"))
  assert.equal(new Set(found).size, found.length, say("no disclosure is there twice"))
  assert.equal(salts.size, disclosures.length, say("no salt is used twice"))
  assert.equal(
    said["_sd_alg"],
    expected.length === 0 ? undefined : "sha-256",
    say("a body with sealed members names the hash"),
  )
  return expected.filter((digest) => !found.includes(digest))
}

function digestsIn(value: unknown): string[] {
  if (typeof value !== "object" || value === null) return []
  const own = Object.hasOwn(value, "_sd") ? membersOf(value)["_sd"] : undefined
  if (own !== undefined)
    assert.ok(
      Array.isArray(own) &&
        own.length > 0 &&
        canonicalText(own) === canonicalText(own.map(String).toSorted()),
      "digests are sorted",
    )
  const digests = Array.isArray(own) ? own.map(String) : []
  return [...digests, ...Object.values(value).flatMap((member) => digestsIn(member))]
}

function expectOnce(
  seen: { receipts: Set<string>; keys: Set<string> },
  { receipt, idem }: Stored,
  say: (what: string) => string,
): void {
  assert.ok(!seen.receipts.has(receipt), say("a receipt is used once"))
  seen.receipts.add(receipt)
  if (idem === undefined) return
  assert.ok(!seen.keys.has(idem), say("a key is used once"))
  seen.keys.add(idem)
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })
const noBytes = new Uint8Array()

/** In one call, which takes a third of the time of one that is fed in parts. */
function sha256(...parts: readonly Uint8Array[]): Buffer {
  return hash("sha256", Buffer.concat(parts), "buffer")
}

type Members = Readonly<Record<string, unknown>>

function membersOf(value: unknown): Members {
  assert.ok(typeof value === "object" && value !== null, "an object was expected")
  return value as Members
}

/**
 * RFC 8785 in five lines: names sorted by their UTF-16 units, everything else as JSON.stringify
 * writes it.
 */
function canonicalText(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalText).join(",")}]`
  if (typeof value !== "object" || value === null) return JSON.stringify(value)
  const members = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1))
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonicalText(member)}`).join(",")}}`
}
