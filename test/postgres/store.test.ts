import assert from "node:assert/strict"
import test from "node:test"
import { askDatabase, startPostgres } from "../postgres-server.ts"
import { eventually } from "../service.ts"
import { expectChain } from "../../packages/server/src/store/expect-chain.ts"
import {
  entriesAfter,
  genesisOf,
  write,
} from "../../packages/server/src/store/contract/written-entries.ts"
import { openPostgresWhole } from "../../packages/server/src/store/postgres/whole-ledger.ts"
import { defaultLimits } from "../../packages/server/src/limits.ts"
import { contentContract } from "../../packages/server/src/store/contract/content-contract.ts"
import { indexContract } from "../../packages/server/src/store/contract/index-contract.ts"
import { journalContract } from "../../packages/server/src/store/contract/journal-contract.ts"
import { registryContract } from "../../packages/server/src/store/contract/registry-contract.ts"
import {
  segmentsContract,
  type OpenedFiling,
} from "../../packages/server/src/store/contract/segments-contract.ts"
import type { OpenedStore } from "../../packages/server/src/store/contract/stories.ts"
import { systemClock } from "../../packages/server/src/clock.ts"
import { LedgerError } from "../../packages/server/src/error.ts"
import { openDatabase, openTool } from "../../packages/server/src/store/postgres/connection.ts"
import { createJournal } from "../../packages/server/src/store/postgres/journal.ts"
import { pollGrowth } from "../../packages/server/src/store/postgres/growth-poll.ts"
import { migrate } from "../../packages/server/src/store/postgres/migrate.ts"
import { registryOf } from "../../packages/server/src/store/postgres/registry.ts"
import {
  openPostgres,
  openPostgresFiling,
  openPostgresWatched,
} from "../../packages/server/src/store/postgres/open-postgres.ts"

const server = await startPostgres()
test.after(() => server[Symbol.asyncDispose]())

const archive = { kind: "folder", path: "/nowhere" } as const
const onDeath = (cause: Error) => assert.fail(cause)

async function openBeside<T extends { close(): Promise<void> }>(
  databaseUrl: string,
  openOther: (url: string) => T,
) {
  const served = await openPostgres({ databaseUrl, limits: defaultLimits, archive }, onDeath)
  const other = openOther(databaseUrl)
  let isOpen = true
  const close = async (): Promise<void> => {
    if (!isOpen) return
    isOpen = false
    await other.close()
    await served.close()
  }
  return { served, other, close }
}

async function openStore(url: string): Promise<OpenedStore> {
  const { served, other: watched, close } = await openBeside(url, openPostgresWatched)
  const reopen = () => close().then(() => openStore(url))
  return { served, watched, close, reopen }
}

async function openFiling(url: string): Promise<OpenedFiling> {
  const { served, other, close } = await openBeside(url, openPostgresFiling)
  const { leases, segments } = other
  const held =
    <A extends readonly unknown[], T>(act: (id: string, ...rest: A) => Promise<T>) =>
    async (id: string, ...rest: A): Promise<T> => {
      assert.equal(await leases.hold(id), true)
      return act(id, ...rest)
    }
  const changes = {
    put: held((...asked: Parameters<typeof segments.put>) => segments.put(...asked)),
    stage: held((...asked: Parameters<typeof segments.stage>) => segments.stage(...asked)),
    sweep: held((...asked: Parameters<typeof segments.sweep>) => segments.sweep(...asked)),
  }
  const filing = { ...other, segments: { ...segments, ...changes } }
  const reopen = () => close().then(() => openFiling(url))
  return { served, filing, close, reopen }
}

