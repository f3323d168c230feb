import assert from "node:assert/strict"
import test from "node:test"
import { disclosuresOf, openEntry } from "../store/opened-entry.ts"
import { hasCode, testKeyring } from "../ledger/test-ledger.ts"
import type { Limits } from "../limits.ts"
import { expectChain } from "../store/expect-chain.ts"
import type { Change } from "../store/documents.ts"
import { createAccounts, type Accounts } from "./accounts.ts"
import { draftOf } from "./admin-entries.ts"
import type { MemberPrincipal, Principal } from "./permissions.ts"
import { accountsAtOnceMax } from "./login-index.ts"
import { createMembers, memberIds } from "./members.ts"
import { createPasswords, settingsOf } from "./password-hashes.ts"
import { createSessions } from "./sessions.ts"
import { instance, openTestHouse } from "./test-house.ts"

const password = "correct horse battery"
const hour = 3_600_000

function openHouse(changes: Partial<Limits> = {}) {
  const broken = { appends: 0 }
  const house = openTestHouse({
    limits: changes,
    append() {
      if (broken.appends > 0 && --broken.appends === 0)
        throw new Error("the disk is gone for a moment")
    },
  })
  const { journal, registry, clock, workspaces } = house
  const { ledger } = house.parts
  const parts = { ...house.parts, workspaces }
  return {
    journal,
    registry,
    clock,
    workspaces,
    /** The n-th write from now fails. */
    breakWrite: (count: number) => (broken.appends = count),
    members: createMembers(parts),
    accounts: createAccounts(parts),
    openAccounts: () => createAccounts(parts),
    /** Accounts of another server, which may see changes this late. */
    openAccountsLate: (staleMsMax: number) =>
      createAccounts({
        ...parts,
        registry: { ...registry, staleMsMax },
        clock: { ...clock, now: () => clock.nowMs, elapsed: () => clock.nowMs },
      }),
    account: async (id: string) =>
      (await registry.get("member", "instance", id)) ?? assert.fail("there is no such account"),
    /** Documents that no caller could make. */
    async record(workspace: string, changes: readonly Change[]) {
      const target = { id: "x", type: "x" }
      await ledger.record(
        await workspaces.get(workspace),
        [draftOf({ by: instance, action: "test.documents", target }, clock.now())],
        changes,
      )
    },
    openSessions: () => createSessions(parts),
    async acts(workspace: string) {
      const entries = (await journal.after(workspace, 0, 1000)).map(
        (entry) => openEntry(entry, disclosuresOf(entry)) ?? assert.fail("it cannot be opened"),
      )
      return entries.map(({ kind, content: { action, actor, target } }) => [
        kind,
        action,
        actor["email"] ?? actor.type,
        target.type,
      ])
    },
    async kept() {
      const kinds = ["member", "membership", "session", "setup"] as const
      const all = await registry.list("workspace", undefined, undefined, 100)
      const counted = kinds.map(
        async (kind) =>
          [kind, await Promise.all(all.map(({ id }) => registry.count(kind, id)))] as const,
      )
      return Object.fromEntries(
        (await Promise.all(counted)).map(([kind, counts]) => [
          kind,
          counts.reduce((sum, one) => sum + one, 0),
        ]),
      )
    },
  }
}

const adminOf = (workspace: string): Principal => ({
  kind: "api-key",
  id: "admin",
  workspace,
  scopes: ["admin"],
  projectIds: undefined,
})
const firstOf = async (accounts: Accounts, email = "ada@example.com") => {
  const token = (await accounts.offerFirst()) ?? assert.fail("there is no token")
  return accounts.setUp({ token, email, password })
}

