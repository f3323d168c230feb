import assert from "node:assert/strict"
import { hash } from "node:crypto"
import { native } from "./native.ts"
import { eventually, type Client, type Reply } from "./service.ts"

// An independent verifier: reads a whole workspace over HTTP, as an auditor would, and computes
// everything again by the written format. It shares no code with the product on purpose (own
// slicing, own tree, node:crypto), so that the two can only agree if both are right.

export interface Chain {
  readonly workspaceId: string
  /**
   * Over all epochs, like the records and the hashes. There is one epoch unless a restore lost the
   * end.
   */
  readonly size: number
  readonly ledgerId: string
  readonly origin: string
  readonly vkey: string
  readonly records: readonly Buffer[]
  /** Every eventHash, in hex, in the order of the chain. */
  readonly hashes: readonly string[]
  /** Oldest first. */
  readonly epochs: readonly Epoch[]
  /** The root of the newest epoch's first entries, computed here. */
  rootAt(size: number): Buffer
}

interface Epoch {
  readonly ledgerId: string
  readonly origin: string
  readonly vkey: string
  readonly before: number
  readonly size: number
  readonly records: readonly Buffer[]
  readonly hashes: readonly string[]
  rootAt(size: number): Buffer
}

/** What a client keeps of a write; it may have more members. */
export interface MintedReceipt {
  readonly receipt: string
  readonly eventHash: string
  readonly previousHash: string
}

/** Of more receipts, so many are looked up: at equal distances, and the last one is among them. */
const usualLookUpsMax = Number(process.env["RECEIPTS"] ?? 300)

/**
 * Verifies a workspace from its first entry to its last, and that every receipt given is in it and
 * says the truth. The client must be able to read. `see` gets the answer about each receipt, for a
 * second verifier; without it, a sample is looked up.
 */
export async function expectChain(
  client: Client,
  workspaceId: string,
  receipts: readonly MintedReceipt[] = [],
  see?: (answer: Members, chain: Chain, id: string) => void,
  lookUpsMax: number = see === undefined ? usualLookUpsMax : Infinity,
): Promise<Chain> {
  const chain = await readChain(client, workspaceId, receipts)
  const place = new Map(chain.hashes.map((hash, index) => [hash, index]))
  for (const { receipt, eventHash, previousHash } of receipts) {
    const index = place.get(eventHash)
    assert.ok(index !== undefined, `receipt ${receipt} is of an entry that the chain does not have`)
    const first = chain.epochs.find(({ before }) => before === index)
    assert.equal(
      previousHash,
      first?.ledgerId ?? chain.hashes[index - 1],
      `receipt ${receipt} names another predecessor`,
    )
  }
  const distance = Math.max(1, receipts.length / lookUpsMax)
  const waiting = receipts.filter((_, at) => (receipts.length - 1 - at) % distance < 1)
  const check = async (): Promise<void> => {
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      const answer = await good(
        client.get(`/v1/workspaces/${workspaceId}/receipts/${next.receipt}`),
      )
      const said = answer.json()
      const { eventHash } = expectAnswer(chain, said)
      see?.(said, chain, next.receipt)
      assert.equal(
        eventHash,
        next.eventHash,
        `receipt ${next.receipt} now says another hash than when it was given`,
      )
    }
  }
  await Promise.all(Array.from({ length: 16 }, check))
  return chain
}

/**
 * Reads checkpoint, bundles and tiles, and computes them all again. Waits until a signed checkpoint
 * covers the entries of all receipts.
 */
