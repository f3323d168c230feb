// `tallystick export`: writes a whole ledger into a folder, also while it is served, for whoever wants to check it or keep it.

import { readFileSync } from "node:fs"
import { systemClock } from "../clock.ts"
import { readConfig, type Config } from "../config.ts"
import { StartError } from "../error.ts"
import { knownSecrets } from "../operator/secret-files.ts"
import { isLocked } from "../store/sqlite/lock.ts"
import { administrationOf, alone, aloneOptionsOf, ReadOnlyError } from "../operator/offline-ledger.ts"
import { exportLedger } from "../operator/export.ts"
import { recordExport } from "../workspace/export-entries.ts"
import { openKeyring } from "../workspace/stored-keyring.ts"
import { asked } from "./keys-command.ts"

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
  const config = readConfig(environment, (path) => readFileSync(path, "utf8"))
  const { data } = config
  const { entries, added } = await exportLedger({
    data,
    workspace,
    folder,
    // An administrative act: what cannot be recorded is not given out.
    async announce(count, isCopy) {
      if (isLocked(data)) await asked({ environment, url }, ({ workspaces }) => workspaces.recordExport(workspace, { entries: count }))
      // A copy, or data that misses its end, is for reading alone, and may be all that there is.
      else if (isCopy || !(await isRecorded(config, workspace, count))) remark(unrecorded)
    },
    progress: (done) => progress?.(`${done} entries`),
  })
  progress?.("")
  say(
    `${entries} entries of ${workspace} are in ${folder}, ${added} of them new. What is sealed is in disclosures/: take it out for who may not see it.\n`,
  )
}

const unrecorded = "tallystick: this data can only be read, so no entry records that it is exported\n"

/** Records it while nobody serves; false for data that may not be written to. */
async function isRecorded(config: Config, id: string, entries: number): Promise<boolean> {
  const { secret, previous } = knownSecrets(config)
  if (secret === undefined) throw new StartError(`there is no secret in ${config.data}, and TALLYSTICK_SECRET is not set`)
  const options = aloneOptionsOf(config)
  try {
    await alone(options, async (store) => {
      const { ledger, workspaces } = administrationOf(options, store, await openKeyring(store.registry, { secret, previous }))
      await recordExport({ ledger, clock: systemClock }, { kind: "instance" }, await workspaces.get(id), entries)
    })
    return true
  } catch (error) {
    if (error instanceof ReadOnlyError) return false
    throw error
  }
}
