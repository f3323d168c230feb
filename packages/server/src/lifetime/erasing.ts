// Carries out erasures in the background: new ones, those that a crash interrupted, and those whose
// last hold was released.

import { pause, type Clock } from "../clock.ts"
import type { Store } from "../store/store.ts"
import type { Workspaces } from "../workspace/workspaces.ts"
import type { Erasures } from "./erasures.ts"

export interface Erasing {
  /** An erasure was requested, or a hold was released. */
  poke(workspace: string): void
  close(): Promise<void>
}

export interface ErasingParts {
  readonly erasures: Pick<Erasures, "carryOut" | "note">
  readonly workspaces: Pick<Workspaces, "get">
  readonly grown: Store["grown"]
  readonly isOurs: (workspace: string) => Promise<boolean>
  readonly clock: Clock
  readonly failed: (workspace: string, error: unknown) => void
}

/** How often a workspace is checked at most for erasures that another server has left open. */
const lookEveryMs = 60_000
/**
 * The same for a workspace where another server has an erasure open, and may die: about the time of
 * a lease.
 */
const lookAgainMs = 5000
const passEveryMs = 1000
/** The pause after a failure, so that a failing disk is not asked all the time. */
const retryAfterMs = 5000

export function startErasing({
  erasures,
  workspaces,
  grown,
  isOurs,
  clock,
  failed,
}: ErasingParts): Erasing {
  const stop = new AbortController()
  const running = new Map<string, Promise<void>>()
  /** When each workspace may be checked again. */
  const pausesUntilMs = new Map<string, number>()

  /** Workspaces that were poked while they ran, and run once more. */
  const again = new Set<string>()
  const poke = (workspace: string): void => {
    if (stop.signal.aborted) return
    if (running.has(workspace)) again.add(workspace)
    else running.set(workspace, run(workspace))
  }
  const run = async (workspace: string): Promise<void> => {
    do {
      again.delete(workspace)
      try {
        await erasures.carryOut(await workspaces.get(workspace), stop.signal)
      } catch (error) {
        if (stop.signal.aborted) break
        failed(workspace, error)
        again.add(workspace)
        await pause(clock, retryAfterMs, stop.signal)
      }
    } while (again.has(workspace) && !stop.signal.aborted)
    running.delete(workspace)
  }
  /** Workspaces to check once their pause is over. */
  const due = new Set<string>()
  const lookAgain = (workspace: string): void => {
    due.add(workspace)
    pausesUntilMs.set(workspace, clock.elapsed() + lookAgainMs)
  }
  const look = async (workspace: string): Promise<void> => {
    try {
      if (await isOurs(workspace)) poke(workspace)
      else if (await erasures.note(await workspaces.get(workspace))) lookAgain(workspace)
    } catch (error) {
      if (stop.signal.aborted) return
      failed(workspace, error)
      lookAgain(workspace)
    }
  }
  const lookAt = async (workspaces: Iterable<string>): Promise<void> => {
    for (const workspace of workspaces) {
      if (stop.signal.aborted) return
      if (clock.elapsed() < (pausesUntilMs.get(workspace) ?? -Infinity)) continue
      pausesUntilMs.set(workspace, clock.elapsed() + lookEveryMs)
      due.delete(workspace)
      await look(workspace)
    }
  }
  const listen = async (): Promise<void> => {
    for await (const names of grown(stop.signal)) {
      for (const name of names) due.add(name)
      await lookAt(names)
    }
  }
  const lookLater = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      await pause(clock, passEveryMs, stop.signal)
      await lookAt(due)
    }
  }
  const looking = Promise.all([listen(), lookLater()])

  return {
    poke,
    async close() {
      stop.abort()
      await looking
      await Promise.all(running.values())
    },
  }
}
