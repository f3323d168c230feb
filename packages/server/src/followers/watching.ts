// The loop that keeps followers going: whoever has new entries is followed, a batch at a time in turn, and signed at most once in a
// while or when somebody waits for it. A workspace whose chain does not hold together is reported and left alone; the others go on.

import type { Clock } from "../clock.ts"
import type { Limits } from "../limits.ts"
import type { Checkpoint, Finding, JournalReader } from "../store/store.ts"
import type { AuditListener, AuditSummary, Auditor } from "./auditor.ts"
import { type Checkpointer, IntegrityError } from "./checkpointer.ts"
import { followOnce, type Followed, type Follower } from "./follow.ts"
import { isOfTree } from "./walk.ts"

export type Sighting =
  | ({ readonly kind: "followed"; readonly workspace: string } & Followed)
  /** A checkpoint was signed; `lagMs` is how long its oldest new entry had waited for it. */
  | { readonly kind: "signed"; readonly workspace: string; readonly checkpoint: Checkpoint; readonly lagMs: number }
  /** `from`: the first entry that does not hold; the first of all where nobody knows. */
  | { readonly kind: "broken"; readonly workspace: string; readonly detail: string; readonly from: number; readonly finding?: Finding }
  | { readonly kind: "audited"; readonly summary: AuditSummary }
  | { readonly kind: "failed"; readonly workspace: string; readonly detail: string }

export interface Watching {
  /** These workspaces have new entries, or may have. */
  poke(workspaces: readonly string[]): void
  /** Somebody found an entry broken; the auditor looks at it now. */
  suspect(workspace: string, sequence: number): void
  /** Follows a workspace to its end and signs it, now. */
  seal(workspace: string): Promise<Checkpoint | undefined>
  close(): Promise<void>
}

export interface WatchingParts {
  readonly journal: JournalReader
  readonly followers: readonly Follower[]
  readonly checkpointer: Checkpointer
  /** Makes who re-verifies what is kept, a little at a time. */
  readonly audit?: (listener: AuditListener) => Auditor
  readonly clock: Clock
  readonly limits: Limits
  readonly report: (sighting: Sighting) => void
}

/** What a stop still follows of a workspace: a fraction of a second. */
const lastBlocksMax = 20

/** A disk that failed once is asked again, and not all the time. */
const retryAfterMs = 1000

