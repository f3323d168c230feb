// Makes entries findable: gathers what has been written since, from every workspace in turn, and
// files it in one step. Steps are large when there is much to do and small when somebody waits.
// What fails is tried again; nothing is ever skipped.

import { strict as assert } from "node:assert"
import type { Clock } from "../clock.ts"
import type { Limits } from "../limits.ts"
import { filedAfter } from "../store/search/searchable-fields.ts"
import type { Batch } from "../store/search/search.ts"
import type { FilingStore, JournalReader } from "../store/store.ts"
import { detailOf, startLoop } from "./loop.ts"

export type FilingReport =
  | {
      readonly kind: "filed"
      readonly positions: readonly (readonly [workspace: string, position: number, end: number])[]
    }
  | { readonly kind: "failed"; readonly detail: string }

export interface Filing {
  /** These workspaces have new entries, or may have. */
  poke(workspaces: readonly string[]): void
  /**
   * Resolves, to where the workspace's journal ends now, when all of it can be found; rejects when
   * it cannot be filed.
   */
  catchUp(workspace: string): Promise<number>
  close(): Promise<void>
}

export interface FilingParts {
  readonly store: Pick<FilingStore, "journal" | "search" | "leases">
  readonly clock: Clock
  readonly limits: Limits
  readonly report: (report: FilingReport) => void
}

/** Some of a workspace's entries, up to `last`. */
interface Step extends Batch {
  readonly last: number
  readonly count: number
  readonly bytes: number
  /** Where the chain ended when it was read. */
  readonly end: number
}

/**
 * Of bodies in one step: entries are counted, but a thousand of the largest would be a quarter of a
 * gigabyte.
 */
const stepBytesMax = 8 * 1024 * 1024
/** Entries that may be missing in a row. A number beyond is no place in a chain. */
const holeMax = 1000

export function startFiling({
  store: { journal, search, leases },
  clock,
  limits,
  report,
}: FilingParts): Filing {
  /** How far workspaces are filed, as far as it is known. */
  const positions = new Map<string, number>()
  const step = (): Promise<void> => fileSome().catch(() => undefined)
  // What was written last goes with the stop; what is far behind goes on at the next start.
  const loop = startLoop({ leases, clock, step, dueMs: () => Infinity, finish: step })

  return {
    poke: (workspaces) => loop.poke(workspaces),
    async catchUp(workspace) {
      const sequence = (await journal.head(workspace))?.sequence ?? 0
      if ((await positionOf(workspace)) >= sequence) return sequence
      // Whoever waits for another workspace has this one filed in the same step.
      loop.poke([workspace])
      await loop.ask(workspace, () => fileUpTo(workspace, sequence))
      return sequence
    },
    close: () => loop.close(),
  }

  async function fileUpTo(workspace: string, sequence: number): Promise<void> {
    for (let position = await positionOf(workspace); position < sequence;) {
      await fileSome(workspace)
      const before = position
      position = await positionOf(workspace)
      if (position === before)
        throw new Error("the journal cannot be read, or ends before its head")
    }
  }

  /**
   * Files what follows in the workspaces that have stood in line longest; the one that somebody
   * waits for comes first.
   */
  async function fileSome(first?: string): Promise<void> {
    const steps = await gather(first === undefined ? [] : [first])
    if (steps.length === 0) return
    try {
      await search.fileAll(steps)
    } catch (error) {
      // How far it came is asked for again.
      positions.clear()
      loop.line.retry(steps.map(({ workspace }) => workspace))
      report({ kind: "failed", detail: detailOf(error) })
      throw error
    }
    for (const { workspace, last } of steps) positions.set(workspace, last)
    report({
      kind: "filed",
      positions: steps.map(({ workspace, last, end }) => [workspace, last, end]),
    })
  }

  async function gather(first: readonly string[]): Promise<readonly Step[]> {
    const steps: Step[] = []
    let entriesLeft = limits.fileEntriesMax
    let bytesLeft = stepBytesMax
    for await (const workspace of loop.line.waiting(first)) {
      loop.line.leave(workspace)
      const step = await positionOf(workspace)
        .then((position) => nextStep(journal, workspace, position, entriesLeft))
        .catch((error: unknown) => setAside(workspace, error))
      if (step === undefined) continue
      // To the end of the line, if that was not all there is.
      if (step.last < step.end) loop.poke([workspace])
      steps.push(step)
      entriesLeft -= step.count
      bytesLeft -= step.bytes
      if (entriesLeft <= 0 || bytesLeft <= 0) break
    }
    return steps
  }

  /** One workspace that cannot be read does not hold up the others. */
  function setAside(workspace: string, error: unknown): undefined {
    report({ kind: "failed", detail: `${workspace}: ${detailOf(error)}` })
    loop.line.retry([workspace])
    return undefined
  }

  async function positionOf(workspace: string): Promise<number> {
    const position = positions.get(workspace) ?? (await search.position(workspace))
    positions.set(workspace, position)
    return position
  }
}

/** What follows a position. */
async function nextStep(
  journal: JournalReader,
  workspace: string,
  position: number,
  limit: number,
): Promise<Step | undefined> {
  const end = (await journal.head(workspace))?.sequence ?? 0
  const stored = await journal.after(workspace, position, limit)
  let last = position
  let bytes = 0
  for (const { sequence, body, disclosures } of stored) {
    assert(sequence > last && sequence <= last + holeMax, "the journal gives entries in order")
    last = sequence
    bytes += (body?.length ?? 0) + disclosures.length
  }
  if (last === position) return undefined
  return {
    workspace,
    entries: filedAfter(position, stored),
    last,
    bytes,
    count: stored.length,
    end: Math.max(last, end),
  }
}