test("groups of several workspaces share a transaction, and a lost race is linked again", async () => {
  const url = await server.createDatabase()
  const { served, close } = await openStore(url)
  const workspaces = ["a", "b", "c"]
  for (const workspace of workspaces) await write(served, workspace, [`${workspace} first`])
  const groupOf = async (workspace: string, name: string) => {
    const from = (await served.journal.head(workspace)) ?? genesisOf(workspace)
    return { workspace, from, entries: entriesAfter(workspace, from, [name]).entries }
  }
  const groups = await Promise.all(workspaces.map((one) => groupOf(one, `${one} second`)))
  const late = { ...(await groupOf("a", "late")), mayMove: true }
  const outcomes = await Promise.all(groups.map((group) => served.journal.append(group)))
  assert.deepEqual(
    outcomes.map(({ kind }) => kind),
    ["done", "done", "done"],
  )
  const [count] = await askDatabase(
    url,
    "SELECT count(DISTINCT xmin::text) AS transactions FROM tallystick.entries WHERE sequence = 2",
  )
  if (process.env["TEST_CITUS_URL"] === undefined) assert.equal(Number(count?.["transactions"]), 1)
  const from = await served.journal.head("a")
  const relinked = await served.journal.append(late)
  const after = await served.journal.head("a")
  assert.deepEqual(relinked, { kind: "done", relinked: { from, lastHash: after?.hash } })
  for (const workspace of workspaces) await expectChain(served.journal, workspace)
  await close()
})

// A cluster allows no triggers.
const onOneServer = { skip: process.env["TEST_CITUS_URL"] !== undefined }

test(
  "an append that takes too long is refused, but on a cluster its outcome is unknown",
  onOneServer,
  async () => {
    const url = await server.createDatabase()
    const { close } = await openStore(url)
    const database = openDatabase({ url, connections: 2 })
    const parts = { database, limits: defaultLimits, clock: systemClock, seen: () => {} }
    await askDatabase(
      url,
      `CREATE FUNCTION slowly() RETURNS trigger LANGUAGE plpgsql AS
       $$ BEGIN PERFORM pg_sleep(20); RETURN NEW; END $$;
     CREATE TRIGGER slowly BEFORE INSERT ON tallystick.entries EXECUTE FUNCTION slowly()`,
    )
    const append = (workspace: string, isCluster: boolean) => {
      const from = genesisOf(workspace)
      const { entries } = entriesAfter(workspace, from, ["first"])
      return createJournal({ ...parts, isCluster }).append({ workspace, from, entries })
    }
    const isRefused = (code: string) => (error: unknown) =>
      error instanceof LedgerError ? error.code === code : code === "unknown"
    await Promise.all([
      assert.rejects(append("a", false), isRefused("overloaded")),
      // The node of the workspace may have committed when the coordinator gives up.
      assert.rejects(append("b", true), isRefused("unknown")),
    ])
    await database.close()
    await close()
  },
)

test("very many documents are counted without holding a connection all the time", async () => {
  const url = await server.createDatabase()
  await migrate(url)
  await askDatabase(
    url,
    `INSERT INTO tallystick.documents (workspace_id, kind, id, version, created, value)
     SELECT CASE WHEN i % 5 = 0 THEN 'other' ELSE 'acme' END, 'token', 'token' || i, 1, i, '{}'
     FROM generate_series(1, 25000) i`,
  )
  const database = openDatabase({ url, connections: 1 })
  const registry = registryOf(database)
  const answered: string[] = []
  const counting = registry.count("token", "acme").then((count) => {
    answered.push("counted")
    return count
  })
  await registry.workspaceOf("token", "none")
  answered.push("read")
  assert.equal(await counting, 20_000)
  assert.deepEqual(answered, ["read", "counted"])
  await database.close()
})

test("two servers store last uses of the same credentials at once", async () => {
  const url = await server.createDatabase()
  const { served, watched, close } = await openStore(url)
  const other = openPostgresWatched(url)
  const uses = Array.from({ length: 300 }, (_, at) => ({ id: `key${at}`, atMs: at, from: "" }))
  for (let round = 1; round <= 3; round++) {
    const later = uses.map((use) => ({ ...use, atMs: use.atMs + 1000 * round }))
    await Promise.all([watched.index.putUses(later), other.index.putUses(later.toReversed())])
    assert.deepEqual(await served.index.uses(uses.map(({ id }) => id)), later)
  }
  await other.close()
  await close()
})

