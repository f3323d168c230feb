import assert from "node:assert/strict"
import test from "node:test"
import { testKeyring } from "../ledger/test-ledger.ts"
import { created, type Change, type MemberDocument } from "../store/documents.ts"
import { expectChain } from "../store/expect-chain.ts"
import { draftOf } from "./admin-entries.ts"
import { createLogins } from "./login-index.ts"
import { createPasswords, settingsOf } from "./password-hashes.ts"
import { instance, openTestHouse } from "./test-house.ts"

test("where other servers change accounts, only those that changed are taken into the index again", async () => {
  const { journal, registry, clock, workspaces, parts } = openTestHouse()
  const opened: string[] = []
  const logins = createLogins(
    {
      registry: { ...registry, staleMsMax: 3000 },
      clock: { ...clock, elapsed: () => clock.nowMs },
      keyring: testKeyring,
    },
    createPasswords(testKeyring.passwords),
    (email) => {
      opened.push(email)
      return email
    },
  )
  const home = await workspaces.create(instance, { id: "instance" })
  const record = async (id: string, change: Change) => {
    const draft = draftOf(
      { by: instance, action: "test.member", target: { id, type: "member" } },
      clock.now(),
    )
    await parts.ledger.record(home, [draft], [change])
  }
  const add = async (id: string, email: string, nonce = "bm9uY2U") => {
    const value: MemberDocument = {
      email,
      password: `${settingsOf.person(email)}$${nonce}$dGFn`,
      login: `login of ${id}`,
      createdAt: "2026-01-01T00:00:00.000Z",
      workspaces: [],
      sessions: [],
    }
    await record(id, created("member", id, value))
  }
  /** The accounts that a sign-in takes into the index, three seconds after the one before. */
  const taken = async () => {
    clock.nowMs += 3000
    opened.length = 0
    const nobody = "nobody@example.com"
    await logins.stretch(nobody, "password")
    return opened.filter((email) => email !== nobody).toSorted()
  }
  await add("ada", "ada@example.com")
  await add("bob", "bob@example.com")
  assert.deepEqual(await taken(), ["ada@example.com", "bob@example.com"])
  await add("eve", "eve@example.com")
  assert.deepEqual(await taken(), ["eve@example.com"])
  assert.deepEqual(await taken(), [])
  // It is removed and made anew, with another password.
  await record("eve", { kind: "member", id: "eve", version: 1, value: null })
  await add("eve", "eve@example.com", "YW5vdGhlcg")
  assert.deepEqual(await taken(), ["eve@example.com"])
  await expectChain(journal, "instance")
})
