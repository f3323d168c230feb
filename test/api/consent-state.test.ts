import assert from "node:assert/strict"
import { after, test } from "node:test"
import { verifyPack } from "@tallystick/proof"
import { join, setUpFirst } from "../people.ts"
import {
  clockAhead,
  logKeyOf,
  make,
  makeKey,
  makeWorkspace,
  startService,
  type Workspace,
} from "../service.ts"
import { expectRows, type Row } from "./table.ts"
import { startWatched } from "./watched.ts"
import { createChance, seedOf } from "../chance.ts"
import { erase } from "../until.ts"

// Consents over time: withdrawals, the state at a time, counts, and packs of one person's consents.

const service = await startWatched()
after(() => service[Symbol.asyncDispose]())
const { root } = service
const acme = await makeWorkspace(service)

const withdrawals = "/v1/consents/withdrawals"
const withdrawal = (changes: object = {}): Record<string, unknown> => ({
  workspaceId: acme.id,
  subject: { id: "usr_1" },
  surface: "account settings",
  ...changes,
})

interface Receipt {
  readonly receipt: string
  readonly timestamp: string
}

async function act(
  { id, writer }: Workspace,
  subject: string,
  policyVersion: number | undefined,
  changes: object = {},
  isWithdrawal = false,
): Promise<Receipt> {
  const reply = await writer.post(
    isWithdrawal ? withdrawals : "/v1/consents",
    {
      workspaceId: id,
      subject: { id: subject, email: `${subject}@example.com` },
      ...(policyVersion !== undefined && { policyVersion }),
      ...(!isWithdrawal && { mode: "explicit" }),
      surface: "form",
      ...changes,
    },
    { "idempotency-key": crypto.randomUUID() },
  )
  assert.equal(reply.status, 202, reply.text)
  return reply.json().receipt
}
const withdraw = (workspace: Workspace, subject: string, version?: number, changes?: object) =>
  act(workspace, subject, version, changes, true)

test("a withdrawal becomes an entry about its subject", async () => {
  const sent = { subject: { id: "usr_1", email: "ada@example.com" }, policyVersion: 3 }
  const headers = { "idempotency-key": crypto.randomUUID() }
  const body = withdrawal({ ...sent, metadata: { ticket: "SUP-1" } })
  const first = await acme.writer.post(withdrawals, body, headers)
  assert.equal(first.status, 202, first.text)
  const { receipt } = first.json().receipt
  const { entry } = (await acme.reader.get(`${acme.path}/receipts/${receipt}`)).json()
  assert.partialDeepStrictEqual(entry, {
    kind: "consent",
    action: "policy.consent.withdraw",
    lane: "policy",
    source: "api",
    userVisible: true,
    projectId: "core",
    policyVersion: 3,
    actor: { ...sent.subject, type: "subject" },
    target: { id: "core:3", type: "policy", name: "Policy version 3" },
    metadata: { ticket: "SUP-1", surface: "account settings", policyVersion: 3 },
  })
  const again = await acme.writer.post(withdrawals, body, headers)
  assert.deepEqual(
    [again.text, again.headers.get("idempotency-replayed")],
    [first.text, "true"],
    "the same again is the first one",
  )
  // Its keys are its own.
  const consent = { ...body, mode: "explicit" }
  await expectRows([
    { as: acme.writer, ask: "POST /v1/consents", send: consent, headers, gets: 202 },
    {
      as: acme.writer,
      ask: `POST ${withdrawals}`,
      send: withdrawal(),
      headers,
      gets: "422 idempotency_key_reused",
      has: [receipt],
    },
  ])
})

test("a withdrawal without a version withdraws every version", async () => {
  const { receipt } = await withdraw(acme, "usr_2", undefined, { projectId: "shop" })
  const { entry } = (await acme.reader.get(`${acme.path}/receipts/${receipt}`)).json()
  assert.deepEqual(entry.target, { id: "shop", type: "policy", name: "Policy" })
  assert.deepEqual([entry.policyVersion, entry.metadata], [undefined, { surface: "form" }])
})

