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

test("what is kept of a password is sealed with the second secret, and sealed anew with each", () => {
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
    assert.ok(anew?.login !== undefined)
    now = { ...anew, login: anew.login }
    assert.equal(passwordAnew(keyring, now), undefined)
    assert.deepEqual(
      [openPassword(keyring, now.password), openPassword(keyring, now.login)],
      [kept.password, kept.login],
    )
    for (const text of Object.values(now))
      assert.ok(!text.includes("argon2id") && !text.includes(kept.login))
  }
  const { login: _, ...older } = kept
  assert.deepEqual(Object.keys(passwordAnew(nextKeyring(one, second, []), older) ?? {}), [
    "password",
  ])
})

test("once all are sealed, what is not, or was sealed by a former secret, fits nothing, as little as what somebody made up", () => {
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
