import assert from "node:assert/strict"
import { join as joinPath } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { after, test } from "node:test"
import { expectChain } from "../chain.ts"
import { metric } from "../metrics.ts"
import {
  browserOf,
  cookieOf,
  firstToken,
  goodPassword,
  join,
  setUpFirst,
  setupToken,
  signIn,
  type Person,
} from "../people.ts"
import {
  eventFor,
  eventually,
  makeKey,
  makeWorkspace,
  startService,
  type Client,
  clockAhead,
} from "../service.ts"
import { expectRows, type Row } from "./table.ts"
import { startWatched } from "./watched.ts"

// People: the first member's set-up, signing in and out, and what a cookie allows.

// promises/sign-in-flood.test.ts has many wrong passwords at once.
const environment = { TALLYSTICK_LIMIT_FAILED_LOGINS_PER_MINUTE: "1000" }
const service = await startWatched({ environment })
after(() => service[Symbol.asyncDispose]())
const { root } = service
const acme = await makeWorkspace(service)
const other = await makeWorkspace(service)
const anonymous = service.client()

test("the printed token sets up the first member, once, and needs all fields of a member", async () => {
  const token = await firstToken(service)
  const sent = (send: object, gets: Row["gets"], has: Row["has"] = []): Row => ({
    as: anonymous,
    ask: "POST /v1/setup",
    send,
    gets,
    has,
  })
  const password = goodPassword
  const email = "First@Example.com"
  await expectRows([
    sent({ token, password }, "400 invalid_field", ["email is required"]),
    sent({ token, email }, "400 invalid_field", ["password is required"]),
    sent({ token, email, password: "elevenchars" }, "400 invalid_field", [
      "password must be 12 to 256 characters",
    ]),
    sent({ token, email, password: "p".repeat(257) }, "400 invalid_field", [
      "password must be 12 to 256 characters",
    ]),
    sent({ token, email: "nobody", password }, "400 invalid_field", [
      "email must be an e-mail address",
    ]),
    sent({ token, email: "a b@example.com", password }, "400 invalid_field", ["email"]),
    sent({ token, email, password, role: "admin" }, "400 invalid_field", [
      "role is not a known field",
    ]),
    sent({ email, password }, "400 invalid_field", ["token is required"]),
    sent({ token: "x", email, password }, "401 unauthorized"),
    sent({ token: `tsx_${"7".repeat(13)}_${"7".repeat(49)}`, email, password }, "401 unauthorized"),
    sent({ token: token.replace("tsx", "tss"), email, password }, "401 unauthorized"),
    sent({ token: acme.reader.bearer, email, password }, "401 unauthorized"),
  ])
  const tries = await Promise.all(
    [1, 2, 3, 4].map((at) =>
      anonymous.post("/v1/setup", { token, email, name: `Number ${at}`, password }),
    ),
  )
  assert.deepEqual(
    tries.map(({ status }) => String(status)).toSorted(),
    ["200", "401", "401", "401"],
    "it is good for one",
  )
  const made = tries.find(({ status }) => status === 200)
  assert.partialDeepStrictEqual(made?.json(), {
    member: { email, instanceAdmin: true },
    workspaces: [{ id: "instance", role: "admin" }],
  })
  await expectRows([sent({ token, email: "second@example.com", password }, "401 unauthorized")])
})

test("each start without members makes another token, and with one there is none", async () => {
  await using first = await startService()
  const early = await firstToken(first)
  await first.end()
  await using second = await startService({ data: first.data })
  const late = await firstToken(second)
  assert.notEqual(early, late)
  const set = (token: string) =>
    second.client().post("/v1/setup", { token, email: "ada@example.com", password: goodPassword })
  assert.equal((await set(early)).status, 401, "the one before has ended")
  assert.equal((await set(late)).status, 200)
  assert.deepEqual(
    [first.log(), second.log()].map((log) => log.includes("tsx_")),
    [false, false],
  )
  await second.end()
  await using third = await startService({ data: first.data })
  const ada = await signIn(third, "ada@example.com")
  await ada.post("/v1/workspaces", { id: "acme" })
  assert.doesNotMatch(third.output(), /tsx_|sign in/)
  await expectChain(third.root, "instance")
})

