// Admission control: so much work of a kind is under way at once, and workspaces take turns. Work that waits too long is refused, and
// work whose client has left is dropped before it begins.

import type { Clock } from "../clock.ts"
import { LedgerError } from "../error.ts"

export interface AdmissionLimits {
  /** Under way at once, in all and of one workspace. */
  readonly atOnceMax: number
  readonly perWorkspaceMax: number
  /** Waiting, in all. Beyond it the workspace with the most waiting loses its newest. */
  readonly waitingMax: number
  readonly waitMs: number
}

export interface AdmissionOptions extends AdmissionLimits {
  /** What there is too much of, for the sentence. */
  readonly of: string
}

export interface Admission {
  /**
   * Does the work when the workspace's turn has come. Rejects with `overloaded` if that takes too long, and with the signal's reason if that
   * is aborted first; then the work has not begun. Work that has begun is left to end: it looks at its signal itself.
   */
  run<T>(workspace: string, signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T>
  /** The same for work that goes on beyond a promise: resolves, when the turn has come, with what ends it, to be called once. */
  begin(workspace: string, signal: AbortSignal | undefined): Promise<() => void>
}

interface Waiting {
  readonly workspace: string
  readonly untilMs: number
  begin(): void
  refuse(reason: LedgerError): void
}

export function createAdmission(clock: Clock, options: AdmissionOptions): Admission {
  const { atOnceMax, perWorkspaceMax } = options
  const line = createLine(clock, options)
  /** How much of each workspace is under way. */
  const running = new Map<string, number>()
  let runningInAll = 0

  const mayBegin = (workspace: string): boolean => runningInAll < atOnceMax && (running.get(workspace) ?? 0) < perWorkspaceMax
  const count = (workspace: string): void => {
    runningInAll += 1
    running.set(workspace, (running.get(workspace) ?? 0) + 1)
  }
  const end = (workspace: string): void => {
    runningInAll -= 1
    const left = (running.get(workspace) ?? 0) - 1
    if (left > 0) running.set(workspace, left)
    else running.delete(workspace)
    // Not when it began: who has come meanwhile was not served, and goes before it.
    line.goBehind(workspace)
    for (let next = line.next(mayBegin); next !== undefined; next = line.next(mayBegin)) {
      count(next.workspace)
      next.begin()
    }
  }

  /** What is to be waited for, if anything. */
  const enter = (workspace: string, signal: AbortSignal | undefined): Promise<void> | undefined => {
    signal?.throwIfAborted()
    // Whoever ends before counts it as begun.
    if (!mayBegin(workspace)) return line.wait(workspace, signal)
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
  }
}

interface Line {
  /** Resolves when it may begin. */
  wait(workspace: string, signal: AbortSignal | undefined): Promise<void>
  /** Takes out the first of the workspace whose turn it is, of those that may begin; the workspace then goes behind the others. */
  next(mayBegin: (workspace: string) => boolean): Waiting | undefined
  goBehind(workspace: string): void
}

function createLine(clock: Clock, { waitingMax, waitMs, of }: AdmissionOptions): Line {
  /** All that waits, the oldest first; and the same by workspace, the one whose turn is next first. */
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
    one.refuse(new LedgerError("overloaded", `there are more ${of} than can be answered in time; ask again in a moment`))
  }
  const enter = (one: Waiting): void => {
    waiting.add(one)
    const queue = queues.get(one.workspace)
    if (queue === undefined) queues.set(one.workspace, new Set([one]))
    else queue.add(one)
    if (waiting.size > waitingMax) refuse(newestOf(longest(queues)))
    if (!isExpiring) void expire()
  }
  /** All wait equally long, so it is always the oldest whose time is over first. */
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
      const one: Waiting = { workspace, untilMs: clock.elapsed() + waitMs, begin: resolve, refuse: reject }
      const depart = (): void => {
        leave(one)
        reject(signal?.reason as Error) // whoever aborts says why with an error
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
    goBehind: (workspace) => moveToEnd(queues, workspace),
  }
}

function moveToEnd<T>(queues: Map<string, T>, workspace: string): void {
  const queue = queues.get(workspace)
  if (queue !== undefined && queues.delete(workspace)) queues.set(workspace, queue)
}

/** Of several that are as long, the one whose turn is last: who has waited longest is not refused for a newcomer. */
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
