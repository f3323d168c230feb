import assert from "node:assert/strict"
import { rm, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { verifyReceipt } from "@tallystick/client"
import { tallystick } from "../program.ts"
import { logKeyOf } from "../service.ts"
import {
  command,
  commandOnce,
  signed,
  started,
  stopped,
  synced,
  type OperatedLedger,
} from "./operated-ledger.ts"

// What others keep of the ledger: answers with receipts, checkpoints, and copies of logs. Nothing
// that happens later refutes them, but for what a restore has lost.

export interface Kept {
  readonly workspace: string
  readonly hash: string
  /** With its proof, if there was one. */
  readonly answer: unknown
  readonly vkey: string
  readonly checkpoint: string
}

export async function keepReceipt(ledger: OperatedLedger): Promise<void> {
  const { chance, model, kept } = ledger
  if (model.entries.length === 0) return
  const { root } = await signed(ledger)
  const { workspace, receipt } = chance.pick(model.entries)
  const path = `/v1/workspaces/${workspace}`
  const answer = (await root.get(`${path}/receipts/${receipt.receipt}`)).json()
  const checkpoint = (await root.get(`${path}/tlog/checkpoint`)).text
  kept.push({
    workspace,
    hash: receipt.eventHash,
    answer,
    vkey: await logKeyOf(root, path),
    checkpoint,
  })
}

/** Again and again into the same folder. Some are killed. */
export async function exportLog(ledger: OperatedLedger): Promise<void> {
  const { chance, model, folder } = ledger
  const { root } = await signed(ledger)
  const workspace = chance.pick(model.workspaces)
  const target = join(folder, `log-of-${workspace}`)
  const args = ["export", workspace, target]
  const vkey = await logKeyOf(root, `/v1/workspaces/${workspace}`)
  const verified = () => tallystick(["verify", target, "--key", vkey])
  if (chance.percent(50)) {
    await commandOnce(ledger, args, 100 + chance.below(1500))
    const { code, output } = await verified()
    assert.notEqual(code, 3, output)
  }
  let ended = await commandOnce(ledger, args)
  // After a restore, which may have lost some of it.
  if (/export of another ledger|another history|older than its export/.test(ended.errors)) {
    await rm(target, { recursive: true })
    ended = await commandOnce(ledger, args)
  }
  assert.equal(ended.code, 0, ended.errors)
  const { code, output } = await verified()
  assert.equal(code, 0, output)
}

/** With the checkpoints that others keep of the ledgers as they are. */
export async function fsckWithCheckpoints(ledger: OperatedLedger): Promise<void> {
  const { kept, model, folder } = ledger
  const { root } = await started(ledger)
  const files: string[] = []
  for (const { workspace, hash, checkpoint } of kept.slice(-5)) {
    if (!model.entries.some(({ receipt }) => receipt.eventHash === hash)) continue
    const now = await root.get(`/v1/workspaces/${workspace}/tlog/checkpoint`)
    if (now.text.split("\n")[0] !== checkpoint.split("\n")[0]) continue
    const file = join(folder, `checkpoint-${files.length}`)
    await writeFile(file, checkpoint)
    files.push("--checkpoint", file)
  }
  await synced(ledger)
  await stopped(ledger)
  await command(ledger, ["fsck", ...files])
}

// Checks ------------------------------------------------------------------------------------------

export async function expectKept(ledger: OperatedLedger): Promise<void> {
  const { chance, model, kept } = ledger
  const { root } = await started(ledger)
  for (const { workspace, hash, answer, vkey } of kept.filter(() => chance.percent(20))) {
    if (!model.workspaces.includes(workspace)) continue
    const { epochs } = (await root.get(`/v1/workspaces/${workspace}/tlog/epochs`)).json<{
      readonly epochs: readonly { readonly genesis: string }[]
    }>()
    const geneses = epochs.map(({ genesis }) => genesis).toReversed()
    const verdict = verifyReceipt(answer, { trustedKeys: [vkey], geneses })
    const about = JSON.stringify(verdict)
    const isThere = model.entries.some(({ receipt }) => receipt.eventHash === hash)
    if (isThere) assert.notEqual(verdict.verdict, "refuted", about)
    else if (verdict.verdict === "refuted") assert.equal(verdict.failure, "lost", about)
    else assert.equal(verdict.verdict, "unconfirmed", about)
  }
}
