import assert from "node:assert/strict"
import { setTimeout as sleep } from "node:timers/promises"
import { logKeyOf, unlessCut, type Reply } from "../service.ts"
import { setRetention } from "../until.ts"
import { exportOf, expectExport, type Format } from "./exports.ts"
import { erasePerson, placeHold } from "./holds-and-erasures.ts"
import { actions, isHeld, isThere, type ModelEntry } from "./ledger-model.ts"
import {
  dayMs,
  expired,
  isEnded,
  nowOf,
  signed,
  started,
  type OperatedLedger,
} from "./operated-ledger.ts"

// What operators ask for while something else is under way.

/** Exports and packs, again and again, of somebody whose data is erased meanwhile. */
export async function eraseBesideReaders(ledger: OperatedLedger): Promise<void> {
  const { chance, model } = ledger
  const service = await signed(ledger)
  const { root } = service
  const workspace = chance.pick(model.workspaces)
  const path = `/v1/workspaces/${workspace}`
  const own = model.entries.filter((entry) => entry.workspace === workspace)
  const contents = own.map(({ content }) => content)
  const receiptIds = own
    .filter(isThere)
    .slice(-20)
    .map(({ receipt }) => receipt.receipt)
  const format = chance.pick<Format>(["jsonl", "jsonl", "csv"])
  const vkey = await logKeyOf(root, path)
  const exports: string[] = []
  const packs: Reply[] = []
  let isErasing = true
  const reading = (async () => {
    while (isErasing) {
      const exported = await unlessCut(exportOf(root, path, format, ""))
      if (exported === undefined || isEnded(ledger, service)) return
      exports.push(exported.text)
      if (receiptIds.length === 0) continue
      const asked = { title: "For a test", receiptIds }
      const pack = await unlessCut(root.post(`${path}/evidence-packs`, asked))
      if (pack === undefined || isEnded(ledger, service)) return
      packs.push(pack)
    }
  })()
  await sleep(chance.below(100))
  await erasePerson(ledger)
  isErasing = false
  await reading
  const before = own.map((entry, at) => ({ ...entry, content: contents[at] ?? entry.content }))
  for (const text of exports) await expectExport(ledger, { text, format, vkey }, own, before)
  for (const pack of packs) {
    // After a restore, some may be of a former epoch.
    if (pack.status === 400 && /of the current epoch only/.test(pack.text)) continue
    if (pack.status === 410) continue
    assert.equal(pack.status, 201, pack.text)
    const { packId: id, packHash } = pack.json()
    const entries = own
      .filter(({ receipt }) => receiptIds.includes(receipt.receipt))
      .map(({ receipt }) => receipt.eventHash)
    model.packs.push({ workspace, id, packHash, vkey, entries })
  }
}

/** A hold is placed while somebody is erased, who may be covered by it. */
export async function holdBesideErasure(ledger: OperatedLedger): Promise<void> {
  await erasePerson(ledger, () => placeHold(ledger))
}

/** Rules are removed while a run destroys what they expire: some stays, and stays from then on. */
export async function changeRulesBesideExpiry(
  ledger: OperatedLedger,
  during = (run: () => Promise<Reply>): Promise<Reply> => run(),
): Promise<void> {
  const { chance, model } = ledger
  const { root } = await signed(ledger)
  const workspace = chance.pick(model.workspaces)
  const path = `/v1/workspaces/${workspace}`
  const [action, days] = [chance.pick(actions), chance.pick([1, 3])]
  await setRetention(root, path, [{ action, days }])
  const before = (Math.floor(nowOf(ledger) / dayMs) - days) * dayMs
  const due = model.entries.filter(
    (entry) =>
      entry.workspace === workspace &&
      entry.event.action === action &&
      isThere(entry) &&
      !isHeld(model, entry) &&
      Date.parse(entry.receipt.timestamp) < before,
  )
  const running = during(() => root.post(`${path}/retention/run`, {}))
  await sleep(chance.below(60))
  const removed = await root.patch(path, { retention: [] })
  assert.equal(removed.status, 200, removed.text)
  const ran = await running
  const isLater = /another server of this ledger expires|archive_unavailable/.test(ran.text)
  assert.ok(ran.status < 300 || isLater, ran.text)
  // Finishes what was recorded.
  await expired(ledger, workspace)
  await markExpired(ledger, due)
}

/** As the ledger says of each now. */
async function markExpired(ledger: OperatedLedger, due: readonly ModelEntry[]): Promise<void> {
  const { root } = await started(ledger)
  for (const entry of due) {
    const { workspace, receipt } = entry
    const reply = await root.get(`/v1/workspaces/${workspace}/receipts/${receipt.receipt}`)
    assert.equal(reply.status, 200, reply.text)
    if (reply.json().proof.body === null) entry.content = "expired"
  }
}
