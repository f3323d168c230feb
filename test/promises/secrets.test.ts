import assert from "node:assert/strict"
import { randomBytes } from "node:crypto"
import { readdirSync, readFileSync, statSync } from "node:fs"
import { connect } from "node:net"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { test } from "node:test"
import { createBareLog, createLog } from "../../packages/server/src/log.ts"
import { deriveKey, unwrap } from "../../packages/server/src/secrets/crypto.ts"
import { startProgram } from "../crash/programs.ts"
import { firstToken, setUpFirst, setupToken, signIn } from "../people.ts"
import {
  eventFor,
  eventually,
  makeKey,
  makeWorkspace,
  type Client,
  type Reply,
  type Service,
} from "../service.ts"

// Searches everything that a run left behind for every secret, in every form in which a program
// might write it.

test("no secret is in a log, an answer, a metric, or a file that is not its own", async (t) => {
  const { found, ...looked } = await leave("storage tells secrets")
  t.diagnostic(JSON.stringify(looked))
  assert.deepEqual(found, [])
  assert.ok(
    looked.secrets >= 14 && looked.answers >= 150 && looked.places >= 7 && looked.redacted >= 40,
    "there was not enough to look for, or to look at",
  )
})

test("canary: a service whose log redacts nothing is detected", async () => {
  const { found } = await leave("tells secrets and redacts nothing")
  assert.ok(found.length > 0 && found.every((line) => line.endsWith("the log")), found.join("\n"))
})

/**
 * Runs a service twice on one folder, sends secrets in all the wrong places, and looks for them in
 * everything that is left.
 */
async function leave(fault: "storage tells secrets" | "tells secrets and redacts nothing") {
  const secret = randomBytes(32)
  // Its errors quote the data to store and the instance key, so there is something to redact.
  const rootKey = `root"key\\of'this-run-${randomBytes(24).toString("base64url")}`
  const environment = {
    TALLYSTICK_SECRET: secret.toString("hex"),
    TALLYSTICK_ROOT_KEY: rootKey,
    TALLYSTICK_LOG_LEVEL: "trace",
  }
  await using first = await startProgram({ environment }, fault)
  const { keys, replies } = await provoke(first)
  assert.equal(await first.end(), 0)
  await using second = await startProgram({ data: first.data, environment }, fault)
  const more = await provoke(second)
  replies.push(...more.replies)
  assert.equal(await second.end(), 0)

  const secrets = [...keys, ...more.keys, rootKey, secret, ...derivedFrom(secret, first.data)]
  const answers = replies.map(({ text, headers }) => `${JSON.stringify([...headers])}\n${text}`)
  const left = new Map([
    ["the log", Buffer.from(first.log() + second.log())],
    ["standard output", Buffer.from(first.output() + second.output())],
    ["the answers", Buffer.from(answers.join("\n"))],
    ...filesOf(first.data),
  ])
  const redacted = first.log().split("…").length - 1
  return {
    found: find(secrets, left),
    secrets: secrets.length,
    answers: replies.length,
    places: left.size,
    redacted,
  }
}

test("no password, session or set-up token is in a log, a file, a metric, or an answer that does not hand it out", async (t) => {
  const secret = randomBytes(32)
  const environment = {
    TALLYSTICK_SECRET: secret.toString("hex"),
    TALLYSTICK_LOG_LEVEL: "trace",
    TALLYSTICK_LIMIT_FAILED_LOGINS_PER_MINUTE: "10000",
  }
  await using service = await startProgram({ environment }, "storage tells secrets")
  const { secrets, refusals } = await misplace(service)
  assert.equal(await service.end(), 0)
  const left = new Map([
    ["the log", Buffer.from(service.log())],
    [
      "the answers",
      Buffer.from(
        refusals.map(({ text, headers }) => `${JSON.stringify([...headers])}\n${text}`).join("\n"),
      ),
    ],
    ...filesOf(service.data),
  ])
  assert.deepEqual(find([...secrets, secret, ...derivedFrom(secret, service.data)], left), [])
  t.diagnostic(`${secrets.length} secrets, ${refusals.length} refusals, ${left.size} places`)
  assert.ok(
    secrets.length >= 9 && refusals.length >= 100,
    "there was not enough to look for, or to look at",
  )
})

