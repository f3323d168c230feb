import assert from "node:assert/strict"
import { rm } from "node:fs/promises"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { expectChain, type MintedReceipt } from "../chain.ts"
import type { Fault } from "../crash/faults.ts"
import { startProgram } from "../crash/programs.ts"
import {
  makeKey,
  makeWorkspace,
  type Client,
  type Reply,
  type Service,
  type Workspace,
} from "../service.ts"
import type { Chance } from "../chance.ts"
import { filterOf, timeText } from "./random-questions.ts"
import { matches, sealedKey, type Filter, type Reader, type Written } from "./read-model.ts"
import { keepBusy, write, type Writing } from "./read-writes.ts"

// Random questions, read page by page during writes, each compared with a plain loop over all
// writes. A write acknowledged before the question must be in the answer, once; one sent after the
// answer must not; the same holds for every total.

export interface ReadingOptions {
  /** Each asks a workspace at rest, then while it is written to, then at rest again. */
  readonly rounds: number
  /** Entries of a workspace before anybody asks. */
  readonly filled: number
  /** Questions of each round. */
  readonly queries: number
  readonly chance: Chance
  readonly fault?: Fault
}

export interface Counts {
  /** Questions that were asked to their end, and the pages that this took. */
  queries: number
  pages: number
  rows: number
  /** Questions with at least one match; and those of a person with an activity token. */
  withMatches: number
  byPersons: number
  /** Pages whose total was known exactly. */
  exactTotals: number
  /** Questions during which something was recorded. */
  underWriters: number
  /** Questions about a write that was acknowledged just before. */
  ownWrites: number
  written: number
}

export async function readWhileWriting({
  rounds,
  filled,
  queries,
  chance,
  fault,
}: ReadingOptions): Promise<Counts> {
  await using services = new AsyncDisposableStack()
  let service = services.use(await startProgram({}, fault))
  const { data } = service
  const counts: Counts = {
    queries: 0,
    pages: 0,
    rows: 0,
    withMatches: 0,
    byPersons: 0,
    exactTotals: 0,
    underWriters: 0,
    ownWrites: 0,
    written: 0,
  }
  for (let round = 0; round < rounds; round++) {
    const [scene, aside] = [await createScene(service, chance), await makeWorkspace(service)]
    while (scene.written.length < filled) await write(scene, 1 + chance.below(60))
    await askMany(scene, Math.ceil(queries / 4), counts)
    await askWhileWriting(scene, aside, Math.ceil(queries / 2), counts)
    // Derived files may be behind at any end, and may be missing.
    await service.end("SIGKILL")
    if (round === rounds - 1)
      await Promise.all(
        ["search.db", "search.db-wal", "search.db-shm"].map((file) =>
          rm(join(data, file), { force: true }),
        ),
      )
    service = services.use(await startProgram({ data }, fault))
    await askMany(scene, Math.ceil(queries / 4), counts)
    await expectPlaces(scene)
    counts.written += scene.written.length
  }
  return counts
}

interface Scene extends Writing {
  readonly readers: readonly {
    readonly reader: Reader
    readonly path: string
    readonly client: Client
  }[]
  /** The sequence that each entry was seen at. */
  readonly places: Map<string, number>
}

async function createScene(service: Service, chance: Chance): Promise<Scene> {
  const workspace = await makeWorkspace(service, { personalKeys: [sealedKey] })
  const { id, path } = workspace
  await service.root.patch(`${path}/projects/core`, { activityLinks: true })
  const some = ["billing", "core"]
  const person = { id: "usr_1", types: ["user", "member"] }
  const { token } = (
    await workspace.reader.post(`${path}/activity/token`, { projectId: "core", subject: person })
  ).json<{
    token: string
  }>()
  const events = `${path}/events`
  return {
    workspace,
    readers: [
      { reader: { kind: "key" }, path: events, client: workspace.reader },
      {
        reader: { kind: "key" },
        path: events,
        client: await makeKey(service, id, { scopes: ["admin"] }),
      },
      {
        reader: { kind: "key", projects: some },
        path: events,
        client: await makeKey(service, id, { scopes: ["read"], projectIds: some }),
      },
      {
        reader: { kind: "person", ...person, project: "core" },
        path: `${path}/activity`,
        client: service.client(token),
      },
    ],
    written: [],
    places: new Map(),
    chance,
  }
}

