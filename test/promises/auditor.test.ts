import assert from "node:assert/strict"
import { test } from "node:test"
import { expectChain, type MintedReceipt } from "../chain.ts"
import { metric } from "../metrics.ts"
import {
  eventFor,
  eventually,
  makeWorkspace,
  startService,
  writeEvent,
  type Client,
  type Service,
  type Workspace,
} from "../service.ts"
import { damage, damages, type Damage } from "./damaged.ts"

// Promise 6, for a running service: the auditor reads everything again and again, and finds damage
// that no client reads. The damaged workspace takes no writes, the others go on, operators are
// alerted, and the ledger of the instance records it.

const quick = {
  TALLYSTICK_LIMIT_AUDIT_ENTRIES_PER_SECOND: "100000",
  TALLYSTICK_LIMIT_AUDIT_ROUND_EVERY_MS: "200",
}
const slow = { TALLYSTICK_LIMIT_AUDIT_ENTRIES_PER_SECOND: "1" }
/** A start checks the end of each chain. The auditor finds damage further back. */
const hardlyRechecked = { TALLYSTICK_LIMIT_RECHECK_ENTRIES: "1" }
const eventsEach = 12
const foundWithinMs = 10_000

interface Written extends Workspace {
  readonly receipts: readonly MintedReceipt[]
}

async function writeSome(service: Service): Promise<Written> {
  const made = await makeWorkspace(service, { personalKeys: ["salary"] })
  const receipts: MintedReceipt[] = []
  for (let count = 0; count < eventsEach; count++)
    receipts.push(await writeEvent(made, { metadata: { count, salary: count } }))
  // Everything is signed when its end can be proved.
  assert.equal(
    (await made.reader.get(`${made.path}/receipts/${receipts.at(-1)?.receipt}/proof`)).status,
    200,
  )
  return { ...made, receipts }
}

interface Finding {
  readonly metadata: {
    readonly workspaceId: string
    readonly detail: string
    readonly sequence?: number
  }
}

/** The instance ledger's records of broken chains. */
async function findings({ root }: Service): Promise<readonly Finding[]> {
  const page = await root.get(
    "/v1/workspaces/instance/events?projectId=system&storage=all&limit=100&query=action:security.integrity.fail",
  )
  // It is made when there is something to say.
  if (page.status === 404) return []
  assert.equal(page.status, 200, page.text)
  return page.json<{ events: Finding[] }>().events
}

async function auditorCheck(
  client: Client,
): Promise<{ readonly ok: boolean; readonly detail: string }> {
  const reply = await client.get("/readyz?verbose")
  assert.equal(reply.status, 200, "one broken chain is no reason to send the others' writers away")
  return reply.json().checks.find(({ name }: { name: string }) => name === "auditor")
}

/**
 * Damages one entry of each workspace, and expects each to be found at its place and reported
 * everywhere.
 */
async function expectFound(
  service: Service,
  each: ReadonlyMap<Damage | "nothing", Written>,
  withinMs = foundWithinMs,
): Promise<number> {
  const client = service.client()
  const places = new Map<string, number>()
  for (const [what, { id, receipts }] of each)
    places.set(id, damage(service.data, receipts[5]?.receipt ?? "", what).sequence)
  const told = await eventually(
    "all of them are found",
    async () => {
      const seen = await findings(service)
      return seen.length >= each.size ? seen : undefined
    },
    withinMs,
  )
  for (const [what, { id, writer }] of each) {
    const [finding, more] = told.filter(({ metadata }) => metadata.workspaceId === id)
    assert.ok(finding !== undefined && more === undefined, `${what}: ${JSON.stringify(told)}`)
    const { sequence = 0, detail } = finding.metadata
    const place = places.get(id) ?? 0
    assert.ok(
      sequence === place || sequence === place + 1 || detail.startsWith("it ends at"),
      `${what}, entry ${place}: ${detail}`,
    )
    const refused = await writer.write(eventFor(id))
    assert.deepEqual([refused.status, refused.json().error], [503, "integrity_failure"], what)
    assert.ok(service.log().includes(detail), "the log says it too")
    const { faults, checked } = (await service.root.get(`/v1/workspaces/${id}/integrity`)).json()
    const from = detail.startsWith("it ends at") ? 1 : sequence
    assert.partialDeepStrictEqual(faults, [{ sequence: from, detail }])
    assert.ok(
      checked.every(({ to }: { to: number }) => to < place && to < from - 1),
      `${what}: ${JSON.stringify(checked)}`,
    )
  }
  assert.equal(await metric(service, "tallystick_integrity_failures_total"), each.size)
  assert.equal(await metric(service, "tallystick_audit_failed_entries"), each.size)
  const check = await auditorCheck(client)
  assert.equal(check.ok, false)
  assert.match(check.detail, new RegExp(`workspaces with a broken entry: ${each.size};`))
  for (const { id } of each.values())
    assert.ok(!check.detail.includes(id), "a stranger may read this")
  return each.size
}

