import assert from "node:assert/strict"
import { after, test } from "node:test"
import { expectChain } from "../chain.ts"
import {
  cookieOf,
  browserOf,
  goodPassword,
  join,
  setUpFirst,
  setupToken,
  signIn,
} from "../people.ts"
import {
  eventFor,
  makeKey,
  makeWorkspace,
  startService,
  type Client,
  type Reply,
  clockAhead,
} from "../service.ts"
import { expectRows, type Row } from "./table.ts"
import { startWatched } from "./watched.ts"

// Members of a workspace are invited, join, are changed and removed; and nobody takes another
// person's place.

const service = await startWatched({
  environment: { TALLYSTICK_LIMIT_FAILED_LOGINS_PER_MINUTE: "1000" },
})
after(() => service[Symbol.asyncDispose]())
const { root } = service
const acme = await makeWorkspace(service)
const other = await makeWorkspace(service)
const anonymous = service.client()
const first = await setUpFirst(service)
const membersPath = `${acme.path}/members`

const invite = async (
  path: string,
  email: string,
  role = "viewer",
  as: Client = root,
): Promise<{ id: string; token: string }> => {
  const reply = await as.post(`${path}/members`, { email, role })
  assert.equal(reply.status, 201, reply.text)
  return { id: reply.json().member.id, token: setupToken(reply.text) }
}
const takeUp = (token: string, password = goodPassword, more: object = {}): Promise<Reply> =>
  anonymous.post("/v1/setup", { token, password, ...more })

test("a member is invited, listed, joins by the address that was shown, and is changed and removed", async () => {
  const made = await root.post(membersPath, {
    email: "Ada@Example.com",
    name: "Ada",
    role: "viewer",
  })
  assert.equal(made.status, 201)
  const { member, setupUrl } = made.json()
  assert.match(
    setupUrl,
    new RegExp(`^${service.url}/ui/setup#t=tsx_[0-9A-Za-z]{13}_[0-9A-Za-z]{49}$`),
  )
  assert.partialDeepStrictEqual(member, {
    workspaceId: acme.id,
    email: "Ada@Example.com",
    name: "Ada",
    role: "viewer",
  })
  assert.equal(member.joinedAt, undefined)
  const listed = await root.get(membersPath)
  assert.deepEqual(listed.json().members[0], member)
  assert.ok(!/tsx_|mac|password|setupId/.test(listed.text))

  const set = await takeUp(setupToken(made.text))
  assert.deepEqual(set.json(), {
    member: { id: member.id, email: "Ada@Example.com", name: "Ada", instanceAdmin: false },
    workspaces: [{ id: acme.id, role: "viewer" }],
  })
  const ada = browserOf(anonymous, cookieOf(set))
  assert.match((await root.get(membersPath)).json().members[0].joinedAt, /^20\d\d-.*Z$/)

  const address = `${membersPath}/${member.id}`
  const again = await expectRows([
    { as: ada, ask: `PATCH ${acme.path}`, send: { hotDays: 10 }, gets: "403 insufficient_scope" },
    { as: ada, ask: `GET ${membersPath}`, gets: "403 insufficient_scope" },
    {
      as: root,
      ask: `PATCH ${address}`,
      send: { role: "owner" },
      gets: "400 invalid_field",
      has: ["role must be one of viewer, admin"],
    },
    { as: root, ask: `PATCH ${address}`, send: {}, gets: "400 invalid_field" },
    {
      as: root,
      ask: `PATCH ${address}`,
      send: { role: "admin" },
      gets: 200,
      shows: { id: member.id, role: "admin" },
    },
    { as: root, ask: `PATCH ${address}`, send: { role: "admin" }, gets: 200 },
    { as: ada, ask: `PATCH ${acme.path}`, send: { hotDays: 10 }, gets: 200 },
    {
      as: ada,
      ask: `POST ${membersPath}`,
      send: { email: "by-ada@example.com", role: "admin" },
      gets: 201,
    },
    { as: ada, ask: `PATCH ${address}`, send: { role: "viewer" }, gets: 200 },
    { as: ada, ask: `PATCH ${acme.path}`, send: { hotDays: 11 }, gets: "403 insufficient_scope" },
    { as: root, ask: `DELETE ${address}`, gets: 204 },
    { as: ada, ask: `GET ${acme.path}`, gets: "401 unauthorized" },
    { as: ada, ask: "GET /v1/session", gets: "401 unauthorized" },
    {
      as: anonymous,
      ask: "POST /v1/session",
      send: { email: "ada@example.com", password: goodPassword },
      gets: "401 login_failed",
    },
    { as: root, ask: `DELETE ${address}`, gets: 204 },
    { as: root, ask: `DELETE ${membersPath}/${"0".repeat(13)}`, gets: 204 },
    { as: root, ask: `DELETE ${membersPath}/short`, gets: "404 not_found" },
    { as: root, ask: `PATCH ${address}`, send: { role: "admin" }, gets: "404 not_found" },
    { as: root, ask: `POST ${address}/setup`, send: {}, gets: "404 not_found" },
  ])
  assert.equal(again.length, 19)
})