test("changes of an account are recorded in the instance's ledger, and those of a membership in its workspace's", async () => {
  const house = openHouse()
  const acme = await house.workspaces.create(instance, { id: "acme" })
  const ada = await firstOf(house.accounts)
  const sessions = house.openSessions()
  const by = (await sessions.recognise(ada.token, "acme")) ?? assert.fail("nobody is signed in")
  assert.deepEqual({ ...by, sessionId: "" }, {
    kind: "member",
    id: ada.members[0].id,
    email: "ada@example.com",
    sessionId: "",
    workspace: "acme",
    role: undefined,
    presides: true,
  } satisfies MemberPrincipal)

  const { token, document } = await house.members.invite(by, acme, {
    email: "bob@example.com",
    name: "Bob of the Quiet Hills",
    role: "viewer",
  })
  const bob = await house.accounts.setUp({ token, password })
  await house.members.changeRole(by, acme, document.id, "admin")
  const bobs = (await sessions.recognise(bob.token, "acme")) ?? assert.fail("nobody is signed in")
  assert.deepEqual([bobs.role, bobs.presides, bobs.email], ["admin", false, "bob@example.com"])
  await house.accounts.changePassword(bobs, password, "another long password")
  const { token: offered } = await house.accounts.offerPassword(by, document.id)
  await house.accounts.setUp({ token: offered, password })
  await house.accounts.signOut(
    (await sessions.recognise(
      (await house.accounts.signIn("BOB@example.com", password)).token,
      undefined,
    )) ?? assert.fail(),
  )
  await house.members.remove(by, acme, document.id)
  await house.members.remove(by, acme, document.id)

  const [a, b] = ["ada@example.com", "bob@example.com"]
  assert.deepEqual((await house.acts("instance")).slice(2), [
    ["admin", "security.member.create", a, "member"],
    ["admin", "security.session.create", a, "session"],
    ["admin", "security.member.create", b, "member"],
    ["admin", "security.session.create", b, "session"],
    ["admin", "security.password.change", b, "member"],
    ["admin", "security.password.offer", a, "member"],
    ["admin", "security.password.replace", b, "member"],
    ["admin", "security.session.create", b, "session"],
    ["admin", "security.session.create", b, "session"],
    ["admin", "security.session.end", b, "session"],
  ])
  assert.deepEqual((await house.acts("acme")).slice(2), [
    ["admin", "security.member.invite", a, "member"],
    ["admin", "security.member.join", b, "member"],
    ["admin", "security.member.update", a, "member"],
    ["admin", "security.member.remove", a, "member"],
  ])
  for (const workspace of ["instance", "acme"]) await expectChain(house.journal, workspace)
  // Names and e-mails are sealed, ids cannot be guessed, and no secrets are stored.
  const bodies = (
    await Promise.all(["instance", "acme"].map((id) => house.journal.after(id, 0, 1000)))
  ).flat()
  const text = bodies.map(({ body }) => Buffer.from(body ?? []).toString()).join("\n")
  for (const clear of [
    "example.com",
    "Quiet Hills",
    ...[ada.token, bob.token, token, offered, password].map((one) => one.slice(18, -6) || one),
  ]) {
    assert.ok(!text.includes(clear), `an entry shows ${clear}`)
  }
  assert.notEqual(
    memberIds(testKeyring.memberIds)(a, "instance"),
    memberIds(Buffer.alloc(32, 4))(a, "instance"),
  )
  assert.equal(memberIds(testKeyring.memberIds)("ADA@Example.com", "instance"), ada.members[0].id)
})

test("a session ends after half a day without use, and after a week in any case", async () => {
  const house = openHouse()
  const { token } = await firstOf(house.accounts)
  const sessions = house.openSessions()
  const isOpen = async (): Promise<boolean> =>
    (await sessions.recognise(token, undefined)) !== undefined
  house.clock.nowMs += 12 * hour - 1
  assert.equal(await isOpen(), true)
  house.clock.nowMs += 12 * hour - 1
  assert.equal(await isOpen(), true, "it was used in between")
  house.clock.nowMs += 12 * hour
  assert.equal(await isOpen(), false)
  assert.equal(await isOpen(), false, "to ask does not revive it")

  const { token: busy } = await house.accounts.signIn("ada@example.com", password)
  const beganMs = house.clock.nowMs
  while (house.clock.nowMs < beganMs + 168 * hour - 1) {
    assert.notEqual(await sessions.recognise(busy, undefined), undefined)
    house.clock.nowMs = Math.min(house.clock.nowMs + 11 * hour, beganMs + 168 * hour - 1)
  }
  assert.notEqual(await sessions.recognise(busy, undefined), undefined)
  house.clock.nowMs += 1
  assert.equal(await sessions.recognise(busy, undefined), undefined)
  assert.deepEqual(await house.kept(), { member: 1, membership: 1, session: 2, setup: 0 })
  await house.accounts.signIn("ada@example.com", password)
  assert.deepEqual(
    await house.kept(),
    { member: 1, membership: 1, session: 1, setup: 0 },
    "those that are over are removed with the next one",
  )
  await expectChain(house.journal, "instance")
})