test("an invalid withdrawal is refused with the field's name", async () => {
  const sent = (field: string, value: unknown, says: RegExp): Row => ({
    about: `${field} = ${JSON.stringify(value)}`,
    as: acme.writer,
    ask: `POST ${withdrawals}`,
    send: withdrawal({ [field]: value }),
    headers: { "idempotency-key": "a-key-that-is-never-used-twice" },
    gets: "400 invalid_field",
    has: [says],
  })
  await expectRows([
    sent("workspaceId", undefined, /workspaceId is required/),
    sent("subject", undefined, /subject is required/),
    sent("subject", {}, /subject\.id is required/),
    sent("subject", { id: "" }, /subject\.id/),
    sent("subject", { id: "usr_1", email: "" }, /subject\.email/),
    sent("subject", { id: "usr_1", type: "user" }, /subject\.type is not a known field/),
    sent("surface", undefined, /surface is required/),
    sent("policyVersion", 0, /policyVersion/),
    sent("policyVersion", null, /policyVersion/),
    sent("mode", "explicit", /mode is not a known field/),
    sent("projectId", "all", /projectId/),
    sent("metadata", { surface: "x" }, /metadata\.surface/),
    { ...sent("surface", "form", /Idempotency-Key/), headers: {} },
  ])
})

test("somebody may withdraw a version that is not published", async () => {
  const strict = await makeWorkspace(service, { requirePublishedPolicy: true })
  await withdraw(strict, "usr_1", 7)
})

test("the state of a consent has the text that was published, and the entries", async () => {
  const shop = await makeWorkspace(service, { personalKeys: ["surface"] })
  const ask = `GET ${shop.path}/consents?subject=usr_1`
  const unpublished = await act(shop, "usr_1", 1)
  const sections = [{ id: "use", title: "Use", body: "We use it." }]
  const { policy } = await make(root, `${shop.path}/published-policy`, { sections })
  await act(shop, "usr_10", 1)
  await act(shop, "USR_1", 2)
  await act(shop, "usr_1", 2, { projectId: "other" })
  const given = await act(shop, "usr_1", 1, { mode: "implicit", surface: "Banner" })
  const ended = await withdraw(shop, "usr_1", 1, { surface: "link in a mail" })
  const known = { workspaceId: shop.id, projectId: "core", subject: "usr_1", verified: true }
  const text = { publishedAt: policy.publishedAt, sectionHash: policy.sectionHash, sections }
  const [atFirst, atGiven, now] = await expectRows([
    {
      as: shop.reader,
      ask: `${ask}&at=${unpublished.timestamp}&projectId=core`,
      gets: 200,
      hasNot: ["sectionHash", "sections", "publishedAt"],
      shows: {
        ...known,
        at: unpublished.timestamp,
        state: "given",
        policyVersion: 1,
        receipt: unpublished.receipt,
        total: 1,
      },
    },
    {
      as: shop.reader,
      ask: `${ask}&at=${given.timestamp}&reason=asked%20by%20Ada`,
      gets: 200,
      shows: {
        ...known,
        ...text,
        state: "given",
        policyVersion: 1,
        mode: "implicit",
        surface: "Banner",
        receipt: given.receipt,
        since: given.timestamp,
        total: 2,
      },
    },
    {
      as: shop.reader,
      ask,
      gets: 200,
      shows: {
        ...known,
        ...text,
        state: "withdrawn",
        policyVersion: 1,
        mode: "implicit",
        surface: "link in a mail",
        receipt: ended.receipt,
        since: ended.timestamp,
        total: 3,
        hasMore: false,
      },
    },
    {
      about: "before everything",
      as: shop.reader,
      ask: `${ask}&at=2020-01-01T00:00:00Z`,
      gets: 200,
      shows: { state: "none", at: "2020-01-01T00:00:00Z", events: [], total: 0 },
    },
    {
      about: "a time to come is now",
      as: shop.reader,
      ask: `${ask}&at=2999-01-01T00:00:00Z`,
      gets: 200,
      hasNot: ["2999-01-01"],
      shows: { state: "withdrawn" },
    },
    { as: shop.reader, ask: `${ask}&projectId=nowhere`, gets: 200, shows: { state: "none" } },
    { as: shop.reader, ask: `${ask}&projectId=other`, gets: 200, shows: { policyVersion: 2 } },
  ])
  assert.deepEqual(
    now?.json().events.map(({ receipt }: Receipt) => receipt),
    [unpublished.receipt, given.receipt, ended.receipt],
    "oldest first",
  )
  const { events } = (
    await shop.reader.get(`${shop.path}/events?projectId=system&query=action:policy.consent.lookup`)
  ).json()
  assert.equal(events.length, 7, "each look-up is recorded")
  assert.deepEqual(
    [atFirst, atGiven].map((reply) => reply?.json().lookupReceiptId),
    events
      .toReversed()
      .slice(0, 2)
      .map(({ receipt }: Receipt) => receipt),
  )
  const recorded = events.at(-2)
  assert.partialDeepStrictEqual(recorded.target, { subject: "usr_1", reason: "asked by Ada" })
  assert.deepEqual(recorded.metadata, { projectId: "core", at: given.timestamp })
})

