// A fair queue: limits how much work of one kind runs at once, and lets workspaces take turns.
// Work that waits too long is refused. Work whose client disconnects while it waits is dropped.

import type { Clock } from "../clock.ts"
import { LedgerError } from "../error.ts"

export interface FairQueueLimits {
  /** Work that runs at once: in total, and for one workspace. */
  readonly atOnceMax: number
  readonly perWorkspaceMax: number
  /**
   * Work that waits, in total. Beyond this, the newest work of the workspace with the longest queue
   * is refused.
   */
  readonly waitingMax: number
  readonly waitMs: number
}

export interface FairQueueOptions extends FairQueueLimits {
  /** A plural noun for the error message. */
  readonly of: string
}

export interface FairQueue {
  /**
   * Runs the work when it is the workspace's turn. If the wait is too long, rejects with
   * `overloaded`. If the signal is aborted first, rejects with its reason. The work has not begun
   * then. The signal does not stop work that has begun.
   */
  run<T>(workspace: string, signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T>
  /**
   * Like `run`, for work that outlives a promise. Resolves with a function that the caller calls
   * once when the work ends.
   */
  begin(workspace: string, signal: AbortSignal | undefined): Promise<() => void>
  /** Whether work of a workspace would begin at once. */
  hasRoom(workspace: string): boolean
  /** Whether a workspace waits that could begin if another one had less. */
  isShort(): boolean
}

interface Waiting {
  readonly workspace: string
  readonly untilMs: number
  begin(): void
  refuse(reason: LedgerError): void
}

export function createFairQueue(clock: Clock, options: FairQueueOptions): FairQueue {
  const { atOnceMax, perWorkspaceMax } = options
  const queues = createQueues(clock, options)
  const running = new Map<string, number>()
  let runningInAll = 0

  const mayBegin = (workspace: string): boolean =>
    runningInAll < atOnceMax && (running.get(workspace) ?? 0) < perWorkspaceMax
  const count = (workspace: string): void => {
    runningInAll += 1
    running.set(workspace, (running.get(workspace) ?? 0) + 1)
  }
  const end = (workspace: string): void => {
    runningInAll -= 1
    const left = (running.get(workspace) ?? 0) - 1
    if (left > 0) running.set(workspace, left)
    else running.delete(workspace)
    // A workspace goes to the back when its work ends. One that arrived while the work ran has not
    // been served yet and goes first.
    queues.goToBack(workspace)
    for (let next = queues.next(mayBegin); next !== undefined; next = queues.next(mayBegin)) {
      count(next.workspace)
      next.begin()
    }
  }

  /** Undefined if the work may begin at once. */
  const enter = (workspace: string, signal: AbortSignal | undefined): Promise<void> | undefined => {
    signal?.throwIfAborted()
    // When running work ends, it starts this work and counts it as running.
    if (!mayBegin(workspace)) return queues.wait(workspace, signal)
    count(workspace)
    return undefined
  }

  return {
    async run(workspace, signal, work) {
      const turn = enter(workspace, signal)
      if (turn !== undefined) await turn
      try {
        return await work()
      } finally {
        end(workspace)
      }
    },
    async begin(workspace, signal) {
      await enter(workspace, signal)
      return () => end(workspace)
    },
    hasRoom: mayBegin,
    isShort: () =>
      runningInAll >= atOnceMax &&
      queues.hasAny((workspace) => (running.get(workspace) ?? 0) < perWorkspaceMax),
  }
}

/** The queues of waiting work, one for each workspace. */
interface Queues {
  wait(workspace: string, signal: AbortSignal | undefined): Promise<void>
  /**
   * Removes and returns the first entry of the next workspace that may begin. That workspace then
   * goes to the back.
   */
  next(mayBegin: (workspace: string) => boolean): Waiting | undefined
  goToBack(workspace: string): void
  /** Whether such a workspace waits. */
  hasAny(such: (workspace: string) => boolean): boolean
}

function createQueues(clock: Clock, { waitingMax, waitMs, of }: FairQueueOptions): Queues {
  /** All waiting work, oldest first; and the same by workspace, in the order of their turns. */
  const waiting = new Set<Waiting>()
  const queues = new Map<string, Set<Waiting>>()
  let isExpiring = false

  const leave = (one: Waiting): void => {
    waiting.delete(one)
    const queue = queues.get(one.workspace)
    queue?.delete(one)
    if (queue?.size === 0) queues.delete(one.workspace)
  }
  const refuse = (one: Waiting): void => {
    leave(one)
    one.refuse(
      new LedgerError(
        "overloaded",
        `there are more ${of} than can be answered in time; ask again in a moment`,
      ),
    )
  }
  const enter = (one: Waiting): void => {
    waiting.add(one)
    const queue = queues.get(one.workspace)
    if (queue === undefined) queues.set(one.workspace, new Set([one]))
    else queue.add(one)
    if (waiting.size > waitingMax) refuse(newestOf(longest(queues)))
    if (!isExpiring) void expire()
  }
  /** All have the same time limit, so the oldest expires first. */
  const expire = async (): Promise<void> => {
    isExpiring = true
    for (let [oldest] = waiting; oldest !== undefined; [oldest] = waiting) {
      await clock.sleep(Math.max(1, oldest.untilMs - clock.elapsed()))
      for (const one of waiting) {
        if (one.untilMs > clock.elapsed()) break
        refuse(one)
      }
    }
    isExpiring = false
  }

  return {
    wait(workspace, signal) {
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      const one: Waiting = {
        workspace,
        untilMs: clock.elapsed() + waitMs,
        begin: resolve,
        refuse: reject,
      }
      const depart = (): void => {
        leave(one)
        reject(signal?.reason as Error) // callers abort with an Error
      }
      signal?.addEventListener("abort", depart)
      enter(one)
      return promise.finally(() => signal?.removeEventListener("abort", depart))
    },
    next(mayBegin) {
      for (const [workspace, [first]] of queues) {
        if (first === undefined || !mayBegin(workspace)) continue
        leave(first)
        moveToEnd(queues, workspace)
        return first
      }
      return undefined
    },
    goToBack: (workspace) => moveToEnd(queues, workspace),
    hasAny: (such) => queues.keys().some(such),
  }
}

function moveToEnd<T>(queues: Map<string, T>, workspace: string): void {
  const queue = queues.get(workspace)
  if (queue !== undefined && queues.delete(workspace)) queues.set(workspace, queue)
}

/**
 * The longest queue. Of several, the one whose turn is last, so that a newcomer does not displace
 * older work.
 */
function longest(queues: ReadonlyMap<string, ReadonlySet<Waiting>>): ReadonlySet<Waiting> {
  let found: ReadonlySet<Waiting> = new Set()
  for (const queue of queues.values()) if (queue.size >= found.size) found = queue
  return found
}

function newestOf(queue: ReadonlySet<Waiting>): Waiting {
  const newest = [...queue].at(-1)
  if (newest === undefined) throw new Error("somebody waits")
  return newest
}
