// Gives entries their place in the chain. While one commit is written the next one gathers, over all workspaces in turn; so a commit
// costs one fsync whoever waits for it, and no workspace waits for another's queue to empty.
//
// One commit is under way at a time, and the heads it is linked to are the heads that storage confirmed. After any error they are
// forgotten and asked for again, because a commit that failed may have happened.

import { strict as assert } from "node:assert"
import type { Clock } from "../clock.ts"
import { LedgerError } from "../error.ts"
import type { Limits } from "../limits.ts"
import type { Change, Head, Journal, Outcome } from "../store/store.ts"
import { linkAll, type Gathered } from "./link.ts"
import { createQueue, type Chain, type Placed, type Submission } from "./queue.ts"
import { createRoom, type Room } from "./room.ts"
import type { Sealed } from "./seal.ts"

export interface Sequencer {
  /**
   * Resolves when every entry is on stable storage, or was found to be there already; in the order given. The changes commit with the
   * entries, or neither does. A `LedgerError` that says so means that nothing was recorded; `ledger_unavailable` that nobody knows.
   */
  submit(chain: Chain, entries: readonly Sealed[], changes?: readonly Change[]): Promise<readonly Placed[]>
  /** Where what waits is counted: full, it refuses. */
  readonly room: Room
  /** Resolves when nothing waits. */
  drained(): Promise<void>
}

export interface SequencerReport {
  commit(entries: number, durationMs: number): void
  /** Chains have grown, each to this head. */
  advanced(heads: readonly { readonly workspace: string; readonly sequence: number }[]): void
}

export function createSequencer(journal: Journal, clock: Clock, limits: Limits, report: SequencerReport): Sequencer {
  const queue = createQueue(limits)
  const heads = new Map<string, Head>()
  const idle: (() => void)[] = []
  const room = createRoom(limits)
  let running = false

  return {
    room,
    submit: (chain, entries, changes = []) =>
      new Promise((resolve, reject) => {
        if (entries.length === 0) {
          assert(changes.length === 0, "a change is recorded by an entry")
          resolve([])
          return
        }
        // What throws here rejects the promise.
        room.take(chain.workspace, entries.length)
        const submission: Submission = { chain, changes, placed: [], waiting: [], again: false, relinks: 0, resolve, reject }
        submission.waiting = entries.map((sealed, place) => ({ sealed, place, submission }))
        queue.add(submission, "last")
        if (!running) {
          running = true
          // The requests that arrived in the same turn of the event loop share the first commit.
          setImmediate(() => void run())
        }
      }),
    drained: () => (running ? new Promise((resolve) => idle.push(resolve)) : Promise.resolve()),
  }

  async function run(): Promise<void> {
    while (!queue.isEmpty()) {
      await commit()
      room.reopen()
      // The answers leave, and the requests that wait at the door come in, before the next commit is closed: larger commits cost less each.
      await new Promise((resolve) => {
        setImmediate(resolve)
      })
    }
    running = false
    for (const resolve of idle.splice(0)) resolve()
  }

  async function commit(): Promise<void> {
    const gathering = queue.take()
    try {
      const from = await Promise.all(gathering.map(([first]) => headOf(the(first).chain)))
      const timeMs = clock.now()
      const gathered = gathering.map((submissions, at) => linkAll(submissions, the(from[at]), timeMs))
      const started = clock.elapsed()
      const outcomes = await journal.append(gathered.map(({ group }) => group))
      report.commit(
        gathered.reduce((sum, { taken }) => sum + taken.length, 0),
        clock.elapsed() - started,
      )
      for (const [place, one] of gathered.entries()) settle(one, outcomes[place])
      const grown = gathered.filter((_, place) => outcomes[place]?.kind === "done")
      report.advanced(grown.map(({ group: { workspace, from, entries } }) => ({ workspace, sequence: from.sequence + entries.length })))
    } catch (error) {
      heads.clear()
      for (const submission of gathering.flat()) if (submission.waiting.length > 0) fail(submission, error)
    }
  }

  async function headOf({ workspace, ledgerId }: Chain): Promise<Head> {
    return heads.get(workspace) ?? (await journal.head(workspace)) ?? { sequence: 0, hash: ledgerId, timeMs: 0 }
  }

  function settle({ submissions, taken, links, group }: Gathered, outcome: Outcome | undefined): void {
    assert(outcome !== undefined, "the journal answers for every group")
    switch (outcome.kind) {
      case "done":
        heads.set(group.workspace, links.at(-1) ?? group.from)
        for (const [at, one] of taken.entries()) one.submission.placed[one.place] = { kind: "placed", link: the(links[at]) }
        for (const submission of submissions) submission.changes = []
        break
      case "used":
        for (const { place, sequence } of outcome.keys) {
          const one = the(taken[place])
          one.submission.placed[one.place] = { kind: "used", sequence }
        }
        break
      case "moved":
        heads.delete(group.workspace)
        break
      case "conflict":
        leave(submissionOf(submissions, outcome.place)).reject(
          new LedgerError("conflict", "it was changed by someone else at the same moment"),
        )
    }
    for (const submission of submissions.toReversed()) goOn(submission, outcome)
  }

  /** Answers a submission whose entries all have their place; one that has some left goes first next time. */
  function goOn(submission: Submission, outcome: Outcome): void {
    if (submission.waiting.length === 0) return
    const left = submission.waiting.filter(({ place }) => submission.placed[place] === undefined)
    room.giveBack(submission.chain.workspace, submission.waiting.length - left.length)
    submission.waiting = left
    if (left.length === 0) {
      submission.resolve(submission.placed.map(the))
      return
    }
    submission.again = true
    if (outcome.kind === "moved") submission.relinks += 1
    if (submission.relinks > limits.relinksMax) fail(submission, new Error("the head moved each time entries were linked to it"))
    else queue.add(submission, "first")
  }

  function fail(submission: Submission, error: unknown): void {
    // What is refused outright was not recorded; but if a part of it was in an earlier commit, the whole is not known.
    const refused = error instanceof LedgerError && !submission.placed.some((placed) => placed?.kind === "placed")
    leave(submission).reject(refused ? error : unknown(error))
  }

  function leave(submission: Submission): Submission {
    room.giveBack(submission.chain.workspace, submission.waiting.length)
    submission.waiting = []
    return submission
  }
}

function submissionOf(submissions: readonly Submission[], change: number): Submission {
  let last = 0
  return the(submissions.find(({ changes }) => change < (last += changes.length)))
}

function unknown(cause: unknown): LedgerError {
  return new LedgerError(
    "ledger_unavailable",
    "whether it was recorded is not known; repeat with the same Idempotency-Key, and it will be there once",
    { cause },
  )
}

function the<T>(value: T | undefined): T {
  assert(value !== undefined, "the sequencer keeps its books")
  return value
}
