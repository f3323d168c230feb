// The search file as the program that files holds it: the one connection that writes it.

import { strict as assert } from "node:assert"
import type { DatabaseSync } from "node:sqlite"
import { eventHash } from "@tallystick/proof"
import { sha256 } from "../../runtime/sha256.ts"
import type { Batch, Filed, Search } from "../search/search.ts"
import { within } from "./database.ts"
import type { journalReads } from "./reads.ts"
import { createCombinations } from "./search-counters.ts"
import { placeOf } from "./search-places.ts"
import { allOf, filedWorkspaces, searchReads } from "./search-reads.ts"
import { columnsOf } from "./search-tokens.ts"

export function createSearch(
  database: DatabaseSync,
  journal: ReturnType<typeof journalReads>,
): Search {
  const reads = searchReads(database, Infinity)
  const workspaceOf = filedWorkspaces(database)
  const addWorkspace = database.prepare(
    "INSERT INTO workspaces (id, position, hash) VALUES (?, 0, x'')",
  )
  const setPosition = database.prepare(
    "UPDATE workspaces SET position = ?, hash = ? WHERE number = ?",
  )
  const addText = database.prepare(
    "INSERT INTO search (rowid, nobody, actor, target, id, receipt) VALUES (?, ?, ?, ?, ?, ?)",
  )
  const addFiled = database.prepare(
    "INSERT INTO filed (place, combination, class, occurred_ms, occurred_ns) VALUES (?, ?, ?, ?, ?)",
  )
  const combinations = createCombinations(database)
  const share = createSharing(database)

  const numbered = ({ workspace, entries }: Batch) => {
    const { number, position } = workspaceOf(workspace) ?? {
      number: Number(addWorkspace.run(workspace).lastInsertRowid),
      position: 0,
    }
    return { workspace, entries, number, position }
  }
  const fileOne = (number: number, entry: Filed): void => {
    const place = placeOf(number, entry.sequence)
    const { nobody, actor, target, id, receipt } = columnsOf(number, entry, (names) =>
      share.told(names),
    )
    addText.run(place, nobody, actor, target, id, receipt)
    const { combination, class: ofAll } = combinations.count(number, entry)
    addFiled.run(place, combination, ofAll, entry.occurredMs, entry.occurredNs)
  }

  const move = (workspace: string, number: number, last: number): void => {
    const record = journal.at(workspace, [last])[0]?.record
    assert(record !== undefined, "what is filed is in the journal")
    setPosition.run(last, eventHash(record, sha256), number)
  }

  const search: Search = {
    position: async (workspace) => reads.position(workspace),
    find: async (workspace, wanted, before, limit) =>
      allOf(reads.findFiled(workspace, wanted, before, limit)).hits,
    file: (workspace, entries) => search.fileAll([{ workspace, entries }]),
    async fileAll(batches) {
      let isKept = false
      try {
        within(database, () => {
          // The full-text index gathers what comes in the order of places, and writes it away
          // whenever one comes before the last.
          const ordered = batches.map(numbered).toSorted((a, b) => a.number - b.number)
          for (const { workspace, entries, number, position } of ordered) {
            let last = position
            for (const entry of entries) {
              assert.equal(entry.sequence, last + 1, "a search is filled without a gap")
              fileOne(number, entry)
              last = entry.sequence
            }
            if (last > position) move(workspace, number, last)
          }
          combinations.write()
          share.write()
        })
        isKept = true
      } finally {
        combinations.settle(isKept)
        share.settle(isKept)
      }
    },
  }
  return search
}

/** Remembers which lists of names have been told, and writes down those that are new. */
function createSharing(database: DatabaseSync) {
  const add = database.prepare("INSERT OR IGNORE INTO shared_names (name, names) VALUES (?, ?)")
  const written = new Set<string>()
  const fresh = new Map<string, readonly string[]>()
  return {
    told(names: readonly string[]): void {
      const key = names.join(" ")
      if (!written.has(key)) fresh.set(key, names)
    },
    write(): void {
      for (const names of fresh.values())
        for (const name of names) add.run(name, JSON.stringify(names))
    },
    settle(isKept: boolean): void {
      if (isKept) for (const key of fresh.keys()) written.add(key)
      fresh.clear()
    },
  }
}