export async function readChain(
  client: Client,
  workspaceId: string,
  receipts: readonly MintedReceipt[] = [],
): Promise<Chain> {
  const path = `/v1/workspaces/${workspaceId}`
  const { ledgerId, origin } = (await good(client.get(path))).json<{
    ledgerId: string
    origin: string
  }>()
  const former = await readFormer(client, path, { ledgerId, origin })
  const before = former.reduce((sum, { size }) => sum + size, 0)
  const vkey = (await good(client.get(`${path}/tlog/log.vkey`))).text.trimEnd()
  return await eventually("a checkpoint that covers every receipt", async () => {
    const note = await client.get(`${path}/tlog/checkpoint`)
    if (note.status === 404) return undefined
    assert.equal(note.status, 200, note.text)
    const { size, root } = openCheckpoint(note.text, origin, vkey)
    const records = await readRecords(client, `${path}/tlog`, size)
    const hashes = checkRecords(records, ledgerId)
    const epochs: readonly Epoch[] = [
      ...former,
      { ledgerId, origin, vkey, before, size, records, hashes, rootAt: rootsOf(hashes) },
    ]
    const held = new Set(epochs.flatMap((epoch) => epoch.hashes))
    const missing = receipts.find(({ eventHash }) => !held.has(eventHash))
    if (missing !== undefined) {
      // Its proof has the service sign now instead of within a second.
      await good(client.get(`${path}/receipts/${missing.receipt}/proof`))
      return undefined
    }
    const tree = new Tree(hashes.map((hash) => Buffer.from(hash, "hex")))
    assert.deepEqual(root, tree.root(0, size), "the signed root is not the root of the records")
    await checkTiles(client, `${path}/tlog`, tree, size)
    return {
      workspaceId,
      size: before + size,
      ledgerId,
      origin,
      vkey,
      records: epochs.flatMap((epoch) => epoch.records),
      hashes: epochs.flatMap((epoch) => epoch.hashes),
      epochs,
      rootAt: (at) => tree.root(0, at),
    }
  })
}

function rootsOf(hashes: readonly string[]): (size: number) => Buffer {
  const tree = new Tree(hashes.map((hash) => Buffer.from(hash, "hex")))
  return (size) => tree.root(0, size)
}

// Epochs ------------------------------------------------------------------------------------------

/**
 * The earlier ledgers of the workspace: each is, to the last tile, the one that the next one's
 * genesis names.
 */
async function readFormer(
  client: Client,
  path: string,
  own: { readonly ledgerId: string; readonly origin: string },
): Promise<readonly Epoch[]> {
  const { epochs } = (await good(client.get(`${path}/tlog/epochs`))).json<{
    epochs: readonly Members[]
  }>()
  const former: Epoch[] = []
  let before = 0
  for (const [at, { epoch, origin, ledgerId, genesis, earlierEntries, size }] of epochs.entries()) {
    assert.deepEqual([epoch, earlierEntries], [at + 1, before])
    assert.equal(
      sha256(Buffer.from("ALG1"), Buffer.from(genesis)).toString("hex"),
      ledgerId,
      "a genesis is not that of its ledger",
    )
    assert.equal(JSON.parse(genesis).origin, origin)
    const { continues } = JSON.parse(epochs[at + 1]?.["genesis"] ?? "{}")
    if (continues === undefined) {
      assert.deepEqual(
        [epochs.length, size, { ledgerId, origin }],
        [at + 1, null, own],
        "the last epoch is the workspace's own ledger",
      )
      return former
    }
    assert.deepEqual(
      [continues.ledgerId, continues.origin, continues.size],
      [ledgerId, origin, size],
    )
    const log = `${path}/tlog/epochs/${epoch}`
    const records = await readRecords(client, log, size)
    const hashes = checkRecords(records, ledgerId)
    const tree = new Tree(hashes.map((hash) => Buffer.from(hash, "hex")))
    assert.equal(
      tree.root(0, size).toString("hex"),
      continues.root,
      "an epoch goes on from other entries than there are",
    )
    await checkTiles(client, log, tree, size)
    const vkey = (await good(client.get(`${log}/log.vkey`))).text.trimEnd()
    const note = await client.get(`${log}/checkpoint`)
    if (note.status !== 404) {
      const signed = openCheckpoint(note.text, origin, vkey)
      assert.deepEqual(
        signed.root,
        tree.root(0, signed.size),
        "what was signed of an epoch is not what was kept",
      )
    }
    former.push({
      ledgerId,
      origin,
      vkey,
      before,
      size,
      records,
      hashes,
      rootAt: (of) => tree.root(0, of),
    })
    before += size
  }
  throw new assert.AssertionError({ message: "a workspace has an epoch that grows" })
}

