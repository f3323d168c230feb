// `tallystick export`: writes a whole ledger into a folder, also while it is served, for whoever wants to check it or keep it.

import { readFileSync } from "node:fs"
import { readConfig } from "../config.ts"
import { exportLedger } from "../upkeep/export.ts"

export interface ExportCommand {
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly workspace: string
  readonly folder: string
  readonly say: (text: string) => void
  /** Shows how far it has come, in a line that the next one replaces. Absent where nobody watches. */
  readonly progress: ((line: string) => void) | undefined
}

export async function runExport({ environment, workspace, folder, say, progress }: ExportCommand): Promise<void> {
  // What is sealed is in it, for its own account to read.
  process.umask(0o077)
  const { data } = readConfig(environment, (path) => readFileSync(path, "utf8"))
  const { entries, added } = await exportLedger(data, workspace, folder, (done) => progress?.(`${done} entries`))
  progress?.("")
  say(
    `${entries} entries of ${workspace} are in ${folder}, ${added} of them new. What is sealed is in disclosures/: take it out for who may not see it.\n`,
  )
}
