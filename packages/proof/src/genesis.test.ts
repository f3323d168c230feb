import assert from "node:assert/strict"
import { createHash } from "node:crypto"
import test from "node:test"
import { canonicalize } from "./canonical.ts"
import { toHex } from "./encoding.ts"
import { ledgerId, parseGenesis, readLineage, type Genesis } from "./genesis.ts"

const root = "ab".repeat(32)
const genesis: Genesis = {
  createdAt: "2026-01-01T00:00:00.000Z",
  nonce: "oKGio6SlpqeoqaqrrK2urw",
  origin: "ledger.example/ledgers/1",
  v: 1,
  workspaceId: "acme",
}
const continued: Genesis = {
  ...genesis,
  continues: {
    ledgerId: root,
    origin: "ledger.example/ledgers/0",
    size: 5,
    root,
    lostSize: 7,
    lostRoot: root,
  },
}

test("the id is the hash of the exact text", () => {
  const text = canonicalize(genesis)
  assert.deepEqual(
    ledgerId(text),
    new Uint8Array(createHash("sha256").update("ALG1").update(text).digest()),
  )
  assert.notDeepEqual(ledgerId(`${text} `), ledgerId(text))
})

test("a genesis is read back", () => {
  assert.deepEqual(parseGenesis(canonicalize(genesis)), genesis)
  assert.deepEqual(parseGenesis(canonicalize(continued)), continued)
})

test("a genesis that lacks a member, has another one, or is not canonical is refused", () => {
  const wrong = {
    createdAt: 1,
    nonce: "oKGio6SlpqeoqaqrrK2ur",
    origin: null,
    v: 2,
    workspaceId: [],
    continues: {},
  }
  for (const [name, value] of Object.entries(wrong)) {
    assert.equal(parseGenesis(canonicalize({ ...genesis, [name]: value })), undefined, name)
  }
  for (const name of Object.keys(genesis)) {
    const { [name as keyof Genesis]: _, ...others } = genesis
    assert.equal(parseGenesis(canonicalize(others)), undefined, name)
  }
  assert.equal(parseGenesis(canonicalize({ ...genesis, more: 1 })), undefined)
  assert.equal(parseGenesis(` ${canonicalize(genesis)}`), undefined)
  assert.equal(parseGenesis("[]"), undefined)

  const { continues } = continued
  assert.ok(continues)
  for (const [name, value] of Object.entries({
    ledgerId: "AB",
    origin: 1,
    size: -1,
    root: "",
    lostSize: 0.5,
    lostRoot: "x",
    more: 1,
  })) {
    assert.equal(
      parseGenesis(canonicalize({ ...genesis, continues: { ...continues, [name]: value } })),
      undefined,
      name,
    )
  }
  const unknown = { ...continued, continues: { ...continues, lostSize: null, lostRoot: null } }
  assert.deepEqual(parseGenesis(canonicalize(unknown)), unknown)
  for (const half of [{ lostSize: null }, { lostRoot: null }])
    assert.equal(
      parseGenesis(canonicalize({ ...genesis, continues: { ...continues, ...half } })),
      undefined,
    )
})

test("geneses form a lineage only if each continues the one before", () => {
  const after = (before: typeof genesis, size: number, origin: string) => ({
    ...genesis,
    origin,
    continues: {
      ledgerId: toHex(ledgerId(canonicalize(before))),
      origin: before.origin,
      size,
      root,
      lostSize: null,
      lostRoot: null,
    },
  })
  const second = after(genesis, 7, "ledger.example/ledgers/2")
  const third = after(second, 5, "ledger.example/ledgers/3")
  const texts = [third, second, genesis].map((one) => canonicalize(one))
  const lineage = readLineage(texts)
  assert.deepEqual(
    lineage?.map(({ earlierEntries }) => earlierEntries),
    [12, 7, 0],
  )
  assert.deepEqual(
    lineage?.map((one) => one.genesis.origin),
    [third.origin, second.origin, genesis.origin],
  )
  assert.deepEqual(lineage?.[0]?.ledgerId, ledgerId(texts[0] ?? ""))
  const [a = "", b = "", c = ""] = texts
  for (const wrong of [
    [],
    [a],
    [a, b],
    [a, c],
    [b, a, c],
    [c, b],
    [a, b, c, c],
    [a, b, canonicalize({ ...genesis, nonce: "AAAAAAAAAAAAAAAAAAAAAA" })],
  ])
    assert.equal(readLineage(wrong), undefined, `${wrong.length}`)
  const stranger = canonicalize({ ...second, workspaceId: "another" })
  assert.equal(readLineage([stranger, c]), undefined)
})
