import assert from "node:assert/strict"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { packReceipt } from "../../packages/server/src/store/sqlite/packed-text.ts"
import { dropTriggers } from "../triggers.ts"
import { flipped } from "../flipped.ts"

// Damage to a journal's file by another program while the service runs: to one entry of a
// workspace.

/** Each damages one entry, and returns how many rows it changed. */
export const damages = {
  "a byte of the body": (journal, { n }) => flip(journal, "salted", n, 40),
  "a byte of the body's salt": (journal, { n }) => flip(journal, "salted", n, 3),
  "the body": (journal, { n }) => run(journal, "UPDATE entries SET salted = NULL WHERE n = ?", n),
  "a byte of the record": (journal, { n }) => flip(journal, "record", n, 60),
  "the record's first byte": (journal, { n }) => flip(journal, "record", n, 0),
  "a byte of what is sealed": (journal, { n }) => flip(journal, "sealed", n, 30),
  "what is sealed": (journal, { n }) =>
    run(journal, "UPDATE entries SET sealed = NULL WHERE n = ?", n),
  "the receipt beside the record": (journal, { n }) =>
    run(journal, "UPDATE entries SET receipt = 'rcp_nobody' WHERE n = ?", n),
  "the key beside the record": (journal, { n }) =>
    run(journal, "UPDATE entries SET idem = NULL WHERE n = ?", n),
  "the entry": (journal, { n }) => run(journal, "DELETE FROM entries WHERE n = ?", n),
  "the entry and all that follow it": (journal, { workspace, sequence }) =>
    run(journal, "DELETE FROM entries WHERE workspace = ? AND sequence >= ?", workspace, sequence),
} as const satisfies Record<string, (journal: DatabaseSync, entry: Entry) => number>

export type Damage = keyof typeof damages

interface Entry {
  readonly n: number
  readonly workspace: number
  readonly sequence: number
}

/** Damages the entry of a receipt; returns its sequence, and a function that repairs it. */
export function damage(
  data: string,
  receipt: string,
  what: Damage | "nothing",
): { readonly sequence: number; readonly mend: () => void } {
  const path = join(data, "journal.db")
  using journal = new DatabaseSync(path, { timeout: 10_000 })
  const row = journal
    .prepare("SELECT n, workspace, sequence FROM entries WHERE receipt = ?")
    .get(packReceipt(Buffer.from(receipt)))
  assert.ok(row !== undefined, "there is no such entry")
  const entry = {
    n: Number(row["n"]),
    workspace: Number(row["workspace"]),
    sequence: Number(row["sequence"]),
  }
  const before =
    journal.prepare("SELECT salted FROM entries WHERE n = ?").get(entry.n)?.["salted"] ?? null
  if (what !== "nothing") {
    dropTriggers(journal)
    assert.ok(damages[what](journal, entry) >= 1, `nothing was done to ${what}`)
  }
  const mend = (): void => {
    using again = new DatabaseSync(path, { timeout: 10_000 })
    again.prepare("UPDATE entries SET salted = ? WHERE n = ?").run(before, entry.n)
  }
  return { sequence: entry.sequence, mend }
}

function run(journal: DatabaseSync, statement: string, ...values: number[]): number {
  return Number(journal.prepare(statement).run(...values).changes)
}

function flip(journal: DatabaseSync, column: string, n: number, at: number): number {
  const kept = journal.prepare(`SELECT ${column} FROM entries WHERE n = ?`).get(n)?.[column]
  assert.ok(kept instanceof Uint8Array)
  const update = journal.prepare(`UPDATE entries SET ${column} = ? WHERE n = ?`)
  return Number(update.run(flipped(kept, at), n).changes)
}