test("a start of the service counts as a use of each session", async () => {
  const house = openHouse()
  const { token } = await firstOf(house.accounts)
  house.clock.nowMs += 24 * hour
  const sessions = house.openSessions()
  house.clock.nowMs += 12 * hour - 1
  assert.notEqual(await sessions.recognise(token, undefined), undefined)
  const others = house.openSessions()
  house.clock.nowMs += 12 * hour
  assert.equal(await others.recognise(token, undefined), undefined)
})

test("the first set-up token is valid for a day, and a new one replaces it", async () => {
  const house = openHouse()
  const { accounts } = house
  const early = (await accounts.offerFirst()) ?? ""
  const late = (await accounts.offerFirst()) ?? ""
  const set = (token: string) => accounts.setUp({ token, email: "ada@example.com", password })
  await assert.rejects(set(early), hasCode("unauthorized"))
  house.clock.nowMs += 24 * hour
  await assert.rejects(set(late), hasCode("token_expired"))
  const fresh = (await accounts.offerFirst()) ?? ""
  house.breakWrite(2)
  await assert.rejects(set(fresh), hasCode("ledger_unavailable"))
  await set(fresh)
  assert.equal(await accounts.offerFirst(), undefined)
  await assert.rejects(set(fresh), hasCode("unauthorized"))
  await expectChain(house.journal, "instance")
})

test("the first set-up token is offered until the instance has an admin, and an account accepts it with its password", async () => {
  const house = openHouse()
  const { accounts } = house
  const acme = await house.workspaces.create(instance, { id: "acme" })
  const early = (await accounts.offerFirst()) ?? assert.fail("there is no token")
  const realm = await house.members.invite(adminOf("acme"), acme, {
    email: "x@example.com",
    role: "viewer",
  })
  await accounts.setUp({ token: realm.token, password })
  const bob = await house.members.invite(instance, acme, {
    email: "bob@example.com",
    role: "viewer",
  })
  await accounts.setUp({ token: bob.token, password })
  const late = (await accounts.offerFirst()) ?? assert.fail("there is no token")
  await assert.rejects(
    accounts.setUp({ token: early, email: "ada@example.com", password }),
    hasCode("unauthorized"),
  )
  await assert.rejects(
    accounts.setUp({ token: late, email: "bob@example.com", password: "not the one of bob" }),
    hasCode("login_failed"),
  )
  const { members } = await accounts.setUp({ token: late, email: "bob@example.com", password })
  assert.deepEqual([members.length, members[0].id], [1, bob.document.id])
  assert.deepEqual(await accounts.workspacesOf(members[0]), [
    { id: "acme", role: "viewer" },
    { id: "instance", role: "admin" },
  ])
  assert.equal(await accounts.offerFirst(), undefined)
  for (const workspace of ["instance", "acme"]) await expectChain(house.journal, workspace)
})

test("joining that is interrupted at any write can be repeated with the same token", async () => {
  for (const write of [1, 2]) {
    const house = openHouse()
    const acme = await house.workspaces.create(instance, { id: "acme" })
    await firstOf(house.accounts)
    const { token, document } = await house.members.invite(instance, acme, {
      email: "bob@example.com",
      role: "viewer",
    })
    house.breakWrite(write)
    await assert.rejects(house.accounts.setUp({ token, password }), hasCode("ledger_unavailable"))
    assert.equal((await house.members.get("acme", document.id)).value.joinedAt, undefined)
    const {
      members: [member],
    } = await house.accounts.setUp({ token, password })
    assert.deepEqual(await house.accounts.workspacesOf(member), [{ id: "acme", role: "viewer" }])
    for (const workspace of ["instance", "acme"]) await expectChain(house.journal, workspace)
  }
})