test("signing in takes the e-mail in any case, and every refusal has the same words", async () => {
  const wrong = { as: anonymous, ask: "POST /v1/session", gets: "401 login_failed" } as const
  const replies = await expectRows([
    { ...wrong, send: { email: "first@example.com", password: "wrong horse battery staple" } },
    { ...wrong, send: { email: "first@example.com", password: "x" } },
    { ...wrong, send: { email: "first@example.com", password: goodPassword.toUpperCase() } },
    { ...wrong, send: { email: "nobody@example.com", password: goodPassword } },
    { ...wrong, send: { email: "not an address", password: goodPassword } },
  ])
  assert.equal(new Set(replies.map(({ text }) => text)).size, 1)
  const good = await anonymous.post("/v1/session", {
    email: "FIRST@example.COM",
    password: goodPassword,
  })
  assert.equal(good.status, 200)
  const attributes = good.headers.get("set-cookie")?.split("; ") ?? []
  assert.match(attributes[0] ?? "", /^__Host-ts=tss_[0-9A-Za-z]{13}_[0-9A-Za-z]{49}$/)
  assert.deepEqual(attributes.slice(1), [
    "Max-Age=604800",
    "Path=/",
    "HttpOnly",
    "SameSite=Lax",
    "Secure",
  ])
  const session = await anonymous.get("/v1/session", { cookie: cookieOf(good) })
  assert.deepEqual(session.json(), good.json())
})

test("an unknown e-mail takes as long as a wrong password, and as one with accounts in several realms", async () => {
  for (const { id, path } of [acme, other, await makeWorkspace(service)]) {
    const admin = await makeKey(service, id, { scopes: ["admin"] })
    const invited = await admin.post(`${path}/members`, {
      email: "several@example.com",
      role: "viewer",
    })
    await anonymous.post("/v1/setup", {
      token: setupToken(invited.text),
      password: `the password in ${id}`,
    })
  }
  // Processor time of the service: how busy the machine is changes it little.
  const spent = () => metric(service, "process_cpu_seconds_total")
  const timeOf = async (email: string): Promise<number> => {
    const before = await spent()
    await anonymous.post("/v1/session", { email, password: "wrong horse battery staple" })
    return (await spent()) - before
  }
  const known: number[] = []
  const unknown: number[] = []
  const several: number[] = []
  for (let round = 0; round < 3; round++) {
    known.push(await timeOf("first@example.com"))
    unknown.push(await timeOf("nobody@example.com"))
    several.push(await timeOf("several@example.com"))
  }
  // An answer without a hash takes a hundredth of the time of one with it.
  assert.ok(
    Math.min(...unknown) > Math.min(...known) / 2,
    `${unknown.join(", ")} against ${known.join(", ")} s`,
  )
  // One hash for each of its accounts would be three times as long.
  assert.ok(
    Math.min(...several) < Math.min(...known) * 2,
    `${several.join(", ")} against ${known.join(", ")} s`,
  )
})

test("a session reads and administers what its member may, and does not write", async () => {
  const viewer = await join(service, acme.path, "viewer", "viewer@example.com")
  const admin = await join(service, acme.path, "admin", "admin@example.com")
  const event = eventFor(acme.id)
  const headers = { "idempotency-key": crypto.randomUUID() }
  const first = await signIn(service, "first@example.com")
  await expectRows([
    { as: viewer, ask: `GET ${acme.path}`, gets: 200 },
    {
      as: viewer,
      ask: `PATCH ${acme.path}`,
      send: { hotDays: 30 },
      gets: "403 insufficient_scope",
    },
    { as: viewer, ask: `GET ${other.path}`, gets: "403 workspace_forbidden" },
    { as: viewer, ask: "GET /v1/workspaces/nowhere", gets: "403 workspace_forbidden" },
    { as: viewer, ask: "GET /v1/workspaces", gets: "403 insufficient_scope" },
    { as: admin, ask: `PATCH ${acme.path}`, send: { hotDays: 30 }, gets: 200 },
    {
      as: admin,
      ask: `PATCH ${other.path}`,
      send: { hotDays: 30 },
      gets: "403 workspace_forbidden",
    },
    { as: admin, ask: "POST /v1/workspaces", send: { id: "mine" }, gets: "403 insufficient_scope" },
    { as: admin, ask: "GET /v1/workspaces/instance", gets: "403 workspace_forbidden" },
    { as: first, ask: `PATCH ${other.path}`, send: { hotDays: 30 }, gets: 200 },
    { as: first, ask: "GET /v1/workspaces", gets: 200, has: ['"id":"instance"'] },
    { as: first, ask: "GET /v1/workspaces/instance", gets: 200 },
    { as: first, ask: "POST /v1/workspaces", send: { id: "by-first" }, gets: 201 },
    ...[viewer, admin, first].flatMap((as): readonly Row[] => [
      { as, ask: "POST /v1/events", send: event, headers, gets: "401 unauthorized" },
      {
        as,
        ask: "POST /v1/events/batch",
        send: { events: [{ idempotencyKey: "a-key-of-twelve", ...event }] },
        gets: "401 unauthorized",
      },
      {
        as,
        ask: "POST /v1/consents",
        send: {
          workspaceId: acme.id,
          subject: { id: "u", email: "u@example.com" },
          mode: "explicit",
          policyVersion: 1,
          surface: "form",
        },
        headers,
        gets: "401 unauthorized",
      },
    ]),
  ])
  const found = (await viewer.get("/v1/session")).json()
  assert.deepEqual(found.workspaces, [{ id: acme.id, role: "viewer" }])
  assert.equal(found.member.instanceAdmin, false)
})