test("a damaged frame is named with the entries whose bodies it has, and hides no others", async () => {
  const url = await server.createDatabase()
  const { served, filing, close } = await openFiling(url)
  await write(
    served,
    "acme",
    Array.from({ length: 130 }, (_, place) => `entry ${place + 1}`),
  )
  for (const after of [0, 64])
    assert.equal((await filing.content.pack("acme", after, 128))?.entries, 64)
  await expectChain(served.journal, "acme")
  await close()
  const strays = async () => {
    const whole = await openPostgresWhole(url, { alone: false })
    try {
      const bodies = (await whole.journal.after("acme", 0, 200)).map(({ body }) => body)
      return { missing: bodies.indexOf(undefined), found: await whole.strays("journal") }
    } finally {
      await whole.close()
    }
  }
  assert.deepEqual(await strays(), { missing: -1, found: [] })
  await askDatabase(
    url,
    "UPDATE tallystick.frames SET bytes = substr(bytes, 1, 50) WHERE first = 65",
  )
  assert.deepEqual(await strays(), {
    missing: 64,
    found: [
      {
        workspace: "acme",
        sequence: 65,
        what: "the frame with the bodies of entries 65 to 128 cannot be unpacked",
      },
    ],
  })
})

test("bodies that are destroyed while they are packed, or with others of their frame, are gone", async () => {
  const url = await server.createDatabase()
  const { served, other: filing, close } = await openBeside(url, openPostgresFiling)
  const { content } = filing
  await write(
    served,
    "acme",
    Array.from({ length: 65 }, (_, place) => `entry ${place + 1}`),
  )
  const destroy = (sequence: number) =>
    content.destroyBodies("acme", [{ first: sequence, last: sequence }])
  const holder = await openTool(url)
  await holder.run("INSERT INTO tallystick.packed VALUES ('acme', 0)")
  // The packer's last statement waits for the holder, so its frame is not visible yet.
  await holder.run("BEGIN; SELECT FROM tallystick.packed FOR UPDATE")
  const packing = content.pack("acme", 0, 64)
  await untilWaiting(url, 1)
  const destroying = destroy(3)
  await untilWaiting(url, 2)
  await holder.run("COMMIT")
  assert.equal((await packing)?.entries, 64)
  await destroying
  // Both wait for the frame, and the second one must see what the first one has changed.
  await holder.run("BEGIN; SELECT FROM tallystick.frames FOR UPDATE")
  const both = [destroy(5), destroy(9)]
  await untilWaiting(url, 2)
  await holder.run("COMMIT")
  await Promise.all(both)
  await holder.close()
  const gone = (await served.journal.after("acme", 0, 100)).filter(({ body }) => body === undefined)
  assert.deepEqual(
    gone.map(({ sequence }) => sequence),
    [3, 5, 9],
  )
  await close()
})

/** Resolves when so many connections wait for a lock. */
async function untilWaiting(url: string, connections: number): Promise<void> {
  const waiting = `SELECT count(*)::int AS count FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event_type = 'Lock'`
  await eventually(`${connections} connections to wait for a lock`, async () => {
    const [row] = await askDatabase(url, waiting)
    return Number(row?.["count"]) >= connections
  })
}

test(
  "the cluster's unreachable node is named",
  { skip: process.env["TEST_CITUS_URL"] === undefined && "TEST_CITUS_URL names no cluster" },
  async () => {
    const url = await server.createDatabase()
    const { served, close } = await openStore(url)
    const before = await served.ready()
    assert.equal(before?.unreachableNodes, 0)
    assert.doesNotMatch(before.detail, /node/)
    await askDatabase(
      url,
      "UPDATE pg_dist_node SET nodeport = 1 WHERE nodeid = (SELECT max(nodeid) FROM pg_dist_node)",
    )
    const after = await served.ready()
    assert.equal(after?.unreachableNodes, 1)
    assert.match(after.detail, /; nodes that cannot be reached: .*:1$/)
    await close()
  },
)