test("adding an account to a workspace does not change the account, is recorded in both ledgers, and can be repeated after an interruption", async () => {
  for (const write of [1, 2]) {
    const house = openHouse()
    const acme = await house.workspaces.create(instance, { id: "acme" })
    const other = await house.workspaces.create(instance, { id: "other" })
    const ada = await firstOf(house.accounts)
    const sessions = house.openSessions()
    const by = (await sessions.recognise(ada.token, "other")) ?? assert.fail("nobody is signed in")
    const { token, document } = await house.members.invite(adminOf("acme"), acme, {
      email: "bob@example.com",
      name: "Bob",
      role: "viewer",
    })
    const { id } = document
    await assert.rejects(
      house.accounts.join(by, other, id, "admin"),
      hasCode("not_found"),
      "nobody has taken the invitation up",
    )
    const bob = await house.accounts.setUp({ token, password })
    const kept = (await house.account(id)).value

    house.breakWrite(write)
    await assert.rejects(house.accounts.join(by, other, id, "admin"), hasCode("ledger_unavailable"))
    assert.equal((await sessions.recognise(bob.token, "other"))?.role, undefined)
    await house.accounts.join(by, other, id, "admin")
    assert.equal((await sessions.recognise(bob.token, "other"))?.role, "admin")
    assert.deepEqual((await house.account(id)).value, {
      ...kept,
      workspaces: ["acme", "other"],
    })
    const { value } = await house.members.get("other", id)
    assert.deepEqual(
      [value.email, value.name, value.createdBy, value.joinedAt],
      ["bob@example.com", "Bob", ada.members[0].id, value.createdAt],
    )
    const [a, times] = ["ada@example.com", write]
    assert.deepEqual(
      (await house.acts("instance")).slice(-times),
      Array(times).fill(["admin", "security.account.join", a, "member"]),
    )
    assert.deepEqual((await house.acts("other")).slice(-1), [
      ["admin", "security.member.add", a, "member"],
    ])
    await assert.rejects(house.accounts.join(by, other, id, "viewer"), hasCode("conflict"))

    // It leaves its first workspace, and the process ends before the check whether it has others.
    await house.members.remove(instance, acme, id)
    await house.members.remove(instance, other, id)
    await assert.rejects(
      house.accounts.join(by, acme, id, "admin"),
      hasCode("not_found"),
      "it is nobody's",
    )
    for (const workspace of ["instance", "acme", "other"])
      await expectChain(house.journal, workspace)
  }
})

test("accounts and passwords that another server has changed work for a sign-in", async () => {
  const house = openHouse()
  const other = house.openAccountsLate(3000)
  const signIn = (chosen: string) => other.signIn("ada@example.com", chosen)
  await assert.rejects(signIn(password), hasCode("login_failed"), "its index has been read")
  const { token } = await firstOf(house.accounts)
  house.clock.nowMs += 3000
  await signIn(password)

  const by = await house.openSessions().recognise(token, undefined)
  await house.accounts.changePassword(by ?? assert.fail(), password, "another long password")
  house.clock.nowMs += 3000
  await signIn("another long password")
  await assert.rejects(signIn(password), hasCode("login_failed"))
  await expectChain(house.journal, "instance")
})

