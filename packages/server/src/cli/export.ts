// `tallystick export`: writes a whole ledger into a folder, also while it is served, for whoever wants to check it or keep it.

import { readFileSync } from "node:fs"
import { readConfig } from "../config.ts"
import { isServed } from "../store/open.ts"
import { exportLedger } from "../upkeep/export.ts"
import { asked } from "./keys.ts"

export interface ExportCommand {
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly workspace: string
  readonly folder: string
  readonly url: string | undefined
  readonly say: (text: string) => void
  readonly remark: (text: string) => void
  /** Shows how far it has come, in a line that the next one replaces. Absent where nobody watches. */
  readonly progress: ((line: string) => void) | undefined
}

export async function runExport({ environment, workspace, folder, url, say, remark, progress }: ExportCommand): Promise<void> {
  // What is sealed is in it, for its own account to read.
  process.umask(0o077)
  const { data } = readConfig(environment, (path) => readFileSync(path, "utf8"))
  const { entries, added } = await exportLedger({
    data,
    workspace,
    folder,
    // An administrative act: what cannot be recorded is not given out. Whoever stops the service could copy its files as well, and nobody would know.
    async announce(count) {
      if (isServed(data)) await asked({ environment, url }, ({ workspaces }) => workspaces.recordExport(workspace, { entries: count }))
      else remark("tallystick: nobody serves this data, so no entry records that it is exported\n")
    },
    progress: (done) => progress?.(`${done} entries`),
  })
  progress?.("")
  say(
    `${entries} entries of ${workspace} are in ${folder}, ${added} of them new. What is sealed is in disclosures/: take it out for who may not see it.\n`,
  )
}