// Asking ------------------------------------------------------------------------------------------

interface Asked {
  readonly reader: Reader
  readonly filter: Filter
  readonly search: string
  readonly pages: readonly Page[]
}

interface Page {
  readonly askedMs: number
  readonly answeredMs: number
  readonly limit: number
  readonly cursor: number
  readonly answer: Answer
}

interface Answer {
  readonly events: readonly Row[]
  readonly returned: number
  readonly total: number
  readonly nextCursor: number
  readonly hasMore: boolean
  readonly verified: boolean
}

interface Row {
  readonly id: string
  readonly sequence: number
  readonly hash: string
  readonly integrity: string
  readonly metadata: { readonly key: string }
}

const askersAtOnce = 4
const writersAtOnce = 3
const pagesMax = 6
const writtenMax = 600

async function askMany(scene: Scene, queries: number, counts: Counts): Promise<void> {
  let left = queries
  const judged: Asked[] = []
  const asker = async (): Promise<void> => {
    while (left-- > 0) judged.push(await askOne(scene))
  }
  await Promise.all(Array.from({ length: askersAtOnce }, asker))
  for (const asked of judged) judge(scene, asked, counts)
}

/** Answers are judged when all writers have their receipts. */
async function askWhileWriting(
  scene: Scene,
  aside: Workspace,
  queries: number,
  counts: Counts,
): Promise<void> {
  const { chance } = scene
  const judged: Asked[] = []
  let going = true
  const writer = async (): Promise<void> => {
    while (going) {
      const one = await write(scene, chance.percent(80) ? 1 : 1 + chance.below(12))
      if (chance.percent(30)) {
        judged.push(await askOne(scene, one))
        counts.ownWrites += 1
      }
      // Enough writes for each question to run beside one, but few enough for short answers.
      await sleep(scene.written.length > writtenMax ? 50 : chance.below(12))
    }
  }
  let left = queries
  const asker = async (): Promise<void> => {
    while (left-- > 0) judged.push(await askOne(scene))
  }
  const writing = [
    ...Array.from({ length: writersAtOnce }, writer),
    keepBusy(aside, chance, () => going),
  ]
  try {
    await Promise.all(Array.from({ length: askersAtOnce }, asker))
  } finally {
    going = false
    await Promise.all(writing)
  }
  for (const asked of judged) judge(scene, asked, counts)
}

/**
 * Reads to the end, by one of the usual loops. For one write, the question is for a member that no
 * other has.
 */
async function askOne({ readers, written, chance }: Scene, about?: Written): Promise<Asked> {
  const { reader, path, client } =
    about === undefined ? chance.pick(readers) : chance.pick(readers.slice(0, 2))
  const known = written.filter(({ acked }) => acked !== undefined)
  const filter = about === undefined ? filterOf(known, chance, reader) : { terms: [keyTerm(about)] }
  const search = searchOf(filter, chance)
  const expected = known.reduce((sum, one) => sum + (matches(one, reader, filter) ? 1 : 0), 0)
  const [smallest, byHasMore] = [
    Math.min(100, Math.ceil((expected + 1) / pagesMax)),
    chance.percent(50),
  ]
  const pages: Page[] = []
  for (let cursor = 0; ;) {
    const limit = Math.max(smallest, chance.pick([1, 2, 3, 7, 20, 50, 99, 100]))
    const askedMs = performance.now()
    const reply: Reply = await client.get(
      `${path}?${search}limit=${limit}${cursor === 0 && chance.percent(50) ? "" : `&cursor=${cursor}`}`,
    )
    assert.equal(reply.status, 200, `${search} ${reply.text}`)
    const answer = reply.json<Answer>()
    pages.push({ askedMs, answeredMs: performance.now(), limit, cursor, answer })
    cursor = answer.nextCursor
    if (byHasMore ? !answer.hasMore : cursor === 0) break
    assert.ok(pages.length < 1000, `${search} does not come to an end`)
  }
  return { reader, filter, search, pages }
}

function keyTerm({ key }: Written): Filter["terms"][number] {
  return {
    not: false,
    isPrefix: false,
    field: "metadata.key",
    value: key,
    text: `metadata.key:${key}`,
  }
}

