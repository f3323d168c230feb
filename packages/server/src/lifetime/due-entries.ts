// Looks through a workspace for entries whose content has expired, some at a time. It trusts only
// the entries, not the search, because the content of the entries that it finds is destroyed.

import { addRange, isJsonObject, parseRecord, type SequenceRange } from "@tallystick/proof"
import { isoTime } from "../clock.ts"
import type { Pace } from "../runtime/pace.ts"
import type { RetentionRule } from "../store/documents.ts"
import { bytesOf, type Stored } from "../store/entries.ts"
import { parsedBody } from "../store/opened-entry.ts"
import type { JournalReader } from "../store/store.ts"
import { createHoldsOf, type ActiveHold } from "./held-entries.ts"
import { isAsRecorded } from "./intact-body.ts"
import { expiredBefore, isWithdrawal, ruleOf } from "./retention-rules.ts"

export interface DueQuestion {
  readonly workspace: string
  readonly rules: readonly RetentionRule[]
  readonly holds: readonly ActiveHold[]
  /** Checks the entries after the first of these sequences, up to the second. */
  readonly after: number
  readonly upTo: number
  readonly nowMs: number
}

/** The entries due under one rule, of one project, lane and month. */
export interface DueCount {
  readonly rule: number
  readonly projectId: string
  readonly lane: string
  /** Such as `2026-01`. */
  readonly month: string
  readonly entries: number
  readonly bytes: number
}

export interface DueEntries {
  /** Entries up to here were checked. */
  readonly last: number
  /** No later entry is due. */
  readonly isEnd: boolean
  /** By the index of the rule, in order and without overlap. */
  readonly ranges: readonly (readonly SequenceRange[])[]
  readonly counts: readonly DueCount[]
  /** Entries that are due, but under a hold. */
  readonly held: number
}

const entriesPerRead = 1000
/**
 * Entries in one step: some hundred milliseconds of work, and an entry of some ten kilobytes to
 * record them.
 */
const entriesMax = 32_768
const rangesMax = 2000

export async function findDue(
  journal: Pick<JournalReader, "after">,
  { workspace, rules, holds, after, upTo, nowMs }: DueQuestion,
  pace: Pace,
): Promise<DueEntries> {
  const before = rules.map((rule) => expiredBefore(rule, nowMs))
  const latest = Math.max(...before)
  const found = createFound(rules.length)
  const holdsOf = createHoldsOf(holds, pace)
  let last = after
  while (last < upTo && last - after < entriesMax && found.ranges() < rangesMax) {
    const entries = await journal.after(workspace, last, Math.min(entriesPerRead, upTo - last))
    if (entries.length === 0) return found.result(last, true)
    for (const stored of entries) {
      // The entries between are missing.
      if (stored.sequence > upTo) return found.result(last, true)
      if (pace.isUp()) await pace.next()
      const record = parseRecord(stored.record)
      // Times never decrease along a chain.
      if ((record?.timeMs ?? Infinity) >= latest) return found.result(last, true)
      last = stored.sequence
      const said = saidOf(stored)
      if (record === undefined || said === undefined) continue
      const rule = ruleOf(rules, { kind: record.kind, ...said })
      if (rule === undefined || record.timeMs >= (before[rule] ?? 0)) continue
      // An entry that was changed stays, so that it is found broken.
      if (!isAsRecorded(stored)) continue
      // A hold may cover the consent that a withdrawal ends, which would be valid again without it.
      const mayEndHeld = holds.length > 0 && isWithdrawal({ kind: record.kind, ...said })
      if (mayEndHeld || (await holdsOf(stored)).length > 0) found.addHeld()
      else found.add(rule, stored, said, record.timeMs)
    }
  }
  return found.result(last, last >= upTo)
}

interface Said {
  readonly projectId: string
  readonly lane: string
  readonly action: string
}

/**
 * Undefined if the body is destroyed already, or cannot be read: then nothing of it is destroyed.
 */
function saidOf({ body }: Stored): Said | undefined {
  const parsed = parsedBody(body)
  if (!isJsonObject(parsed)) return undefined
  const { projectId, lane, action } = parsed
  return typeof projectId === "string" && typeof lane === "string" && typeof action === "string"
    ? { projectId, lane, action }
    : undefined
}

function createFound(rules: number) {
  const ranges = Array.from({ length: rules }, (): SequenceRange[] => [])
  const counts = new Map<string, { -readonly [K in keyof DueCount]: DueCount[K] }>()
  let held = 0
  return {
    ranges: () => ranges.reduce((sum, { length }) => sum + length, 0),
    addHeld: () => void held++,
    add(rule: number, stored: Stored, { projectId, lane }: Said, timeMs: number): void {
      addRange(ranges[rule] ?? [], { first: stored.sequence, last: stored.sequence })
      const month = isoTime(timeMs).slice(0, 7)
      const key = `${rule} ${lane} ${month} ${projectId}`
      const count = counts.get(key) ?? { rule, projectId, lane, month, entries: 0, bytes: 0 }
      count.entries += 1
      count.bytes += bytesOf(stored)
      counts.set(key, count)
    },
    result: (last: number, isEnd: boolean): DueEntries => ({
      last,
      isEnd,
      ranges,
      counts: [...counts.values()],
      held,
    }),
  }
}