test("secrets that the service makes are in their own files, readable by the owner only, and nowhere else", async () => {
  await using service = await startProgram({
    arguments: ["serve", "--demo"],
    environment: { TALLYSTICK_ROOT_KEY: undefined, TALLYSTICK_LOG_LEVEL: "trace" },
  })
  const demoKey = await eventually(
    "the greeting to be said",
    async () => /tsk_\w+(?=")/.exec(service.output())?.[0],
  )
  const client = service.client(demoKey)
  assert.equal((await client.write(eventFor("demo"))).status, 202)
  assert.equal(await service.end(), 0)

  const own = ["secret", "root-key"].map((name) => join(service.data, name))
  for (const path of own) assert.equal(statSync(path).mode & 0o777, 0o600)
  assert.equal(statSync(service.data).mode & 0o777, 0o700)
  const [secret = "", rootKey = ""] = own.map((path) => readFileSync(path, "utf8").trim())
  const left = new Map([
    ["the log", Buffer.from(service.log())],
    ...filesOf(service.data).filter(([path]) => !own.includes(path)),
  ])
  assert.deepEqual(
    find(
      [
        Buffer.from(secret, "hex"),
        rootKey,
        demoKey,
        ...derivedFrom(Buffer.from(secret, "hex"), service.data),
      ],
      left,
    ),
    [],
  )
  // The greeting shows the key of the demonstration, once, and no other secret.
  assert.deepEqual(
    find(
      [Buffer.from(secret, "hex"), rootKey],
      new Map([["standard output", Buffer.from(service.output())]]),
    ),
    [],
  )
})

test("canary: a log without redaction is detected", () => {
  const rootKey = `root"key\\${randomBytes(24).toString("base64url")}`
  const keys = Array.from(
    "krpaesx",
    (kind) => `ts${kind}_0123456789abc_0123456789abcdefghijklmnopqrstuvwxyzABCDEFG012345`,
  )
  const tell = (log: { error(fields: object, message: string): void }) => {
    for (const key of keys)
      log.error(
        { err: new Error(`for ${key} with ${rootKey}`), url: `/x?token=${key}#t=${key}` },
        "a request failed",
      )
  }
  let [redacted, bare] = ["", ""]
  tell(createLog("info", [rootKey], (line) => (redacted += line)))
  tell(createBareLog("info", (line) => (bare += line)))
  assert.deepEqual(find([rootKey, ...keys], new Map([["the log", Buffer.from(redacted)]])), [])
  for (const key of keys)
    assert.ok(redacted.includes(`${key.slice(0, 18)}…`), "what is no secret may be told")
  assert.equal(
    find([rootKey, ...keys], new Map([["the log", Buffer.from(bare)]])).length,
    1 + keys.length,
  )
})

test("canary: a secret is found in every form", () => {
  const secret = randomBytes(32)
  const written = ["hex", "base64", "base64url", "latin1"] as const
  for (const form of written) {
    const place = Buffer.concat([
      randomBytes(100),
      Buffer.from(secret.toString(form), "latin1"),
      randomBytes(100),
    ])
    assert.equal(find([secret], new Map([["a file", place]])).length, 1, form)
  }
  assert.equal(
    find(
      ["a key/with+signs"],
      new Map([["a log", Buffer.from(encodeURIComponent("a key/with+signs"))]]),
    ).length,
    1,
  )
})

/** Sends secrets in every wrong place; no answer may contain one. */
async function provoke(
  service: Service,
): Promise<{ readonly keys: readonly string[]; readonly replies: Reply[] }> {
  const { id, path, writer, reader } = await makeWorkspace(service)
  const admin = await makeKey(service, id, { scopes: ["admin"] })
  const ended = await makeKey(service, id, { scopes: ["read", "write"], projectIds: ["core"] })
  const tokens = await tokensOf(service, path, ended)
  const keys = [writer, reader, admin, ended].map(({ bearer = "" }) => bearer)
  const [, keyId = ""] = keys.at(-1)?.split("_") ?? []
  keys.push(...tokens)
  const replies = [await service.client(admin.bearer).delete(`${path}/api-keys/${keyId}`)]
  const ask = async (...asked: Parameters<typeof writer.ask>): Promise<void> =>
    void replies.push(await writer.ask(...asked))

  for (const key of [...keys, service.rootKey]) {
    const wrong = `${key.slice(0, -1)}${key.endsWith("x") ? "y" : "x"}`
    replies.push(
      await service.client(key).get(path),
      await service.client(wrong).get(path),
      await service.client(key).get(`${path}/api-keys`),
    )
    replies.push(
      await writer.write(eventFor(id, { metadata: { told: key } })),
      await writer.write(eventFor(id, { action: key })),
    )
    await ask("POST", "/v1/events", {
      body: eventFor(id, { occurredAt: key }),
      headers: { "idempotency-key": "a-key-of-twelve" },
    })
    await ask("POST", "/v1/events", {
      body: `{"actor": "${key}`,
      headers: { "idempotency-key": "a-key-of-twelve" },
    })
    await ask("POST", "/v1/events", {
      body: eventFor(id),
      headers: { "idempotency-key": `${key} ${key}` },
    })
    await ask("POST", "/v1/events/batch", {
      body: { events: [{ idempotencyKey: "short", ...eventFor(id), source: key }] },
    })
    await ask("POST", "/v1/events/batch", {
      body: {
        events: [
          { idempotencyKey: "a-key-of-twelve", ...eventFor(id, { metadata: { told: key } }) },
        ],
      },
    })
    await ask("GET", `${path}/receipts/${key}`)
    await ask("GET", `${path}/receipts/${key}?token=${key}`)
    await ask("GET", `${path}/published-policy/latest?token=${key}`)
    await ask("DELETE", `${path}/tokens/${key}`)
    replies.push(
      await admin.post(`${path}/published-policy/token`, { projectId: key }),
      await admin.get(`${path}/tokens?cursor=${key}`),
    )
    replies.push(
      await service.client().get(`${path}/published-policy/latest?token=${key}`),
      await service.client(key).get(`${path}/tokens`),
    )
    await ask("GET", `/v1/workspaces/${key}`)
    await ask("GET", `/no/such/path/${key}`)
    await ask("GET", "/healthz", { headers: { authorization: `Basic ${key}` } })
    await sayBroken(
      service,
      `GET /healthz?${key} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nno colon ${key}\r\n\r\n`,
    )
  }
  for (const public_ of ["/metrics", "/readyz?verbose", "/openapi.json", "/v1/limits", "/healthz"])
    await ask("GET", public_)
  return { keys, replies }
}

/**
 * Valid tokens, and tokens that end with their key. Tokens for an event cannot be made: this
 * storage keeps no event.
 */
async function tokensOf(
  { root }: Service,
  path: string,
  ended: Client,
): Promise<readonly string[]> {
  await root.patch(`${path}/projects/core`, { activityLinks: true })
  const activity = { projectId: "core", subject: "usr_1" }
  const made = [
    await root.post(`${path}/activity/token`, { ...activity, note: "for Ada" }),
    await root.post(`${path}/published-policy/token`, {}),
    await ended.post(`${path}/activity/token`, activity),
    await ended.post(`${path}/published-policy/token`, {}),
  ]
  return made.map((reply) => reply.json<{ token: string }>().token)
}

/** Signs people in, and sends their passwords and tokens in the wrong places. */
async function misplace(
  service: Service,
): Promise<{ readonly secrets: readonly string[]; readonly refusals: readonly Reply[] }> {
  const passwords = [1, 2, 3].map(() => `password ${randomBytes(12).toString("base64url")}`)
  const [mine = "", next = "", theirs = ""] = passwords
  const tokens = [await firstToken(service)]
  const first = await setUpFirst(service, "first@example.com", mine)
  const { id, path, reader } = await makeWorkspace(service)
  for (const email of ["one@example.com", "two@example.com"]) {
    tokens.push(setupToken((await first.post(`${path}/members`, { email, role: "viewer" })).text))
  }
  await service.client().post("/v1/setup", { token: tokens[1], password: theirs })
  const people = [
    first,
    await signIn(service, "first@example.com", mine),
    await signIn(service, "one@example.com", theirs),
  ]
  await first.post("/v1/session/password", { old: mine, new: next })
  const secrets = [
    ...passwords,
    ...tokens,
    ...people.map(({ cookie }) => cookie.split("=")[1] ?? ""),
  ]

  const refusals: Reply[] = []
  const ask = async (...asked: Parameters<typeof reader.ask>): Promise<void> => {
    for (const client of [service.client(), reader, first])
      refusals.push(await client.ask(...asked))
  }
  for (const one of secrets) {
    await ask("POST", "/v1/session", { body: { email: one, password: "wrong horse battery" } })
    await ask("POST", "/v1/session", {
      body: { email: "first@example.com", password: one.slice(1) },
    })
    await ask("POST", "/v1/session", { body: `{"password":"${one}` })
    await ask("POST", "/v1/setup", {
      body: { token: `${one.slice(0, -1)}!`, email: one, name: one, password: one },
    })
    await ask("POST", "/v1/setup", {
      body: { token: one, name: `${one}\n`.repeat(20), password: one },
    })
    await ask("GET", `/v1/session?token=${encodeURIComponent(one)}`)
    await ask("GET", `/ui/setup?t=${encodeURIComponent(one)}`)
    await ask("PATCH", `${path}/members/${encodeURIComponent(one)}`, { body: { role: one } })
    await ask("GET", `/v1/workspaces/${encodeURIComponent(one)}/members`)
    refusals.push(
      await service.client(one).get(path),
      await service.client().get(path, { cookie: `other=${one}; __Host-ts=${one}x` }),
    )
    // A password has no recognizable form.
    if (passwords.includes(one)) continue
    await ask("POST", "/v1/setup", { body: { token: one, [one]: one, password: one } })
    refusals.push(
      await service.client(service.rootKey).write(eventFor(id, { metadata: { told: one } })),
    )
    await sayBroken(
      service,
      `GET /healthz?${one} HTTP/1.1\r\nHost: x\r\nCookie: __Host-ts=${one}\r\nno colon ${one}\r\n\r\n`,
    )
  }
  refusals.push(await service.client().get("/metrics"))
  // A page is the same whatever its address says.
  const good = refusals.filter(
    ({ status, headers }) => status < 300 && !headers.get("content-type")?.startsWith("text/html"),
  )
  assert.equal(
    good.length,
    1,
    "what is good may show a secret on purpose, and is not looked at here",
  )
  return { secrets, refusals }
}

/** What the HTTP parser itself refuses. */
function sayBroken(service: Service, text: string): Promise<unknown> {
  const socket = connect(Number(new URL(service.url).port), "127.0.0.1", () => socket.end(text))
  return new Promise((resolve) => socket.on("error", resolve).on("close", resolve).resume())
}

/** The keys that are derived from the service's secret, and the seeds that they seal. */
function derivedFrom(secret: Uint8Array, data: string): readonly Buffer[] {
  using journal = new DatabaseSync(join(data, "journal.db"), { readOnly: true })
  const wrapping = deriveKey(secret, "log keys")
  const seeds = journal
    .prepare("SELECT value FROM documents WHERE kind = 'log-key'")
    .all()
    .map(({ value }) => JSON.parse(String(value)) as { vkey: string; wrapped: string })
    .map(({ vkey, wrapped }) => unwrap(wrapping, vkey, wrapped))
  assert.ok(seeds.length > 0)
  const keys = (["token pepper", "passwords", "member ids"] as const).map((purpose) =>
    deriveKey(secret, purpose),
  )
  return [wrapping, ...keys, ...seeds].map((bytes) => Buffer.from(bytes))
}

function filesOf(data: string): [string, Buffer][] {
  const inside = readdirSync(data, { recursive: true, withFileTypes: true })
  const paths = [
    ...inside.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name)),
    `${data}.heads`,
  ]
  return paths.map((path) => [path, readFileSync(path)])
}

