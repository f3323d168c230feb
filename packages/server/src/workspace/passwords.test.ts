import assert from "node:assert/strict"
import test from "node:test"
import { argon2Sync } from "node:crypto"
import { LedgerError } from "../error.ts"
import { createPasswords } from "./passwords.ts"

const key = Buffer.alloc(32, 7)
const limits = { passwordsAtOnceMax: 2, passwordsWaitingMax: 3 }

test("what is kept is Argon2id of the password with a salt, under the key, as a PHC string", async () => {
  const kept = await createPasswords(key, limits).hash("correct horse battery")
  const [, memory, passes, parallelism, salt = "", tag = ""] =
    /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([A-Za-z0-9+/]{22})\$([A-Za-z0-9+/]{43})$/.exec(kept) ?? []
  assert.deepEqual([memory, passes, parallelism], ["32768", "2", "1"])
  const given = {
    message: "correct horse battery",
    nonce: Buffer.from(salt, "base64"),
    tagLength: 32,
    memory: 32768,
    passes: 2,
    parallelism: 1,
  }
  assert.equal(
    argon2Sync("argon2id", { ...given, secret: key })
      .toString("base64")
      .replace("=", ""),
    tag,
  )
  assert.notEqual(argon2Sync("argon2id", given).toString("base64").replace("=", ""), tag)
})

test("a password is checked, however it is composed, and only under its key", async () => {
  const passwords = createPasswords(key, limits)
  const kept = await passwords.hash("motörhead-naïveté".normalize("NFC"))
  assert.notEqual(kept, await passwords.hash("motörhead-naïveté".normalize("NFC")), "each has a salt of its own")
  assert.deepEqual(
    [
      await passwords.check("motörhead-naïveté".normalize("NFD"), kept),
      await passwords.check("motorhead-naivete", kept),
      await passwords.check("", kept),
      await passwords.check("motörhead-naïveté", undefined),
      await createPasswords(Buffer.alloc(32, 8), limits).check("motörhead-naïveté", kept),
    ],
    [true, false, false, false, false],
  )
  await assert.rejects(passwords.check("x", "$2b$10$abc"), /PHC/)
})

test("what was kept under another cost is checked under that", async () => {
  const nonce = Buffer.alloc(16, 1)
  const cheap = argon2Sync("argon2id", {
    message: "an older password",
    nonce,
    secret: key,
    tagLength: 32,
    memory: 1024,
    passes: 1,
    parallelism: 1,
  })
  const text = (bytes: Buffer) => bytes.toString("base64").replace(/=+$/, "")
  const kept = `$argon2id$v=19$m=1024,t=1,p=1$${text(nonce)}$${text(cheap)}`
  const passwords = createPasswords(key, limits)
  assert.deepEqual([await passwords.check("an older password", kept), await passwords.check("another password", kept)], [true, false])
})

test("some are hashed at once, some wait, and the others are refused; then it goes on", async () => {
  const passwords = createPasswords(key, limits)
  const tries = await Promise.allSettled(Array.from({ length: 9 }, () => passwords.hash("correct horse battery")))
  const refused = tries.flatMap((one) => (one.status === "rejected" ? [one.reason as unknown] : []))
  assert.equal(refused.length, 4, "two at work and three who wait")
  for (const reason of refused) assert.ok(reason instanceof LedgerError && reason.code === "overloaded")
  const later = await Promise.all(Array.from({ length: 5 }, () => passwords.hash("correct horse battery")))
  assert.equal(new Set(later).size, 5)
})