test("a bearer wins over the cookie, and an invalid cookie counts as none", async () => {
  const first = await signIn(service, "first@example.com")
  const { cookie } = first
  const [name = "", token = ""] = cookie.split("=")
  const wrong = await makeKey(service, acme.id, { scopes: ["read"] })
  await root.patch(`${acme.path}/projects/core`, { receipts: "public" })
  const { receipt } = (await root.write(eventFor(acme.id))).json()
  const asked = (
    headers: Record<string, string>,
    gets: Row["gets"],
    ask = "GET /v1/workspaces",
    as: Client = anonymous,
  ): Row => ({
    about: JSON.stringify(headers),
    as,
    ask,
    headers,
    gets,
  })
  await expectRows([
    asked({ cookie }, 200),
    asked({ cookie: `a=1; ${cookie}; b=2` }, 200),
    asked({ cookie: `a;${cookie}` }, 200),
    asked({ cookie: `${cookie}; ${cookie}` }, "401 unauthorized"),
    asked({ cookie: `${name}=; ${cookie}` }, "401 unauthorized"),
    asked({ cookie: `ts=${token}` }, "401 unauthorized"),
    asked({ cookie: `${name}=${token.slice(0, -1)}` }, "401 unauthorized"),
    asked({ cookie: `${name}=${token}x` }, "401 unauthorized"),
    asked({ cookie: `${name}="${token}"` }, "401 unauthorized"),
    asked({ cookie: `${name}=${wrong.bearer}` }, "401 unauthorized"),
    asked({ cookie: `${name}=${service.rootKey}` }, "401 unauthorized"),
    asked({ cookie: `${name.toLowerCase()}=${token}` }, "401 unauthorized"),
    asked({ authorization: `Bearer ${token}` }, "401 unauthorized"),
    asked({ cookie, authorization: `Bearer ${wrong.bearer}` }, "403 insufficient_scope"),
    asked({ cookie, authorization: "Bearer nonsense" }, "401 unauthorized"),
    asked({ cookie: `${name}=nonsense` }, 200, `GET ${acme.path}/receipts/${receipt}`),
    asked({ cookie: `${name}=nonsense` }, "401 unauthorized", "GET /v1/session"),
    asked({}, "403 insufficient_scope", "GET /v1/session", acme.reader),
    asked({}, "403 insufficient_scope", "GET /v1/session", root),
    asked({ cookie: `${name}=nonsense` }, 204, "DELETE /v1/session"),
    asked({}, 204, "DELETE /v1/session"),
  ])
})

test("public resources stay open to a member of another workspace, and show no more", async () => {
  const viewer = await signIn(service, "viewer@example.com")
  await root.patch(`${other.path}/projects/core`, { receipts: "public" })
  const { receipt } = (await root.write(eventFor(other.id))).json()
  const shown = await viewer.get(`${other.path}/receipts/${receipt}`)
  assert.equal(shown.status, 200)
  assert.ok(!shown.text.includes("ada@example.com"), "sealed fields are withheld")
  // A page of another origin may read the answer of a bearer's request. With cookies a browser
  // would want more than a star.
  assert.equal(shown.headers.get("access-control-allow-origin"), "*")
  assert.equal(shown.headers.get("access-control-allow-credentials"), null)
  await root.patch(`${other.path}/projects/core`, { receipts: "private" })
  await expectRows([
    { as: viewer, ask: `GET ${other.path}/receipts/${receipt}`, gets: "403 workspace_forbidden" },
    {
      as: viewer,
      ask: `GET ${other.path}/receipts/rcp_${"0".repeat(36)}`,
      gets: "403 workspace_forbidden",
    },
    { as: viewer, ask: `GET ${other.path}/tlog/checkpoint`, gets: "403 workspace_forbidden" },
  ])
})