test("invalid invitations are refused", async () => {
  await join(service, acme.path, "viewer", "there@example.com")
  await invite(acme.path, "invited@example.com")
  const bad = (send: object, gets: Row["gets"], has: Row["has"] = []): Row => ({
    as: root,
    ask: `POST ${membersPath}`,
    send,
    gets,
    has,
  })
  await expectRows([
    bad({ role: "viewer" }, "400 invalid_field", ["email is required"]),
    bad({ email: "x@example.com" }, "400 invalid_field", ["role is required"]),
    bad({ email: "x", role: "viewer" }, "400 invalid_field", ["email must be an e-mail address"]),
    bad({ email: "x@y@z", role: "viewer" }, "400 invalid_field", ["email"]),
    bad({ email: "x\u202e@example.com", role: "viewer" }, "400 invalid_field", ["email"]),
    bad({ email: `${"x".repeat(250)}@example.com`, role: "viewer" }, "400 invalid_field", [
      "email",
    ]),
    bad({ email: "x@example.com", role: "write" }, "400 invalid_field", ["role"]),
    bad({ email: "x@example.com", role: "viewer", password: "p" }, "400 invalid_field", [
      "password is not a known field",
    ]),
    bad({ email: "there@example.com", role: "viewer" }, "409 conflict"),
    bad({ email: "THERE@example.com", role: "admin" }, "409 conflict"),
    bad({ email: "invited@example.com", role: "viewer" }, "409 conflict"),
    {
      as: root,
      ask: "POST /v1/workspaces/nowhere/members",
      send: { email: "x@example.com", role: "viewer" },
      gets: "404 not_found",
    },
  ])
  const tries = await Promise.all(
    [1, 2, 3, 4].map(() =>
      root.post(membersPath, { email: "at-once@example.com", role: "viewer" }),
    ),
  )
  assert.deepEqual(tries.map(({ status }) => String(status)).toSorted(), [
    "201",
    "409",
    "409",
    "409",
  ])
})

test("a set-up token works once, for one e-mail, until it is replaced or its member removed", async () => {
  const { id, token } = await invite(acme.path, "once@example.com")
  assert.equal((await takeUp(token, goodPassword, { email: "another@example.com" })).status, 400)
  const again = await root.post(`${membersPath}/${id}/setup`, {})
  assert.equal(again.status, 201)
  assert.equal((await takeUp(token)).json().error, "unauthorized", "the one before has ended")
  const late = setupToken(again.text)
  const tries = await Promise.all(
    [1, 2, 3].map(() => takeUp(late, goodPassword, { email: "ONCE@example.com" })),
  )
  assert.equal(
    tries.filter(({ status }) => status === 200).length,
    1,
    tries.map(({ text }) => text).join("\n"),
  )
  assert.equal((await takeUp(late)).status, 401)

  const removed = await invite(acme.path, "removed@example.com")
  assert.equal((await root.delete(`${membersPath}/${removed.id}`)).status, 204)
  assert.equal((await takeUp(removed.token)).status, 401)
})

test("a person with an account accepts another invitation by the password, and belongs to both workspaces", async () => {
  const { id, email } = await join(service, acme.path, "viewer", "both@example.com")
  const { id: there, token } = await invite(other.path, "BOTH@example.com", "admin")
  assert.equal(there, id)
  assert.equal((await takeUp(token, "wrong horse battery")).json().error, "login_failed")
  const before = await signIn(service, email)
  assert.equal((await before.get(other.path)).status, 403, "an invitation alone gives no rights")
  assert.deepEqual((await before.get("/v1/session")).json().workspaces, [
    { id: acme.id, role: "viewer" },
  ])
  assert.equal((await takeUp(token)).status, 200)
  assert.equal((await before.get(other.path)).status, 200)
  assert.deepEqual((await before.get("/v1/session")).json().workspaces, [
    { id: acme.id, role: "viewer" },
    { id: other.id, role: "admin" },
  ])
})

