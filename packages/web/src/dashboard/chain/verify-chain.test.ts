import assert from "node:assert/strict"
import test from "node:test"
import {
  canonicalize,
  concat,
  createFrontier,
  encodeRecord,
  eventHash,
  formatCheckpoint,
  ledgerId,
  signNote,
  toHex,
  utf8,
  type JsonObject,
} from "@tallystick/proof"
import { signerOf, vkeyOf } from "../../../../../test/signers.ts"
import {
  compareKept,
  verifyChain,
  type ChainFinding,
  type ChainTask,
  type ReadLog,
} from "./verify-chain.ts"

const hashBytes = 32

interface Ledger {
  readonly genesis: string
  readonly records: readonly Uint8Array[]
  readonly root: Uint8Array
}

/** A ledger with entries that differ from those of another `seed`. */
function ledgerOf(
  origin: string,
  entries: number,
  seed: number,
  continued: JsonObject = {},
): Ledger {
  const nonce = "oKGio6SlpqeoqaqrrK2urw"
  const genesis = canonicalize({
    createdAt: "",
    nonce,
    origin,
    v: 1,
    workspaceId: "acme",
    ...continued,
  })
  const id = ledgerId(genesis)
  const tree = createFrontier()
  const records: Uint8Array[] = []
  for (let index = 0, previousHash = id; index < entries; index++) {
    const bodyHash = new Uint8Array(hashBytes).fill(seed)
    records.push(
      encodeRecord({ kind: "event", index, timeMs: 1, ledgerId: id, previousHash, bodyHash }),
    )
    previousHash = eventHash(records[index] ?? assert.fail())
    tree.append(previousHash)
  }
  return { genesis, records, root: tree.root() }
}

function nextOf(before: Ledger, origin: string, entries: number, seed: number): Ledger {
  const continues = {
    ledgerId: toHex(ledgerId(before.genesis)),
    origin: firstOrigin,
    size: before.records.length,
    root: toHex(before.root),
    lostSize: null,
    lostRoot: null,
  }
  return ledgerOf(origin, entries, seed, { continues })
}

const firstOrigin = "ledger.example/ledgers/1"
const origin = "ledger.example/ledgers/2"
const own = signerOf(origin, 7)
const other = signerOf("ledger.example/ledgers/other", 8)

