// `tallystick reindex`: makes again what is derived from the journal, while the service is stopped.

import { readFileSync } from "node:fs"
import { readConfig } from "../config.ts"
import { reindex } from "../operator/reindex.ts"

export interface ReindexCommand {
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly say: (text: string) => void
  readonly complain: (text: string) => void
  /** Shows how far it has come, in a line that the next one replaces. Absent where nobody watches. */
  readonly progress: ((line: string) => void) | undefined
}

/** Returns the exit code: 1 if a chain does not hold together, which no index can mend. */
export async function runReindex({ environment, say, complain, progress }: ReindexCommand): Promise<number> {
  // As when it serves: what is made is for its own account to read.
  process.umask(0o077)
  const { data, limits } = readConfig(environment, (path) => readFileSync(path, "utf8"))
  const entries = new Map<string, number>()
  const troubles = await reindex(data, limits, (step) => {
    entries.set(step.workspace, step.done)
    progress?.(`${step.workspace}: ${step.done} of ${step.entries}`)
  })
  progress?.("")
  for (const trouble of troubles) complain(`tallystick: ${trouble}\n`)
  const sum = [...entries.values()].reduce((all, one) => all + one, 0)
  say(`${sum} entries of ${entries.size} ${entries.size === 1 ? "workspace" : "workspaces"} can be found again.\n`)
  return troubles.length === 0 ? 0 : 1
}
