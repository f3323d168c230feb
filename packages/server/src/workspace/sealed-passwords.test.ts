import assert from "node:assert/strict"
import test from "node:test"
import { firstKeyring, nextKeyring } from "../secrets/keyring.ts"
import { openPassword, passwordAnew, sealPassword } from "./sealed-passwords.ts"

const [first, second, third] = [1, 2, 3].map((byte) => new Uint8Array(32).fill(byte)) as [
  Uint8Array,
  Uint8Array,
  Uint8Array,
]
const kept = {
  password: "$argon2id$v=19$m=32768,t=2,p=1$c2FsdA$bm9uY2U$dGFn",
  login: "where-to-look",
}

test("stored passwords are sealed under the second secret, and resealed at each rotation", () => {
  const one = firstKeyring(first)
  assert.deepEqual(
    [sealPassword(one, kept.password), openPassword(one, kept.password)],
    [kept.password, kept.password],
  )
  assert.equal(passwordAnew(one, kept), undefined)
  let now = kept
  let keyring = one
  for (const secret of [second, third]) {
    keyring = nextKeyring(keyring, secret, [])
    assert.equal(
      openPassword(keyring, now.password),
      kept.password,
      "while it is rotated, both are opened",
    )
    const anew = passwordAnew(keyring, now)
    assert.ok(anew !== undefined)
    now = anew
    assert.equal(passwordAnew(keyring, now), undefined)
    assert.deepEqual(
      [openPassword(keyring, now.password), openPassword(keyring, now.login)],
      [kept.password, kept.login],
    )
    for (const text of Object.values(now))
      assert.ok(!text.includes("argon2id") && !text.includes(kept.login))
  }
})

test("once all passwords are sealed, an unsealed one, one under a former secret, or a forged one is never valid", () => {
  const rotating = nextKeyring(firstKeyring(first), second, [])
  const ended = { ...nextKeyring(rotating, third, []), before: undefined }
  const made = [
    kept.password,
    sealPassword(rotating, kept.password),
    `3.${sealPassword(rotating, kept.password).slice(2)}`,
    "3.",
    "4.x",
    "",
    ".",
  ]
  for (const text of made) assert.equal(openPassword(ended, text), "", text)
})
