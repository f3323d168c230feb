import assert from "node:assert/strict"
import test from "node:test"
import { firstKeyring, instanceKeyName, livingNames, nextKeyring } from "./keyring.ts"

const secrets = [1, 2, 3, 4].map((byte) => new Uint8Array(32).fill(byte))
const [first = assert.fail(), ...others] = secrets

test("the names of an instance key under all later secrets stay valid as long as the key", () => {
  // Each is good for a while: one is the new one of a rotation first, and the former one later.
  const good = [["one"], ["two", "one"], ["two"]]
  let keyring = firstKeyring(first)
  for (const [at, secret] of others.entries())
    keyring = nextKeyring(keyring, secret, good[at] ?? [])
  const living = (rootKeys: readonly string[], instanceKeys: readonly string[] = []) => {
    const names = livingNames({ ...keyring, instanceKeys }, rootKeys)
    return ["one", "two"].map((key) =>
      secrets.map((secret) => names.has(instanceKeyName(secret, key))),
    )
  }
  const [no, yes] = [false, true]
  assert.deepEqual(living(["two"]), [
    [no, no, no, no],
    [no, yes, yes, yes],
  ])
  assert.deepEqual(living(["three"]).flat(), Array(8).fill(no))
  // It was not good at the last rotation, which could not tell what it is called now.
  assert.deepEqual(living(["one"])[0], [no, no, no, yes])
  const third = secrets[2] ?? assert.fail()
  assert.deepEqual(
    living(["two"], [instanceKeyName(third, "one")])[0],
    [yes, yes, yes, no],
    "it was rotated under the third",
  )
})
