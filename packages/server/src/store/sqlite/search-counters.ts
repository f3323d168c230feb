// The counters of what is filed, gathered while a transaction goes on and written once at its end.

import type { DatabaseSync } from "node:sqlite"
import type { Filed } from "../search/search.ts"
import { blockOf, hourOf } from "./search-places.ts"

interface Combination {
  readonly number: number
  entries: number
  last: number
  /** The last block that is counted up to. */
  block: number
  isChanged: boolean
}

interface Hour {
  readonly combination: number
  readonly hour: number
  entries: number
  readonly first: number
  last: number
}

/** Combinations that are remembered from one transaction to the next. */
const combinationsMax = 10_000

export interface Combinations {
  /** Counts an entry, and says which combination it is of, and which class. */
  count(workspace: number, entry: Filed): { readonly combination: number; readonly class: number }
  /** Writes down what was counted, within the transaction that counted it. */
  write(): void
  /** The transaction is over; if it was not kept, nothing is that was counted in it. */
  settle(isKept: boolean): void
}

/**
 * In place of a project, where a combination is of all of them. No project can be called so; what
 * cannot be read has none.
 */
export const anyProject = "*"

export function createCombinations(database: DatabaseSync): Combinations {
  const select = database.prepare(
    "SELECT number, entries, last_sequence FROM combinations WHERE workspace = ? AND project = ? AND lane = ? AND is_visible = ? AND is_system = ?",
  )
  const add = database.prepare(
    `INSERT INTO combinations (workspace, project, lane, is_visible, is_system, entries, first_sequence, last_sequence)
     VALUES (?, ?, ?, ?, ?, 0, ?, 0)`,
  )
  const setCombination = database.prepare(
    "UPDATE combinations SET entries = ?, last_sequence = ? WHERE number = ?",
  )
  const addBlock = database.prepare(
    "INSERT INTO blocks (combination, block, before) VALUES (?, ?, ?)",
  )
  const addHour = database.prepare(
    `INSERT INTO hours (combination, hour, entries, first_sequence, last_sequence) VALUES (?1, ?2, ?3, ?4, ?5)
     ON CONFLICT DO UPDATE SET entries = entries + ?3, last_sequence = ?5`,
  )
  const known = new Map<string, Combination>()
  const hours = new Map<string, Hour>()
  const look = (
    workspace: number,
    project: string,
    { lane, userVisible, isSystem, sequence }: Filed,
  ): Combination => {
    const key = `${workspace} ${project} ${lane} ${userVisible} ${isSystem}`
    const seen = known.get(key)
    if (seen !== undefined) return seen
    const named = [workspace, project, lane, userVisible ? 1 : 0, isSystem ? 1 : 0] as const
    const row = select.get(...named)
    const [number, entries, last] =
      row === undefined
        ? [Number(add.run(...named, sequence).lastInsertRowid), 0, 0]
        : [Number(row["number"]), Number(row["entries"]), Number(row["last_sequence"])]
    const combination = {
      number,
      entries,
      last,
      block: entries === 0 ? -1 : blockOf(last),
      isChanged: false,
    }
    known.set(key, combination)
    return combination
  }

  const countIn = (combination: Combination, { sequence, occurredMs }: Filed): number => {
    const block = blockOf(sequence)
    if (block !== combination.block) addBlock.run(combination.number, block, combination.entries)
    combination.block = block
    combination.entries += 1
    combination.last = sequence
    combination.isChanged = true
    countHour(hours, combination.number, hourOf(occurredMs), sequence)
    return combination.number
  }

  return {
    count: (workspace, entry) => ({
      combination: countIn(look(workspace, entry.projectId, entry), entry),
      class: countIn(look(workspace, anyProject, entry), entry),
    }),
    write() {
      for (const combination of known.values()) {
        if (combination.isChanged)
          setCombination.run(combination.entries, combination.last, combination.number)
        combination.isChanged = false
      }
      for (const { combination, hour, entries, first, last } of hours.values())
        addHour.run(combination, hour, entries, first, last)
    },
    settle(isKept) {
      hours.clear()
      if (!isKept || known.size > combinationsMax) known.clear()
    },
  }
}

function countHour(
  hours: Map<string, Hour>,
  combination: number,
  hour: number,
  sequence: number,
): void {
  const key = `${combination} ${hour}`
  const seen = hours.get(key)
  if (seen === undefined) {
    hours.set(key, { combination, hour, entries: 1, first: sequence, last: sequence })
    return
  }
  seen.entries += 1
  seen.last = sequence
}
