import assert from "node:assert/strict"
import { setTimeout as sleep } from "node:timers/promises"
import { test } from "node:test"
import { expectChain, type MintedReceipt } from "../chain.ts"
import { filesWith } from "../personal-files.ts"
import { tallystick } from "../program.ts"
import { createChance, seedOf, type Chance } from "../promises/chance.ts"
import {
  eventually,
  makeWorkspace,
  settingsOf,
  writeMany,
  type Service,
  type Workspace,
} from "../service.ts"
import type { Fault } from "./faults.ts"
import { startProgram } from "./programs.ts"

// Killed at every step of an erasure: what was recorded is finished at the next start, what was not
// has not begun.

const rounds = 30

test(
  "killed while a person is erased: all of it goes, and everything else verifies",
  { timeout: 180_000 },
  async (t) => {
    const chance = createChance(seedOf(t))
    await using running = await startRunning()
    const { finished, receipts, workspace } = await killErasures(chance, running, rounds)
    const { service } = running
    await expectChain(service.root, workspace.id, receipts)
    t.diagnostic(`${finished - 1} of ${rounds} were recorded, and finished by the next start`)
    assert.equal(await service.end(), 0)
    const { code, output, errors } = await tallystick(["fsck"], settingsOf(service))
    assert.equal(code, 0, output + errors)
  },
)

test("canary: a service that does not resume erasures is found out", async (t) => {
  await using running = await startRunning()
  const killing = killErasures(createChance(seedOf(t)), running, rounds, "forgets erasures")
  await assert.rejects(killing, /waited|still/)
})

/** The service that runs now, with the data of the first. */
interface Running extends AsyncDisposable {
  service: Service
}

async function startRunning(): Promise<Running> {
  const first = await startProgram()
  const running: Running = {
    service: first,
    async [Symbol.asyncDispose]() {
      await running.service[Symbol.asyncDispose]()
      await first[Symbol.asyncDispose]()
    },
  }
  return running
}

interface Outcome {
  readonly finished: number
  readonly workspace: Workspace
  readonly receipts: readonly MintedReceipt[]
}

async function killErasures(
  chance: Chance,
  running: Running,
  count: number,
  fault?: Fault,
): Promise<Outcome> {
  const { data } = running.service
  const workspace = await makeWorkspace(running.service)
  const path = `${workspace.path}/erasures`
  const receipts: MintedReceipt[] = []
  let finished = 0
  // A busy machine takes longer, so the first erasure, which is not killed, says how long.
  let killWithinMs = 0
  for (let round = 0; round <= count; round++) {
    let { service } = running
    const person = { id: `usr_${round}_of_it`, type: "user", email: `mail-${round}@example.com` }
    const { id } = workspace
    const writer = service.client(workspace.writer.bearer)
    const other = { id: "usr_other", type: "user", email: "other@example.com" }
    const changes = (at: number) => ({ actor: at % 3 === 0 ? person : other })
    receipts.push(...(await writeMany({ id, writer }, 150, { changes })))
    const isWhole = chance.below(2) === 0
    const request = {
      subject: { id: person.id },
      reason: "a test",
      scope: isWhole ? "entries" : "fields",
    }
    // The first search after a start takes longer than all the rest.
    assert.equal((await service.root.post(path, { ...request, dryRun: true })).status, 200)
    const begunMs = performance.now()
    const asked = service.root.post(path, request).catch(() => undefined)
    if (round > 0) {
      await sleep(chance.below(killWithinMs))
      await service.end("SIGKILL")
      service = running.service = await startProgram({ data }, fault)
    }
    const answer = await asked
    const listed = (await service.root.get(path)).json().erasures
    if (answer?.status === 202)
      assert.ok(
        listed.some((one: { erasureId: string }) => one.erasureId === answer.json().erasureId),
        "an acknowledged erasure is there",
      )
    if (listed.length === finished) continue
    finished += 1
    await eventually("the erasure is done", async () => {
      const { erasures } = (await service.root.get(path)).json()
      return erasures[0].state === "done" ? true : undefined
    })
    const gone = isWhole ? [person.id, person.email] : [person.email]
    if (round === 0) killWithinMs = 1 + Math.ceil((performance.now() - begunMs) * 1.2)
    assert.deepEqual(await filesWith(data, gone), [], "nothing is still in a file")
  }
  return { finished, workspace, receipts }
}