test("nobody can take over an e-mail with an account, or learn that it has one", async () => {
  const theirs = await join(service, other.path, "admin", "their-admin@example.com")
  const email = "victim@example.com"
  const known = "known to the admin"
  // The other workspace's admin makes an account for a stranger's e-mail, with a password that the
  // admin knows.
  const taken = await invite(other.path, email, "viewer", theirs)
  assert.equal((await takeUp(taken.token, known)).status, 200)
  // Then the stranger is invited here, and has only the address that was sent.
  const ours = await invite(acme.path, email, "admin")
  assert.notEqual(ours.id, taken.id)
  const thief = await signIn(service, email, known)
  assert.equal((await thief.get(acme.path)).status, 403)
  assert.equal((await takeUp(ours.token, "chosen by the victim")).status, 200)
  const victim = await signIn(service, email, "chosen by the victim")
  await expectRows([
    { as: thief, ask: `GET ${acme.path}`, gets: "403 workspace_forbidden" },
    { as: victim, ask: `GET ${acme.path}`, gets: 200 },
    { as: victim, ask: `GET ${other.path}`, gets: "403 workspace_forbidden" },
    // Their account ends with its only membership, and this one stays.
    { as: theirs, ask: `DELETE ${other.path}/members/${taken.id}`, gets: 204 },
    { as: thief, ask: "GET /v1/session", gets: "401 unauthorized" },
    {
      as: anonymous,
      ask: "POST /v1/session",
      send: { email, password: known },
      gets: "401 login_failed",
    },
    {
      as: victim,
      ask: "GET /v1/session",
      gets: 200,
      shows: { workspaces: [{ id: acme.id, role: "admin" }] },
    },
    // Nor can a workspace's admin reset the password of an account.
    {
      as: victim,
      ask: `POST ${membersPath}/${ours.id}/setup`,
      send: {},
      gets: "403 insufficient_scope",
    },
    { as: first, ask: `POST ${membersPath}/${ours.id}/setup`, send: {}, gets: 201 },
  ])
})

test("an admin of the workspace cannot accept an invitation by the instance, but can accept one by the workspace", async () => {
  const adminKey = await makeKey(service, acme.id, { scopes: ["admin"] })
  const adminMember = await join(service, acme.path, "admin", "asks-again@example.com")
  const email = "pending@example.com"
  const [here, there] = [await invite(acme.path, email), await invite(other.path, email, "admin")]
  assert.equal(here.id, there.id)
  const own = await invite(acme.path, "pending-own@example.com", "viewer", adminKey)
  const again = { ask: `POST ${membersPath}/${here.id}/setup`, send: {} }
  const ownAgain = { ask: `POST ${membersPath}/${own.id}/setup`, send: {}, gets: 201 }
  await expectRows([
    { as: adminKey, ...again, gets: "403 insufficient_scope" },
    { as: adminMember, ...again, gets: "403 insufficient_scope" },
    { as: adminKey, ...ownAgain },
    { as: adminMember, ...ownAgain },
    { as: root, ...ownAgain },
  ])
  // The refused requests ended nothing.
  assert.equal((await takeUp(here.token)).status, 200)
  assert.equal((await takeUp(there.token)).status, 200)
  // The same for a person with an account: nobody else can try its password.
  const third = await makeWorkspace(service)
  const { id } = await invite(third.path, email)
  const thirdKey = await makeKey(service, third.id, { scopes: ["admin"] })
  await expectRows([
    {
      as: thirdKey,
      ask: `POST ${third.path}/members/${id}/setup`,
      send: {},
      gets: "403 insufficient_scope",
    },
    { as: first, ask: `POST ${third.path}/members/${id}/setup`, send: {}, gets: 201 },
  ])
})