/** A line for each secret and place where it was found, which does not repeat the secret. */
function find(
  secrets: readonly (string | Buffer)[],
  places: ReadonlyMap<string, Buffer>,
): readonly string[] {
  return secrets.flatMap((secret, number) =>
    [...places].flatMap(([place, bytes]) =>
      formsOf(secret).some((form) => bytes.includes(form))
        ? [`secret ${number} is in ${place}`]
        : [],
    ),
  )
}

function formsOf(secret: string | Buffer): readonly Buffer[] {
  if (typeof secret !== "string") {
    const texts = (["hex", "base64url"] as const).map((form) => secret.toString(form))
    return [
      secret,
      ...[...texts, secret.toString("base64").replace(/=+$/, "")].map((text) => Buffer.from(text)),
    ]
  }
  // The last part of a credential is the secret one; the rest may be named.
  const core = /^ts[a-z]_/.test(secret) ? (secret.split("_")[2] ?? secret) : secret
  const bytes = Buffer.from(core)
  const quoted = JSON.stringify(core).slice(1, -1)
  return [
    core,
    quoted,
    JSON.stringify(quoted).slice(1, -1),
    encodeURIComponent(core),
    bytes.toString("hex"),
    bytes.toString("base64url"),
  ].map((text) => Buffer.from(text))
}