test("a sign-in opens a limited number of accounts with one password, the oldest first", async () => {
  const house = openHouse()
  await firstOf(house.accounts)
  const email = "bob@example.com"
  const idOf = memberIds(testKeyring.memberIds)
  const stretched = await createPasswords(testKeyring.passwords).stretch(
    password,
    // Accounts that were made with another cost keep it.
    settingsOf.person(idOf(email, "instance")).replace("m=32768,t=2", "m=1024,t=1"),
  )
  const about = { email, createdAt: "2026-01-01T00:00:00.000Z" }
  const realms = Array.from({ length: accountsAtOnceMax + 1 }, (_, at) => ({
    workspace: `realm-${at}`,
    id: idOf(email, `realm-${at}`),
  }))
  for (const { workspace, id } of realms) {
    const value = {
      ...about,
      password: stretched.keep(id),
      login: stretched.login,
      workspaces: [workspace],
      sessions: [],
    }
    await house.workspaces.create(instance, { id: workspace })
    await house.record("instance", [{ kind: "member", id, version: 0, value }])
    const membership = {
      ...about,
      role: "viewer",
      createdBy: "x",
      joinedAt: about.createdAt,
    } as const
    await house.record(workspace, [{ kind: "membership", id, version: 0, value: membership }])
  }
  const { members } = await house.openAccounts().signIn(email, password)
  assert.deepEqual(
    members.map(({ id }) => id),
    realms.slice(0, accountsAtOnceMax).map(({ id }) => id),
  )
  await expectChain(house.journal, "instance")
})

test("an account without workspaces is deleted, an incomplete one is made anew, and former sessions are not valid for it", async () => {
  const house = openHouse()
  const acme = await house.workspaces.create(instance, { id: "acme" })
  await firstOf(house.accounts)
  const sessions = house.openSessions()
  const invite = () =>
    house.members.invite(instance, acme, { email: "bob@example.com", role: "viewer" })
  const { token, document } = await invite()
  const bob = await house.accounts.setUp({ token, password })
  await house.accounts.offerPassword(instance, document.id)
  // The membership is removed, and the process ends before the account is.
  await house.members.remove(instance, acme, document.id)
  const later = await invite()
  assert.equal(later.document.id, document.id)
  const again = await house.accounts.setUp({ token: later.token, password: "of another person" })
  await assert.rejects(
    house.members.inviteAgain(instance, acme, document.id),
    hasCode("conflict"),
    "it has accepted",
  )
  assert.equal(await sessions.recognise(bob.token, "acme"), undefined)
  assert.equal((await sessions.recognise(again.token, "acme"))?.role, "viewer")
  await assert.rejects(house.accounts.signIn("bob@example.com", password), hasCode("login_failed"))
  await house.accounts.removeIfNowhere(instance, document.id)
  assert.equal((await house.kept())["member"], 2, "it belongs somewhere")
  await house.members.remove(instance, acme, document.id)
  await house.accounts.removeIfNowhere(instance, document.id)
  await house.accounts.removeIfNowhere(instance, document.id)
  assert.deepEqual(await house.kept(), { member: 1, membership: 1, session: 1, setup: 0 })
  for (const workspace of ["instance", "acme"]) await expectChain(house.journal, workspace)
})

test("concurrent sign-ins, sign-outs and password changes all take effect, and leave nothing behind", async () => {
  const house = openHouse({ sessionsMax: 5 })
  await firstOf(house.accounts)
  const sessions = house.openSessions()
  const opened = await Promise.all(
    Array.from({ length: 12 }, () => house.accounts.signIn("ada@example.com", password)),
  )
  const open = async () =>
    (await Promise.all(opened.map(({ token }) => sessions.recognise(token, undefined)))).filter(
      (one) => one !== undefined,
    )
  assert.equal((await open()).length, 5)
  const [one, two, three] = await open()
  const changes = await Promise.allSettled(
    [one, two, three].map((by) =>
      house.accounts.changePassword(by ?? assert.fail(), password, "another long password"),
    ),
  )
  assert.equal(
    changes.filter(({ status }) => status === "fulfilled").length,
    1,
    "the second finds another password",
  )
  assert.equal((await open()).length, 1)
  const [last = assert.fail()] = await open()
  await Promise.all([1, 2, 3].map(() => house.accounts.signOut(last)))
  assert.deepEqual(await house.kept(), { member: 1, membership: 1, session: 0, setup: 0 })
  await expectChain(house.journal, "instance")
})
