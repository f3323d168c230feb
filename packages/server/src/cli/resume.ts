// `tallystick resume`: has a backup's copy go on as the ledger, while the service is stopped.

import { readFileSync } from "node:fs"
import { readConfig } from "../config.ts"
import { resume } from "../resume.ts"

export interface ResumeCommand {
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly say: (text: string) => void
  readonly complain: (text: string) => void
  /** Shows how far it has come, in a line that the next one replaces. Absent where nobody watches. */
  readonly progress: ((line: string) => void) | undefined
}

/** Returns the exit code: 1 if nothing was changed, because something that was signed is missing, or may be. */
export async function runResume({ environment, say, complain, progress }: ResumeCommand): Promise<number> {
  process.umask(0o077)
  const { data, heads } = readConfig(environment, (path) => readFileSync(path, "utf8"))
  const resumed = await resume(data, heads, (workspace, done) => progress?.(`${workspace}: ${done} hashed again`))
  progress?.("")
  switch (resumed.kind) {
    case "needless":
      say("There is nothing to resume: the data is no copy, and has all that was signed.\n")
      return 0
    case "resumed":
      say(
        `${resumed.entries} entries of ${resumed.workspaces} ${resumed.workspaces === 1 ? "workspace" : "workspaces"} are all that was signed. `,
      )
      say(`The mark is off: start the service, with the heads file ${heads}, and never the original again.\n`)
      for (const origin of resumed.strangers) complain(`tallystick: ${heads} also knows ${origin}, which this data does not have\n`)
      return 0
    case "refused":
      for (const reason of resumed.reasons) complain(`tallystick: ${reason}\n`)
      complain(
        `tallystick: going on from here could make a second history under the same name, and this version cannot open a new one yet. Nothing was changed: put the newer data back, bring the newest heads file (${heads}), or keep this data for reading\n`,
      )
      return 1
  }
}
