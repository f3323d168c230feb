import assert from "node:assert/strict"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { setTimeout as sleep } from "node:timers/promises"
import { test } from "node:test"
import { tallystick } from "../program.ts"
import { createChance, seedOf } from "../promises/chance.ts"
import {
  eventually,
  makeWorkspace,
  settingsOf,
  writeMany,
  type Service,
  type Workspace,
} from "../service.ts"
import { startProgram } from "./programs.ts"

// The service is killed while contents expire. Whatever is gone then is explained by an entry, and
// the next start finishes what was begun.

const rounds = 30
const perRound = 40

/** A ledger whose entries are three days old, some of each project. */
async function openOld(projects: number) {
  const first = await startProgram()
  const workspace = await makeWorkspace(first)
  await writeMany(workspace, projects * perRound, {
    atOnce: 400,
    changes: (at) => ({ projectId: `p${at % projects}` }),
  })
  await eventually("a checkpoint covers all of it", async () => {
    const { pending } = (await first.root.get(`${workspace.path}/integrity`)).json()
    return pending === 0 ? true : undefined
  })
  assert.equal(await first.end(), 0)
  const clock = "data:text/javascript,const%20now=Date.now;Date.now=()=>now()+3*864e5"
  const environment = { NODE_OPTIONS: `--import=${clock}` }
  const { data } = first
  return {
    first,
    ...workspace,
    restart: () => startProgram({ data, environment }),
  }
}

/** From now on the entries of this project expire. */
async function ruleFor({ root }: Service, { path }: Pick<Workspace, "path">, projectId: string) {
  const rules = { retention: [{ projectId, days: 1 }] }
  const { token } = (await root.post(`${path}/retention/preview`, rules)).json()
  const set = await root.patch(path, { ...rules, confirm: token })
  assert.equal(set.status, 200, set.text)
}

async function listed({ root }: Service, { path }: Pick<Workspace, "path">) {
  let expired = 0
  let verified = true
  for (let cursor = 0; ;) {
    const page = (await root.get(`${path}/events?storage=all&limit=100&cursor=${cursor}`)).json<{
      events: readonly { integrity: string }[]
      verified: boolean
      hasMore: boolean
      nextCursor: number
    }>()
    expired += page.events.filter(({ integrity }) => integrity === "expired").length
    verified &&= page.verified
    if (!page.hasMore) return { expired, verified }
    cursor = page.nextCursor
  }
}

test(
  "killed while contents expire: what is gone is explained, and the rest goes at the next start",
  { timeout: 300_000 },
  async (t) => {
    const chance = createChance(seedOf(t))
    const old = await openOld(rounds + 1)
    await using _ = old.first
    let interrupted = 0
    for (let round = 0; round < rounds; round++) {
      const service = await old.restart()
      await ruleFor(service, old, `p${round}`)
      const run = service.root.post(`${old.path}/retention/run`, {}).catch(() => undefined)
      await sleep(chance.below(200))
      await service.end("SIGKILL")
      if ((await run)?.status !== 200) interrupted += 1
      if (round % 10 === 9) await expectSound(service)
    }
    assert.ok(interrupted > 0, "some runs were cut short")
    t.diagnostic(`${interrupted} of ${rounds} runs were cut short`)
    const last = await old.restart()
    assert.equal((await last.root.post(`${old.path}/retention/run`, {})).status, 200)
    const { expired, verified } = await listed(last, old)
    assert.ok(verified)
    // Runs that were cut short before they recorded anything had other rules afterwards.
    assert.ok(expired % perRound === 0 && expired >= perRound, `${expired} expired`)
    assert.equal(await last.end(), 0)
    await expectSound(last)
  },
)

test("contents that are gone without their record, or with another one, are found out", async () => {
  const old = await openOld(1)
  await using _ = old.first
  const service = await old.restart()
  await ruleFor(service, old, "p0")
  assert.equal((await service.root.post(`${old.path}/retention/run`, {})).status, 200)
  assert.equal((await listed(service, old)).expired, perRound)
  assert.equal(await service.end(), 0)
  await expectSound(service)
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
    /the list of what was destroyed in block 000000000 is not as this entry recorded it: bodies/,
  )
  assert.match(
    await faultsAfter(`DELETE FROM documents WHERE ${ofRuns}`),
    /its body is missing, and no entry records/,
  )
})

async function expectSound(service: Service): Promise<void> {
  const { code, output, errors } = await tallystick(["fsck"], settingsOf(service))
  assert.equal(code, 0, output + errors)
}
