// `tallystick backup`: copies the ledger into a folder of its own, also while it is served.

import { readFileSync } from "node:fs"
import { backUp, type BackupProgress } from "../operator/backup.ts"
import { readConfig } from "../config.ts"

export interface BackupCommand {
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly target: string
  readonly withSecrets: boolean
  readonly say: (text: string) => void
  /** Shows how far it has come, in a line that the next one replaces. Absent where nobody watches. */
  readonly progress: ((line: string) => void) | undefined
}

export async function runBackup({ environment, target, withSecrets, say, progress }: BackupCommand): Promise<void> {
  // As when it serves: what is made is for its own account to read.
  process.umask(0o077)
  const config = readConfig(environment, (path) => readFileSync(path, "utf8"))
  const show = (step: BackupProgress): void => progress?.(lineOf(step))
  const { workspaces, entries, secrets } = await backUp({ data: config.data, headsPath: config.heads, target, withSecrets, progress: show })
  progress?.("")
  say(
    `${entries} entries of ${workspaces} ${workspaces === 1 ? "workspace" : "workspaces"} are copied to ${target}, and were all hashed again.\n`,
  )
  say(
    secrets.includes("secret")
      ? "The secret is in it: whoever has the copy can sign in the ledger's name.\n"
      : "The secret is not in it: keep it apart, for without it nothing can be signed, and no key is known.\n",
  )
}

function lineOf(step: BackupProgress): string {
  if (step.kind === "hashed") return `${step.workspace}: ${step.done} hashed again`
  return `${Math.floor((100 * step.done) / Math.max(step.pages, 1))} % copied`
}