test("a change with a cookie must come from the service's own pages", async () => {
  const { cookie } = await signIn(service, "first@example.com")
  const changed = (headers: Record<string, string>, gets: Row["gets"]): readonly Row[] => [
    {
      about: JSON.stringify(headers),
      as: anonymous,
      ask: `PATCH ${acme.path}`,
      send: { hotDays: 31 },
      headers: { cookie, ...headers },
      gets,
    },
    {
      about: JSON.stringify(headers),
      as: anonymous,
      ask: `GET ${acme.path}`,
      headers: { cookie, ...headers },
      gets: 200,
    },
  ]
  await expectRows([
    ...changed({ "sec-fetch-site": "same-origin" }, 200),
    ...changed({ "sec-fetch-site": "same-origin", origin: "https://evil.example" }, 200),
    ...changed({ origin: service.url }, 200),
    ...changed({}, "403 csrf_failed"),
    ...changed({ "sec-fetch-site": "cross-site" }, "403 csrf_failed"),
    ...changed({ "sec-fetch-site": "same-site" }, "403 csrf_failed"),
    ...changed({ "sec-fetch-site": "none" }, "403 csrf_failed"),
    ...changed({ "sec-fetch-site": "cross-site", origin: service.url }, "403 csrf_failed"),
    ...changed({ origin: "https://evil.example" }, "403 csrf_failed"),
    ...changed({ origin: "null" }, "403 csrf_failed"),
    ...changed({ origin: `${service.url}0` }, "403 csrf_failed"),
    { as: anonymous, ask: "DELETE /v1/session", headers: { cookie }, gets: "403 csrf_failed" },
    {
      as: anonymous,
      ask: "POST /v1/session/password",
      send: { old: goodPassword, new: "another long one" },
      headers: { cookie },
      gets: "403 csrf_failed",
    },
    // Only who has a bearer sends it.
    {
      as: root,
      ask: `PATCH ${acme.path}`,
      send: { hotDays: 32 },
      headers: { cookie, "sec-fetch-site": "cross-site" },
      gets: 200,
    },
  ])
})

test("no other site can sign a browser in to an account of its own", async () => {
  const [send, headers] = [
    { email: "first@example.com", password: goodPassword },
    { "sec-fetch-site": "cross-site", origin: "https://evil.example" },
  ]
  const asked = {
    origin: headers.origin,
    "access-control-request-method": "POST",
    "access-control-request-headers": "content-type",
  }
  // Content types that a page may send without a preflight are refused, and a preflight gets no
  // permission.
  const types = [
    "text/plain",
    "text/plain;application/json",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=a",
  ]
  await expectRows([
    ...types.flatMap((type): Row[] =>
      ["POST /v1/session", "POST /v1/setup"].map((ask) => ({
        about: type,
        as: anonymous,
        ask,
        send: JSON.stringify(send),
        headers: { ...headers, "content-type": type },
        gets: "415 unsupported_media_type",
        answerHeaders: { "set-cookie": null },
      })),
    ),
    ...["/v1/session", "/v1/setup"].map((path): Row => ({
      as: anonymous,
      ask: `OPTIONS ${path}`,
      headers: asked,
      gets: "405 method_not_allowed",
      answerHeaders: { "access-control-allow-origin": null, "access-control-allow-headers": null },
    })),
  ])
})

test("signing out ends the session at once, and no other", async () => {
  const one = await signIn(service, "first@example.com")
  const two = await signIn(service, "first@example.com")
  const out = await one.delete("/v1/session")
  assert.equal(out.status, 204)
  assert.match(
    out.headers.get("set-cookie") ?? "",
    /^__Host-ts=; Max-Age=0; Path=\/; HttpOnly; SameSite=Lax; Secure$/,
  )
  await expectRows([
    { as: one, ask: "GET /v1/session", gets: "401 unauthorized" },
    { as: one, ask: "DELETE /v1/session", gets: 204 },
    { as: two, ask: "GET /v1/session", gets: 200 },
  ])
})

