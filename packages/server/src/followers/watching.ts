// The loop that keeps followers going: whoever has new entries is followed, a batch at a time in turn, and signed at most once in a
// while or when somebody waits for it. A workspace whose chain does not hold together is reported and left alone; the others go on.

import type { Clock } from "../clock.ts"
import type { Limits } from "../limits.ts"
import type { Checkpoint, JournalReader } from "../store/store.ts"
import { type Checkpointer, IntegrityError } from "./checkpointer.ts"
import { followOnce, type Follower } from "./follow.ts"

export type Sighting =
  | { readonly kind: "followed"; readonly workspace: string; readonly position: number; readonly caughtUp: boolean }
  /** A checkpoint was signed; `lagMs` is how long its oldest new entry had waited for it. */
  | { readonly kind: "signed"; readonly workspace: string; readonly size: number; readonly lagMs: number }
  | { readonly kind: "broken"; readonly workspace: string; readonly detail: string }
  | { readonly kind: "failed"; readonly workspace: string; readonly detail: string }

export interface Watching {
  /** These workspaces have new entries, or may have. */
  poke(workspaces: readonly string[]): void
  /** Follows a workspace to its end and signs it, now. */
  seal(workspace: string): Promise<Checkpoint | undefined>
  close(): Promise<void>
}

export interface WatchingParts {
  readonly journal: JournalReader
  readonly followers: readonly Follower[]
  readonly checkpointer: Checkpointer
  readonly clock: Clock
  readonly limits: Limits
  readonly report: (sighting: Sighting) => void
}

/** What a stop still follows of a workspace: a fraction of a second. */
const lastBlocksMax = 20

/** A disk that failed once is asked again, and not all the time. */
const retryAfterMs = 1000

export function startWatching({ journal, followers, checkpointer, clock, limits, report }: WatchingParts): Watching {
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
  const ended = loop()

  return {
    poke(workspaces) {
      for (const workspace of workspaces) if (!broken.has(workspace)) dirty.add(workspace)
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
      for (const workspace of dirty.values().toArray()) {
        await guarded(workspace, () => follow(workspace))
        await turn()
      }
      for (const [workspace, dueMs] of unsigned) if (dueMs <= clock.elapsed()) await guarded(workspace, () => sign(workspace))
      if (dirty.size === 0 && errands.length === 0 && !closing) await pause()
    }
    for (const errand of errands.splice(0)) await errand()
    // What was written and not signed when the service stops is signed now, so that nothing waits for the next start.
    for (const workspace of dirty.values().toArray()) await guarded(workspace, () => followLast(workspace))
    for (const workspace of unsigned.keys()) await guarded(workspace, () => sign(workspace))
  }

  async function follow(workspace: string): Promise<boolean> {
    const { position, caughtUp } = await followOnce(journal, all, workspace, limits)
    if (caughtUp) dirty.delete(workspace)
    if (!unsigned.has(workspace)) unsigned.set(workspace, (signedAtMs.get(workspace) ?? -Infinity) + limits.checkpointEveryMs)
    report({ kind: "followed", workspace, position, caughtUp })
    return caughtUp
  }

  /** A ledger that is far behind goes on at the next start: a stop is not to wait for it. */
  async function followLast(workspace: string): Promise<void> {
    for (let blocks = 0; blocks < lastBlocksMax && !(await follow(workspace)); blocks++) continue
  }

  async function sign(workspace: string): Promise<Checkpoint | undefined> {
    const since = checkpointer.unsignedSinceMs(workspace)
    const checkpoint = await checkpointer.sign(workspace)
    unsigned.delete(workspace)
    signedAtMs.set(workspace, clock.elapsed())
    if (checkpoint !== undefined && since !== undefined)
      report({ kind: "signed", workspace, size: checkpoint.size, lagMs: clock.now() - since })
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
      const detail = error instanceof Error ? error.message : String(error)
      if (error instanceof IntegrityError) broken.add(workspace)
      else retries.set(workspace, clock.elapsed() + retryAfterMs)
      report({ kind: error instanceof IntegrityError ? "broken" : "failed", workspace, detail })
    }
  }

  /** Sleeps until there is something to do: a poke, or the time to sign. */
  async function pause(): Promise<void> {
    const due = Math.min(earliest(unsigned), earliest(retries))
    const woken = new Promise<void>((resolve) => {
      wake = resolve
    })
    if (due === Infinity) await woken
    else await Promise.race([woken, clock.sleep(Math.max(due - clock.elapsed(), 1))])
    wake = () => {}
  }
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