test("a lease belongs to one process, until another one takes it or the first one ends", async () => {
  const url = await server.createDatabase()
  const { other: one, close } = await openBeside(url, openPostgresWatched)
  const another = openPostgresWatched(url)
  assert.equal(await one.leases.hold("acme"), true)
  const taken: string[] = []
  one.leases.onTaken(() => taken.push("one"))
  another.leases.onTaken(() => taken.push("another"))
  assert.equal(await another.leases.hold("acme"), false)
  assert.equal(await one.leases.hold("acme"), true)
  await another.leases.take("acme")
  assert.equal(await another.leases.hold("acme"), true)
  await another.close()
  await eventually(
    "the first to hold it again",
    async () => (await one.leases.hold("acme")) === true,
  )
  assert.deepEqual(taken, ["another"], "nobody was told that the first does not follow it")
  await close()
})

test("growth is noticed on a database whose clock is behind that of the one before", async () => {
  const url = await server.createDatabase()
  const { served, close } = await openStore(url)
  await write(served, "acme", ["before"])
  const hourMs = 3_600_000
  await askDatabase(url, `UPDATE tallystick.heads SET moved_ms = moved_ms + ${hourMs}`)
  const database = openDatabase({ url, connections: 1 })
  const seen: string[] = []
  const none = { list: async () => [] }
  const poll = pollGrowth(database, none, systemClock, (workspace) => seen.push(workspace))
  const isSeen = (workspace: string) => async () => seen.includes(workspace) || undefined
  await eventually("the first workspace to be reported", isSeen("acme"))
  await write(served, "other", ["after"])
  await eventually("the second workspace to be reported", isSeen("other"))
  poll.close()
  await database.close()
  await close()
  assert.deepEqual(seen, ["acme", "other"])
})

test("a process that has lost its lease changes no segment, even before it notices", async () => {
  const url = await server.createDatabase()
  const { served, other: slow, close } = await openBeside(url, openPostgresFiling)
  const taker = openPostgresFiling(url)
  const small = { level: 0, k: 0 }
  const large = { level: 1, k: 0 }
  await write(
    served,
    "acme",
    Array.from({ length: 4096 }, (_, at) => `e${at}`),
  )
  const parts = [Buffer.alloc(40, "header"), Buffer.from("part")]
  await slow.leases.take("acme")
  await slow.segments.put("acme", small, parts, [])
  await slow.segments.stage("acme", large, 1, [Buffer.from("part")])
  await taker.leases.take("acme")
  for (const change of [
    () => slow.segments.stage("acme", large, 2, [Buffer.from("erased")]),
    () => slow.segments.put("acme", { level: 0, k: 1 }, parts, []),
    () => slow.segments.sweep("acme"),
  ])
    await assert.rejects(change, /another process/)
  await taker.segments.put("acme", large, [Buffer.alloc(40, "header")], [small], {
    count: 1,
    bytes: 4,
  })
  while (await taker.segments.sweep("acme")) continue
  assert.deepEqual(
    (await taker.segments.list("acme")).map(({ level, k }) => ({ level, k })),
    [large],
  )
  assert.equal(await taker.segments.part("acme", large, 2), undefined)
  // It gives the lease back, which nobody has then.
  await taker.close()
  await assert.rejects(slow.segments.put("acme", small, parts, []), /another process/)
  await expectChain(served.journal, "acme")
  await close()
})

for (const contract of [journalContract, registryContract, indexContract])
  contract("postgres", async () => openStore(await server.createDatabase()))

for (const contract of [segmentsContract, contentContract])
  contract("postgres", async () => openFiling(await server.createDatabase()))
