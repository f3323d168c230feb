// `tallystick resume`: has a backup's copy, or data that is older than what was signed, go on as the ledger, while the service is stopped.

import { readFileSync } from "node:fs"
import { readConfig } from "../config.ts"
import { knownSecrets } from "../operator/secret-files.ts"
import { resume, type WentOn } from "../operator/resume.ts"

export interface ResumeCommand {
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Only looks, and changes nothing. */
  readonly check: boolean
  readonly json: boolean
  readonly say: (text: string) => void
  readonly complain: (text: string) => void
  /** Shows how far it has come, in a line that the next one replaces. Absent where nobody watches. */
  readonly progress: ((line: string) => void) | undefined
}

/** Returns the exit code: 1 if nothing was changed, because what is kept does not hold together. */
export async function runResume({ environment, check, json, say, complain, progress }: ResumeCommand): Promise<number> {
  process.umask(0o077)
  const config = readConfig(environment, (path) => readFileSync(path, "utf8"))
  const resumed = await resume({
    data: config.data,
    headsPath: config.heads,
    secrets: knownSecrets(config),
    limits: config.limits,
    isTrial: check,
    progress: (workspace, done) => progress?.(`${workspace}: ${done} hashed again`),
  })
  progress?.("")
  if (json) say(`${JSON.stringify({ ...resumed, check }, null, 2)}\n`)
  switch (resumed.kind) {
    case "needless":
      if (!json) say("There is nothing to resume: the data is no copy, and has all that was signed.\n")
      return 0
    case "resumed":
      if (!json) say(resumed.workspaces.map((one) => sentenceOf(one, check)).join(""))
      if (!json && check) say("This was only a look: nothing was changed.\n")
      if (!json && !check) say(`Start the service, with the heads file ${config.heads}, and never the original again.\n`)
      for (const origin of resumed.strangers) complain(`tallystick: ${config.heads} also knows ${origin}, which this data does not have\n`)
      return 0
    case "refused":
      for (const reason of resumed.reasons) complain(`tallystick: ${reason}\n`)
      complain("tallystick: nothing was changed. tallystick fsck says more; restore an older backup, or look at the disk\n")
      return 1
  }
}

function sentenceOf({ workspace, entries, because, epoch, origin }: WentOn, check: boolean): string {
  if (because === undefined)
    return `${workspace}: its ${entries} entries are all that was signed; it ${check ? "would go" : "goes"} on as it is.\n`
  const next = check ? `it would go on in a new epoch, its ${epoch}.` : `it goes on in epoch ${epoch}, as ${origin}.`
  return `${workspace}: ${because}; ${next} Its ${entries} entries stay as they are; receipts of others are of entries that are lost.\n`
}
