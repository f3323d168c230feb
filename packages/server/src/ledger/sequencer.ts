// Gives entries their place in the chain. While one commit is written the next one gathers, over all workspaces in turn; so a commit
// costs one fsync whoever waits for it, and no workspace waits for another's queue to empty.
//
// One commit is under way at a time, and the heads it is linked to are the heads that storage confirmed. After any error they are
// forgotten and asked for again, because a commit that failed may have happened.

import { strict as assert } from "node:assert"
import { hash } from "node:crypto"
import { recordBytes, writeRecord } from "@tallystick/proof"
import type { Clock } from "../clock.ts"
import type { Link } from "../entry.ts"
import { LedgerError } from "../error.ts"
import type { Limits } from "../limits.ts"
import type { Change, Group, Head, Journal, Linked, Outcome } from "../store/store.ts"
import type { Sealed } from "./seal.ts"

/** What became of an entry: it has its place, or an earlier one has its key. */
export type Placed = { readonly kind: "placed"; readonly link: Link } | { readonly kind: "used"; readonly sequence: number }

export interface Chain {
  readonly workspace: string
  readonly ledgerId: Uint8Array
}

export interface Sequencer {
  /**
   * Resolves when every entry is on stable storage, or was found to be there already; in the order given. The changes commit with the
   * entries, or neither does. A `LedgerError` that says so means that nothing was recorded; `ledger_unavailable` that nobody knows.
   */
  submit(chain: Chain, entries: readonly Sealed[], changes?: readonly Change[]): Promise<readonly Placed[]>
  /** How many entries wait or are being written. */
  waiting(): number
  /** Resolves when nothing waits. */
  drained(): Promise<void>
}

export interface SequencerReport {
  commit(entries: number, durationMs: number): void
  /** Chains have grown, each to this head. */
  advanced(heads: readonly { readonly workspace: string; readonly sequence: number }[]): void
}

interface Submission {
  readonly chain: Chain
  changes: readonly Change[]
  readonly placed: (Placed | undefined)[]
  /** Those that have no place yet. */
  waiting: readonly Waiting[]
  relinks: number
  resolve(placed: readonly Placed[]): void
  reject(error: unknown): void
}

interface Waiting {
  readonly sealed: Sealed
  readonly place: number
  readonly submission: Submission
}

/** What one workspace has in the commit that is under way. */
interface Gathered {
  readonly submissions: readonly Submission[]
  readonly taken: readonly Waiting[]
  readonly group: Group
  readonly links: readonly Link[]
}

