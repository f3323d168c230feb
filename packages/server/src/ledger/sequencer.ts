// Gives entries their place in the chain. Each workspace has a queue: a group is gathered, linked
// and appended. While one group is appended, the next one gathers. Workspaces do not wait for each
// other.
//
// A queue appends one group at a time, linked to the head that storage confirmed. After an error
// the head is read again, because an append that failed may have happened. If another process has
// appended to the same workspace, an engine may link the group to the new head itself.

import { assert, equalBytes } from "@tallystick/proof"
import type { Clock } from "../clock.ts"
import { LedgerError } from "../error.ts"
import type { Limits } from "../limits.ts"
import type { Change } from "../store/documents.ts"
import type { Head, Outcome } from "../store/entries.ts"
import type { Journal } from "../store/store.ts"
import {
  linkAll,
  takeGroup,
  type Chain,
  type LinkedGroup,
  type Placed,
  type Submission,
} from "./groups.ts"
import type { SealedEntry } from "./seal.ts"

export interface Sequencer {
  /**
   * Resolves when every entry is on stable storage, or was recorded before. The result has the
   * order of the entries. The changes commit with the entries, or not at all. The `LedgerError`
   * `ledger_unavailable` means that the outcome is unknown. Any other one means that nothing was
   * recorded.
   */
  submit(
    chain: Chain,
    entries: readonly SealedEntry[],
    changes?: readonly Change[],
  ): Promise<readonly Placed[]>
  /** Resolves when no entry waits. */
  drained(): Promise<void>
}

export interface SequencerReport {
  commit(entries: number, durationMs: number): void
  advanced(workspace: string, sequence: number): void
}

/** The waiting submissions of a workspace. */
interface Queue {
  readonly workspace: string
  readonly waiting: Submission[]
  /** A group is being appended, or is about to be. */
  isBusy: boolean
}

