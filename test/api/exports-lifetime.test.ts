import assert from "node:assert/strict"
import { renameSync } from "node:fs"
import { writeFile } from "node:fs/promises"
import { request, type IncomingMessage } from "node:http"
import { join } from "node:path"
import { test } from "node:test"
import type { ExportEnd, ListedEntry } from "@tallystick/client"
import { makeFolder } from "../folder.ts"
import { expectChain } from "../chain.ts"
import { openDuckDb, type DuckDb } from "../duckdb.ts"
import { metric } from "../metrics.ts"
import { damage } from "../promises/damaged.ts"
import { archiveSettings, refuse, startS3Server } from "../s3-server.ts"
import {
  clockAhead,
  eventually,
  makeKey,
  makeWorkspace,
  startService,
  writeMany,
  type Client,
  type Service,
  type Workspace,
} from "../service.ts"
import { erase, setRetention, untilSigned } from "../until.ts"

// Exports of entries that are archived, erased, expired or broken, or that storage cannot read. No
// file may look complete that is not.

const formats = ["jsonl", "csv", "parquet"] as const
type Format = (typeof formats)[number]

/** The archiver looks often, and makes small segments at once. */
const hasty = {
  TALLYSTICK_LIMIT_ARCHIVE_EVERY_MS: "20",
  TALLYSTICK_LIMIT_ARCHIVE_PARTIAL_MS: "1",
}
/** A segment of the search, and some that are in none. */
const count = 4096 + 100

async function archived(service: Service, least: number): Promise<void> {
  await eventually(
    "the entries to be archived",
    async () =>
      (await metric(service, "tallystick_packed_entries_total")) >= least &&
      (await metric(service, "tallystick_archive_overdue_seconds")) === 0,
    180_000,
  )
}

/** A workspace whose old entries, some kilobytes each, are archived. */
async function makeArchived(service: Service): Promise<Workspace> {
  const acme = await makeWorkspace(service, { hotDays: 0 })
  const long = "x".repeat(8000)
  await writeMany(acme, count, { changes: (amount) => ({ metadata: { amount, long } }) })
  await archived(service, 4000)
  return acme
}

/** An export that is under way: its bytes wait until they are read. */
async function begun(service: Service, { path, reader }: Workspace, format: Format, after = 0) {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  const url = `${service.url}${path}/events/export?storage=all&format=${format}&after=${after}`
  const headers = { authorization: `Bearer ${reader.bearer}` }
  request(url, { headers, agent: false }, resolve).once("error", reject).end()
  const answer = await promise
  if (answer.statusCode !== 200) assert.fail((await read(answer)).toString())
  return answer
}

async function read(answer: IncomingMessage): Promise<Buffer> {
  return Buffer.concat(await Array.fromAsync(answer as AsyncIterable<Buffer>))
}

/** The bytes of an export that must be cut off, and say so. */
async function readCut(answer: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  const reading = async (): Promise<void> => {
    for await (const chunk of answer as AsyncIterable<Buffer>) chunks.push(chunk)
  }
  await assert.rejects(reading(), { code: "ECONNRESET" })
  return Buffer.concat(chunks)
}

