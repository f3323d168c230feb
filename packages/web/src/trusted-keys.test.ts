import assert from "node:assert/strict"
import test from "node:test"
import { createVkey, ed25519PublicKey, formatVkey } from "@tallystick/proof"

// Browsers have this function: pages listen for changes by other tabs.
Object.assign(globalThis, { addEventListener: () => {} })
const { isLogKey, readTrustedKeys } = await import("./trusted-keys.ts")

const vkey = formatVkey(createVkey("ledger.example/1", ed25519PublicKey(new Uint8Array(32))))

test("only valid keys are trusted, with any content of the store", () => {
  const kept = { vkey, since: "2026-02-03T10:00:00.000Z" }
  const cases: readonly (readonly [text: string | null, keys: readonly object[]])[] = [
    [null, []],
    ["", []],
    ["{", []],
    ["{}", []],
    ["null", []],
    [JSON.stringify([kept]), [kept]],
    [JSON.stringify([kept, { vkey: "nonsense", since: "x" }, null, 7, { vkey }]), [kept]],
    [JSON.stringify([{ ...kept, since: 1 }]), []],
  ]
  for (const [text, keys] of cases) assert.deepEqual(readTrustedKeys(text), keys, String(text))
})

test("a key has a name, an id and bytes that match", () => {
  assert.equal(isLogKey(vkey), true)
  for (const wrong of ["", "name", vkey.slice(0, -1), vkey.replace("ledger", "other"), ` ${vkey}`])
    assert.equal(isLogKey(wrong), false, wrong)
})