function searchOf(
  { project, lane, userVisible, fromNs, toNs, terms }: Filter,
  chance: Chance,
): string {
  const parameters = {
    projectId: project,
    lane,
    userVisible: userVisible?.toString(),
    from: fromNs === undefined ? undefined : timeText(fromNs, chance),
    to: toNs === undefined ? undefined : timeText(toNs, chance),
    query:
      terms.length === 0 && chance.percent(80)
        ? undefined
        : terms.map(({ text }) => text).join(chance.pick([" ", "  ", "\t"])),
  }
  return Object.entries(parameters)
    .flatMap(([name, value]) =>
      value === undefined ? [] : [`${name}=${encodeURIComponent(value)}&`],
    )
    .join("")
}

// Judging -----------------------------------------------------------------------------------------

function judge(
  { written, places }: Scene,
  { reader, filter, search, pages }: Asked,
  counts: Counts,
): void {
  const what = `${JSON.stringify(reader)} ${decodeURIComponent(search)}`
  const all = written.filter((one) => matches(one, reader, filter))
  const byKey = new Map(all.map((one) => [one.key, one]))
  const seen = new Set<string>()
  let below = Number.MAX_SAFE_INTEGER
  for (const { askedMs, answeredMs, limit, cursor, answer } of pages) {
    const { events, returned, total, nextCursor, hasMore, verified } = answer
    assert.deepEqual(
      [returned, verified, nextCursor],
      [events.length, true, events.at(-1)?.sequence ?? 0],
      what,
    )
    assert.ok(
      returned <= limit && (!hasMore || returned === limit),
      `${what}: a page of ${returned} for a limit of ${limit}`,
    )
    assert.ok(cursor === 0 || (events[0]?.sequence ?? 0) < cursor, what)
    const [atLeast, atMost] = [
      all.filter((one) => isAcked(one, askedMs)).length,
      all.filter(({ sentMs }) => sentMs < answeredMs).length,
    ]
    assert.ok(
      atLeast <= total && total <= atMost,
      `${what}: a total of ${total}, and there were ${atLeast} to ${atMost}`,
    )
    if (atLeast === atMost) counts.exactTotals += 1
    for (const row of events) {
      const one = byKey.get(row.metadata.key)
      assert.ok(
        one !== undefined && one.sentMs < answeredMs,
        `${what}: ${JSON.stringify(row)} is no match`,
      )
      assert.ok(
        row.sequence < below && !seen.has(one.key),
        `${what}: ${row.sequence} comes after ${below}`,
      )
      below = row.sequence
      seen.add(one.key)
      const place = places.get(row.hash)
      assert.ok(place === undefined || place === row.sequence, `${what}: ${row.hash} has moved`)
      assert.deepEqual([row.hash, row.id], [one.acked?.eventHash, one.acked?.eventId], what)
      places.set(row.hash, row.sequence)
    }
  }
  const [first, last] = [pages[0]?.askedMs ?? 0, pages.at(-1)?.answeredMs ?? 0]
  for (const one of all)
    assert.ok(
      !isAcked(one, first) || seen.has(one.key),
      `${what}: ${one.key} was acknowledged before, and is not on any of ${pages.length} pages`,
    )
  counts.queries += 1
  counts.pages += pages.length
  counts.rows += seen.size
  if (written.some((one) => isAcked(one, last) && !isAcked(one, first))) counts.underWriters += 1
  if (seen.size > 0) counts.withMatches += 1
  if (reader.kind === "person") counts.byPersons += 1
}

function isAcked({ acked }: Written, beforeMs: number): boolean {
  return acked !== undefined && acked.atMs < beforeMs
}

/** Pages and chain agree about places and hashes. */
async function expectPlaces({ workspace, written, places }: Scene): Promise<void> {
  const some = written.slice(-20).map(({ acked }) => acked?.receipt ?? "")
  const receipts = await Promise.all(
    some.map(
      async (id) =>
        (await workspace.reader.get(`${workspace.path}/receipts/${id}`)).json<{
          receipt: MintedReceipt
        }>().receipt,
    ),
  )
  const chain = await expectChain(workspace.reader, workspace.id, receipts)
  for (const [hash, sequence] of places)
    assert.equal(
      chain.hashes[sequence - 1],
      hash,
      "a page showed an entry at another place than its own",
    )
  assert.ok(places.size > 0)
}
