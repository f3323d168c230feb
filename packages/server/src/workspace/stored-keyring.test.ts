import assert from "node:assert/strict"
import { randomBytes } from "node:crypto"
import test from "node:test"
import { StartError } from "../error.ts"
import { firstKeyring, seal, unseal, type Keyring } from "../secrets/keyring.ts"
import { pooledRandom } from "../ledger/random.ts"
import { deriveKey } from "../secrets/crypto.ts"
import type { Document } from "../store/documents.ts"
import type { Registry } from "../store/store.ts"
import { createMacs, formatCredential, makeCredential } from "./credential-format.ts"
import { keyringChange, openKeyring } from "./stored-keyring.ts"

const [first, second, third, other] = [1, 2, 3, 4].map((byte) => new Uint8Array(32).fill(byte)) as [
  Uint8Array,
  Uint8Array,
  Uint8Array,
  Uint8Array,
]
const seed = new Uint8Array(32).fill(9)
const instanceKeys = ["a former instance key"]

/** The keyring of the next generation. */
function after(keyring: Keyring, secret: Uint8Array): Keyring {
  const peppers = [...keyring.peppers, deriveKey(secret, "token pepper")]
  return {
    ...keyring,
    generation: keyring.generation + 1,
    secret,
    before: keyring.secret,
    peppers,
    instanceKeys,
  }
}

/** A registry with one signing key, and perhaps a keyring. */
function registryOf(
  sealedBy: Keyring,
  kept?: { readonly keyring: Keyring; readonly endedAt?: string },
): Registry {
  const vkey = "ledger.example/ledgers/a+00000000+AQ=="
  const logKey = {
    kind: "log-key",
    workspace: "acme",
    id: "00000000",
    version: 1,
    created: 1,
  } as const
  const value = { vkey, wrapped: seal(sealedBy, "log keys", vkey, seed), createdAt: "" }
  const change =
    kept === undefined ? undefined : keyringChange(kept.keyring, undefined, kept.endedAt).change
  return {
    staleMsMax: 0,
    // Documents of the kinds that this test reads.
    get: async () =>
      (change === undefined ? undefined : { ...change, version: 1, created: 2 }) as never,
    workspaceOf: async () => undefined,
    list: async () => [{ ...logKey, value } satisfies Document<"log-key">] as never,
    count: async () => 0,
  }
}

const refused = (text: RegExp) => (error: unknown) =>
  error instanceof StartError && text.test(error.message)

test("data with one secret opens with it, also while a second one is configured", async () => {
  const registry = registryOf(firstKeyring(first))
  assert.deepEqual(await openKeyring(registry, { secret: first }), firstKeyring(first))
  assert.deepEqual(
    await openKeyring(registry, { secret: second, previous: first }),
    firstKeyring(first),
  )
  await assert.rejects(
    openKeyring(registry, { secret: second }),
    refused(/is not the secret that this data was made with/),
  )
  await assert.rejects(
    openKeyring(registry, { secret: second, previous: other }),
    refused(/is not the secret that this data was made with/),
  )
})

test("during a rotation both secrets are needed, in either setting, and one alone is refused with a sentence", async () => {
  const keyring = after(firstKeyring(first), second)
  const registry = registryOf(firstKeyring(first), { keyring })
  for (const given of [
    { secret: second, previous: first },
    { secret: first, previous: second },
  ])
    assert.deepEqual(await openKeyring(registry, given), keyring)
  await assert.rejects(
    openKeyring(registry, { secret: second }),
    refused(/set TALLYSTICK_SECRET_PREVIOUS to the one before/),
  )
  await assert.rejects(
    openKeyring(registry, { secret: second, previous: other }),
    refused(/set TALLYSTICK_SECRET_PREVIOUS/),
  )
  await assert.rejects(
    openKeyring(registry, { secret: first }),
    refused(/set TALLYSTICK_SECRET to the new one/),
  )
})

test("after a rotation the new secret is enough, and the old one opens nothing", async () => {
  const keyring = after(after(firstKeyring(first), second), third)
  const registry = registryOf(keyring, { keyring, endedAt: "2026-01-01T00:00:00.000Z" })
  assert.deepEqual(await openKeyring(registry, { secret: third }), {
    ...keyring,
    before: undefined,
  })
  assert.deepEqual(await openKeyring(registry, { secret: third, previous: second }), {
    ...keyring,
    before: undefined,
  })
  for (const former of [first, second])
    await assert.rejects(
      openKeyring(registry, { secret: former }),
      refused(/was rotated: its last rotation ended at 2026-01-01/),
    )
})

test("sealed data names its secret, and is bound to its name and secret", () => {
  const old = firstKeyring(first)
  const keyring = after(old, second)
  const [before, now] = [seal(old, "keyring", "a", seed), seal(keyring, "keyring", "a", seed)]
  for (const sealed of [before, now])
    assert.deepEqual(new Uint8Array(unseal(keyring, "keyring", "a", sealed)), seed)
  assert.throws(() => unseal(keyring, "keyring", "b", now))
  assert.throws(() => unseal(keyring, "log keys", "a", now))
  assert.throws(
    () => unseal({ ...keyring, before: undefined }, "keyring", "a", before),
    /generation 1 is no longer known/,
  )
  assert.throws(
    () => unseal(keyring, "keyring", "a", now.slice(2)),
    "the number is not for whoever writes the file to choose",
  )
})

test("a credential is checked with the pepper of its creation, and a new one uses the newest pepper", () => {
  const keyring = after(after(firstKeyring(first), second), third)
  const text = formatCredential(makeCredential("k", pooledRandom()))
  const made = [1, 2, 3].map((count) => createMacs(keyring.peppers.slice(0, count)).of(text))
  assert.match(made[0] ?? "", /^[0-9a-f]{64}$/)
  assert.match(made[2] ?? "", /^3\.[0-9a-f]{64}$/)
  const macs = createMacs(keyring.peppers)
  assert.equal(macs.of(text), made[2])
  for (const kept of made) assert.ok(macs.fits(text, kept))
  const wrong = [
    undefined,
    "",
    made[2]?.slice(2),
    `2.${made[2]?.slice(2)}`,
    `4.${made[2]?.slice(2)}`,
    `0.${made[0]}`,
    randomBytes(32).toString("hex"),
  ]
  for (const kept of wrong) assert.ok(!macs.fits(text, kept), String(kept))
})
