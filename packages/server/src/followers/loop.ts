// The loop in which a follower program runs. Workspaces with new entries wait in a queue. Work that
// a request waits for comes first. Failed workspaces are retried after a second. The loop sleeps
// while there is nothing to do.

import type { Clock } from "../clock.ts"
import type { Leases } from "../store/store.ts"

export interface Loop {
  readonly queue: Queue
  /** These workspaces have something new, or may have. */
  poke(workspaces: readonly string[]): void
  /**
   * Does this before the queue, as soon as this process follows the workspace. Rejects if the loop
   * has stopped.
   */
  ask<T>(workspace: string, errand: () => Promise<T>): Promise<T>
  isClosing(): boolean
  /** Does the requested work, and ends. */
  close(): Promise<void>
}

/** The queue of workspaces with new entries. */
export interface Queue {
  add(workspaces: readonly string[]): void
  /** The workspaces that this process may follow; the given ones first. */
  waiting(first?: Iterable<string>): AsyncIterable<string>
  has(workspace: string): boolean
  isEmpty(): boolean
  /** Call this before reading new entries: entries written later put the workspace back. */
  leave(workspace: string): void
  /**
   * These failed. They return to the queue after a while, and not earlier, even if they grow.
   */
  retry(workspaces: Iterable<string>): void
  /** Returns due workspaces to the queue. Returns when the next one is due. */
  putBack(): number
}

export interface LoopParts {
  readonly leases: Leases
  readonly clock: Clock
  /** Does a piece of work. Never rejects. */
  readonly step: () => Promise<void>
  /** Called for a waiting workspace that another process follows. */
  readonly left: (workspace: string) => void
  /** When work is due without a new entry. */
  readonly dueMs?: () => number
  /** The last work at a stop. */
  readonly finish?: () => Promise<void>
}

/** The pause before a retry, so that a failing disk is not asked all the time. */
const retryAfterMs = 1000

export function startLoop({ leases, clock, step, left, dueMs, finish }: LoopParts): Loop {
  const queue = createQueue(leases, clock, left)
  const errands: (() => Promise<void>)[] = []
  let wake = () => {}
  let closing = false
  // The caller finishes its own set-up before the first step.
  const ended = turn().then(run)
  const poke = (workspaces: readonly string[]): void => {
    queue.add(workspaces)
    wake()
  }
  // If nothing more is written to a workspace, nothing else would report it.
  leases.onTaken((workspace) => poke([workspace]))

  return {
    queue,
    poke,
    ask: (workspace, errand) =>
      new Promise((resolve, reject) => {
        if (closing) {
          reject(new Error("following has stopped"))
          return
        }
        errands.push(() => leases.take(workspace).then(errand).then(resolve, reject))
        wake()
      }),
    isClosing: () => closing,
    close() {
      closing = true
      wake()
      return ended
    },
  }

  async function run(): Promise<void> {
    while (!closing) {
      for (const errand of errands.splice(0)) await errand()
      queue.putBack()
      await step()
      if (queue.isEmpty() && errands.length === 0 && !closing) await sleep()
      else await turn()
    }
    for (const errand of errands.splice(0)) await errand()
    await finish?.()
  }

  async function sleep(): Promise<void> {
    const { promise: woken, resolve } = Promise.withResolvers<void>()
    wake = resolve
    const untilMs = Math.min(queue.putBack(), dueMs?.() ?? Infinity)
    if (untilMs === Infinity) await woken
    else await Promise.race([woken, clock.sleep(Math.max(untilMs - clock.elapsed(), 1))])
    wake = () => {}
  }
}

function createQueue(leases: Leases, clock: Clock, left: LoopParts["left"]): Queue {
  const queued = new Set<string>()
  const retries = new Map<string, number>()
  const retry = (workspaces: Iterable<string>): void => {
    for (const workspace of workspaces) {
      queued.delete(workspace)
      retries.set(workspace, clock.elapsed() + retryAfterMs)
    }
  }
  return {
    add(workspaces) {
      for (const workspace of workspaces) if (!retries.has(workspace)) queued.add(workspace)
    },
    async *waiting(first = []) {
      for (const workspace of new Set([...first, ...queued])) {
        const isOurs = await leases.hold(workspace)
        if (isOurs === true) yield workspace
        else if (isOurs === undefined) retry([workspace])
        else {
          queued.delete(workspace)
          left(workspace)
        }
      }
    },
    has: (workspace) => queued.has(workspace),
    isEmpty: () => queued.size === 0,
    leave: (workspace) => void queued.delete(workspace),
    retry,
    putBack() {
      for (const [workspace, atMs] of retries)
        if (atMs <= clock.elapsed() && retries.delete(workspace)) queued.add(workspace)
      return queued.size > 0 ? clock.elapsed() : earliest(retries)
    },
  }
}

export function earliest(times: ReadonlyMap<string, number>): number {
  let first = Infinity
  for (const time of times.values()) if (time < first) first = time
  return first
}

/** Lets the thread receive messages. */
export function turn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve)
  })
}
