import assert from "node:assert/strict"
import { test } from "node:test"
import { expectChain } from "../chain.ts"
import { filesWith } from "../personal-files.ts"
import { createChance, seedOf } from "../chance.ts"
import { makeWorkspace, writeMany, type Service } from "../service.ts"
import { filed, idleArchiver, openArchivedLedger, type OldLedger } from "./archived-ledger.ts"
import { expectFsckClean, startProgram } from "./programs.ts"
import { killServiceAtSteps, roundsFor, usualKills, type ServiceKills } from "./step-kills.ts"
import { untilErased } from "../until.ts"

// Killed at each step of an erasure: the next start finishes one that was recorded; one that was
// not has changed nothing.

const perPerson = 68
/** The canary kills at most commits of an erasure, so some kills leave it unfinished. */
const few = 10
/** Longer than any of them takes, and less than a test waits. */
const unfinishedMs = 5000

test(`killed ${usualKills} times while people are erased: all their content goes, and everything else verifies`, async (t) => {
  const old = await openArchivedLedger(
    Math.max(filed + 50, perPerson * (roundsFor(usualKills) + 1)),
    personOf,
  )
  await using _ = old.first
  const chance = createChance(seedOf(t))
  const { killed, asked } = await killErasures(old, {
    kills: usualKills,
    chance,
    environment: idleArchiver,
  })
  t.diagnostic(JSON.stringify(killed))
  assert.ok(killed.kills > usualKills / 2, "hardly any kill fell during an erasure")
  await using last = await startProgram({ data: old.first.data, environment: idleArchiver })
  await expectFinished(last, old, asked)
  await expectChain(last.root, old.workspace.id, old.receipts)
  assert.equal(await last.end(), 0)
  await expectFsckClean(last)
})

test("canary: a service that does not resume erasures is detected", async (t) => {
  const first = await startProgram()
  await using _ = first
  const workspace = await makeWorkspace(first)
  const receipts = await writeMany(workspace, 2 * (roundsFor(few) + 1), {
    changes: (at) => personOf(at, 2),
  })
  assert.equal(await first.end(), 0)
  const old = { first, workspace, receipts }
  const chance = createChance(seedOf(t))
  const { asked, killed } = await killErasures(old, {
    kills: few,
    chance,
    only: "COMMIT journal.db",
    fault: "forgets erasures",
  })
  t.diagnostic(JSON.stringify(killed))
  await using last = await startProgram({ data: first.data }, "forgets erasures")
  await assert.rejects(expectFinished(last, old, asked, unfinishedMs), /waited/)
})

/** This many consecutive entries are about one person, some by another actor. */
function personOf(at: number, each = perPerson): object {
  const round = Math.floor(at / each)
  const person = { id: `usr_${round}_of_it`, type: "user", email: `mail-${round}@example.com` }
  const other = { id: "usr_other", type: "user", email: "other@example.com" }
  return { actor: at % 2 === 0 ? person : other }
}

interface Asked {
  readonly erasureId: string
  readonly gone: readonly string[]
}

type Killing = Pick<ServiceKills, "kills" | "chance"> & Partial<ServiceKills>

async function killErasures({ first, workspace }: OldLedger, killing: Killing) {
  const path = `${workspace.path}/erasures`
  const asked: Asked[] = []
  const killed = await killServiceAtSteps({
    ...killing,
    data: first.data,
    async work({ root }, round) {
      const isWhole = round % 2 === 0
      const [id, email] = [`usr_${round}_of_it`, `mail-${round}@example.com`]
      const scope = isWhole ? "entries" : "fields"
      const reply = await root.post(path, { subject: { id }, reason: "a test", scope })
      assert.equal(reply.status, 202, reply.text)
      const { erasureId } = reply.json()
      asked.push({ erasureId, gone: isWhole ? [id, email] : [email] })
      await untilErased(root, workspace.path, erasureId)
    },
  })
  return { killed, asked }
}

/** Every erasure that was recorded, whether or not its client got the answer. */
async function expectFinished(
  { root, data }: Service,
  { workspace }: OldLedger,
  asked: readonly Asked[],
  withinMs?: number,
): Promise<void> {
  const path = `${workspace.path}/erasures`
  const listed: { readonly erasureId: string; readonly state: string }[] = []
  for (let cursor = ""; ;) {
    const page = (await root.get(`${path}?limit=100${cursor}`)).json()
    listed.push(...page.erasures)
    if (page.nextCursor === null) break
    cursor = `&cursor=${page.nextCursor}`
  }
  for (const { erasureId } of listed) await untilErased(root, workspace.path, erasureId, withinMs)
  const ids = new Set(listed.map(({ erasureId }) => erasureId))
  assert.ok(
    asked.every(({ erasureId }) => ids.has(erasureId)),
    "an acknowledged erasure is there",
  )
  assert.deepEqual(
    await filesWith(
      data,
      asked.flatMap(({ gone }) => gone),
    ),
    [],
  )
}