// Records -----------------------------------------------------------------------------------------

const recordBytes = 118
const tileWidth = 256

async function readRecords(client: Client, path: string, size: number): Promise<readonly Buffer[]> {
  const records: Buffer[] = []
  for (let first = 0; first < size; first += tileWidth) {
    const width = Math.min(tileWidth, size - first)
    const { bytes } = await good(
      client.get(`${path}/tile/entries/${tileName(first / tileWidth, width)}`),
    )
    assert.equal(bytes.length, width * (2 + recordBytes), "a bundle has 120 bytes for each entry")
    for (let at = 0; at < bytes.length; at += 2 + recordBytes) {
      assert.equal(bytes.readUInt16BE(at), recordBytes)
      records.push(bytes.subarray(at + 2, at + 2 + recordBytes))
    }
  }
  return records
}

/** Checks every record and its link to the one before; the eventHash of each, in hex. */
function checkRecords(records: readonly Buffer[], ledgerId: string): readonly string[] {
  let previous = ledgerId
  let timeMs = 0n
  return records.map((record, index) => {
    const where = `record ${index}`
    assert.equal(record.toString("latin1", 0, 4), "ALR1", where)
    assert.ok(
      Number(record[4]) >= 1 && Number(record[4]) <= 8,
      `${where} has a kind that there is not`,
    )
    assert.equal(record[5], 0, where)
    assert.equal(record.readBigUInt64BE(6), BigInt(index), where)
    assert.ok(record.readBigUInt64BE(14) >= timeMs, `${where} is older than the one before it`)
    assert.equal(record.toString("hex", 22, 54), ledgerId, where)
    assert.equal(
      record.toString("hex", 54, 86),
      previous,
      `${where} does not follow the one before it`,
    )
    timeMs = record.readBigUInt64BE(14)
    previous = sha256(Buffer.from([0]), record).toString("hex")
    return previous
  })
}

// The tree: RFC 6962, section 2.1, word for word --------------------------------------------------

class Tree {
  readonly #leaves: readonly Buffer[]
  readonly #known = new Map<string, Buffer>()

  constructor(leaves: readonly Buffer[]) {
    this.#leaves = leaves
  }