export function startWatching({ journal, followers, checkpointer, audit, clock, limits, report }: WatchingParts): Watching {
  const all = [checkpointer, ...followers]
  const dirty = new Set<string>()
  /** When a workspace is due to be signed, or to be tried again after a failure. */
  const unsigned = new Map<string, number>()
  const retries = new Map<string, number>()
  const signedAtMs = new Map<string, number>()
  const broken = new Set<string>()
  const errands: (() => Promise<void>)[] = []
  let wake = () => {}
  let closing = false
  const auditor = audit?.({
    found(finding) {
      const { workspace, detail } = finding
      leaveAlone(workspace)
      report({ kind: "broken", workspace, detail, from: isOfTree(detail) ? 1 : finding.sequence, finding })
    },
    failed: (workspace, detail) => report({ kind: "failed", workspace, detail }),
    summarise: (summary) => report({ kind: "audited", summary }),
  })
  const failed = (workspace: string) => (error: unknown) => report({ kind: "failed", workspace, detail: detailOf(error) })
  const ended = loop()

  return {
    poke(workspaces) {
      for (const workspace of workspaces) if (!broken.has(workspace)) dirty.add(workspace)
      wake()
    },
    suspect(workspace, sequence) {
      if (auditor === undefined || closing || broken.has(workspace)) return
      errands.push(() => auditor.look(workspace, sequence).catch(failed(workspace)))
      wake()
    },
    seal: (workspace) =>
      new Promise((resolve, reject) => {
        if (closing) {
          reject(new Error("watching has stopped"))
          return
        }
        errands.push(() => sealNow(workspace).then(resolve, reject))
        wake()
      }),
    close() {
      closing = true
      wake()
      return ended
    },
  }

  async function loop(): Promise<void> {
    while (!closing) {
      for (const errand of errands.splice(0)) await errand()
      for (const [workspace, dueMs] of retries) if (dueMs <= clock.elapsed() && retries.delete(workspace)) dirty.add(workspace)
      for (const workspace of until(() => closing, dirty.values().toArray())) {
        await guarded(workspace, () => follow(workspace))
        await turn()
      }
      for (const [workspace, dueMs] of until(() => closing, unsigned))
        if (dueMs <= clock.elapsed()) await guarded(workspace, () => sign(workspace))
      if (auditor !== undefined && auditor.dueMs() <= clock.elapsed()) await auditor.step().then(turn)
      if (dirty.size === 0 && errands.length === 0 && !closing) await pause()
    }
    for (const errand of errands.splice(0)) await errand()
    // What was written and not signed when the service stops is signed now; where there is too much of it, the next start signs the rest.
    const endMs = clock.elapsed() + limits.lastSigningMs
    for (const workspace of until(() => clock.elapsed() >= endMs, new Set([...unsigned.keys(), ...dirty]))) {
      // A ledger that is far behind goes on at the next start as well.
      for (let blocks = 0; blocks < lastBlocksMax && dirty.has(workspace); blocks++) await guarded(workspace, () => follow(workspace))
      if (unsigned.has(workspace)) await guarded(workspace, () => sign(workspace))
    }
    await auditor?.save().catch(failed(""))
  }

  async function follow(workspace: string): Promise<boolean> {
    const followed = await followOnce(journal, all, workspace, limits)
    if (followed.caughtUp) dirty.delete(workspace)
    if (!unsigned.has(workspace)) unsigned.set(workspace, (signedAtMs.get(workspace) ?? -Infinity) + limits.checkpointEveryMs)
    report({ kind: "followed", workspace, ...followed })
    return followed.caughtUp
  }

  async function sign(workspace: string): Promise<Checkpoint | undefined> {
    const since = checkpointer.unsignedSinceMs(workspace)
    const checkpoint = await checkpointer.sign(workspace)
    unsigned.delete(workspace)
    signedAtMs.set(workspace, clock.elapsed())
    if (checkpoint !== undefined && since !== undefined && checkpoint === checkpointer.signedLast(workspace))
      report({ kind: "signed", workspace, checkpoint, lagMs: clock.now() - since })
    return checkpoint
  }

  async function sealNow(workspace: string): Promise<Checkpoint | undefined> {
    if (broken.has(workspace)) return undefined
    let checkpoint: Checkpoint | undefined
    await guarded(workspace, async () => {
      while (!(await follow(workspace))) await turn()
      checkpoint = await sign(workspace)
    })
    return checkpoint
  }

  async function guarded(workspace: string, act: () => Promise<unknown>): Promise<void> {
    try {
      await act()
    } catch (error) {
      dirty.delete(workspace)
      unsigned.delete(workspace)
      if (error instanceof IntegrityError) {
        leaveAlone(workspace)
        report({ kind: "broken", workspace, detail: error.message, from: error.sequence })
      } else {
        retries.set(workspace, clock.elapsed() + retryAfterMs)
        failed(workspace)(error)
      }
    }
  }

  function leaveAlone(workspace: string): void {
    broken.add(workspace)
    for (const plan of [dirty, unsigned, retries]) plan.delete(workspace)
  }

  /** Sleeps until there is something to do: a poke, or the time to sign, or to re-verify. */
  async function pause(): Promise<void> {
    const due = Math.min(earliest(unsigned), earliest(retries), auditor?.dueMs() ?? Infinity)
    const { promise: woken, resolve } = Promise.withResolvers<void>()
    wake = resolve
    if (due === Infinity) await woken
    else await Promise.race([woken, clock.sleep(Math.max(due - clock.elapsed(), 1))])
    wake = () => {}
  }
}

function* until<T>(isOver: () => boolean, all: Iterable<T>): Generator<T> {
  for (const one of all) {
    if (isOver()) return
    yield one
  }
}

function detailOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

function earliest(dues: ReadonlyMap<string, number>): number {
  let first = Infinity
  for (const due of dues.values()) if (due < first) first = due
  return first
}

/** Lets messages in. */
function turn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve)
  })
}
