import assert from "node:assert/strict"
import test from "node:test"
import { argon2Sync, createHmac } from "node:crypto"
import { createPasswords, settingsOf } from "./password-hashes.ts"

const key = Buffer.alloc(32, 7)
const settings = settingsOf.person("0123456789abc")

test("the stored form of a password is Argon2id under the key, with the person's salt, bound to the account", async () => {
  assert.equal(settings, "$argon2id$v=19$m=32768,t=2,p=1$MDEyMzQ1Njc4OWFiYw")
  const stretched = await createPasswords(key).stretch("correct horse battery", settings)
  const kept = stretched.keep("ada")
  const [, nonce = "", tag] =
    /^\$argon2id\$v=19\$m=32768,t=2,p=1\$MDEyMzQ1Njc4OWFiYw\$([A-Za-z0-9+/]{22})\$([A-Za-z0-9+/]{43})$/.exec(
      kept,
    ) ?? []
  const given = {
    message: "correct horse battery",
    nonce: Buffer.from("0123456789abc"),
    tagLength: 32,
    memory: 32768,
    passes: 2,
    parallelism: 1,
  }
  const bound = (made: Buffer) =>
    createHmac("sha256", made).update(`account ada ${nonce}`).digest("base64").replace("=", "")
  assert.equal(bound(argon2Sync("argon2id", { ...given, secret: key })), tag)
  assert.notEqual(bound(argon2Sync("argon2id", given)), tag)
  assert.notEqual(
    kept,
    stretched.keep("ada"),
    "each has a nonce of its own, so equal passwords do not show",
  )
})

test("a password is valid in any Unicode composition, but only under its key and in its account", async () => {
  const passwords = createPasswords(key)
  const composed = "motörhead-naïveté".normalize("NFC")
  const stretched = await passwords.stretch(composed, settings)
  const kept = stretched.keep("ada")
  const same = await passwords.stretch(composed.normalize("NFD"), settings)
  assert.deepEqual(
    [same.login === stretched.login, same.fits("ada", kept), same.fits("eve", kept)],
    [true, true, false],
  )
  const others = await Promise.all([
    passwords.stretch("motorhead-naivete", settings),
    passwords.stretch("", settings),
    createPasswords(Buffer.alloc(32, 8)).stretch(composed, settings),
    passwords.stretch(composed, settingsOf.person("another-person")),
  ])
  for (const other of others)
    assert.deepEqual([other.login === stretched.login, other.fits("ada", kept)], [false, false])
  for (const nonsense of ["", "$2b$10$abc", `${kept}$x`])
    assert.deepEqual([stretched.fits("ada", nonsense), settingsOf.kept(nonsense)], [false, ""])
})
