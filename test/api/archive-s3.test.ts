import assert from "node:assert/strict"
import { after, test } from "node:test"
import { setTimeout as sleep } from "node:timers/promises"
import { expectChain } from "../chain.ts"
import { tallystick } from "../program.ts"
import { archiveSettings, refuse, startS3Server, type S3Server } from "../s3-server.ts"
import { eventually, makeWorkspace, settingsOf, startService, writeMany } from "../service.ts"
import { untilErased } from "../until.ts"

// An archive in S3 that fails in every way: its entries answer 503 or are shown as broken, and all
// else goes on. After it recovers, everything is read as before. A slow archive delays only its own
// entries.

const filed = 4096
/** A segment for each fault, so that nothing is remembered from the fault before. */
const segmentEntries = 64

function settingsFor(s3: S3Server): Readonly<Record<string, string>> {
  return {
    ...archiveSettings(s3),
    TALLYSTICK_LIMIT_ARCHIVE_EVERY_MS: "20",
    TALLYSTICK_LIMIT_ARCHIVE_PARTIAL_MS: "1",
    TALLYSTICK_LIMIT_ARCHIVE_ENTRIES_MAX: String(segmentEntries),
  }
}

const faults: Readonly<Record<string, S3Server["misbehave"]>> = {
  "refuses for a long time": (_, response) => {
    refuse(response, 503, "SlowDown")
    return true
  },
  "forbids it": (_, response) => {
    refuse(response, 403, "AccessDenied")
    return true
  },
  "closes the connection": ({ socket }) => {
    socket.destroy()
    return true
  },
  "answers with another part": (_, response) => {
    response.writeHead(206, { "content-range": "bytes 0-3/10" }).end("0123")
    return true
  },
  "cuts its answer off": (_, response) => {
    response.writeHead(206, { "content-length": 1000 }).write("the beginning")
    setImmediate(() => response.destroy())
    return true
  },
  "never answers": () => true,
}

/** The first 4,096 entries are in the archive, and each test starts a service that has none of it in memory. */
async function writeArchived() {
  const first = await startService({ environment })
  const workspace = await makeWorkspace(first, { hotDays: 0 })
  const receipts = await writeMany(workspace, filed + 50, {
    atOnce: 1000,
    changes: (at) => ({ actor: { id: `usr_${at % 100}`, type: "user", email: "a@example.com" } }),
  })
  await eventually(
    "all to be archived",
    async () => s3.objects.size === filed / segmentEntries,
    180_000,
  )
  assert.equal(await first.end(), 0)
  return { workspace, receipts: [...receipts], first }
}

const s3 = await startS3Server()
after(() => s3[Symbol.asyncDispose]())
const environment = settingsFor(s3)
const { workspace, receipts, first } = await writeArchived()
after(() => first[Symbol.asyncDispose]())
const { id, path } = workspace

test("a failing S3 archive is reported as unavailable, and wrong data from it is refused", async (t) => {
  await using later = await startService({ data: first.data, environment })
  const writer = later.client(workspace.writer.bearer)
  const places = new Map(Object.keys(faults).map((name, at) => [name, at * segmentEntries]))
  const receiptAt = (place: number) => `${path}/receipts/${receipts[place]?.receipt}`
  for (const [name, misbehave] of Object.entries(faults)) {
    s3.misbehave = misbehave
    const begun = performance.now()
    const [archived, hot, written] = await Promise.all([
      later.root.get(receiptAt(places.get(name) ?? 0)),
      later.root.get(receiptAt(filed + 10)),
      writeMany({ id, writer }, 1),
    ])
    t.diagnostic(`${name}: ${Math.round(performance.now() - begun)} ms`)
    assert.deepEqual([archived.status, archived.json().error], [503, "archive_unavailable"], name)
    assert.equal(hot.status, 200, hot.text)
    receipts.push(...written)
  }
  s3.misbehave = () => false
  const whole = (await later.root.get(receiptAt(0))).json()
  assert.equal(whole.verified, true)

  // Another object under the name of a recorded one that is not in memory yet.
  const { segments } = (await later.root.get(`${path}/segments?limit=100`)).json<{
    segments: readonly { file: string; firstSequence: number }[]
  }>()
  const keys = [...s3.objects.keys()].slice(10, 13)
  const wrongs = [
    (bytes: Buffer) => s3.objects.get(keys[1] ?? "") ?? bytes,
    (bytes: Buffer) => Buffer.from(bytes.map((byte, at) => (at % 50 === 49 ? byte ^ 1 : byte))),
    (bytes: Buffer) => bytes.subarray(0, 200),
  ]
  const replaced: number[] = []
  for (const [at, key] of keys.entries()) {
    const bytes = s3.objects.get(key)
    const segment = segments.find(({ file }) => key.endsWith(file))
    assert.ok(bytes !== undefined && segment !== undefined)
    s3.objects.set(key, wrongs[at]?.(bytes) ?? bytes)
    const place = segment.firstSequence - whole.entry.sequence + 5
    const reply = await later.root.get(receiptAt(place))
    const { integrity = reply.json().error } = reply.json().entry ?? {}
    assert.match(
      integrity,
      /^(broken|archive_unavailable)$/,
      "what is not the segment is not believed",
    )
    s3.objects.set(key, bytes)
    replaced.push(place)
  }
  assert.equal(await later.end(), 0)
  // If the auditor met one of them meanwhile, nothing is recorded until a restart.
  await using last = await startService({ data: later.data, environment })
  for (const place of replaced) {
    const again = await last.root.get(receiptAt(place))
    assert.equal(again.json().verified, true, again.text)
  }
  receipts.push(...(await writeMany({ id, writer: last.client(workspace.writer.bearer) }, 1)))
  await expectChain(last.root, id, receipts)
  assert.equal(await last.end(), 0)
  const settings = { ...settingsOf(last), ...environment }
  const { code, output, errors } = await tallystick(["fsck"], settings)
  assert.equal(code, 0, output + errors)
})

test("a slow S3 archive delays only reads of what it holds", async () => {
  await using service = await startService({ data: first.data, environment })
  const writer = service.client(workspace.writer.bearer)
  const mayAnswer = Promise.withResolvers<void>()
  s3.slow = () => mayAnswer.promise
  let isRead = false
  const old = service.root
    .get(`${path}/events?storage=all&limit=100&cursor=${filed / 2}`)
    .finally(() => (isRead = true))
  const request = { subject: { id: "usr_7" }, reason: "a test", scope: "entries" }
  const erasing = service.root.post(`${path}/erasures`, request)
  receipts.push(...(await writeMany({ id, writer }, 3)))
  for (const what of [`receipts/${receipts.at(-1)?.receipt}`, "events?storage=all&limit=20"]) {
    const reply = await service.root.get(`${path}/${what}`)
    assert.equal(reply.status, 200, reply.text)
  }
  assert.equal(isRead, false, "what lies in the archive waits for it")

  s3.slow = () => sleep(30)
  mayAnswer.resolve()
  const asked = await erasing
  const page = (await old).json()
  assert.equal(asked.status, 202, asked.text)
  assert.equal(page.events.length, 100)
  assert.equal(page.verified, true)
  await untilErased(service.root, path, asked.json().erasureId, 120_000)
  await expectChain(service.root, id, receipts)
})
