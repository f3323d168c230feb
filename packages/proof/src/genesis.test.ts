import assert from "node:assert/strict"
import { createHash } from "node:crypto"
import test from "node:test"
import { canonicalize } from "./canonical.ts"
import { ledgerId, parseGenesis, type Genesis } from "./genesis.ts"

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
  continues: { ledgerId: root, origin: "ledger.example/ledgers/0", size: 5, root, lostSize: 7, lostRoot: root },
}

test("the id is the hash of the exact text", () => {
  const text = canonicalize(genesis)
  assert.deepEqual(ledgerId(text), new Uint8Array(createHash("sha256").update("ALG1").update(text).digest()))
  assert.notDeepEqual(ledgerId(`${text} `), ledgerId(text))
})

test("a genesis is read back", () => {
  assert.deepEqual(parseGenesis(canonicalize(genesis)), genesis)
  assert.deepEqual(parseGenesis(canonicalize(continued)), continued)
})

test("a genesis that lacks a member, has another one, or is not canonical is refused", () => {
  const wrong = { createdAt: 1, nonce: "oKGio6SlpqeoqaqrrK2ur", origin: null, v: 2, workspaceId: [], continues: {} }
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
  for (const [name, value] of Object.entries({ ledgerId: "AB", origin: 1, size: -1, root: "", lostSize: 0.5, lostRoot: null, more: 1 })) {
    assert.equal(parseGenesis(canonicalize({ ...genesis, continues: { ...continues, [name]: value } })), undefined, name)
  }
})
