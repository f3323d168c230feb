import assert from "node:assert/strict"
import test from "node:test"
import { disclosuresOf, openEntry } from "../store/opened-entry.ts"
import { hasCode } from "../ledger/test-ledger.ts"
import type { MembershipDocument, TokenBound } from "../store/documents.ts"
import { expectChain } from "../store/expect-chain.ts"
import { recordActs, type Act } from "./admin-entries.ts"
import { instanceWorkspace, type MemberPrincipal, type Principal } from "./permissions.ts"
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
  const tokensOf = (rootKey: string) => createTokens({ ...parts, rootKeys: [rootKey] })
  const [keys, tokens] = [createKeys(parts), tokensOf("the first key of the instance")]
  const acme = await workspaces.create(instance, { id: "acme" })
  const { recognise } = tokens
  return {
    journal,
    registry,
    clock,
    workspaces,
    acme,
    keys,
    tokens,
    withKey: tokensOf,
    authenticate: createAuthenticate(["a-root-key-of-more-than-32-characters"], {
      k: keys.recognise,
      r: recognise,
      p: recognise,
      a: recognise,
      e: recognise,
    }),
    /** The principal of a new key of acme. */
    async keyOf(expiresInSeconds?: number): Promise<Extract<Principal, { kind: "api-key" }>> {
      const { document } = await keys.create(instance, acme, {
        name: "reader",
        scopes: ["read"],
        expiresInSeconds,
      })
      return {
        kind: "api-key",
        id: document.id,
        workspace: "acme",
        scopes: ["read"],
        projectIds: undefined,
      }
    },
    /** Sets or removes the membership of a member in a workspace. */
    async join(workspaceId: string, id: string, value: MembershipDocument | null): Promise<void> {
      const version = (await registry.get("membership", workspaceId, id))?.version ?? 0
      const act: Act = {
        by: instance,
        action: "security.member.update",
        target: { id, type: "member" },
        changes: [{ kind: "membership", id, version, value }],
      }
      await recordActs(parts.ledger, await workspaces.get(workspaceId), [act], clock.now())
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
        ...(await house.tokens.create(instance, house.acme, bound, { expiresInSeconds })),
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

test("a token does not outlive the expiry of the key that made it", async () => {
  const house = await openHouse()
  const { nowMs } = house.clock
  const [short, long, endless] = [
    await house.keyOf(3600),
    await house.keyOf(365 * 86_400),
    await house.keyOf(),
  ]
  const endOf = async (by: Principal, expiresInSeconds?: number) =>
    Date.parse(
      (await house.tokens.create(by, house.acme, receipt, { expiresInSeconds })).document.value
        .expiresAt,
    ) - nowMs
  assert.deepEqual(
    [await endOf(short), await endOf(short, 60), await endOf(short, 7200)],
    [3600 * second, 60 * second, 3600 * second],
  )
  assert.deepEqual(
    [await endOf(long), await endOf(endless), await endOf(instance)],
    [7 * day, 7 * day, 7 * day],
  )
  await expectChain(house.journal, "acme")
})

test("a token ends with the key that made it, and with no other", async () => {
  const house = await openHouse()
  const [one, other] = [await house.keyOf(), await house.keyOf()]
  const make = (by: Principal) => house.tokens.create(by, house.acme, receipt, {})
  const [ofOne, ofOther, ofInstance] = [await make(one), await make(other), await make(instance)]
  await house.keys.revoke(instance, house.acme, one.id)
  await assert.rejects(house.authenticate(ofOne.token), hasCode("token_revoked"))
  assert.deepEqual(
    await Promise.all(
      [ofOne, ofOther, ofInstance].map(({ document }) => house.tokens.stateOf(document)),
    ),
    ["revoked", "live", "live"],
  )
  for (const { token } of [ofOther, ofInstance])
    assert.equal((await house.authenticate(token)).kind, "token")
  await assert.rejects(
    house.authenticate((await make(one)).token),
    hasCode("token_revoked"),
    "made at the moment of its end",
  )
  await expectChain(house.journal, "acme")
})

test("a token of the instance key ends when the instance key is replaced", async () => {
  const house = await openHouse()
  const { token } = await house.tokens.create(instance, house.acme, receipt, {})
  const ofKey = await house.tokens.create(await house.keyOf(), house.acme, receipt, {})
  const [, id = ""] = /^tsr_([^_]+)_/.exec(token) ?? []
  assert.equal(
    (await house.withKey("the first key of the instance").recognise(id, token))?.kind,
    "token",
  )
  const after = house.withKey("the second key of the instance")
  await assert.rejects(async () => after.recognise(id, token), hasCode("token_revoked"))
  assert.equal(await after.stateOf(ofKey.document), "live")
  await expectChain(house.journal, "acme")
})

test("a token of a member ends when the member leaves, and stays invalid when the member comes back", async () => {
  const house = await openHouse()
  await house.workspaces.create(instance, { id: instanceWorkspace })
  const ada: MemberPrincipal = {
    kind: "member",
    id: "0123456789abc",
    email: "ada@example.com",
    sessionId: "0123456789abd",
    workspace: "acme",
    role: "viewer",
    presides: false,
  }
  const since = (): MembershipDocument => {
    const joinedAt = new Date(house.clock.nowMs).toISOString()
    return {
      email: ada.email,
      role: "viewer",
      createdAt: joinedAt,
      createdBy: "instance",
      joinedAt,
    }
  }
  const make = () => house.tokens.create(ada, house.acme, receipt, {})
  const stranger = await make()
  await assert.rejects(house.authenticate(stranger.token), hasCode("token_revoked"))

  house.clock.nowMs += second
  await house.join("acme", ada.id, since())
  const first = await make()
  assert.deepEqual(first.document.value.minter, { kind: "member", id: ada.id })
  assert.equal((await house.authenticate(first.token)).kind, "token")
  await house.join("acme", ada.id, null)
  await assert.rejects(house.authenticate(first.token), hasCode("token_revoked"))

  house.clock.nowMs += second
  await house.join("acme", ada.id, since())
  await assert.rejects(house.authenticate(first.token), hasCode("token_revoked"))
  const again = await make()
  assert.equal((await house.authenticate(again.token)).kind, "token")
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

test("a token cannot create tokens", async () => {
  const house = await openHouse()
  const { token } = await house.tokens.create(instance, house.acme, receipt, {})
  await assert.rejects(
    house.tokens.create(await house.authenticate(token), house.acme, receipt, {}),
    /mint nothing/,
  )
  assert.equal((await house.acts()).length, 1)
  await expectChain(house.journal, "acme")
})