export function createSequencer(
  journal: Journal,
  clock: Clock,
  limits: Limits,
  report: SequencerReport,
): Sequencer {
  const queues = new Map<string, Queue>()
  const heads = new Map<string, Head>()
  const idle: (() => void)[] = []
  let starting: Queue[] = []

  return {
    submit: (chain, entries, changes = []) =>
      new Promise((resolve, reject) => {
        if (entries.length === 0) {
          assert(changes.length === 0, "a change is recorded by an entry")
          resolve([])
          return
        }
        const { workspace } = chain
        const submission: Submission = {
          chain,
          changes,
          placed: entries.map(() => undefined),
          waiting: [],
          again: false,
          relinks: 0,
          resolve,
          reject,
        }
        submission.waiting = entries.map((sealed, place) => ({ sealed, place, submission }))
        const queue = queues.get(workspace) ?? { workspace, waiting: [], isBusy: false }
        queues.set(workspace, queue)
        queue.waiting.push(submission)
        start(queue)
      }),
    drained: () =>
      queues.size === 0 ? Promise.resolve() : new Promise((resolve) => idle.push(resolve)),
  }

  /**
   * Starts a queue in the next turn of the event loop, so that requests which arrive in this turn
   * share its group. After an append, answers are sent and waiting requests are read before the
   * next group is closed: larger groups cost less per entry.
   */
  function start(queue: Queue): void {
    if (queue.isBusy) return
    queue.isBusy = true
    if (starting.push(queue) > 1) return
    setImmediate(() => {
      const started = starting
      starting = []
      for (const one of started) void advance(one, started.length)
    })
  }

  async function advance(queue: Queue, queuesAtOnce: number): Promise<void> {
    await appendGroup(takeGroup(queue.waiting, limits, queuesAtOnce))
    queue.isBusy = false
    if (queue.waiting.length > 0) return start(queue)
    queues.delete(queue.workspace)
    if (queues.size === 0) for (const resolve of idle.splice(0)) resolve()
  }

  async function appendGroup(submissions: readonly Submission[]): Promise<void> {
    const { chain } = the(submissions[0])
    try {
      const gathered = linkAll(submissions, await headOf(chain), clock.now())
      const started = clock.elapsed()
      const outcome = await journal.append(gathered.group)
      report.commit(gathered.taken.length, clock.elapsed() - started)
      settle(asRelinked(gathered, outcome), outcome)
    } catch (error) {
      heads.delete(chain.workspace)
      for (const submission of submissions)
        if (submission.waiting.length > 0) fail(submission, error)
    }
  }

  async function headOf({ workspace, ledgerId }: Chain): Promise<Head> {
    const known = heads.get(workspace)
    if (known !== undefined) return known
    return (await journal.head(workspace)) ?? { sequence: 0, hash: ledgerId, timeMs: 0 }
  }

  function settle({ submissions, taken, links, group }: LinkedGroup, outcome: Outcome): void {
    switch (outcome.kind) {
      case "done":
        heads.set(group.workspace, links.at(-1) ?? group.from)
        for (const [at, one] of taken.entries())
          one.submission.placed[one.place] = { kind: "placed", link: the(links[at]) }
        for (const submission of submissions) submission.changes = []
        if (submissions.some(hasCopies))
          settleKeys(submissions, taken, (at) => the(links[at]).sequence)
        report.advanced(group.workspace, group.from.sequence + links.length)
        break
      case "used": {
        const sequences = new Map(outcome.keys.map(({ place, sequence }) => [place, sequence]))
        settleKeys(submissions, taken, (at) => sequences.get(at))
        break
      }
      case "moved":
        if (outcome.head === undefined) heads.delete(group.workspace)
        else heads.set(group.workspace, outcome.head)
        break
      case "conflict":
        refuseConflicts(submissions, outcome.place)
    }
    for (const submission of submissions.toReversed()) goOn(submission, outcome)
  }

  /** Refuses the change at this place, and later changes that name the same version. */
  function refuseConflicts(submissions: readonly Submission[], place: number): void {
    const all = submissions.flatMap((submission) =>
      submission.changes.map((change) => ({ submission, change })),
    )
    const { kind, id, version } = the(all[place]).change
    for (const { submission, change } of all.slice(place))
      if (change.kind === kind && change.id === id && change.version === version)
        leave(submission).reject(
          new LedgerError("conflict", "somebody else changed it at the same moment"),
        )
  }

  /**
   * Answers a submission if all its entries have their place. Otherwise its remaining entries go
   * first in the next group.
   */
  function goOn(submission: Submission, outcome: Outcome): void {
    if (submission.waiting.length === 0) return
    const left = submission.waiting.filter(({ place }) => submission.placed[place] === undefined)
    submission.waiting = left
    if (left.length === 0) {
      submission.resolve(submission.placed.map(the))
      return
    }
    assert(outcome.kind !== "done", "a commit settles all of a submission")
    submission.again = true
    if (outcome.kind === "moved") submission.relinks += 1
    if (submission.relinks > limits.relinksMax)
      fail(submission, new Error("the head moved each time entries were linked to it"))
    else the(queues.get(submission.chain.workspace)).waiting.unshift(submission)
  }

  function fail(submission: Submission, error: unknown): void {
    leave(submission).reject(error instanceof LedgerError ? error : unknown(error))
  }

  function leave(submission: Submission): Submission {
    submission.waiting = []
    return submission
  }
}

/** The group as the engine has relinked it. */
function asRelinked(gathered: LinkedGroup, outcome: Outcome): LinkedGroup {
  const relinked = outcome.kind === "done" ? outcome.relinked : undefined
  const last = gathered.links.at(-1)
  if (relinked === undefined || last === undefined) return gathered
  const again = linkAll(gathered.submissions, relinked.from, last.timeMs)
  assert(
    equalBytes(the(again.links.at(-1)).hash, relinked.lastHash),
    "the engine links entries as the ledger does",
  )
  return again
}

/** Whether a group left out one of its entries, because another entry has the same key. */
function hasCopies({ waiting, placed }: Submission): boolean {
  return waiting.some(({ place }) => placed[place] === undefined)
}

/**
 * Answers every waiting entry whose key belongs to a recorded entry. `sequenceOf` has that entry's
 * sequence, by the places of `taken`.
 */
function settleKeys(
  submissions: readonly Submission[],
  taken: LinkedGroup["taken"],
  sequenceOf: (at: number) => number | undefined,
): void {
  const sequences = new Map(taken.map(({ sealed }, at) => [sealed.idem, sequenceOf(at)]))
  for (const { waiting, placed } of submissions)
    for (const { sealed, place } of waiting) {
      const sequence = sealed.idem === undefined ? undefined : sequences.get(sealed.idem)
      if (sequence !== undefined) placed[place] ??= { kind: "used", sequence }
    }
}

function unknown(cause: unknown): LedgerError {
  return new LedgerError(
    "ledger_unavailable",
    "it is unknown whether this was recorded; repeat it with the same Idempotency-Key, and it is recorded once",
    { cause },
  )
}

function the<T>(value: T | undefined): T {
  assert(value !== undefined, "every outcome belongs to a waiting entry")
  return value
}