test("a consent keeps its text when the clock is set back", async () => {
  await using ahead = await startService({ environment: clockAhead(2) })
  const made = await makeWorkspace(ahead)
  const sections = [{ id: "use", title: "Use", body: "…" }]
  const { policy } = await make(ahead.root, `${made.path}/published-policy`, { sections })
  await act(made, "usr_1", 1)
  await ahead.end()
  assert.doesNotMatch(ahead.log(), /the clock is behind/)
  await using back = await startService({ data: ahead.data })
  assert.match(back.log(), /"level":40,.*"newest":".*the clock is behind the newest entry/)
  const { state, sectionHash } = (await back.root.get(`${made.path}/consents?subject=usr_1`)).json()
  assert.deepEqual([state, sectionHash], ["given", policy.sectionHash])
})

test("an invalid question is refused, and not recorded", async () => {
  const empty = await makeWorkspace(service)
  const asked = (query: string, says: RegExp): Row => ({
    as: empty.reader,
    ask: `GET ${empty.path}/consents${query}`,
    gets: "400 invalid_field",
    has: [says],
  })
  const bound = await makeKey(service, empty.id, { scopes: ["read"], projectIds: ["shop"] })
  await expectRows([
    asked("", /subject is required/),
    asked("?subject=", /subject must be a non-empty string/),
    asked("?subject=usr_1&at=2026", /at must be a date and time/),
    asked("?subject=usr_1&projectId=all", /projectId/),
    asked("?subject=usr_1&reason=", /reason/),
    asked("?subject=usr%00_1", /subject contains the character U\+0000/),
    asked("?subject=usr_1&reason=%00", /reason contains the character U\+0000/),
    asked("?subject=usr_1&limit=5", /limit is not a known query parameter/),
    asked("/summary?from=2026", /from must be a date and time/),
    asked("/summary?subject=usr_1", /subject is not a known query parameter/),
    { ...asked("?subject=usr_1", /scope/), as: empty.writer, gets: 403 },
    { ...asked("?subject=usr_1", /reach/), as: bound, gets: "403 project_forbidden" },
    { ...asked("/summary", /reach/), as: bound, gets: "403 project_forbidden" },
    { ...asked("?subject=usr_1&projectId=shop", /none/), as: bound, gets: 200 },
  ])
  const found = await empty.reader.get(
    `${empty.path}/events?projectId=system&query=action:policy.consent.lookup`,
  )
  assert.equal(found.json().total, 1)
})

test("a page of another site cannot cause a recorded look-up", async () => {
  await setUpFirst(service)
  const viewer = await join(service, acme.path, "viewer", "viewer@example.com")
  const ask = (site: string, gets: number | string): Row => ({
    as: viewer,
    ask: `GET ${acme.path}/consents?subject=usr_1`,
    headers: { "sec-fetch-site": site },
    gets,
  })
  await expectRows([
    ask("cross-site", "403 csrf_failed"),
    ask("same-site", "403 csrf_failed"),
    ask("same-origin", 200),
    ask("none", 200),
  ])
})

interface Known {
  readonly subject: string
  readonly projectId: string
  readonly policyVersion: number | undefined
  readonly isWithdrawal: boolean
  readonly mode: string | undefined
  readonly surface: string
  readonly receipt: string
  readonly timestamp: string
}

test("states and counts of random consents and withdrawals equal those of a plain list", async (t) => {
  const { below, pick } = createChance(seedOf(t))
  const random = await makeWorkspace(service, { personalKeys: pick([["*"], [], ["surface"]]) })
  const known: Known[] = []
  for (let at = 0; at < 250; at++) {
    const isWithdrawal = below(3) === 0
    const one = {
      subject: pick(["ann", "Ann", "bob"]),
      projectId: pick(["core", "Core", "shop"]),
      policyVersion: isWithdrawal && below(2) === 0 ? undefined : 1 + below(3),
      isWithdrawal,
      mode: isWithdrawal ? undefined : pick(["explicit", "implicit"]),
      surface: pick(["form", "Banner", "é 名前"]),
    }
    const { subject, policyVersion, projectId, surface, mode } = one
    const changes = { projectId, surface, ...(mode !== undefined && { mode }) }
    const { receipt, timestamp } = await act(random, subject, policyVersion, changes, isWithdrawal)
    known.push({ ...one, receipt, timestamp })
  }
  for (let question = 0; question < 60; question++) {
    const [subject, projectId] = [pick(["ann", "Ann", "bob"]), pick(["core", "Core", "shop"])]
    const atMs = Date.parse(pick(known).timestamp) + below(3) - 1
    const at = below(10) === 0 ? undefined : new Date(atMs).toISOString()
    const query = `subject=${subject}&projectId=${projectId}${at === undefined ? "" : `&at=${at}`}`
    const reply = await random.reader.get(`${random.path}/consents?${query}`)
    const own = known.filter(
      (one) =>
        one.subject === subject &&
        one.projectId === projectId &&
        (at === undefined || Date.parse(one.timestamp) <= atMs),
    )
    const { events, ...told } = reply.json()
    assert.deepEqual(
      events.map(({ receipt }: Receipt) => receipt),
      own.map(({ receipt }) => receipt),
      query,
    )
    const expected = stateOf(own)
    const { state, policyVersion, mode, surface, receipt, since } = told
    assert.deepEqual({ state, policyVersion, mode, surface, receipt, since }, expected, query)
  }
  for (const projectId of ["core", "Core", "shop", "nowhere"]) {
    const split = pick(known).timestamp
    for (const [from, to] of [[], [split], [undefined, split]]) {
      const given = {
        projectId,
        ...(from !== undefined && { from }),
        ...(to !== undefined && { to }),
      }
      const query = new URLSearchParams(given).toString()
      const told = (await random.reader.get(`${random.path}/consents/summary?${query}`)).json()
      // The counts go by the time at which a consent arrived, as all lists do.
      const listed = (
        await random.reader.get(`${random.path}/events?${query}&query=kind:consent&limit=1`)
      ).json()
      assert.equal(told.given + told.withdrawn, listed.total, query)
      if (from === undefined && to === undefined)
        assert.deepEqual(sorted(told), sorted(summaryOf(random.id, projectId, known)))
    }
  }
})

/** From the oldest on. */
function stateOf(acts: readonly Known[]) {
  let standing: Known[] = []
  for (const one of acts)
    if (!one.isWithdrawal) standing.push(one)
    else
      standing = standing.filter(
        ({ policyVersion = 0 }) =>
          one.policyVersion !== undefined && policyVersion > one.policyVersion,
      )
  const withdrawn = acts.findLast(({ isWithdrawal }) => isWithdrawal)
  const given = standing.at(-1) ?? acts.findLast(({ isWithdrawal }) => !isWithdrawal)
  const state = standing.length > 0 ? "given" : withdrawn === undefined ? "none" : "withdrawn"
  const deciding = state === "withdrawn" ? withdrawn : given
  return {
    state,
    policyVersion: given === undefined ? withdrawn?.policyVersion : given.policyVersion,
    mode: given?.mode,
    surface: deciding?.surface,
    receipt: deciding?.receipt,
    since: deciding?.timestamp,
  }
}

type Counts = readonly { readonly given: number; readonly withdrawn?: number }[]

/** The lists, sorted. */
function sorted(summary: Record<string, unknown>): object {
  const lists = ["versions", "modes", "surfaces", "days"].map((name) => [
    name,
    (summary[name] as Counts).map((one) => JSON.stringify(one)).toSorted(),
  ])
  return { ...summary, ...Object.fromEntries(lists) }
}

function summaryOf(workspaceId: string, projectId: string, known: readonly Known[]) {
  const own = known.filter((one) => one.projectId === projectId)
  const count = (some: readonly Known[]) => {
    const withdrawn = some.filter(({ isWithdrawal }) => isWithdrawal).length
    return { given: some.length - withdrawn, withdrawn }
  }
  const by = <K>(name: string, keyOf: (one: Known) => K, some = own) =>
    [...Map.groupBy(some, keyOf)].map(([key, these]) => ({ [name]: key, ...count(these) }))
  return {
    workspaceId,
    projectId,
    ...count(own),
    versions: by("policyVersion", ({ policyVersion = null }) => policyVersion),
    modes: by(
      "mode",
      ({ mode }) => mode,
      own.filter(({ isWithdrawal }) => !isWithdrawal),
    ).map(({ withdrawn: _, ...mode }) => mode),
    surfaces: by("surface", ({ surface }) => surface.toLowerCase()),
    days: by("day", ({ timestamp }) => timestamp.slice(0, 10)),
  }
}

test("a person with many entries has a state, and the newest of them are shown", async () => {
  const many = await makeWorkspace(service)
  const first = await act(many, "usr_1", 2)
  await Promise.all(Array.from({ length: 60 }, () => act(many, "usr_1", 1)))
  await Promise.all(Array.from({ length: 60 }, () => withdraw(many, "usr_1", 1)))
  const reply = await many.reader.get(`${many.path}/consents?subject=usr_1`)
  const { state, receipt, returned, total, hasMore, nextCursor, events } = reply.json()
  assert.deepEqual(
    { state, receipt, returned, total, hasMore, nextCursor },
    {
      state: "given",
      receipt: first.receipt,
      returned: 100,
      total: 121,
      hasMore: true,
      nextCursor: events[0].sequence,
    },
  )
})

test("a pack of a person's consents proves what was shown and when they agreed", async () => {
  const shop = await makeWorkspace(service)
  const sections = [{ id: "use", title: "Use", body: "We use it." }]
  for (const body of ["We use it.", "We use it twice."])
    await make(root, `${shop.path}/published-policy`, {
      sections: [{ id: "use", title: "Use", body }],
    })
  await make(root, `${shop.path}/projects`, { id: "desk" })
  await make(root, `${shop.path}/published-policy`, { projectId: "desk", sections })
  await act(shop, "usr_1", 1)
  await act(shop, "usr_2", 2)
  await act(shop, "usr_1", 1, { projectId: "desk" })
  await withdraw(shop, "usr_1")
  const make1 = (consents: object, more: object = {}) =>
    make(shop.reader, `${shop.path}/evidence-packs`, { title: "SUP-2291", consents, ...more })
  const all = await make1({ subject: "usr_1" })
  // Three of the person, and the publications of core:1 and desk:1.
  assert.equal(all.receiptCount, 5)
  const ofCore = await make1({ subject: "usr_1", projectId: "core" })
  assert.equal(ofCore.receiptCount, 3)
  const reply = await shop.reader.get(`${shop.path}/evidence-packs/${ofCore.packId}/download`)
  const key = await logKeyOf(shop.reader, shop.path)
  const { verdict } = verifyPack(new Uint8Array(reply.bytes), { trustedKeys: [key] })
  assert.equal(verdict, "genuine")
  const { files } = (
    await shop.reader.get(`${shop.path}/evidence-packs/${ofCore.packId}/download?format=json`)
  ).json()
  const texts = Object.keys(files).filter((path) => path.startsWith("policies/"))
  assert.deepEqual(texts, ["policies/core/1.json"], "what they were shown")
  const bodies = Buffer.from(files["bodies/000.jsonl"], "base64").toString()
  assert.match(bodies, /policy\.version\.publish/)
  assert.match(bodies, /policy\.consent\.withdraw/)

  const bound = await makeKey(service, shop.id, { scopes: ["read"], projectIds: ["desk"] })
  const packs = `POST ${shop.path}/evidence-packs`
  const subject = "usr_1"
  const send = { title: "T", consents: { subject } }
  await expectRows([
    { as: bound, ask: packs, send, gets: 201, shows: { receiptCount: 1, projectIds: ["desk"] } },
    {
      as: bound,
      ask: packs,
      send: { title: "T", consents: { subject, projectId: "core" } },
      gets: "403 project_forbidden",
    },
    {
      as: shop.reader,
      ask: packs,
      send: { title: "T", consents: { subject: "nobody" } },
      gets: "400 invalid_field",
      has: [/consents must match one entry at least/],
    },
    {
      as: shop.reader,
      ask: packs,
      send: { ...send, filter: {} },
      gets: "400 invalid_field",
      has: [/either receiptIds or filter or consents/],
    },
    {
      as: shop.reader,
      ask: packs,
      send: { title: "T", projectId: "desk", consents: { subject, projectId: "core" } },
      gets: "400 invalid_field",
      has: [/consents\.projectId must be the project/],
    },
  ])
  const looked = await shop.reader.get(
    `${shop.path}/events?projectId=system&query=action:policy.consent.lookup`,
  )
  assert.equal(looked.json().total, 4, "each of them is a look-up, whoever was found")
  assert.partialDeepStrictEqual(looked.json().events.at(-1).target, { subject, reason: "SUP-2291" })
})

test("erasing fields keeps the state of a consent, and erasing entries removes it", async () => {
  const shop = await makeWorkspace(service, { personalKeys: ["surface"] })
  const given = await act(shop, "usr_1", 1)
  const eraseIt = (scope: string) => erase(root, shop.path, { subject: { id: "usr_1" }, scope })
  const ask = `GET ${shop.path}/consents?subject=usr_1`
  await eraseIt("fields")
  await expectRows([
    {
      as: shop.reader,
      ask,
      gets: 200,
      hasNot: ["usr_1@example.com", "form"],
      shows: { state: "given", policyVersion: 1, mode: "explicit", receipt: given.receipt },
    },
  ])
  await eraseIt("entries")
  await expectRows([{ as: shop.reader, ask, gets: 200, shows: { state: "none", total: 0 } }])
})

test("every receipt of this run verifies, and no secret leaked", () => service.finish())