test("changing the password needs the old one, and ends the other sessions", async () => {
  const fresh = "a fresh horse battery"
  const mine = await join(service, acme.path, "viewer", "changes@example.com")
  const others = await Promise.all([1, 2, 3].map(() => signIn(service, mine.email)))
  const change = (send: object, gets: Row["gets"], has: Row["has"] = []): Row => ({
    as: mine,
    ask: "POST /v1/session/password",
    send,
    gets,
    has,
  })
  await expectRows([
    change({ old: "wrong horse battery", new: fresh }, "401 login_failed"),
    change({ old: goodPassword, new: "short" }, "400 invalid_field", [
      "new must be 12 to 256 characters",
    ]),
    change({ old: goodPassword }, "400 invalid_field", ["new is required"]),
    {
      as: acme.reader,
      ask: "POST /v1/session/password",
      send: { old: goodPassword, new: fresh },
      gets: "403 insufficient_scope",
    },
    {
      as: anonymous,
      ask: "POST /v1/session/password",
      send: { old: goodPassword, new: fresh },
      gets: "401 unauthorized",
    },
    ...others.map((as): Row => ({ as, ask: "GET /v1/session", gets: 200 })),
    change({ old: goodPassword, new: fresh }, 204),
    ...others.map((as): Row => ({ as, ask: "GET /v1/session", gets: "401 unauthorized" })),
    { as: mine, ask: "GET /v1/session", gets: 200 },
    {
      as: anonymous,
      ask: "POST /v1/session",
      send: { email: mine.email, password: goodPassword },
      gets: "401 login_failed",
    },
    {
      as: anonymous,
      ask: "POST /v1/session",
      send: { email: mine.email, password: fresh },
      gets: 200,
    },
  ])
})

test("a password is the same in every composition of its characters", async () => {
  const composed = "motörhead-naïveté".normalize("NFC")
  await join(service, acme.path, "viewer", "accents@example.com", composed)
  await signIn(service, "accents@example.com", composed.normalize("NFD"))
})

test("a member has a maximum number of sessions; a further sign-in ends the oldest", async () => {
  await using small = await startService({ environment: { TALLYSTICK_LIMIT_SESSIONS_MAX: "3" } })
  const first = await setUpFirst(small)
  const later = [
    await signIn(small, first.email),
    await signIn(small, first.email),
    await signIn(small, first.email),
  ]
  await expectRows([
    { as: first, ask: "GET /v1/session", gets: "401 unauthorized" },
    ...later.map((as): Row => ({ as, ask: "GET /v1/session", gets: 200 })),
  ])
})

test("the cookie is secure over HTTPS, and the log says when it is not", async () => {
  for (const [publicUrl, cookie] of [
    [
      "https://ledger.example/tally",
      /^__Host-ts=\S+; Max-Age=604800; Path=\/; HttpOnly; SameSite=Lax; Secure$/,
    ],
    ["http://ledger.example", /^ts=\S+; Max-Age=604800; Path=\/; HttpOnly; SameSite=Lax$/],
  ] as const) {
    await using public_ = await startService({ environment: { TALLYSTICK_PUBLIC_URL: publicUrl } })
    const token = await firstToken(public_)
    assert.ok(
      public_.output().includes(`  ${publicUrl}/ui/setup?first#t=${token}\n`),
      public_.output(),
    )
    const made = await public_
      .client()
      .post("/v1/setup", { token, email: "ada@example.com", password: goodPassword })
    assert.match(made.headers.get("set-cookie") ?? "", cookie)
    const client = browserOf(public_.client(), cookieOf(made))
    assert.equal(
      (await client.ask("PATCH", "/v1/workspaces/instance", { body: { hotDays: 3 } })).status,
      200,
    )
    const { origin } = new URL(publicUrl)
    assert.equal(
      (
        await public_
          .client()
          .patch("/v1/workspaces/instance", { hotDays: 4 }, { cookie: cookieOf(made), origin })
      ).status,
      200,
    )
    assert.equal(
      (
        await public_
          .client()
          .patch(
            "/v1/workspaces/instance",
            { hotDays: 5 },
            { cookie: cookieOf(made), origin: public_.url },
          )
      ).status,
      403,
    )
    await eventually("the start to be over", async () => public_.log().includes("listening"))
    assert.equal(public_.log().includes("plain HTTP"), publicUrl.startsWith("http:"))
  }
})