test("an admin of the instance adds an account to another workspace, and no other account is affected", async () => {
  const [made, joined] = [await makeWorkspace(service), await makeWorkspace(service)]
  const [maker, host] = [
    await join(service, made.path, "admin", "maker@example.com"),
    await join(service, joined.path, "admin", "host@example.com"),
  ]
  const email = "added@example.com"
  const { id, token } = await invite(made.path, email, "viewer", maker)
  const added = { ask: `POST ${joined.path}/members/${id}`, send: { role: "admin" } }
  await expectRows([
    { as: first, ...added, gets: "404 not_found", has: ["there is no such account"] },
  ])
  const person = browserOf(anonymous, cookieOf(await takeUp(token)))
  await expectRows([
    { as: maker, ...added, gets: "403 workspace_forbidden", hasNot: [email] },
    { as: host, ...added, gets: "403 insufficient_scope", hasNot: [email] },
    { as: person, ...added, gets: "403 workspace_forbidden" },
    { as: first, ...added, send: {}, gets: "400 invalid_field", has: ["role is required"] },
    {
      as: first,
      ask: `POST /v1/workspaces/nowhere/members/${id}`,
      send: { role: "admin" },
      gets: "404 not_found",
    },
    {
      as: first,
      ask: `POST ${made.path}/members/${id}`,
      send: { role: "admin" },
      gets: "409 conflict",
    },
  ])
  // A member of the workspace with this e-mail has to be removed first.
  const own = await invite(joined.path, email, "viewer", host)
  await expectRows([
    {
      as: first,
      ...added,
      gets: "409 conflict",
      has: ["this e-mail belongs to a member of the workspace"],
    },
    { as: host, ask: `DELETE ${joined.path}/members/${own.id}`, gets: 204 },
    { as: person, ask: `GET ${joined.path}`, gets: "403 workspace_forbidden" },
    {
      as: first,
      ...added,
      gets: 201,
      shows: { id, workspaceId: joined.id, email, role: "admin" },
      has: ["joinedAt"],
    },
    { as: root, ...added, gets: "409 conflict" },
    // The session goes on and sees both, and so does the next one, by the same password.
    { as: person, ask: `PATCH ${joined.path}`, send: { hotDays: 20 }, gets: 200 },
    { as: await signIn(service, email), ask: `GET ${joined.path}`, gets: 200 },
    // Neither workspace can set its password.
    ...[
      { as: maker, path: made.path },
      { as: host, path: joined.path },
    ].map(({ as, path }): Row => ({
      as,
      ask: `POST ${path}/members/${id}/setup`,
      send: {},
      gets: "403 insufficient_scope",
    })),
  ])
  const theActs = async (path: string, action: string) => {
    const { events } = (
      await root.get(`${path}/events?projectId=system&query=action:${action}`)
    ).json()
    return events
      .filter(({ target }: { target: { id: string } }) => target.id === id)
      .map(({ actor, metadata }: { actor: object; metadata: object }) => ({ actor, metadata }))
  }
  const actor = { id: first.id, type: "member" }
  assert.partialDeepStrictEqual(await theActs("/v1/workspaces/instance", "security.account.join"), [
    { actor, metadata: { workspaceId: joined.id } },
  ])
  assert.partialDeepStrictEqual(await theActs(joined.path, "security.member.add"), [
    { actor, metadata: { role: "admin" } },
  ])

  // With an account of the workspace's own beside it, the person is an admin there by either.
  const beside = await invite(joined.path, email, "admin", host)
  assert.equal((await takeUp(beside.token)).status, 200)
  const both = await signIn(service, email)
  for (const [viewer, admin] of [
    [id, beside.id],
    [beside.id, id],
  ]) {
    await host.patch(`${joined.path}/members/${admin}`, { role: "admin" })
    await host.patch(`${joined.path}/members/${viewer}`, { role: "viewer" })
    const { workspaces } = (await both.get("/v1/session")).json()
    assert.deepEqual(
      new Map(workspaces.map(({ id, role }: { id: string; role: string }) => [id, role])),
      new Map([
        [made.id, "viewer"],
        [joined.id, "admin"],
      ]),
    )
  }

  // Removed where it was made, it stays where it was added; a new invitation there needs its
  // password.
  await expectRows([{ as: maker, ask: `DELETE ${made.path}/members/${id}`, gets: 204 }])
  const again = await invite(made.path, email, "viewer", maker)
  assert.equal(again.id, id)
  assert.equal((await takeUp(again.token, "chosen by the maker")).json().error, "login_failed")
  await expectRows([
    { as: person, ask: `GET ${made.path}`, gets: "403 workspace_forbidden" },
    { as: person, ask: `GET ${joined.path}`, gets: 200 },
  ])
  for (const workspace of [made, joined]) await expectChain(root, workspace.id)
})

