import assert from "node:assert/strict"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { test } from "node:test"
import { expectChain } from "../chain.ts"
import { tallystick } from "../program.ts"
import { createChance, seedOf, type Chance } from "../chance.ts"
import {
  eventually,
  makeWorkspace,
  settingsOf,
  writeMany,
  type Service,
  type Workspace,
  clockModule,
} from "../service.ts"
import { filed, idleArchiver, openArchivedLedger, type OldLedger } from "./archived-ledger.ts"
import type { Fault } from "./faults.ts"
import { expectFsckClean, startProgram } from "./programs.ts"
import { killServiceAtSteps, roundsFor, usualKills, type Killed } from "./step-kills.ts"
import { setRetention, untilSigned } from "../until.ts"

// The service is killed at each step of expiry. An entry explains all missing content, and the next
// start finishes the expiry.

/** Not a multiple of 64, so most segments are rewritten. */
const perProject = 68
const smallKills = 8
/** Entries are three days old. */
const clock = clockModule(3)

test(`killed ${usualKills} times while contents expire: what is gone is explained, and nothing expires twice`, async (t) => {
  const old = await openOld()
  await using _ = old.first
  const killed = await killExpiry(old, usualKills, createChance(seedOf(t)))
  t.diagnostic(JSON.stringify(killed))
  assert.ok(killed.kills > usualKills / 2, "hardly any kill fell while contents expired")
  await using last = await startProgram({ data: old.first.data, environment: old.environment })
  await expire(last, old.workspace)
  await expectExplained(last, old.workspace)
  await expectChain(last.root, old.workspace.id, old.receipts)
  assert.equal(await last.end(), 0)
  await expectFsckClean(last)
})

test("canary: contents that are destroyed before that is recorded are detected", async (t) => {
  const old = await openSmall()
  await using _ = old.first
  const killAndCheck = async (): Promise<void> => {
    await killExpiry(old, smallKills, createChance(seedOf(t)), "destroys before it records")
    await using last = await startProgram({ data: old.first.data, environment: old.environment })
    assert.equal(await last.end(), 0)
    await expectFsckClean(last)
  }
  // A later round or the check at the end detects it.
  await assert.rejects(killAndCheck(), /its body is missing, and no entry records/)
})

async function openOld(): Promise<Old> {
  const ledger = await openArchivedLedger(
    Math.max(filed + 50, perProject * (roundsFor(usualKills) + 1)),
    (at) => ({
      projectId: `p${Math.floor(at / perProject)}`,
    }),
  )
  return { ...ledger, environment: { ...idleArchiver, NODE_OPTIONS: `--import=${clock}` } }
}

/** Its entries were never packed. */
async function openSmall(): Promise<Old> {
  const first = await startProgram()
  const workspace = await makeWorkspace(first)
  const receipts = await writeMany(workspace, 2 * (roundsFor(smallKills) + 1), {
    changes: (at) => ({ projectId: `p${Math.floor(at / 2)}` }),
  })
  await untilSigned(first.root, workspace.path)
  assert.equal(await first.end(), 0)
  return { first, workspace, receipts, environment: { NODE_OPTIONS: `--import=${clock}` } }
}

interface Old extends OldLedger {
  readonly environment: Readonly<Record<string, string>>
}

function killExpiry(old: Old, count: number, chance: Chance, fault?: Fault): Promise<Killed> {
  return killServiceAtSteps({
    kills: count,
    chance,
    data: old.first.data,
    environment: idleArchiver,
    modules: [clock],
    // The fault has such steps between what it destroys and the record.
    ...(fault && { fault, only: "rmSync" }),
    async work(service, round) {
      await setRetention(service.root, old.workspace.path, ruleFor(`p${round}`))
      await expire(service, old.workspace)
    },
  })
}

/** Entries of this project expire. */
const ruleFor = (projectId: string) => [{ projectId, days: 1 }]

async function expire({ root }: Service, { path }: Pick<Workspace, "path">): Promise<void> {
  // A killed service may still have the lease, and on a slow machine a run ends after its answer.
  const run = await eventually("a run to end", async () => {
    const reply = await root.post(`${path}/retention/run`, {})
    return [202, 409].includes(reply.status) ? undefined : reply
  })
  assert.equal(run.status, 200, run.text)
}

/** The missing content is what the entries say, each once. */
async function expectExplained(service: Service, { path }: Workspace): Promise<void> {
  const gone: number[] = []
  const recorded: number[] = []
  for await (const entry of entriesOf(service, `${path}/events?includeSystem=true&storage=all`)) {
    assert.match(entry.integrity, /^(pending|verified|expired)$/)
    if (entry.integrity === "expired") gone.push(entry.sequence)
    if (entry.action !== "retention.body.expire") continue
    for (const [first, last] of entry.metadata.bodies)
      for (let sequence = first; sequence <= last; sequence++) recorded.push(sequence)
  }
  const inOrder = (all: readonly number[]) => all.toSorted((a, b) => a - b)
  assert.ok(gone.length > usualKills, `${gone.length} expired`)
  assert.deepEqual(inOrder(gone), inOrder(recorded))
}

interface Listed {
  readonly sequence: number
  readonly integrity: string
  readonly action: string
  readonly metadata: { readonly bodies: readonly (readonly [first: number, last: number])[] }
}

async function* entriesOf({ root }: Service, list: string): AsyncGenerator<Listed> {
  for (let cursor: string | number = 0; ;) {
    const reply = await root.get(`${list}&limit=100&cursor=${cursor}`)
    assert.equal(reply.status, 200, reply.text)
    const { events, verified, hasMore, nextCursor } = reply.json()
    assert.ok(verified)
    yield* events
    if (!hasMore) return
    cursor = nextCursor
  }
}

test("contents that are gone without their record, or with another one, are detected", async () => {
  const old = await openSmall()
  await using _ = old.first
  const service = await startProgram({ data: old.first.data, environment: old.environment })
  await setRetention(service.root, old.workspace.path, ruleFor("p0"))
  const run = await service.root.post(`${old.workspace.path}/retention/run`, {})
  assert.equal(run.json().entries, 2)
  assert.equal(await service.end(), 0)
  await expectFsckClean(service)
  const faultsAfter = async (change: string): Promise<string> => {
    using journal = new DatabaseSync(join(service.data, "journal.db"))
    const { changes } = journal.prepare(change).run()
    assert.ok(changes > 0, change)
    const { code, output, errors } = await tallystick(["fsck"], settingsOf(service))
    assert.notEqual(code, 0, output)
    return output + errors
  }
  const ofRuns = "kind = 'destroyed'"
  assert.match(
    await faultsAfter(
      `UPDATE documents SET value = replace(value, '"first":', '"first":1') WHERE ${ofRuns}`,
    ),
    /the list of what was destroyed in block 000000000 differs from what this entry recorded: bodies/,
  )
  assert.match(
    await faultsAfter(`DELETE FROM documents WHERE ${ofRuns}`),
    /its body is missing, and no entry records/,
  )
})