export function createSequencer(journal: Journal, clock: Clock, limits: Limits, report: SequencerReport): Sequencer {
  const queues = new Map<string, Submission[]>()
  const heads = new Map<string, Head>()
  const idle: (() => void)[] = []
  let waiting = 0
  let running = false

  return {
    submit: (chain, entries, changes = []) =>
      new Promise((resolve, reject) => {
        if (waiting + entries.length > limits.queuedEventsMax) {
          reject(new LedgerError("overloaded", `${waiting} events wait to be written, the limit is ${limits.queuedEventsMax}; nothing was recorded`))
          return
        }
        waiting += entries.length
        const submission: Submission = { chain, changes, placed: [], waiting: [], relinks: 0, resolve, reject }
        submission.waiting = entries.map((sealed, place) => ({ sealed, place, submission }))
        enqueue(submission, "last")
        if (!running) {
          running = true
          // The requests that arrived in the same turn of the event loop share the first commit.
          setImmediate(() => void run())
        }
      }),
    waiting: () => waiting,
    drained: () => (running ? new Promise((resolve) => idle.push(resolve)) : Promise.resolve()),
  }

  async function run(): Promise<void> {
    while (queues.size > 0) await commit()
    running = false
    for (const resolve of idle.splice(0)) resolve()
  }

  async function commit(): Promise<void> {
    const gathering = gather()
    let gathered: readonly Gathered[] = []
    try {
      const timeMs = clock.now()
      gathered = await Promise.all(gathering.map((submissions) => linkAll(submissions, timeMs)))
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

  /** Takes from each workspace in turn, until the commit is large enough. A submission is never divided, nor given up half. */
  function gather(): Submission[][] {
    const taken = new Map<string, Submission[]>()
    let entries = 0
    let bytes = 0
    while (queues.size > 0 && entries < limits.commitEntriesMax && bytes < limits.commitBytesMax) {
      for (const [workspace, queue] of queues) {
        const submission = queue.shift()
        if (queue.length === 0) queues.delete(workspace)
        if (submission === undefined) continue
        const mine = taken.get(workspace)
        if (mine === undefined) taken.set(workspace, [submission])
        else mine.push(submission)
        entries += submission.waiting.length
        for (const { sealed } of submission.waiting) bytes += sealed.body.length + sealed.disclosures.length
        if (entries >= limits.commitEntriesMax || bytes >= limits.commitBytesMax) break
      }
    }
    // Whoever was served goes behind those who were not.
    for (const workspace of taken.keys()) {
      const queue = queues.get(workspace)
      if (queue === undefined) continue
      queues.delete(workspace)
      queues.set(workspace, queue)
    }
    return [...taken.values()]
  }

  async function linkAll(submissions: Submission[], timeMs: number): Promise<Gathered> {
    const { workspace, ledgerId } = the(submissions[0]).chain
    const from = heads.get(workspace) ?? (await journal.head(workspace)) ?? { sequence: 0, hash: ledgerId, timeMs: 0 }
    const taken: Waiting[] = []
    const entries: Linked[] = []
    const links: Link[] = []
    const keys = new Set<string>()
    let head = from
    for (const submission of submissions) {
      for (const one of submission.waiting) {
        const { idem } = one.sealed
        // The second of two with one key waits for the first: the journal then says what became of it.
        if (idem !== undefined) {
          if (keys.has(idem)) continue
          keys.add(idem)
        }
        const { record, link } = linkOne(head, ledgerId, one.sealed, Math.max(timeMs, from.timeMs))
        assert.equal(link.sequence, from.sequence + entries.length + 1, "an entry follows the one before it")
        const { receipt, bodySalt, body, disclosures } = one.sealed
        taken.push(one)
        links.push(link)
        entries.push({ record, receipt, idem, bodySalt, body, disclosures })
        head = link
      }
    }
    return { submissions, taken, links, group: { workspace, from, entries, changes: submissions.flatMap(({ changes }) => changes) } }
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
        leave(submissionOf(submissions, outcome.place)).reject(new LedgerError("conflict", "it was changed by someone else at the same moment"))
    }
    for (const submission of submissions.toReversed()) goOn(submission, outcome)
  }

  /** Answers a submission whose entries all have their place; one that has some left goes first next time. */
  function goOn(submission: Submission, outcome: Outcome): void {
    if (submission.waiting.length === 0) return
    const left = submission.waiting.filter(({ place }) => submission.placed[place] === undefined)
    waiting -= submission.waiting.length - left.length
    submission.waiting = left
    if (left.length === 0) {
      submission.resolve(submission.placed.map(the))
      return
    }
    if (outcome.kind === "moved") submission.relinks += 1
    if (submission.relinks > limits.relinksMax) fail(submission, new Error("the head moved each time entries were linked to it"))
    else enqueue(submission, "first")
  }

  function fail(submission: Submission, error: unknown): void {
    // What is refused outright was not recorded; but if a part of it was in an earlier commit, the whole is not known.
    const refused = error instanceof LedgerError && !submission.placed.some((placed) => placed?.kind === "placed")
    leave(submission).reject(refused ? error : unknown(error))
  }

  function leave(submission: Submission): Submission {
    waiting -= submission.waiting.length
    submission.waiting = []
    return submission
  }

  function enqueue(submission: Submission, where: "first" | "last"): void {
    const { workspace } = submission.chain
    const queue = queues.get(workspace)
    if (queue === undefined) queues.set(workspace, [submission])
    else if (where === "last") queue.push(submission)
    else queue.unshift(submission)
  }
}

function linkOne(head: Head, ledgerId: Uint8Array, { kind, bodyHash }: Sealed, timeMs: number): { record: Uint8Array; link: Link } {
  // The hash of a leaf is over a zero byte and the record, so they are made side by side.
  const leaf = new Uint8Array(1 + recordBytes)
  writeRecord(leaf, 1, { kind, index: head.sequence, timeMs, ledgerId, previousHash: head.hash, bodyHash })
  const link = { sequence: head.sequence + 1, timeMs, hash: Buffer.from(hash("sha256", leaf, "latin1"), "latin1"), previousHash: head.hash }
  return { record: leaf.subarray(1), link }
}

function submissionOf(submissions: readonly Submission[], change: number): Submission {
  let last = 0
  return the(submissions.find(({ changes }) => change < (last += changes.length)))
}

function unknown(cause: unknown): LedgerError {
  return new LedgerError("ledger_unavailable", "whether it was recorded is not known; repeat with the same Idempotency-Key, and it will be there once", { cause })
}

function the<T>(value: T | undefined): T {
  assert(value !== undefined, "the sequencer keeps its books")
  return value
}
