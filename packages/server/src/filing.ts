// The third program: files entries, in a thread of its own beside the one that serves. It is in no hurry: the system gives it what the
// others leave, and whoever searches looks through what is not filed yet.

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
  /** These workspaces have new entries, or may have. */
  poke(workspaces: readonly string[]): void
  /** Resolves when everything that was recorded until now is filed; a LedgerError if that takes too long. */
  catchUp(workspace: string): Promise<void>
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
  const thread = await startThread<FilingQuestions, FilingReport>(import.meta.filename, options, { onDeath, onReport: report })
  const fresh = new Set<string>()
  let telling = false
  // Few large steps cost less than many small ones.
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
    poke(workspaces) {
      for (const workspace of workspaces) fresh.add(workspace)
      // A thread that has ended says so by itself.
      if (!telling) tell().catch(() => undefined)
    },
    async catchUp(workspace) {
      const position = await Promise.race([
        thread.ask("catchUp", workspace).catch(() => undefined),
        systemClock.sleep(options.limits.findWaitMs).then(() => undefined),
      ])
      if (position === undefined)
        throw new LedgerError("ledger_unavailable", "what was recorded last cannot be found yet; ask again in a moment")
    },
    async close() {
      // What was written in the last moment has not been told yet.
      if (fresh.size > 0) await thread.ask("poke", [...fresh])
      await thread.close()
    },
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
