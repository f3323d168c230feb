import assert from "node:assert/strict"
import test from "node:test"
import { definedOf } from "@tallystick/proof"
import { disclosuresOf, openEntry } from "../store/opened-entry.ts"
import { hasCode } from "../ledger/test-ledger.ts"
import type { TokenBound } from "../store/documents.ts"
import { expectChain } from "../store/expect-chain.ts"
import type { Principal } from "./permissions.ts"
import { createAuthenticate } from "./credential-lookup.ts"
import { commitmentTo } from "./credential-format.ts"
import { createKeys } from "./api-keys.ts"
import { createTokens, tokenLetters, tokenLives } from "./scoped-tokens.ts"
import { instance, openTestHouse } from "./test-house.ts"

const second = 1000
const day = 86_400 * second

const receipt: TokenBound = { type: "receipt", receipt: "rcp_1" }
const bounds: readonly TokenBound[] = [
  receipt,
  { type: "policy", projectId: "core", version: 2 },
  { type: "activity", projectId: "core", subject: { id: "usr_1", types: ["user", "customer"] } },
  { type: "evidence", packId: "pack_1" },
]

async function openHouse() {
  const { journal, registry, clock, parts, workspaces } = openTestHouse()
  const rootKeys = ["a-root-key-of-more-than-32-characters"] as const
  const [keys, tokens] = [createKeys(parts), createTokens({ ...parts, rootKeys })]
  const acme = await workspaces.create(instance, { id: "acme" })
  const { recognise } = tokens
  return {
    journal,
    registry,
    clock,
    acme,
    keys,
    tokens,
    authenticate: createAuthenticate(rootKeys, {
      k: keys.recognise,
      r: recognise,
      p: recognise,
      a: recognise,
      e: recognise,
    }),
    /** The principal of a new key of acme. */
    async keyOf(): Promise<Extract<Principal, { kind: "api-key" }>> {
      const { document } = await keys.create(instance, acme, { name: "reader", scopes: ["read"] })
      return {
        kind: "api-key",
        id: document.id,
        workspace: "acme",
        scopes: ["read"],
        projectIds: undefined,
      }
    },
    async acts() {
      const stored = await journal.after("acme", 0, 1000)
      const contents = stored.map(
        (entry) =>
          openEntry(entry, disclosuresOf(entry))?.content ??
          assert.fail("an entry cannot be opened"),
      )
      return contents.filter(({ action }) => action.startsWith("security.token."))
    },
  }
}

test("a token of each type is recognised only by its whole text, and gives access to the resource that it is bound to", async () => {
  const house = await openHouse()
  for (const bound of bounds) {
    const { token, document } = await house.tokens.create(instance, house.acme, bound, {})
    assert.ok(token.startsWith(`ts${tokenLetters[bound.type]}_${document.id}_`))
    assert.deepEqual(await house.authenticate(token), {
      kind: "token",
      id: document.id,
      workspace: "acme",
      bound,
    })
    const others = ["k", "r", "p", "a", "e", "s", "x"].filter((letter) => letter !== token[2])
    const wrong = [
      ...others.map((letter) => `ts${letter}${token.slice(3)}`),
      `${token.slice(0, -1)}${token.endsWith("0") ? "1" : "0"}`,
    ]
    for (const text of wrong)
      await assert.rejects(house.authenticate(text), hasCode("unauthorized"), text)
  }
  await expectChain(house.journal, "acme")
})

test("a token is valid for the time of its type or the requested time, to the millisecond", async () => {
  const house = await openHouse()
  const lives = { receipt: 7 * day, policy: 30 * day, activity: day, evidence: 7 * day }
  assert.deepEqual(tokenLives, {
    receipt: { usual: 604_800, longest: 7_776_000 },
    policy: { usual: 2_592_000, longest: 31_536_000 },
    activity: { usual: 86_400, longest: 2_592_000 },
    evidence: { usual: 604_800, longest: 7_776_000 },
  })
  const made = await Promise.all(
    bounds.flatMap((bound) =>
      [undefined, 60].map(async (expiresInSeconds) => ({
        ...(await house.tokens.create(
          instance,
          house.acme,
          bound,
          definedOf({ expiresInSeconds }),
        )),
        endMs:
          house.clock.nowMs +
          (expiresInSeconds === undefined ? lives[bound.type] : expiresInSeconds * second),
      })),
    ),
  )
  for (const { token, document, endMs } of made.toSorted((a, b) => a.endMs - b.endMs)) {
    assert.equal(Date.parse(document.value.expiresAt), endMs)
    house.clock.nowMs = endMs - 1
    assert.equal((await house.authenticate(token)).kind, "token")
    house.clock.nowMs = endMs
    await assert.rejects(house.authenticate(token), hasCode("token_expired"))
    await assert.rejects(
      house.authenticate(`${token.slice(0, -6)}000000`),
      hasCode("unauthorized"),
      "only after the secret was right",
    )
    assert.equal(await house.tokens.stateOf(document), "expired")
  }
  await expectChain(house.journal, "acme")
})

test("a token that a key makes at the moment of its end has ended too", async () => {
  const house = await openHouse()
  const key = await house.keyOf()
  await house.keys.revoke(instance, house.acme, key.id)
  const { token } = await house.tokens.create(key, house.acme, receipt, {})
  await assert.rejects(house.authenticate(token), hasCode("token_revoked"))
  await expectChain(house.journal, "acme")
})

test("a revoked token is shown as revoked even after its expiry, the revocation is recorded once, and no secret is stored", async () => {
  const house = await openHouse()
  const key = await house.keyOf()
  const { token, document } = await house.tokens.create(key, house.acme, bounds[2] ?? receipt, {
    note: "for Ada",
  })
  await Promise.all([1, 2, 3].map(() => house.tokens.revoke(key, house.acme, document.id)))
  await house.tokens.revoke(instance, house.acme, document.id)
  await house.tokens.revoke(instance, house.acme, "0000000000000")
  house.clock.nowMs += 2 * day
  await assert.rejects(house.authenticate(token), hasCode("token_revoked"))

  const bound = {
    type: "activity",
    projectId: "core",
    subject: { id: "usr_1", types: ["user", "customer"] },
  }
  const target = { id: document.id, type: "token", note: "for Ada" }
  assert.deepEqual(
    (await house.acts()).map(({ action, actor, target: at, metadata, projectId }) => ({
      action,
      by: actor.id,
      at,
      metadata,
      projectId,
    })),
    [
      {
        action: "security.token.create",
        by: key.id,
        at: target,
        metadata: {
          ...bound,
          expiresAt: "2026-01-03T00:00:00.000Z",
          commitment: commitmentTo(document.value.mac),
        },
        projectId: "system",
      },
      {
        action: "security.token.revoke",
        by: key.id,
        at: target,
        metadata: bound,
        projectId: "system",
      },
    ],
  )
  const listed = await house.registry.list("token", "acme", undefined, 10)
  assert.deepEqual(
    listed.map(({ id }) => id),
    [document.id],
  )
  const kept = JSON.stringify([await house.acts(), listed])
  assert.ok(!kept.includes(token.slice(18, -6)), "a secret was kept")
  await expectChain(house.journal, "acme")
})