function expectNoEnd(format: Format, bytes: Buffer): void {
  if (format === "jsonl") assert.doesNotMatch(bytes.toString(), /^\{"end":/m)
  if (format === "parquet" && bytes.length > 4)
    assert.notEqual(bytes.subarray(-4).toString(), "PAR1", "a footer")
}

/** The ledger's record of the end of the last export. */
async function saidOfLast({ path }: Workspace, root: Client) {
  const query = "query=action:workspace.events.export.end&projectId=system&storage=all&limit=1"
  return eventually("the end of the export to be recorded", async () => {
    const reply = await root.get(`${path}/events?${query}`)
    // On a busy machine, the search of very large entries may have to be asked again.
    if (reply.status === 503) return undefined
    const { events } = reply.json<{
      events: readonly { metadata: { entries: number; complete: boolean } }[]
    }>()
    return events[0]?.metadata
  })
}

test("an export is cut off when object storage fails", async () => {
  await using storage = await startS3Server()
  const environment = { ...hasty, ...archiveSettings(storage) }
  await using service = await startService({ environment })
  const acme = await makeArchived(service)
  for (const format of formats) {
    const whole = await read(await begun(service, acme, format))
    const answer = await begun(service, acme, format)
    await new Promise((resolve) => answer.once("readable", resolve))
    storage.misbehave = ({ method }, response) => {
      if (method !== "GET") return false
      refuse(response, 403, "AccessDenied")
      return true
    }
    const cut = await readCut(answer)
    assert.ok(cut.length < whole.length)
    expectNoEnd(format, cut)
    const { entries, complete } = await eventually("it to be recorded", async () => {
      const said = await saidOfLast(acme, service.root)
      return said.complete ? undefined : said
    })
    assert.ok(entries < count && !complete, `${entries} entries`)
    storage.misbehave = () => false
    if (format !== "jsonl") continue
    // The rest follows what was received.
    const lines = cut.toString().split("\n").slice(0, -1)
    const { sequence = 0 } = JSON.parse(lines.at(-1) ?? "{}") as Partial<ListedEntry>
    const rest = (await read(await begun(service, acme, format, sequence))).toString().split("\n")
    const { end } = JSON.parse(rest.at(-2) ?? "") as ExportEnd
    assert.equal(lines.length + end.count, count)
  }
  await expectChain(service.root, acme.id)
})

test("an export is cut off when the archive's folder disappears, and when its key is revoked", async () => {
  await using service = await startService({ environment: hasty })
  const acme = await makeArchived(service)
  const [folder, away] = [join(service.data, "archive"), join(service.data, "away")]
  const unread = await begun(service, acme, "csv")
  await new Promise((resolve) => unread.once("readable", resolve))
  renameSync(folder, away)
  expectNoEnd("csv", await readCut(unread))
  assert.partialDeepStrictEqual(await saidOfLast(acme, service.root), { complete: false })
  renameSync(away, folder)

  const reader = await makeKey(service, acme.id, { scopes: ["read"] })
  const answer = await begun(service, { ...acme, reader }, "jsonl")
  await new Promise((resolve) => answer.once("readable", resolve))
  const [, keyId] = reader.bearer?.split("_") ?? []
  assert.equal((await service.root.delete(`${acme.path}/api-keys/${keyId}`)).status, 204)
  expectNoEnd("jsonl", await readCut(answer))
  const { entries, complete } = await saidOfLast(acme, service.root)
  assert.ok(entries < count && !complete, `${entries} entries`)
  await expectChain(service.root, acme.id)
})

test("an export names a broken entry, and does not call it verified", async (t) => {
  const duck = await openDuckDb()
  if (duck === undefined) return t.skip("npm has no DuckDB for this machine")
  await using folder = await makeFolder()
  await using service = await startService()
  for (const format of formats) {
    // A workspace that is known to be broken is not exported again.
    const acme = await makeWorkspace(service)
    const receipts = await writeMany(acme, 300)
    await untilSigned(acme.reader, acme.path)
    const { sequence } = damage(service.data, receipts[150]?.receipt ?? "", "a byte of the body")
    const file = join(folder.path, `broken.${format}`)
    const bytes = await read(await begun(service, acme, format))
    await writeFile(file, bytes)
    const rows = await duck.rows(
      `SELECT sequence, integrity FROM ${relation(format, file)} WHERE integrity <> 'verified'`,
    )
    assert.deepEqual(rows, [{ sequence: String(sequence), integrity: "broken" }], format)
    if (format === "parquet") {
      const [said] = await duck.rows(
        `SELECT decode(key) AS key, decode(value) AS value FROM parquet_kv_metadata('${file}')`,
      )
      assert.equal(said?.["key"], "tallystick")
      assert.partialDeepStrictEqual(JSON.parse(String(said["value"])), {
        end: { count: 300, broken: 1 },
      })
    }
    if (format === "jsonl") {
      const { end } = JSON.parse(bytes.toString().split("\n").at(-2) ?? "") as ExportEnd
      assert.deepEqual([end.count, end.broken], [300, 1])
    }
  }
})

/** What DuckDB reads; of JSON lines all but the last. */
function relation(format: Format, file: string): string {
  const strict = `header = true, quote = '"', escape = '"', sample_size = -1, strict_mode = true`
  return format === "csv"
    ? `read_csv('${file}', ${strict})`
    : format === "parquet"
      ? `'${file}'`
      : `(SELECT * FROM read_json('${file}', format = 'newline_delimited', sample_size = -1) WHERE integrity IS NOT NULL)`
}

test("DuckDB finds the same in every format, also when entries are archived, erased and expired", async (t) => {
  const duck = await openDuckDb()
  if (duck === undefined) return t.skip("npm has no DuckDB for this machine")
  await using folder = await makeFolder()
  await using first = await startService()
  const acme = await makeWorkspace(first, { hotDays: 1 })
  const admin = await makeKey(first, acme.id, { scopes: ["admin"] })
  const isLogin = (place: number): boolean => place % 10 === 0
  const isZuleikas = (place: number): boolean => place % 50 === 7
  await writeMany(acme, count, {
    changes: (amount) => ({
      action: isLogin(amount) ? "login.done" : "order.create",
      actor: { id: isZuleikas(amount) ? "zuleika" : "usr", type: "user", email: "z@example.com" },
      metadata: { amount },
    }),
  })
  assert.equal(await first.end(), 0)

  await using service = await startService({
    data: first.data,
    environment: { ...hasty, ...clockAhead(3) },
  })
  const { path } = acme
  await archived(service, 4000)
  await writeMany({ id: acme.id, writer: service.client(acme.writer.bearer) }, 50, {
    changes: (place) => ({ action: "order.create", metadata: { amount: count + place } }),
  })
  await setRetention(service.root, path, [{ action: "login", days: 1 }])
  assert.equal((await service.root.post(`${path}/retention/run`, {})).status, 200)
  await erase(service.client(admin.bearer), path, { subject: { id: "zuleika" } })

  const places = Array.from({ length: count + 50 }, (_, place) => place)
  const kept = places.filter((place) => place >= count || !isLogin(place))
  const expired = places.length - kept.length
  const erased = kept.filter((place) => place < count && isZuleikas(place)).length
  const expected = {
    count: String(places.length),
    amounts: String(kept.reduce((sum, amount) => sum + amount, 0)),
    expired: String(expired),
    erased: String(erased),
    verified: String(places.length - expired - erased),
    archived: String(count),
    receipts: String(places.length),
    emails: String(kept.length - erased),
  }
  await untilSigned(service.root, path)
  for (const format of formats) {
    const file = join(folder.path, `old.${format}`)
    await writeFile(file, await read(await begun(service, acme, format)))
    assert.deepEqual(await countsIn(duck, format, file), expected, format)
  }
  await expectChain(service.root, acme.id)
})

async function countsIn(duck: DuckDb, format: Format, file: string) {
  const isLines = format === "jsonl"
  const amount = isLines ? "metadata.amount" : "metadata->>'amount'"
  const email = isLines ? "actor.email" : `nullif("actor.email", '')`
  const [counts] = await duck.rows(
    `SELECT count(*) AS count, sum(CAST(${amount} AS BIGINT)) AS amounts,
       count_if(integrity = 'expired') AS expired, count_if(integrity = 'erased') AS erased,
       count_if(integrity = 'verified') AS verified, count_if("storageTier" = 'archive') AS archived,
       count(DISTINCT receipt) AS receipts, count(${email}) AS emails
     FROM ${relation(format, file)}`,
  )
  return counts
}
