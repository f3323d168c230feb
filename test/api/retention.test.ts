import assert from "node:assert/strict"
import { readdir, readFile, rm, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { test } from "node:test"
import { verifyReceipt } from "@tallystick/proof"
import { engineSettings } from "../engine.ts"
import { metric } from "../metrics.ts"
import { tallystick } from "../program.ts"
import {
  clockAhead,
  eventFor,
  eventually,
  logKeyOf,
  make,
  makeWorkspace,
  settingsOf,
  startService,
  writeMany,
  type Client,
  type Reply,
  type Service,
} from "../service.ts"
import { untilSigned } from "../until.ts"

// Expired contents are destroyed, and evidence about their entries stays valid. Holds keep what the
// rules would expire.

const secret = "marzipan"

/** The same data under a clock that is ahead by so many days. */
function daysLater(data: string, days: number, settings = {}): Promise<Service> {
  return startService({ data, environment: { ...clockAhead(days), ...settings } })
}

const rules = { retention: [{ action: "login", days: 1 }] }

async function preview(by: Client, path: string, asked: object): Promise<Reply> {
  return await eventually("it is counted", async () => {
    const reply = await by.post(`${path}/retention/preview`, asked)
    return reply.status === 202 ? undefined : reply
  })
}

async function filesWith(folder: string, text: string): Promise<readonly string[]> {
  const names = await readdir(folder, { recursive: true })
  const found = await Promise.all(
    names.map(async (name) => {
      const bytes = await readFile(join(folder, name)).catch(() => Buffer.alloc(0))
      return bytes.includes(text) ? [name] : []
    }),
  )
  return found.flat()
}

test("expired content is destroyed unless a hold keeps it, and stays provable", async () => {
  await using first = await startService()
  const { id, path, writer } = await makeWorkspace(first)
  const logins = await writeMany({ id, writer }, 20, {
    changes: (at) => ({
      action: at % 2 === 0 ? "login.done" : "login.fail.twice",
      metadata: { note: `${secret} ${at}` },
    }),
  })
  const orders = await writeMany({ id, writer }, 20, {
    changes: () => ({ action: "order.create" }),
  })
  const key = crypto.randomUUID()
  const repeated = eventFor(id, { action: "login.done", metadata: { note: secret } })
  assert.equal((await writer.write(repeated, key)).status, 202)
  const [gone, held] = [logins[3]?.receipt ?? "", logins[4]?.receipt ?? ""]
  const pack = await make(first.root, `${path}/evidence-packs`, { title: "T", receiptIds: [gone] })
  const before = (await first.root.get(`${path}/receipts/${gone}`)).text
  // Nothing is due today: nobody is asked to confirm.
  assert.equal((await first.root.patch(path, rules)).status, 200)
  assert.deepEqual((await preview(first.root, path, rules)).json().entries, 0)
  assert.equal((await first.root.patch(path, { retention: [] })).status, 200)
  assert.equal(await first.end(), 0)

  await using service = await daysLater(first.data, 3)
  const { root } = service
  const [writes, viewer] = [service.client(writer.bearer), root]
  const receiptIds = [held]
  const hold = await make(root, `${path}/holds`, { name: "Case 7", reason: "Lawsuit", receiptIds })
  const token = await make(root, `${path}/receipts/${held}/token`, {})

  const counted = await preview(root, path, rules)
  assert.deepEqual(
    [counted.status, counted.json().entries, counted.json().held, counted.json().rules.length],
    [200, 20, 1, 1],
  )
  assert.deepEqual(
    counted
      .json()
      .lanes.map(({ lane, entries }: { lane: string; entries: number }) => [lane, entries]),
    [["security", 20]],
  )
  const confirm = counted.json().token
  const other = { retention: [{ action: "login", days: 2 }] }
  for (const refused of [rules, { ...rules, confirm: "x" }, { ...other, confirm }]) {
    const reply = await root.patch(path, refused)
    assert.deepEqual([reply.status, reply.json().error], [409, "conflict"], reply.text)
  }
  assert.equal((await root.patch(path, { ...rules, confirm })).status, 200)
  // Who asks meanwhile is told of the same run, which is counted once.
  const running = Array.from({ length: 3 }, () => root.post(`${path}/retention/run`, {}))
  const told = (await Promise.all(running)).map((one) => one.json())
  assert.ok(told.some(({ entries }) => entries === 20))
  assert.equal(await metric(service, "tallystick_expired_bodies_total"), 20)
  assert.deepEqual((await root.post(`${path}/retention/run`, {})).json(), {
    isRunning: false,
    entries: 0,
    held: 1,
  })
  assert.equal((await root.patch(path, other)).status, 409, "the held one would expire later")

  const list = async (query: string) =>
    (await viewer.get(`${path}/events?storage=all&${query}`)).json()
  assert.deepEqual((await list("query=action:login.*")).total, 1, "the held one")
  const all = await list("limit=100")
  assert.deepEqual([all.total, all.events.length, all.verified], [41, 41, true])
  const shown = all.events.find((one: { receipt: string }) => one.receipt === gone)
  const said = { integrity: "expired", action: "", projectId: "", kind: "event", metadata: {} }
  for (const [name, value] of Object.entries(said)) assert.deepEqual(shown[name], value, name)
  assert.equal(shown.timestamp, logins[3]?.timestamp)
  const kept = all.events.filter((one: { held?: boolean }) => one.held === true)
  assert.deepEqual(
    kept.map((one: { receipt: string }) => one.receipt),
    [held],
  )
  const byToken = await service.client(token.token).get(`${path}/receipts/${held}`)
  assert.ok(byToken.status === 200 && !byToken.text.includes('"held"'), byToken.text)

  const trustedKeys = [await logKeyOf(root, path)]
  const after = await root.get(`${path}/receipts/${gone}`)
  assert.deepEqual([after.status, after.json().verified], [200, true], after.text)
  assert.deepEqual([after.json().proof.body, after.json().entry.integrity], [null, "expired"])
  const verdict = verifyReceipt(after.text, { trustedKeys })
  assert.ok(verdict.verdict === "unconfirmed" && verdict.because === "content_missing")
  assert.equal((await root.get(`${path}/receipts/${gone}/proof`)).status, 200)
  assert.notEqual(verifyReceipt(before, { trustedKeys }).verdict, "refuted")
  const order = (await root.get(`${path}/receipts/${orders[0]?.receipt}`)).text
  assert.equal(verifyReceipt(order, { trustedKeys }).verdict, "genuine")

  for (const reply of [
    await writes.write(repeated, key),
    await root.post(`${path}/evidence-packs`, { title: "T", receiptIds: [gone] }),
    await root.get(`${path}/evidence-packs/${pack.packId}/download`),
  ])
    assert.deepEqual([reply.status, reply.json().error], [410, "content_gone"], reply.text)
  const batch = await writes.post("/v1/events/batch", {
    events: [
      { ...repeated, idempotencyKey: key },
      { ...eventFor(id), idempotencyKey: crypto.randomUUID() },
    ],
  })
  assert.deepEqual(
    batch.json().results.map((one: { error?: string }) => one.error),
    ["content_gone", undefined],
  )

  const released = await root.ask("DELETE", `${path}/holds/${hold.holdId}`, {
    body: { reason: "It is over" },
  })
  assert.deepEqual([released.status, released.json().state], [200, "released"], released.text)
  const again = await root.ask("DELETE", `${path}/holds/${hold.holdId}`, {
    body: { reason: "It is over, as was said" },
  })
  assert.deepEqual([again.status, again.text], [200, released.text])
  const ended = await tallystick(["retention", "run", id], settingsOf(service))
  assert.equal(ended.code, 0, ended.errors)
  assert.match(ended.errors, /: 1 content of .* expired\.\n/)
  assert.equal(await service.end(), 0)
  assert.deepEqual(await filesWith(service.data, secret), [])
  await expectFsckClean(service, id)
})

/** Entries explain all missing content, in the data and in an export. */
async function expectFsckClean(service: Service, workspace: string): Promise<void> {
  const settings = { ...settingsOf(service), ...(await engineSettings(service.data)) }
  const checked = await tallystick(["fsck"], settings)
  assert.equal(checked.code, 0, checked.output + checked.errors)
  const folder = join(service.data, "..", `export-of-${workspace}`)
  try {
    const exported = await tallystick(["export", workspace, folder], settings)
    assert.equal(exported.code, 0, exported.errors)
    const verified = await tallystick(["verify", "--json", folder], settings)
    const finding = JSON.parse(verified.output)
    const { facts } = Array.isArray(finding) ? finding[0] : finding
    assert.deepEqual([facts.expiredBodies, facts.missingBodies], [21, undefined], verified.output)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

test("contents expire soon after a start, and removing the rules stops it at once", async () => {
  await using first = await startService()
  const { id, path, writer } = await makeWorkspace(first, { retention: [{ days: 2 }] })
  await writeMany({ id, writer }, 30)
  const [other, another] = [
    await makeWorkspace(first, { retention: [{ days: 1 }] }),
    await makeWorkspace(first, { retention: [{ days: 1 }] }),
  ]
  for (const one of [other, another]) await writeMany(one, 3)
  for (const one of [path, other.path, another.path]) await untilSigned(first.root, one)
  assert.equal(await first.end(), 0)
  await using second = await daysLater(first.data, 2)
  const expired = async (service: Service): Promise<number> => {
    const { events } = (await service.root.get(`${path}/events?storage=all&limit=100`)).json()
    return events.filter((one: { integrity: string }) => one.integrity === "expired").length
  }
  assert.deepEqual((await second.root.post(`${path}/retention/run`, {})).json().entries, 0)
  assert.equal(await expired(second), 0, "two whole days are not over")
  assert.equal(await second.end(), 0)
  const archive = join(first.data, "archive")
  // A run that cannot look through the archive fails.
  {
    await using away = await daysLater(first.data, 4)
    await writeFile(archive, "no folder")
    const refused = await away.root.post(`${other.path}/retention/run`, {})
    assert.deepEqual([refused.status, refused.json().error], [503, "archive_unavailable"])
    await rm(archive)
    assert.equal((await away.root.post(`${other.path}/retention/run`, {})).status, 200)
    assert.equal(await away.end(), 0)
  }
  {
    await using late = await daysLater(first.data, 4, { TALLYSTICK_LIMIT_PREVIEW_WAIT_MS: "1" })
    await writeFile(archive, "no folder")
    assert.equal((await late.root.post(`${another.path}/retention/run`, {})).status, 202)
    await eventually("the run that was answered before its end is counted as a failure", async () =>
      (await metric(late, "tallystick_expiry_failures_total")) === 1 ? true : undefined,
    )
    assert.match(late.log(), /contents could not be expired/)
    await rm(archive)
    // An entry of this day, or the next start would not believe the clock for hours.
    await makeWorkspace(late)
  }
  const soon = { TALLYSTICK_LIMIT_EXPIRY_EVERY_MS: "200" }
  await using third = await daysLater(first.data, 4, soon)
  await eventually("they have expired", async () => (await expired(third)) === 30)
  await eventually(
    "they are counted",
    async () => (await metric(third, "tallystick_expired_bodies_total")) === 30,
  )
  assert.equal(await third.end(), 0)
  const settings = { ...settingsOf(third), ...(await engineSettings(third.data)) }
  const { code, output, errors } = await tallystick(["fsck"], settings)
  assert.equal(code, 0, output + errors)
})