test("a sign-in opens every account of the e-mail that has this password", async () => {
  const third = await makeWorkspace(service)
  const [email, same, lone] = [
    "thrice@example.com",
    "the same in two of them",
    "another one in the third",
  ]
  const joined: string[] = []
  for (const [{ id, path }, password] of [
    [acme, same],
    [other, same],
    [third, lone],
  ] as const) {
    const admin = await join(service, path, "admin", `admin-of-${id}@example.com`)
    const invited = await invite(path, email, "viewer", admin)
    const set = await takeUp(invited.token, password)
    // Accepting an invitation reveals nothing about other memberships, with any password.
    assert.deepEqual(set.json().workspaces, [{ id, role: "viewer" }])
    joined.push(invited.id)
  }
  assert.equal(new Set(joined).size, 3)
  const [both, one] = [await signIn(service, email, same), await signIn(service, email, lone)]
  const wrong = { as: anonymous, ask: "POST /v1/session", gets: "401 login_failed" } as const
  await expectRows([
    {
      as: both,
      ask: "GET /v1/session",
      gets: 200,
      shows: { workspaces: [acme, other].map(({ id }) => ({ id, role: "viewer" })) },
    },
    { as: both, ask: `GET ${acme.path}`, gets: 200 },
    { as: both, ask: `GET ${other.path}`, gets: 200 },
    { as: both, ask: `GET ${third.path}`, gets: "403 workspace_forbidden" },
    { as: one, ask: `GET ${third.path}`, gets: 200 },
    { as: one, ask: `GET ${acme.path}`, gets: "403 workspace_forbidden" },
    // A changed password applies to every membership that the old one opened.
    {
      as: both,
      ask: "POST /v1/session/password",
      send: { old: lone, new: "a third of them all" },
      gets: "401 login_failed",
    },
    {
      as: both,
      ask: "POST /v1/session/password",
      send: { old: same, new: "a third of them all" },
      gets: 204,
    },
    { ...wrong, send: { email, password: same } },
    // One account leaves, and the session goes on for the other.
    { as: root, ask: `DELETE ${membersPath}/${joined[0]}`, gets: 204 },
    { as: both, ask: `GET ${acme.path}`, gets: "403 workspace_forbidden" },
    { as: both, ask: `GET ${other.path}`, gets: 200 },
  ])
  const later = await signIn(service, email, "a third of them all")
  assert.deepEqual((await later.get("/v1/session")).json().workspaces, [
    { id: other.id, role: "viewer" },
  ])
  // Whoever is invited anew is a new account; an old session does not speak for it.
  const again = await join(service, acme.path, "viewer", email, "a third of them all")
  await expectRows([
    { as: again, ask: `GET ${acme.path}`, gets: 200 },
    { as: both, ask: `GET ${acme.path}`, gets: "403 workspace_forbidden" },
    { as: both, ask: "DELETE /v1/session", gets: 204 },
    { as: both, ask: "GET /v1/session", gets: "401 unauthorized" },
    { as: later, ask: `GET ${other.path}`, gets: 200 },
  ])
})

test("an invitation says nothing of whether the e-mail is known elsewhere", async () => {
  await join(service, other.path, "viewer", "known@example.com")
  const replies = await Promise.all(
    ["known@example.com", "unknown@example.com"].map((email) =>
      root.post(membersPath, { email, role: "viewer" }),
    ),
  )
  const shapes = replies.map(({ status, text }) => [
    status,
    text.replaceAll(/"id":"\w+"|un?known@|known@|tsx_\w+|"createdAt":"[^"]*"/g, "…"),
  ])
  assert.deepEqual(shapes[0], shapes[1])
})

test("a removed member loses access from the next request on, and so do the member's tokens", async () => {
  const { receipt } = (await root.write(eventFor(acme.id))).json()
  for (let round = 0; round < 10; round++) {
    const member = await join(service, acme.path, "viewer", `leaves-${round}@example.com`)
    const token = service.client(
      (await member.post(`${acme.path}/receipts/${receipt}/token`, {})).json().token,
    )
    const address = `${acme.path}/receipts/${receipt}`
    await expectRows([
      { as: member, ask: `GET ${acme.path}`, gets: 200 },
      { as: token, ask: `GET ${address}`, gets: 200 },
      { as: root, ask: `DELETE ${membersPath}/${member.id}`, gets: 204 },
      { as: member, ask: `GET ${acme.path}`, gets: "401 unauthorized" },
      { as: token, ask: `GET ${address}`, gets: "401 token_revoked" },
    ])
    if (round > 0) continue
    // A person who returns is a member again, but the earlier tokens stay ended.
    const again = await join(service, acme.path, "viewer", member.email, "another battery staple")
    assert.equal(again.id, member.id)
    await expectRows([
      { as: again, ask: `GET ${acme.path}`, gets: 200 },
      { as: member, ask: `GET ${acme.path}`, gets: "401 unauthorized" },
      { as: token, ask: `GET ${address}`, gets: "401 token_revoked" },
    ])
  }
})

