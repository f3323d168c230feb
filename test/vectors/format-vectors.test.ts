// Reproduces every value of format-vectors.json, which was checked against tools that are not ours,
// from the smallest inputs in it: leaf data, seeds, texts. A value that no test has looked at fails
// the last one.

import assert from "node:assert/strict"
import { createHash, hash } from "node:crypto"
import { readFileSync } from "node:fs"
import test from "node:test"
import {
  bodyHash,
  bundle,
  canonicalize,
  consistencyProof,
  cosign,
  createFrontier,
  createVkey,
  digest,
  disclosure,
  ed25519PublicKey,
  ed25519Sign,
  emptyRoot,
  encodeRecord,
  eventHash,
  formatCheckpoint,
  formatTlogProof,
  formatVkey,
  fromBase64Url,
  fromHex,
  levelWidth,
  inclusionProof,
  leafHash,
  ledgerId,
  nodeHash,
  openBody,
  openNote,
  parseCanonical,
  parseCheckpoint,
  parseDisclosure,
  parseGenesis,
  parseRecord,
  parseTilePath,
  parseTlogProof,
  parseVkey,
  partialWidth,
  rootOf,
  sha256,
  signNote,
  tilePath,
  toBase64,
  toHex,
  utf8,
  verifyConsistency,
  verifyInclusion,
  verifyReceipt,
  verifyTlogProof,
  type JsonObject,
  type NodeReader,
} from "@tallystick/proof"

type Leaf = string | number
type Vectors = Leaf | Vectors[] | { [name: string]: Vectors }
const vectors = JSON.parse(readFileSync(new URL("format-vectors.json", import.meta.url), "utf8")) as Vectors
const seen = new Set<string>()

/** What stands at a path such as "rfc6962.leaves.0.data". */
function at<T = string>(path: string): T {
  const value = path.split(".").reduce<Vectors>((value, name) => (value as { [name: string]: Vectors })[name] as Vectors, vectors)
  assert.ok(value !== undefined, `no value at ${path}`)
  return value as T
}

/** An input: one value, to compute others from. */
function given<T extends Leaf = string>(path: string): T {
  seen.add(path)
  return at<T>(path)
}

/** An output: everything at the path is what was computed. */
function reproduces(path: string, actual: unknown): void {
  const expected = at<Vectors>(path)
  assert.deepEqual(actual, expected, path)
  for (const leaf of leavesOf(expected, path)) seen.add(leaf)
}

function leavesOf(value: Vectors, path: string): string[] {
  if (typeof value !== "object") return [path]
  return Object.entries(value).flatMap(([name, member]) => leavesOf(member, path === "" ? name : `${path}.${name}`))
}

function bytesOf(hex: string): Uint8Array {
  const bytes = fromHex(hex)
  assert.ok(bytes, "the vectors are in hex")
  return bytes
}

function readerOver(leaves: readonly Uint8Array[]): NodeReader {
  return function node(level, n): Uint8Array {
    const leaf = leaves[n]
    assert.ok(level > 0 || leaf, `leaf ${n} is there`)
    return level === 0 ? (leaf as Uint8Array) : nodeHash(node(level - 1, 2 * n), node(level - 1, 2 * n + 1))
  }
}

const classicLeaves = at<unknown[]>("rfc6962.leaves").map((_, i) => leafHash(bytesOf(given(`rfc6962.leaves.${i}.data`))))
const classic = readerOver(classicLeaves)

test("RFC 6962: leaves and roots", () => {
  reproduces("rfc6962.empty", toHex(emptyRoot))
  for (const [i, leaf] of classicLeaves.entries()) reproduces(`rfc6962.leaves.${i}.leafHash`, toHex(leaf))
  const frontier = createFrontier()
  for (const [i, leaf] of classicLeaves.entries()) {
    frontier.append(leaf)
    reproduces(`rfc6962.roots.${i + 1}`, toHex(frontier.root()))
    reproduces(`rfc6962.roots.${i + 1}`, toHex(rootOf(i + 1, classic)))
  }
  assert.equal(Object.keys(at<object>("rfc6962.roots")).length, classicLeaves.length)
})

test("RFC 6962: inclusion and consistency", () => {
  const inclusion = at<unknown[]>("rfc6962.inclusion")
  for (const i of inclusion.keys()) {
    const [index, size] = [given<number>(`rfc6962.inclusion.${i}.index`), given<number>(`rfc6962.inclusion.${i}.size`)]
    const proof = inclusionProof(index, size, classic)
    reproduces(`rfc6962.inclusion.${i}.proof`, proof.map(toHex))
    assert.ok(verifyInclusion(classic(0, index), index, size, proof, rootOf(size, classic)))
  }
  const consistency = at<unknown[]>("rfc6962.consistency")
  for (const i of consistency.keys()) {
    const [from, to] = [given<number>(`rfc6962.consistency.${i}.from`), given<number>(`rfc6962.consistency.${i}.to`)]
    const proof = consistencyProof(from, to, classic)
    reproduces(`rfc6962.consistency.${i}.proof`, proof.map(toHex))
    assert.ok(verifyConsistency(from, rootOf(from, classic), to, rootOf(to, classic), proof))
  }
  assert.equal(inclusion.length + consistency.length, 12)
})

