// `tallystick export`: writes a ledger into a folder of plain files that anyone can check. The
// service may run.

import type { Config } from "../config.ts"
import { exportLedger } from "../operator/export.ts"
import {
  administrationOf,
  offlineOptionsOf,
  ReadOnlyError,
  withOfflineStore,
} from "../operator/offline-ledger.ts"
import { requiredSecrets } from "../operator/secret-files.ts"
import { isInUse } from "../store/open-offline.ts"
import { recordExport } from "../workspace/recorded-reads.ts"
import { openKeyring } from "../workspace/stored-keyring.ts"
import { asked, type AskingTerminal } from "./service-calls.ts"
import { configOf, type Terminal } from "./terminal.ts"

export async function runExport(
  terminal: Terminal & AskingTerminal,
  workspace: string,
  folder: string,
): Promise<void> {
  const { say, remark, progress } = terminal
  const config = configOf(terminal)
  const { entries, added } = await exportLedger({
    ...config,
    workspace,
    folder,
    // An export is an administrative act: without its entry, nothing is written.
    async announce(count, isCopy) {
      if (await isInUse(config))
        await asked(terminal, ({ workspaces }) =>
          workspaces.recordExport(workspace, { entries: count }),
        )
      // Nothing can be recorded in read-only data. Export it all the same: it may be all that is
      // left of the ledger.
      else if (isCopy || !(await isRecorded(config, workspace, count))) remark(unrecorded)
    },
    progress: (done) => progress(`${done} entries`),
  })
  say(
    `${entries} entries of ${workspace} are in ${folder}, ${added} of them new. disclosures/ holds what the bodies hide, such as e-mail addresses: remove it for readers who must not see that.\n`,
  )
}

const unrecorded = "tallystick: this data is read-only, so no entry records the export\n"

/** Records the export while no service runs. False if the data is read-only. */
async function isRecorded(config: Config, id: string, entries: number): Promise<boolean> {
  const secrets = requiredSecrets(config)
  const options = offlineOptionsOf(config)
  try {
    await withOfflineStore(options, async (store) => {
      const keyring = await openKeyring(store.registry, secrets)
      const administration = administrationOf(options, store, keyring)
      const workspace = await administration.workspaces.get(id)
      await recordExport(administration, { kind: "instance" }, workspace, entries)
    })
    return true
  } catch (error) {
    if (error instanceof ReadOnlyError) return false
    throw error
  }
}