test("sessions survive a restart, and end a week after they began", async () => {
  await using today = await startService()
  const { cookie } = await setUpFirst(today)
  await today.end()
  const on = async (days: number, gets: Row["gets"]): Promise<void> => {
    await using then = await startService({ data: today.data, environment: clockAhead(days) })
    await expectRows([{ as: then.client(), ask: "GET /v1/session", headers: { cookie }, gets }])
  }
  await on(0, 200)
  await on(6.9, 200)
  await on(7.1, "401 unauthorized")
})

test("a session, a password or an invitation that is changed in the database is worth nothing", async () => {
  await using today = await startService()
  const [ada, grace] = [
    await setUpFirst(today),
    await join(
      today,
      "/v1/workspaces/instance",
      "viewer",
      "grace@example.com",
      "another battery staple",
    ),
  ]
  const invited = await today.root.post("/v1/workspaces/instance/members", {
    email: "joan@example.com",
    role: "viewer",
  })
  await today.end()
  const edited = async (
    statement: string,
    rows: (client: Client) => readonly Row[],
  ): Promise<void> => {
    using journal = new DatabaseSync(joinPath(today.data, "journal.db"))
    assert.ok(Number(journal.prepare(statement).run().changes) >= 1, statement)
    journal.close()
    await using then = await startService({ data: today.data })
    await expectRows(rows(then.client()))
    await then.end()
  }
  const session = (client: Client, { cookie }: Person, gets: Row["gets"]): Row => ({
    as: client,
    ask: "GET /v1/session",
    headers: { cookie },
    gets,
  })
  const sessionsOf = (id: string) => `kind = 'session' AND value LIKE '%${id}%'`
  await edited(`UPDATE documents SET value = value WHERE ${sessionsOf(ada.id)}`, (client) => [
    session(client, ada, 200),
  ])
  await edited(
    `UPDATE documents SET value = replace(value, '${grace.id}', '${ada.id}') WHERE ${sessionsOf(grace.id)}`,
    (client) => [session(client, grace, "401 unauthorized"), session(client, ada, 200)],
  )
  await edited(
    `UPDATE documents SET value = replace(value, '202', '302') WHERE ${sessionsOf(ada.id)}`,
    (client) => [session(client, ada, "401 unauthorized")],
  )
  const [mine, hers] = [
    `kind = 'member' AND id = '${ada.id}'`,
    `kind = 'member' AND id = '${grace.id}'`,
  ]
  const copy = (member: string) =>
    `'$.${member}', (SELECT json_extract(value, '$.${member}') FROM documents WHERE ${hers})`
  await edited(
    `UPDATE documents SET value = json_set(value, ${copy("password")}, ${copy("login")}) WHERE ${mine}`,
    (client) => [
      {
        as: client,
        ask: "POST /v1/session",
        send: { email: ada.email, password: grace.password },
        gets: "401 login_failed",
      },
      {
        as: client,
        ask: "POST /v1/session",
        send: { email: grace.email, password: grace.password },
        gets: 200,
      },
    ],
  )
  await edited(
    `UPDATE documents SET value = json_set(value, '$.memberId', '${ada.id}') WHERE kind = 'setup'`,
    (client) => [
      {
        as: client,
        ask: "POST /v1/setup",
        send: { token: setupToken(invited.text), password: goodPassword },
        gets: "401 unauthorized",
      },
    ],
  )
})

test("the instance has a ledger like any other, which only its key and its admins see", async () => {
  await expectChain(root, "instance")
  await expectRows([
    { as: acme.reader, ask: "GET /v1/workspaces/instance", gets: "403 workspace_forbidden" },
    { as: anonymous, ask: "GET /v1/workspaces/instance", gets: "401 unauthorized" },
    { as: root, ask: "POST /v1/workspaces", send: { id: "instance" }, gets: "409 conflict" },
  ])
  const key = await makeKey(service, "instance", { scopes: ["admin"] })
  await expectRows([
    { as: key, ask: "GET /v1/workspaces/instance", gets: 200 },
    {
      as: key,
      ask: "POST /v1/workspaces/instance/members",
      send: { email: "x@example.com", role: "admin" },
      gets: "403 insufficient_scope",
    },
    {
      as: key,
      ask: "POST /v1/workspaces/instance/api-keys",
      send: { name: "x", scopes: ["admin"] },
      gets: "403 insufficient_scope",
    },
  ])
  assert.ok((await metric(service, "tallystick_failed_logins_total")) > 0)
})

test("every receipt of this run verifies, and no secret leaked", () => service.finish())