const origin = given("note.origin")
const logSeed = bytesOf(given("note.logSeed"))
const log = { name: origin, publicKey: ed25519PublicKey(logSeed), sign: ed25519Sign(logSeed) }
const logKey = createVkey(log.name, log.publicKey)
const witnessSeed = bytesOf(given("note.witnessSeed"))
const witness = { name: given("note.witnessName"), publicKey: ed25519PublicKey(witnessSeed), sign: ed25519Sign(witnessSeed) }
const witnessKey = createVkey(witness.name, witness.publicKey, "cosignature")

test("notes: keys, checkpoints, cosignature, proof", () => {
  reproduces("note.logPub", toHex(log.publicKey))
  reproduces("note.keyId", toHex(logKey.keyId))
  reproduces("note.vkey", formatVkey(logKey))
  assert.deepEqual(parseVkey(given("note.vkey")), logKey)
  reproduces("note.witnessPub", toHex(witness.publicKey))
  reproduces("note.witnessKeyId", toHex(witnessKey.keyId))
  reproduces("note.witnessVkey", formatVkey(witnessKey))
  assert.deepEqual(parseVkey(given("note.witnessVkey")), witnessKey)
  reproduces("note.monitorOriginHash", toHex(sha256(utf8(origin))))

  reproduces("note.emptyCheckpoint", signNote(formatCheckpoint({ origin, size: 0, root: emptyRoot }), log))
  const eight = { origin, size: 8, root: rootOf(8, classic) }
  const text = formatCheckpoint(eight)
  const checkpoint = signNote(text, log)
  reproduces("note.checkpoint8", checkpoint)
  const cosignature = cosign(text, given<number>("note.cosignatureTime"), witness)
  reproduces("note.cosignatureLine", cosignature)
  const opened = openNote(checkpoint + cosignature, [logKey, witnessKey])
  assert.deepEqual(opened, {
    ok: true,
    text,
    signatures: [{ key: logKey }, { key: witnessKey, timeSeconds: given<number>("note.cosignatureTime") }],
  })
  assert.deepEqual(parseCheckpoint(opened.ok ? opened.text : ""), eight)

  const proof = { extra: utf8("@ABC"), index: 5, hashes: inclusionProof(5, 8, classic), checkpoint: checkpoint + cosignature }
  reproduces("note.tlogProof5", formatTlogProof(proof))
  assert.deepEqual(parseTlogProof(given("note.tlogProof5")), proof)
  const lines = consistencyProof(6, 8, classic).map((hash) => `${toBase64(hash)}\n`)
  reproduces("note.addCheckpoint6to8", `old 6\n${lines.join("")}\n${checkpoint}`)
})

test("tiles and bundles: paths, counts, bytes", () => {
  const platform = (bytes: Uint8Array) => Uint8Array.from(Buffer.from(hash("sha256", bytes, "latin1"), "latin1"))
  const sizes = at<{ size: number }[]>("tiles").map(({ size }) => size)
  const levels: Uint8Array[][] = [[], [], []]
  const roots = new Map<number, string>()
  const entry = (i: number) => utf8(String(i))
  const frontier = createFrontier(undefined, platform)
  while (frontier.size < Math.max(...sizes)) {
    frontier.append(leafHash(entry(frontier.size), platform), (level, _, hash) => {
      if (level % 8 === 0) levels[level / 8]?.push(hash)
    })
    if (sizes.includes(frontier.size)) roots.set(frontier.size, toHex(frontier.root()))
  }

  for (const [i, size] of sizes.entries()) {
    reproduces(`tiles.${i}.entries`, "entry i = ASCII decimal of i")
    reproduces(`tiles.${i}.size`, size)
    reproduces(`tiles.${i}.root`, roots.get(size))
    const tiles = [0, 1, 2].flatMap((level) => pathsOf(level, level, size))
    const bundles = pathsOf("entries", 0, size)
    reproduces(`tiles.${i}.tiles`, tiles.length)
    reproduces(`tiles.${i}.bundles`, bundles.length)
    if (size > 300) continue
    const resources = [...tiles, ...bundles].map((path) => {
      const tile = parseTilePath(path)
      assert.ok(tile)
      const from = tile.index * 256
      const bytes =
        tile.level === "entries"
          ? bundle(Array.from({ length: tile.width }, (_, j) => entry(from + j)))
          : Buffer.concat(levels[tile.level]?.slice(from, from + tile.width) ?? [])
      return [path, { bytes: bytes.length, sha256: createHash("sha256").update(bytes).digest("hex") }]
    })
    reproduces(`tiles.${i}.resources`, Object.fromEntries(resources))
  }
})