test("an instance always has an admin who can sign in", async () => {
  const path = "/v1/workspaces/instance/members"
  const last = { gets: "409 conflict", has: ["the last admin of the instance"] } as const
  await expectRows([
    { as: root, ask: `DELETE ${path}/${first.id}`, ...last },
    { as: first, ask: `PATCH ${path}/${first.id}`, send: { role: "viewer" }, ...last },
    { as: first, ask: `PATCH ${path}/${first.id}`, send: { role: "admin" }, gets: 200 },
  ])
  await invite("/v1/workspaces/instance", "never-joins@example.com", "admin")
  await expectRows([{ as: first, ask: `DELETE ${path}/${first.id}`, ...last }])

  const second = await join(service, "/v1/workspaces/instance", "admin", "second@example.com")
  const reader = await join(service, "/v1/workspaces/instance", "viewer", "reader@example.com")
  await expectRows([
    { as: second, ask: "GET /v1/workspaces", gets: 200 },
    { as: second, ask: `GET ${acme.path}`, gets: 200 },
    { as: second, ask: "GET /v1/session", gets: 200, shows: { member: { instanceAdmin: true } } },
    { as: reader, ask: "GET /v1/workspaces/instance", gets: 200 },
    { as: reader, ask: "GET /v1/workspaces", gets: "403 insufficient_scope" },
    { as: reader, ask: `GET ${acme.path}`, gets: "403 workspace_forbidden" },
  ])
  // Both want to go at the same moment. One of them stays, however that moment falls.
  for (let round = 0; round < 5; round++) {
    const third = await join(
      service,
      "/v1/workspaces/instance",
      "admin",
      `third-${round}@example.com`,
    )
    const going = await Promise.all([
      root.delete(`${path}/${second.id}`),
      root.delete(`${path}/${third.id}`),
      root.patch(`${path}/${first.id}`, { role: "viewer" }),
    ])
    assert.equal(
      going.filter(({ status }) => status === 409).length,
      1,
      going.map(({ status }) => status).join(", "),
    )
    const admins = (await root.get(`${path}?limit=100`))
      .json()
      .members.filter(
        (one: { role: string; joinedAt?: string }) => one.role === "admin" && one.joinedAt,
      )
    assert.equal(admins.length, 1)
    // And so that the next round finds the first two again.
    if (admins[0].id !== first.id)
      assert.equal((await root.patch(`${path}/${first.id}`, { role: "admin" })).status, 200)
    if (admins[0].id === third.id)
      assert.equal((await root.delete(`${path}/${third.id}`)).status, 204)
    if (admins[0].id !== second.id)
      await join(service, "/v1/workspaces/instance", "admin", second.email)
  }
  await expectChain(root, "instance")
})

test("members are listed newest first, page by page", async () => {
  const many = await makeWorkspace(service)
  const emails = Array.from({ length: 5 }, (_, at) => `page-${at}@example.com`)
  for (const email of emails) await invite(many.path, email)
  const seen: string[] = []
  for (let cursor = ""; ;) {
    const page = (
      await root.get(`${many.path}/members?limit=2${cursor && `&cursor=${cursor}`}`)
    ).json()
    seen.push(...page.members.map(({ email }: { email: string }) => email))
    if (page.nextCursor === null) break
    cursor = page.nextCursor
  }
  assert.deepEqual(seen, emails.toReversed())
})

test("a set-up token lives for a day", async () => {
  await using today = await startService()
  const { id, path } = await makeWorkspace(today)
  const key = await makeKey(today, id, { scopes: ["admin"] })
  const { token } = await (async () => {
    const reply = await key.post(`${path}/members`, { email: "late@example.com", role: "viewer" })
    return { token: setupToken(reply.text) }
  })()
  await today.end()
  const on = async (hours: number, gets: Row["gets"]): Promise<void> => {
    const environment = clockAhead(hours / 24)
    await using then = await startService({ data: today.data, environment })
    await expectRows([
      { as: then.client(), ask: "POST /v1/setup", send: { token, password: goodPassword }, gets },
    ])
    if (gets === 200) await expectChain(then.root, id)
  }
  await on(24.1, "401 token_expired")
  await on(23.9, 200)
})

test("the chains of this run are intact", async () => {
  for (const workspace of [acme, other]) await expectChain(root, workspace.id)
})

test("every receipt of this run verifies, and no secret leaked", () => service.finish())