  /** MTH(D[from:to]). */
  root(from: number, to: number): Buffer {
    assert.ok(to <= this.#leaves.length)
    if (to === from) return sha256()
    if (to - from === 1) return this.#leaves[from] as Buffer
    const name = `${from}:${to}`
    const known = this.#known.get(name)
    if (known !== undefined) return known
    const middle = from + splitOf(to - from)
    const made = sha256(Buffer.from([1]), this.root(from, middle), this.root(middle, to))
    this.#known.set(name, made)
    return made
  }
}

/** The largest power of two that is less than n. */
function splitOf(n: number): number {
  let k = 1
  while (k * 2 < n) k *= 2
  return k
}

/** Recomputes a root from a leaf and its audit path, upwards by the recursive definition. */
function rootOfPath(leaf: Buffer, index: number, size: number, path: readonly Buffer[]): Buffer {
  if (size === 1) {
    assert.equal(path.length, 0, "an audit path is longer than the tree is high")
    return leaf
  }
  const sibling = path.at(-1)
  assert.ok(sibling !== undefined, "an audit path is shorter than the tree is high")
  const k = splitOf(size)
  if (index < k)
    return sha256(Buffer.from([1]), rootOfPath(leaf, index, k, path.slice(0, -1)), sibling)
  return sha256(Buffer.from([1]), sibling, rootOfPath(leaf, index - k, size - k, path.slice(0, -1)))
}

/** Every tile of every level, full and partial, against hashes computed here. */
async function checkTiles(client: Client, path: string, tree: Tree, size: number): Promise<void> {
  for (let level = 0, span = 1; Math.floor(size / span) > 0; level++, span *= tileWidth) {
    const hashes = Math.floor(size / span)
    for (let first = 0; first < hashes; first += tileWidth) {
      const width = Math.min(tileWidth, hashes - first)
      const { bytes } = await good(
        client.get(`${path}/tile/${level}/${tileName(first / tileWidth, width)}`),
      )
      const expected = Array.from({ length: width }, (_, at) =>
        tree.root((first + at) * span, (first + at + 1) * span),
      )
      assert.ok(
        bytes.equals(Buffer.concat(expected)),
        `tile ${level}/${first / tileWidth} is not what its records hash to`,
      )
    }
  }
}

/** `x001/234` for 1234, and `.p/17` behind it if it is partial. */
export function tileName(index: number, width: number): string {
  const groups = [String(index % 1000).padStart(3, "0")]
  for (let rest = Math.floor(index / 1000); rest > 0; rest = Math.floor(rest / 1000))
    groups.unshift(`x${String(rest % 1000).padStart(3, "0")}`)
  return groups.join("/") + (width === tileWidth ? "" : `.p/${width}`)
}

// Checkpoints -------------------------------------------------------------------------------------

interface OpenedCheckpoint {
  readonly size: number
  readonly root: Buffer
}

/** All proofs of a log at one time have the same checkpoint. */
const opened = new Map<string, OpenedCheckpoint>()

/** The size and root of a checkpoint whose signature holds. */
export function openCheckpoint(note: string, origin: string, vkey: string): OpenedCheckpoint {
  const asked = JSON.stringify([note, origin, vkey])
  const known = opened.get(asked) ?? openNewCheckpoint(note, origin, vkey)
  opened.set(asked, known)
  return known
}

function openNewCheckpoint(note: string, origin: string, vkey: string): OpenedCheckpoint {
  const blank = note.lastIndexOf("\n\n")
  const text = note.slice(0, blank + 1)
  const signatures = note.slice(blank + 2)
  const lines = text.split("\n")
  assert.equal(lines.length, 4, "a checkpoint has three lines")
  const [name = "", size = "", root = ""] = lines
  assert.equal(name, origin)
  assert.match(size, /^(0|[1-9][0-9]*)$/)
  const [keyName = "", keyId = "", ...rest] = vkey.split("+")
  const key = Buffer.from(rest.join("+"), "base64")
  assert.equal(keyName, origin, "the key has the log's name")
  assert.equal(key.length, 33)
  assert.equal(key[0], 1, "the key is one for Ed25519")
  assert.equal(sha256(Buffer.from(`${keyName}\n`), key).toString("hex", 0, 4), keyId)
  const line = signatures.split("\n").find((one) => one.startsWith(`— ${origin} `))
  assert.ok(line !== undefined, "the log has not signed its checkpoint")
  const signature = base64(line.slice(`— ${origin} `.length))
  assert.equal(signature.toString("hex", 0, 4), keyId)
  assert.ok(
    native.verify(signature.subarray(4), Buffer.from(text), key.subarray(1)),
    "the signature of a checkpoint does not hold",
  )
  return { size: Number(size), root: base64(root) }
}

/** Checks a `.tlog-proof` against the chain; the place in it that it proves, from 0. */
export function expectTlogProof(chain: Chain, text: string): number {
  const lines = text.split("\n")
  const blank = lines.indexOf("")
  const [header, extra = "", index = "", ...path] = lines.slice(0, blank)
  assert.equal(header, "c2sp.org/tlog-proof@v1")
  assert.match(extra, /^extra \S+$/)
  assert.match(index, /^index (0|[1-9][0-9]*)$/)
  const record = base64(extra.slice(6))
  const at = Number(index.slice(6))
  const epoch = epochOf(chain, record)
  const { size, root } = openCheckpoint(lines.slice(blank + 1).join("\n"), epoch.origin, epoch.vkey)
  assert.deepEqual(
    rootOfPath(sha256(Buffer.from([0]), record), at, size, path.map(base64)),
    root,
    "a proof does not lead to its root",
  )
  // A checkpoint newer than the chain belongs to the same history, but cannot be computed from it.
  if (size <= epoch.size)
    assert.deepEqual(root, epoch.rootAt(size), "a proof is of another history")
  assert.deepEqual(record, epoch.records[at])
  return epoch.before + at
}

function epochOf(chain: Chain, record: Buffer): Epoch {
  const epoch = chain.epochs.find(({ ledgerId }) => ledgerId === record.toString("hex", 22, 54))
  assert.ok(epoch !== undefined, "a record is of another ledger")
  return epoch
}

// Receipts ----------------------------------------------------------------------------------------

type Members = { readonly [name: string]: any } // oxlint-disable-line typescript/no-explicit-any

/**
 * Checks the answer of `GET …/receipts/{id}` against the chain: hashes, proof, disclosures, and
 * that shown and hashed values agree. A reader without access in clear sees no sealed field and no
 * provenance, and an e-mail as a mask.
 */
export function expectAnswer(
  chain: Chain,
  answer: Members,
  inClear = true,
): { readonly index: number; readonly eventHash: string; readonly body: Members } {
  const { receipt, entry, proof, disclosures, verified } = answer
  assert.equal(verified, true)
  const record = base64(proof.record)
  const { before } = epochOf(chain, record)
  const index = before + Number(record.readBigUInt64BE(6))
  assert.deepEqual(record, chain.records[index], "a proof's record is not the chain's")
  const eventHash = chain.hashes[index] ?? ""
  if (proof.body === null) {
    const isPending = proof.tlogProof === null
    assert.match(entry.integrity, isPending ? /^pending$/ : /^(expired|erased)$/)
    assert.deepEqual([proof.bodySalt, disclosures, entry.hash], [null, [], eventHash])
    if (!isPending) assert.equal(expectTlogProof(chain, proof.tlogProof), index)
    return { index, eventHash, body: {} }
  }
  assert.deepEqual(
    sha256(Buffer.from("ALB1"), Buffer.from(proof.bodySalt, "hex"), Buffer.from(proof.body)),
    record.subarray(86, 118),
    "a body's hash is not the record's",
  )
  const { body, withheld } = disclose(JSON.parse(proof.body), disclosures)
  const timestamp = new Date(Number(record.readBigUInt64BE(14))).toISOString()
  const previousHash = record.toString("hex", 54, 86)
  const isErased = entry.integrity === "erased"
  assert.ok(
    inClear ? withheld === 0 || isErased : disclosures.length === 0,
    "a reader is shown more or less than it may see",
  )
  const { actor, target, receivedAt, lane, policyVersion, id } = body
  const provenance = inClear ? provenanceOf(body) : undefined

  const { queued: _, storageClass, verificationUrl, ...said } = receipt
  const expected = {
    accepted: true,
    eventId: id,
    receipt: body["receipt"],
    eventHash,
    previousHash,
    timestamp,
    actor,
    target,
    lane,
    receivedAt,
    policyVersion,
    provenance,
  }
  assert.deepEqual(inClear ? said : withoutMasks(said), defined(expected))
  assert.ok(
    verificationUrl.endsWith(`/v1/workspaces/${chain.workspaceId}/receipts/${body["receipt"]}`),
  )

  const { _sd_alg: _alg, v, idem: _idem, keyId: _keyId, context: _context, ...content } = body
  assert.equal(v, 1)
  assert.equal(content["workspaceId"], chain.workspaceId)
  const { integrity, storageTier, held: _held, ...shown } = entry
  const kind = ["event", "consent", "policy", "erasure", "key", "anchor", "retention", "admin"][
    Number(record[4]) - 1
  ]
  const place = { sequence: index + 1, hash: eventHash, previousHash, timestamp, kind, provenance }
  assert.deepEqual(
    inClear ? shown : withoutMasks(shown),
    defined({ metadata: {}, ...content, ...place }),
  )
  assert.equal(storageTier, storageClass)
  assert.equal(integrity, proof.tlogProof === null ? "pending" : isErased ? "erased" : "verified")
  if (proof.tlogProof !== null) assert.equal(expectTlogProof(chain, proof.tlogProof), index)
  return { index, eventHash, body }
}

/**
 * The body with every disclosure in the place of its digest (RFC 9901), and how many digests have
 * none.
 */
export function disclose(
  body: Members,
  disclosures: readonly string[],
): { readonly body: Members; readonly withheld: number } {
  const claims = new Map(
    disclosures.map((text) => [sha256(Buffer.from(text)).toString("base64url"), text]),
  )
  let withheld = 0
  const open = (value: unknown): unknown => {
    if (typeof value !== "object" || value === null) return value
    if (Array.isArray(value)) return value.map(open)
    const { _sd = [], ...members } = value as { readonly _sd?: readonly string[] }
    const opened: Record<string, unknown> = Object.fromEntries(
      Object.entries(members).map(([name, member]) => [name, open(member)]),
    )
    for (const digest of _sd) {
      const claim = claims.get(digest)
      if (claim === undefined) withheld += 1
      else {
        claims.delete(digest)
        const [, name, member] = JSON.parse(Buffer.from(claim, "base64url").toString()) as [
          string,
          string,
          unknown,
        ]
        assert.ok(!(name in opened), `a disclosure would take the place of ${name}`)
        opened[name] = member
      }
    }
    return opened
  }
  const { _sd_alg, ...opened } = open(body) as Members
  assert.equal(claims.size, 0, "a disclosure belongs to nothing in the body")
  assert.equal(_sd_alg, JSON.stringify(body).includes('"_sd":') ? "sha-256" : undefined)
  return {
    body: { ...opened, actor: spread(opened["actor"]), target: spread(opened["target"]) },
    withheld,
  }
}

/** The further members of an actor or target are one claim. */
function spread({ other, ...party }: Members): Members {
  return { ...(other as object | undefined), ...party }
}

function provenanceOf({ context, keyId }: Members): Members | undefined {
  // Entries of older versions have the key in clear.
  const provenance = defined({ keyId, ...(context as object | undefined) })
  return Object.keys(provenance).length === 0 ? undefined : provenance
}

function withoutMasks(shown: Members): Members {
  const bare = ({ email: mask, ...party }: Members): Members => {
    if (mask !== undefined) assert.match(mask, /^.?•••(@|$)/u, "an e-mail is not masked")
    return party
  }
  return { ...shown, actor: bare(shown["actor"]), target: bare(shown["target"]) }
}

function defined(members: Members): Members {
  return Object.fromEntries(Object.entries(members).filter(([, member]) => member !== undefined))
}

// Bytes -------------------------------------------------------------------------------------------

/** In one call: an audit hashes some hundred thousand times. */
function sha256(...parts: readonly Uint8Array[]): Buffer {
  return hash("sha256", Buffer.concat(parts), "buffer")
}

/** Buffer also accepts text that is not base64. */
function base64(text: string): Buffer {
  const bytes = Buffer.from(text, "base64")
  assert.equal(bytes.toString("base64"), text, "not base64, or not in its one form")
  return bytes
}

async function good(asked: Promise<Reply>): Promise<Reply> {
  const reply = await asked
  assert.equal(reply.status, 200, reply.text)
  return reply
}