/**
 * All resources of a level of a log of this size: full ones, and a partial one if there is a rest.
 */
function pathsOf(name: number | "entries", level: number, size: number): string[] {
  const full = Math.floor(levelWidth(level, size) / 256)
  const rest = partialWidth(level, size)
  const paths = Array.from({ length: full }, (_, index) => tilePath(name, index))
  return rest === 0 ? paths : [...paths, tilePath(name, full, rest)]
}

type Event = { index: number; decoded: string[]; disclosures: string[]; body: string; bodySalt: string; record: string }

test("the ledger: genesis, disclosures, bodies, records, chain, tree, proof", () => {
  const genesisJson = given("ledger.desc")
  const genesis = parseGenesis(genesisJson)
  assert.ok(genesis)
  reproduces("ledger.desc", canonicalize(genesis))
  const id = ledgerId(genesisJson)
  reproduces("ledger.ledgerId", toHex(id))

  // Kind and time of the records, which are not given beside them, from the tables of the format.
  const kinds = ["event", "consent", "erasure"] as const
  const times = [1767225600123, 1767225601000, 1767225602000]
  const events = at<Event[]>("ledger.events")
  const hashes: Uint8Array[] = []
  for (const [i, event] of events.entries()) {
    const path = `ledger.events.${i}`
    reproduces(`${path}.index`, i)
    for (const [j, text] of event.decoded.entries()) {
      const [salt, name, value] = parseCanonical(text) as [string, string, string]
      reproduces(`${path}.decoded.${j}`, canonicalize([salt, name, value]))
      const saltBytes = fromBase64Url(salt)
      assert.ok(saltBytes)
      reproduces(`${path}.disclosures.${j}`, disclosure(saltBytes, name, value))
      assert.deepEqual(parseDisclosure(event.disclosures[j] ?? ""), { salt: saltBytes, name, value })
    }
    reproduces(
      `${path}.digests`,
      event.disclosures.map((text) => digest(text)),
    )
    const body = parseCanonical(given(`${path}.body`)) as JsonObject
    reproduces(`${path}.body`, canonicalize(body))
    const opened = openBody(body, event.disclosures)
    assert.ok(opened.ok && opened.withheld === 0)

    const salted = bodyHash(bytesOf(given(`${path}.bodySalt`)), utf8(event.body))
    reproduces(`${path}.bodyHash`, toHex(salted))
    const previousHash = hashes[i - 1] ?? id
    reproduces(`${path}.previousHash`, toHex(previousHash))
    const [kind, timeMs] = [kinds[i], times[i]]
    assert.ok(kind && timeMs)
    const fields = { kind, index: i, timeMs, ledgerId: id, previousHash, bodyHash: salted }
    const record = encodeRecord(fields)
    reproduces(`${path}.record`, toHex(record))
    assert.deepEqual(parseRecord(bytesOf(event.record)), fields)
    reproduces(`${path}.eventHash`, toHex(eventHash(record)))
    hashes.push(eventHash(record))
  }
  assert.equal(hashes.length, 3)

  const node = readerOver(hashes)
  const root = rootOf(3, node)
  reproduces("ledger.root", toHex(root))
  const checkpoint = signNote(formatCheckpoint({ origin, size: 3, root }), log)
  reproduces("ledger.checkpoint", checkpoint)
  reproduces(
    "ledger.incl",
    [0, 1, 2].map((i) => inclusionProof(i, 3, node).map(toHex)),
  )
  const extra = bytesOf(events[1]?.record ?? "")
  reproduces("ledger.proof1", formatTlogProof({ extra, index: 1, hashes: inclusionProof(1, 3, node), checkpoint }))

  const verdict = verifyTlogProof(given("ledger.proof1"), { vkeys: [formatVkey(logKey)] })
  assert.ok(verdict.ok && verdict.record.kind === "consent")
  for (const [i, event] of events.entries()) {
    const tlogProof = formatTlogProof({ index: i, hashes: inclusionProof(i, 3, node), checkpoint })
    const proof = {
      record: toBase64(bytesOf(event.record)),
      body: event.body,
      bodySalt: event.bodySalt,
      vkey: given("note.vkey"),
      tlogProof,
    }
    const answer = { proof, disclosures: event.disclosures }
    assert.equal(verifyReceipt(answer, { trustedKeys: [given("note.vkey")] }).verdict, "genuine")
  }
})

test("every value of the file was reproduced", () => {
  const text = readFileSync(new URL("format-vectors.json", import.meta.url))
  assert.equal(createHash("sha256").update(text).digest("hex"), "3a44423afe0f8229a5fec220897ba833a6149d9adf4f87dbd34e705b030eb3ad")
  const all = leavesOf(vectors, "")
  assert.equal(all.length, 200)
  assert.deepEqual(
    all.filter((path) => !seen.has(path)),
    [],
  )
})
