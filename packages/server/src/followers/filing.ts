// The loop that makes entries findable: gathers what has been written since, from every workspace in turn, and files it in one step.
// Steps are large when there is much to do and small when somebody waits. What fails is tried again; nothing is ever skipped.

import { strict as assert } from "node:assert"
import type { Clock } from "../clock.ts"
import type { Limits } from "../limits.ts"
import { filedAfter } from "../store/filed.ts"
import type { Batch } from "../store/search.ts"
import type { FilingStore, JournalReader } from "../store/store.ts"

export type FilingReport =
  | { readonly kind: "filed"; readonly positions: readonly (readonly [workspace: string, position: number, end: number])[] }
  | { readonly kind: "failed"; readonly detail: string }

export interface Filing {
  /** These workspaces have new entries, or may have. */
  poke(workspaces: readonly string[]): void
  /** Resolves, to where the workspace's journal ends now, when all of it can be found; rejects when it cannot be filed. */
  catchUp(workspace: string): Promise<number>
  close(): Promise<void>
}

export interface FilingParts {
  readonly store: Pick<FilingStore, "journal" | "search">
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

interface Waiting {
  readonly sequence: number
  readonly resolve: () => void
  readonly reject: (cause: unknown) => void
}

/** A disk that failed once is asked again, and not all the time. */
const retryAfterMs = 1000
/** Of bodies in one step: entries are counted, but a thousand of the largest would be a quarter of a gigabyte. */
const stepBytesMax = 8 * 1024 * 1024
/** Entries that may be missing in a row. A number beyond is no place in a chain. */
const holeMax = 1000

export function startFiling({ store: { journal, search }, clock, limits, report }: FilingParts): Filing {
  const dirty = new Set<string>()
  /** How far workspaces are filed, as far as it is known; nobody else files. */
  const positions = new Map<string, number>()
  const waiting = new Map<string, Waiting[]>()
  let wake = () => {}
  let closing = false
  /** The last step could not be filed. */
  let hasFailed = false
  let stop = () => {}
  const stopped = new Promise<void>((resolve) => {
    stop = resolve
  })
  const ended = loop()

  return {
    poke,
    async catchUp(workspace) {
      const sequence = (await journal.head(workspace))?.sequence ?? 0
      if ((await positionOf(workspace)) >= sequence) return sequence
      if (closing) throw new Error("filing has stopped")
      await new Promise<void>((resolve, reject) => {
        waiting.set(workspace, [...(waiting.get(workspace) ?? []), { sequence, resolve, reject }])
        wake()
      })
      return sequence
    },
    close() {
      closing = true
      stop()
      wake()
      return ended
    },
  }

  function poke(workspaces: readonly string[]): void {
    for (const workspace of workspaces) dirty.add(workspace)
    wake()
  }

  async function loop(): Promise<void> {
    while (!closing) {
      if (dirty.size === 0 && waiting.size === 0) await pause()
      else await fileSome().catch(failed)
      await turn()
    }
    // What was written last goes with the stop; what is far behind goes on at the next start.
    if (dirty.size > 0 && !hasFailed) await fileSome().catch(complain)
    refuse(waiting.keys(), new Error("filing has stopped"))
  }

  async function fileSome(): Promise<void> {
    const steps = await gather()
    if (steps.length > 0) await search.fileAll(steps)
    else refuse(waiting.keys(), new Error("the journal ends before its head"))
    hasFailed = false
    for (const { workspace, last } of steps) positions.set(workspace, last)
    for (const workspace of waiting.keys()) serve(workspace, await positionOf(workspace))
    if (steps.length > 0) report({ kind: "filed", positions: steps.map(({ workspace, last, end }) => [workspace, last, end]) })
  }

  /** What follows in the workspaces that have stood in line longest; those that somebody waits for come first. */
  async function gather(): Promise<readonly Step[]> {
    const steps: Step[] = []
    let entriesLeft = limits.fileEntriesMax
    let bytesLeft = stepBytesMax
    for (const workspace of new Set([...waiting.keys(), ...dirty])) {
      // To the end of the line, if that was not all there is. What is written from now on is told of.
      dirty.delete(workspace)
      const step = await positionOf(workspace)
        .then((position) => nextStep(journal, workspace, position, entriesLeft))
        .catch((error: unknown) => setAside(workspace, error))
      if (step === undefined) continue
      if (step.last < step.end) dirty.add(workspace)
      steps.push(step)
      entriesLeft -= step.count
      bytesLeft -= step.bytes
      if (entriesLeft <= 0 || bytesLeft <= 0) break
    }
    return steps
  }

  /** One workspace that cannot be read does not hold up the others. */
  function setAside(workspace: string, error: unknown): undefined {
    refuse([workspace], error)
    report({ kind: "failed", detail: `${workspace}: ${detailOf(error)}` })
    void clock.sleep(retryAfterMs).then(() => poke([workspace]))
    return undefined
  }

  async function positionOf(workspace: string): Promise<number> {
    const known = positions.get(workspace)
    if (known !== undefined) return known
    const position = await search.position(workspace)
    positions.set(workspace, position)
    return position
  }

  function serve(workspace: string, position: number): void {
    const all = waiting.get(workspace) ?? []
    const left = all.filter(({ sequence }) => sequence > position)
    if (left.length === 0) waiting.delete(workspace)
    else waiting.set(workspace, left)
    for (const one of all) if (one.sequence <= position) one.resolve()
  }

  function refuse(workspaces: Iterable<string>, cause: unknown): void {
    for (const workspace of workspaces) {
      const all = waiting.get(workspace) ?? []
      waiting.delete(workspace)
      for (const { reject } of all) reject(cause)
    }
  }

  async function failed(error: unknown): Promise<void> {
    // What was filed of it is read again; the workspaces stand in line as before.
    for (const workspace of positions.keys()) dirty.add(workspace)
    positions.clear()
    refuse(waiting.keys(), error)
    hasFailed = true
    complain(error)
    await Promise.race([clock.sleep(retryAfterMs), stopped])
  }

  function complain(error: unknown): void {
    report({ kind: "failed", detail: detailOf(error) })
  }

  async function pause(): Promise<void> {
    await new Promise<void>((resolve) => {
      wake = resolve
    })
    wake = () => {}
  }
}

/** What follows a position. */
async function nextStep(journal: JournalReader, workspace: string, position: number, limit: number): Promise<Step | undefined> {
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
  return { workspace, entries: filedAfter(position, stored), last, bytes, count: stored.length, end: Math.max(last, end) }
}

function detailOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** Lets messages in. */
function turn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve)
  })
}
