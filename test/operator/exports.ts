import assert from "node:assert/strict"
import { createHash } from "node:crypto"
import { mkdir, rm, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { openDuckDb } from "../duckdb.ts"
import type { Evidence } from "../outside/evidence.ts"
import { pythonWith } from "../outside/python.ts"
import { run, tallystick } from "../program.ts"
import { logKeyOf, type Client, type Reply } from "../service.ts"
import { actions, isThere, namedIn, type ModelEntry } from "./ledger-model.ts"
import { commandOnce, newPlace, signed, type OperatedLedger } from "./operated-ledger.ts"

// Exports of entries, in each format, and what they must have.

const formats = ["jsonl", "csv", "parquet"] as const
export type Format = (typeof formats)[number]

export async function exportEntries(ledger: OperatedLedger): Promise<void> {
  const { chance, model, people } = ledger
  const { root } = await signed(ledger)
  const workspace = chance.pick(model.workspaces)
  const path = `/v1/workspaces/${workspace}`
  const format = chance.pick(formats)
  const own = model.entries.filter((entry) => entry.workspace === workspace)
  const [person, action] = [chance.pick(people), chance.pick(actions)]
  // The filter names somebody, in the entry that records the export.
  const [query, found] = chance.pick([
    ["", own],
    [`actor:${person.id}`, own.filter((one) => isThere(one) && one.person.id === person.id)],
    [`action:${action}`, own.filter((one) => isThere(one) && one.event.action === action)],
  ] as const)
  const reply = await exportOf(root, path, format, query)
  assert.equal(reply.status, 200, reply.text)
  const vkey = await logKeyOf(root, path)
  if (format !== "parquet") {
    await expectExport(ledger, { text: reply.text, format, vkey }, found)
    return
  }
  const file = join(ledger.folder, "export.parquet")
  await writeFile(file, reply.bytes)
  const duckDb = await openDuckDb()
  const rows = await duckDb?.rows(`SELECT integrity, count(*)::INT n FROM '${file}' GROUP BY 1`)
  const count = rows?.reduce((sum, { n }) => sum + Number(n), 0) ?? found.length
  assert.equal(count, found.length, JSON.stringify(rows))
  assert.ok(!rows?.some(({ integrity }) => integrity === "broken"), "nothing is broken")
}

export function exportOf(
  client: Client,
  path: string,
  format: Format,
  query: string,
): Promise<Reply> {
  const proven = format === "jsonl" ? "&include=proof" : ""
  return client.get(
    `${path}/events/export?storage=all&format=${format}${proven}&query=${encodeURIComponent(query)}`,
  )
}

interface Exported {
  readonly text: string
  readonly format: Format
  readonly vkey: string
}

/** Entries may be as they were before, too, if they changed while it was made. */
export async function expectExport(
  ledger: OperatedLedger,
  { text, format, vkey }: Exported,
  found: readonly ModelEntry[],
  before: readonly ModelEntry[] = found,
): Promise<void> {
  const lines = text.split(format === "csv" ? "\r\n" : "\n")
  assert.equal(lines.pop(), "")
  if (format === "csv") {
    assert.equal(lines.length - 1, found.length, "rows of an export")
    const emails = new Set([...before, ...found].flatMap(namedIn).map(({ email }) => email))
    for (const { person } of found)
      assert.ok(emails.has(person.email) || !text.includes(person.email), "an erased e-mail")
    return
  }
  const last = lines.pop() ?? ""
  const { count, broken, sha256 } = JSON.parse(last).end
  const hashed = createHash("sha256").update(text.slice(0, -last.length - 1))
  assert.deepEqual([count, broken, sha256], [found.length, 0, hashed.digest("hex")])
  const shown = new Map(lines.map((line) => JSON.parse(line)).map((one) => [one.hash, one]))
  assert.equal(shown.size, lines.length, "each once")
  for (const [at, { receipt, person, content }] of found.entries()) {
    const { actor, proof } = shown.get(receipt.eventHash) ?? assert.fail("an entry is missing")
    const said = proof.body === null ? "gone" : actor.email === person.email ? "whole" : "nameless"
    const expected = [content, before[at]?.content].map((one) =>
      one === "erased" || one === "expired" ? "gone" : one,
    )
    assert.ok(expected.includes(said), `${receipt.receipt}: ${said}, not ${expected.join(" or ")}`)
  }
  if (found.length === 0) return
  const file = join(ledger.folder, "export.jsonl")
  await writeFile(file, text)
  const { code, output } = await tallystick(["verify", file, "--key", vkey])
  // Without its body, or of a former epoch, an entry is not confirmed.
  assert.ok(code === 0 || code === 2, output)
  await rm(file)
}

/** What others keep is genuine to a verifier that shares nothing with the ledger. */
export async function expectEvidence(ledger: OperatedLedger): Promise<void> {
  const { model } = ledger
  const python = pythonWith("cryptography==48.0.0")
  if (typeof python === "string") return
  const { root } = await signed(ledger)
  const folder = await newPlace(ledger)
  await mkdir(folder)
  const evidence: Evidence[] = []
  for (const workspace of model.workspaces) {
    const path = `/v1/workspaces/${workspace}`
    const keys = [await logKeyOf(root, path)]
    const { code, errors } = await commandOnce(ledger, [
      "export",
      workspace,
      join(folder, workspace),
    ])
    assert.equal(code, 0, errors)
    evidence.push({ kind: "export", path: workspace, keys })
  }
  for (const { workspace, id, vkey } of model.packs.slice(-5)) {
    const pack = await root.get(`/v1/workspaces/${workspace}/evidence-packs/${id}/download`)
    if (pack.status === 410) continue
    await writeFile(join(folder, id), pack.bytes)
    evidence.push({ kind: "pack", path: id, keys: [vkey] })
  }
  await writeFile(join(folder, "list.json"), JSON.stringify(evidence))
  const verifier = join(import.meta.dirname, "../outside/verify.py")
  const args = [verifier, "--list", join(folder, "list.json")]
  const { code, output, errors } = await run(join(python.bin, "python"), args)
  assert.equal(code, 0, output + errors)
}
