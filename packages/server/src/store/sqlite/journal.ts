// The journal for the serving program: looks up keys in memory, and sends new entries to the writer
// in one message.

import { assert, parseRecord, toHex } from "@tallystick/proof"
import { LedgerError } from "../../error.ts"
import type { Group, Linked, Outcome } from "../entries.ts"
import type { Journal } from "../store.ts"
import { createPacker } from "./packed-commit.ts"
import type { Place } from "./place-reads.ts"
import type { ReaderQuestions } from "./reader.ts"
import { receivedOf } from "../sent-entries.ts"
import { shareCommits, type CommitLimits } from "../share-commits.ts"
import type { Tail } from "./recent-keys.ts"
import { singleFlight } from "../../runtime/single-flight.ts"
import { asking, type Thread } from "../../runtime/worker-thread.ts"
import type { WriterAnswer, WriterQuestions } from "./writer.ts"

type Used = Extract<Outcome, { kind: "used" }>["keys"]

/** The part of a group that is needed to look up its keys. */
interface Keyed {
  readonly workspace: string
  readonly entries: readonly { readonly idem: string | undefined }[]
}

const placesPerRead = 10_000

export function createJournal(
  writer: Thread<WriterQuestions>,
  reader: Thread<ReaderQuestions>,
  tail: Tail,
  limits: CommitLimits,
  kept: (group: Group) => void,
): Journal {
  const packer = createPacker()
  // After an error it is unknown what was recorded, so the tail is read again before it is used.
  let inDoubt = false
  // Concurrent callers wait for the same read, because each entry may be added to the tail only
  // once.
  const resolveDoubt = singleFlight(async () => {
    for (let more = true; more;) {
      const places = await reader.ask("places", tail.lastN(), placesPerRead)
      for (const place of places) tail.add(place)
      more = places.length === placesPerRead
    }
    inDoubt = false
  })
  const settleRuns = singleFlight(async () => {
    for (const { run, filter } of await reader.ask("filters", tail.due() ?? 0))
      tail.settle(run, filter)
  })

  return {
    ...asking(reader, "head", "linked", "records", "recordsAt"),
    at: async (...asked) => receivedOf(await reader.ask("at", ...asked)),
    after: async (...asked) =>
      receivedOf(await reader.ask("after", ...asked)).filter((entry) => entry !== undefined),
    async byReceipt(workspace, receipt) {
      if (inDoubt) await resolveDoubt()
      const sequence = tail.byReceipt(workspace, receipt)
      const [entry] = receivedOf(
        sequence === undefined
          ? await reader.ask("byReceipt", workspace, receipt)
          : await reader.ask("at", workspace, [sequence]),
      )
      return entry
    },
    async byKey(workspace, idem) {
      if (inDoubt) await resolveDoubt()
      const [used] = await usedKeys(reader, tail, [{ workspace, entries: [{ idem }] }])
      return used?.[0]?.sequence
    },
    isEmpty: async () => tail.lastN() === 0,
    append: shareCommits(limits, async (groups) => {
      if (inDoubt) await resolveDoubt()
      const used = await usedKeys(reader, tail, groups)
      const fresh = groups.filter((_, place) => used[place]?.length === 0)
      const answer = fresh.length === 0 ? { full: false as const, groups: [] } : await send(fresh)
      const written = answer.full ? undefined : answer.groups.values()
      const outcomes = groups.map((group, place) => {
        const keys = used[place] ?? []
        if (keys.length > 0) return { kind: "used" as const, keys }
        return written === undefined ? refused() : outcomeOf(group, written.next().value)
      })
      // If the index cannot be read now, the tail stays in memory, and the next commit tries again.
      if (tail.due() !== undefined) settleRuns().catch(() => {})
      return outcomes
    }),
  }

  async function send(groups: readonly Group[]): Promise<WriterAnswer> {
    const packed = packer.pack(groups.flatMap((group) => group.entries))
    try {
      return await writer.ask("append", {
        packed,
        groups: groups.map(({ workspace, from, entries, changes }) => ({
          workspace,
          fromSequence: from.sequence,
          fromHash: toHex(from.hash),
          count: entries.length,
          timeMs: timeOf(entries),
          changes: changes ?? [],
        })),
      })
    } catch (error) {
      inDoubt = true
      // The changes may have been made, so the cached documents are in doubt as well.
      for (const group of groups) kept(group)
      throw error
    } finally {
      packer.giveBack(packed)
    }
  }

  function outcomeOf(
    group: Group,
    written: Extract<WriterAnswer, { full: false }>["groups"][number] | undefined,
  ): Outcome {
    assert(written !== undefined, "the writer answers for every group")
    if ("moved" in written) return { kind: "moved" }
    if ("conflict" in written) return { kind: "conflict", place: written.conflict }
    for (const [place, { receipt, idem }] of group.entries.entries()) {
      tail.add({
        n: written.firstN + place,
        workspace: group.workspace,
        sequence: group.from.sequence + place + 1,
        receipt,
        idem,
      })
    }
    kept(group)
    return { kind: "done" }
  }
}

async function refused(): Promise<never> {
  throw new LedgerError(
    "storage_full",
    "the disk is nearly full; nothing was recorded, and reads still work",
  )
}

/** All entries of a group have the same time. */
function timeOf([first]: readonly Linked[]): number {
  return (first && parseRecord(first.record)?.timeMs) ?? 0
}

/**
 * Finds, for each group, the keys that earlier entries have. Memory answers for most keys, and one
 * question to the reader for the others.
 */
async function usedKeys(
  reader: Thread<ReaderQuestions>,
  tail: Tail,
  groups: readonly Keyed[],
): Promise<readonly Used[]> {
  const suspects: {
    readonly group: number
    readonly place: number
    readonly run: number
    readonly idem: string
  }[] = []
  const used = groups.map(({ workspace, entries }, group) => {
    const known: { place: number; sequence: number }[] = []
    for (const [place, { idem }] of entries.entries()) {
      if (idem === undefined) continue
      const found = tail.find(workspace, idem)
      if ("sequence" in found) known.push({ place, sequence: found.sequence })
      else for (const run of found.runs) suspects.push({ group, place, run, idem })
    }
    return known
  })
  if (suspects.length === 0) return used
  const places: readonly (Place | undefined)[] = await reader.ask("used", suspects)
  for (const [at, { group, place, idem }] of suspects.entries()) {
    const found = places[at]
    if (found?.idem === idem && found.workspace === groups[group]?.workspace)
      used[group]?.push({ place, sequence: found.sequence })
  }
  return used
}