/** Serves these ledgers, oldest first, with the checkpoint of the newest signed by this key. */
function logOf(ledgers: readonly Ledger[], signer = own): ReadLog {
  return async (epoch, path) => {
    const { records, root } = ledgers[epoch - 1] ?? assert.fail()
    const size = records.length
    const [, after, limit] = /^records\?after=(\d+)&limit=(\d+)$/.exec(path) ?? []
    if (after !== undefined)
      return concat(...records.slice(Number(after), Number(after) + Number(limit)))
    if (path === "checkpoint")
      return utf8(signNote(formatCheckpoint({ origin, size, root }), signer))
    assert.match(path, /^tile\/0\/000\.p\//)
    return concat(...records.map((record) => eventHash(record)))
  }
}

async function check(
  ledgers: readonly Ledger[],
  task: Partial<ChainTask> = {},
  log = logOf(ledgers),
): Promise<ChainFinding> {
  const geneses = ledgers.map(({ genesis }) => genesis)
  return verifyChain(
    log,
    { geneses, keys: [vkeyOf(own)], trustedKeys: [vkeyOf(own)], ...task },
    () => {},
  )
}

const [former] = [ledgerOf(firstOrigin, 5, 1)]
const newest = nextOf(former, origin, 4, 2)

test("a chain holds as a whole, and in ranges", async () => {
  const whole = { holds: true, from: 1, to: 9, signedTo: 9, isTrusted: true }
  assert.deepEqual(await check([former, newest]), whole)
  for (const [from, to] of [
    [1, 1],
    [2, 4],
    [5, 6],
    [7, 9],
    [8, 8],
  ] as const)
    assert.deepEqual(await check([former, newest], { range: { from, to } }), { ...whole, from, to })
  assert.deepEqual(await check([former, newest], { range: { from: 8, to: 99 } }), {
    ...whole,
    from: 8,
  })
})

test("an altered record is named by each check that reads it, and by no other", async () => {
  const [ledgers, previousHashAt, bodyHashAt] = [[former, newest], 54, 86]
  for (let sequence = 1; sequence <= 9; sequence++) {
    const [epoch, index] = sequence <= 5 ? [1, sequence - 1] : [2, sequence - 6]
    const from = (at: number): ReadLog => {
      const record = Uint8Array.from(ledgers[epoch - 1]?.records[index] ?? assert.fail())
      record[at] = 255 - (record[at] ?? 0)
      const altered = ledgers.map((ledger, each) =>
        each + 1 === epoch ? { ...ledger, records: ledger.records.with(index, record) } : ledger,
      )
      // The tiles are genuine.
      return (of, path) => logOf(path.startsWith("records") ? altered : ledgers)(of, path)
    }
    const isLast = sequence === 5 || sequence === 9
    const next = isLast ? { what: "root", sequence } : { what: "link", sequence: sequence + 1 }
    for (const [at, range, named] of [
      [previousHashAt, undefined, { what: "link", sequence }],
      [bodyHashAt, undefined, next],
      [bodyHashAt, { from: sequence, to: sequence }, { what: "root", sequence }],
    ] as const) {
      const found = await check(ledgers, range && { range }, from(at))
      assert.partialDeepStrictEqual(found, { holds: false, ...named })
    }
    // The first entry of the newest ledger is read for the former ones, too.
    if (sequence === 1 || sequence === 6) continue
    const range = { from: 1, to: sequence - 1 }
    assert.equal((await check(ledgers, { range }, from(bodyHashAt))).holds, true)
  }
})

test("a range without a signed entry is not found to hold", async () => {
  await assert.rejects(check([former, newest], { range: { from: 10, to: 20 } }), /no signed entry/)
})

test("a former epoch holds only if the signed log continues it", async () => {
  // The signed log continues `former`, and its service names another genesis.
  const made = ledgerOf(firstOrigin, 5, 3)
  const { genesis } = nextOf(made, origin, 4, 2)
  const forged = [made, { ...newest, genesis }]
  for (const range of [undefined, { from: 1, to: 5 }, { from: 2, to: 3 }, { from: 5, to: 6 }])
    assert.equal((await check(forged, range && { range })).holds, false)
})

test("a checkpoint is signed by a key of its own log", async () => {
  const ledgers = [former, newest]
  const trusting = { trustedKeys: [vkeyOf(other)] }
  const found = await check(ledgers, trusting, logOf(ledgers, other))
  assert.deepEqual(found, { holds: false, what: "checkpoint" })
  const named = await check(ledgers, trusting)
  assert.equal(named.holds && named.isTrusted, false)
})

const ofFormer = signerOf(firstOrigin, 9)

function rootOf({ records }: Ledger, size: number): Uint8Array {
  const tree = createFrontier()
  for (const record of records.slice(0, size)) tree.append(eventHash(record))
  return tree.root()
}

const keptOf = (ledger: Ledger, size: number, signer = ofFormer): string =>
  signNote(formatCheckpoint({ origin: signer.name, size, root: rootOf(ledger, size) }), signer)

test("a checkpoint that was kept of a former epoch is compared with what the next one continues", async () => {
  const compare = (ledgers: readonly Ledger[], kept: string) => {
    const geneses = ledgers.map(({ genesis }) => genesis)
    const task = { geneses, keys: [vkeyOf(own)], trustedKeys: [vkeyOf(ofFormer)] }
    return compareKept(logOf(ledgers), task, kept)
  }
  for (const size of [1, 3, 5])
    assert.equal(await compare([former, newest], keptOf(former, size)), "same log")
  assert.equal(await compare([former, newest], keptOf(newest, 2, own)), "same log")
  const [longer, other] = [ledgerOf(firstOrigin, 7, 1), ledgerOf(firstOrigin, 5, 3)]
  assert.equal(await compare([former, newest], keptOf(longer, 7)), "newer")
  assert.equal(await compare([former, newest], keptOf(other, 3)), "other log")
  // The signed log continues `former`, and its service names another genesis.
  const { genesis } = nextOf(other, origin, 4, 2)
  assert.equal(await compare([other, { ...newest, genesis }], keptOf(other, 3)), "other log")
})