test("the auditor finds any damage and halts only that workspace", async (t) => {
  await using service = await startService({ environment: quick })
  const sound = await writeSome(service)
  const each = new Map<Damage, Written>()
  for (const what of Object.keys(damages) as Damage[]) each.set(what, await writeSome(service))
  await eventually(
    "a whole round",
    async () => (await metric(service, "tallystick_audit_round")) >= 2,
  )
  assert.equal((await auditorCheck(service.client())).ok, true)
  const verified = await metric(service, "tallystick_audit_verified_entries_total")
  assert.ok(verified >= each.size * eventsEach, `${verified} entries were re-verified only`)

  const found = await expectFound(service, each)

  const after = await sound.writer.write(eventFor(sound.id))
  assert.equal(after.status, 202, "the others go on")
  await expectChain(service.root, sound.id, [...sound.receipts, after.json()])
  await expectChain(service.root, "instance")
  const read = await each
    .get("a byte of the body")
    ?.reader.get(`${each.get("a byte of the body")?.path}/events`)
  assert.deepEqual([read?.status, read?.json().verified], [200, false], "it can still be read")
  t.diagnostic(`${found} damages found, ${verified} entries re-verified before`)
  assert.ok(found >= 10)
  assert.equal(await service.end(), 0)
})

test("canary: the auditor finds nothing in undamaged data", async () => {
  await using service = await startService({ environment: quick })
  const written = await writeSome(service)
  await assert.rejects(
    expectFound(service, new Map([["nothing", written]]), 2000),
    /in vain: all of them are found/,
  )
  assert.equal(await metric(service, "tallystick_audit_failed_entries"), 0)
  await expectChain(service.root, written.id, written.receipts)
})

test("after a restart a fault is found again at once, is recorded once, and ends when it is repaired", async () => {
  await using first = await startService({ environment: quick })
  const harmed = await writeSome(first)
  const sound = await writeSome(first)
  const { sequence, mend } = damage(
    first.data,
    harmed.receipts[2]?.receipt ?? "",
    "a byte of the body",
  )
  await eventually("it is found", async () => (await findings(first)).length > 0)
  await first.end("SIGKILL")

  // At this rate the auditor would need half a minute to get there.
  await using second = await startService({
    data: first.data,
    environment: { ...slow, ...hardlyRechecked },
  })
  const again = second.client(harmed.writer.bearer)
  const isRefused = async () =>
    (await again.write(eventFor(harmed.id))).status === 503 ? true : undefined
  await eventually("it is refused again", isRefused, 3000)
  assert.equal(await metric(second, "tallystick_integrity_failures_total"), 1)
  assert.equal((await second.client(sound.writer.bearer).write(eventFor(sound.id))).status, 202)
  const told = await findings(second)
  assert.deepEqual(
    told.map(({ metadata }) => [metadata.workspaceId, metadata.sequence]),
    [[harmed.id, sequence]],
  )
  assert.equal(await second.end(), 0)

  mend()
  await using third = await startService({
    data: first.data,
    environment: { ...quick, ...hardlyRechecked },
  })
  await eventually(
    "a whole round",
    async () => (await metric(third, "tallystick_audit_round_entries")) > 0,
  )
  assert.equal((await third.client(harmed.writer.bearer).write(eventFor(harmed.id))).status, 202)
  assert.equal((await auditorCheck(third.client())).ok, true)
  await expectChain(third.root, harmed.id, harmed.receipts)
  await expectChain(third.root, sound.id, sound.receipts)
  await expectChain(third.root, "instance")
  assert.equal(await third.end(), 0)
})
