// The third program: makes entries findable, in a thread of its own beside the one that serves. It is in no hurry: the system gives it
// what the others leave, and whoever searches has it come up to the end first.

import { setPriority } from "node:os"
import { systemClock } from "./clock.ts"
import { LedgerError } from "./error.ts"
import { startFiling, type FilingReport } from "./followers/filing.ts"
import type { Limits } from "./limits.ts"
import { openFiling } from "./store/open.ts"
import { answer, givenToThread, startThread } from "./thread.ts"

export interface FilingOptions {
  readonly data: string
  readonly limits: Limits
}

export interface FilingBeside {
  /** Chains have grown, each to this head; or may have, if no head is given. */
  poke(heads: readonly { readonly workspace: string; readonly sequence?: number }[]): void
  /** Resolves when everything that was recorded until now can be found; a LedgerError if that takes too long. */
  findable(workspace: string): Promise<void>
  close(): Promise<void>
}

type FilingQuestions = {
  poke(workspaces: readonly string[]): void
  catchUp(workspace: string): Promise<number>
}

/** What the system is asked to give the thread's processor time: less than to all others, and still some. */
const niceness = 10

/** `onDeath` hears of an end that nobody asked for. */
export async function fileBeside(
  options: FilingOptions,
  report: (report: FilingReport) => void,
  onDeath: (cause: Error) => void,
): Promise<FilingBeside> {
  const heads = new Map<string, number>()
  const filed = new Map<string, number>()
  const hear = (said: FilingReport): void => {
    if (said.kind === "filed") for (const [workspace, position] of said.positions) filed.set(workspace, position)
    report(said)
  }
  const thread = await startThread<FilingQuestions, FilingReport>(import.meta.filename, options, { onDeath, onReport: hear })
  const fresh = new Set<string>()
  let telling = false
  // Who searches asks for what it needs at once; until then, few large steps cost less than many small ones.
  const tell = async (): Promise<void> => {
    telling = true
    while (fresh.size > 0) {
      const workspaces = [...fresh]
      fresh.clear()
      await thread.ask("poke", workspaces)
      await systemClock.sleep(options.limits.fileEveryMs)
    }
    telling = false
  }
  return {
    poke(grown) {
      for (const { workspace, sequence } of grown) {
        if (sequence !== undefined) heads.set(workspace, sequence)
        fresh.add(workspace)
      }
      // A thread that has ended says so by itself.
      if (!telling) tell().catch(() => undefined)
    },
    async findable(workspace) {
      const head = heads.get(workspace)
      if (head !== undefined && (filed.get(workspace) ?? 0) >= head) return
      const position = await Promise.race([
        thread.ask("catchUp", workspace).catch(() => undefined),
        systemClock.sleep(options.limits.findWaitMs).then(() => undefined),
      ])
      if (position === undefined)
        throw new LedgerError("ledger_unavailable", "what was recorded last cannot be found yet; ask again in a moment")
      // A workspace that nobody has written to since the start ends there; nobody else writes.
      if (!heads.has(workspace)) heads.set(workspace, position)
      filed.set(workspace, Math.max(position, filed.get(workspace) ?? 0))
    },
    close: () => thread.close(),
  }
}

const options = givenToThread<FilingOptions>(import.meta.filename)
if (options !== undefined) {
  beNice()
  const store = openFiling(options.data)
  const filing = startFiling({ store, clock: systemClock, limits: options.limits, report: (said) => report(said) })
  const report = answer<FilingQuestions, FilingReport>(
    { poke: (workspaces) => filing.poke(workspaces), catchUp: (workspace) => filing.catchUp(workspace) },
    async () => {
      await filing.close()
      await store.close()
    },
  )
}

/** On Linux this is the calling thread's own; where it is the whole process's, all of it would stand back. */
function beNice(): void {
  if (process.platform !== "linux") return
  try {
    setPriority(0, niceness)
  } catch {
    // Not allowed here. It files all the same.
  }
}
