// `tallystick reindex`: rebuilds the index and the search from the journal. The service must be
// stopped.

import { reindex } from "../operator/reindex.ts"
import { configOf, counted, type Terminal } from "./terminal.ts"

/** Returns the exit code: 1 if a chain is broken, which no index can repair. */
export async function runReindex(terminal: Terminal): Promise<number> {
  const { say, remark, progress } = terminal
  const config = configOf(terminal)
  const entries = new Map<string, number>()
  const troubles = await reindex(config, config.limits, (step) => {
    entries.set(step.workspace, step.done)
    progress(`${step.workspace}: ${step.done} of ${step.entries}`)
  })
  for (const trouble of troubles) remark(`tallystick: ${trouble}\n`)
  const sum = [...entries.values()].reduce((all, one) => all + one, 0)
  say(`Indexed ${sum} entries of ${counted(entries.size, "workspace")}.\n`)
  return troubles.length === 0 ? 0 : 1
}
