// `tallystick copy`: copies a ledger from a folder into a database, or back. No service may run on
// either.

import { join } from "node:path"
import { equalBytes } from "@tallystick/proof"
import { copySecrets } from "../operator/backup.ts"
import { copyLedger } from "../operator/copy-ledger.ts"
import { knownSecrets, requiredSecrets } from "../operator/secret-files.ts"
import { databaseUrlOf, type Config } from "../config.ts"
import { StartError } from "../error.ts"
import { placeName } from "../store/open.ts"
import { checkLedger } from "./fsck-command.ts"
import { configOf, counted, type Terminal } from "./terminal.ts"

/** Returns the exit code of the `fsck` with which it ends. */
export async function runCopy(terminal: Terminal, from: string, to: string): Promise<number> {
  const { say, progress } = terminal
  const [source, target] = [configAt(terminal, from, "--from"), configAt(terminal, to, "--to")]
  // The folder that is copied replaces TALLYSTICK_DATA.
  const secrets =
    source.databaseUrl === undefined
      ? requiredSecrets(source, "name the data of the service with --from")
      : requiredSecrets(source)
  const known = knownSecrets(target).secret
  if (known !== undefined && !equalBytes(known, secrets.secret))
    throw new StartError(
      `the secret for ${placeName(target)}, in ${target.secret === undefined ? join(target.data, "secret") : "TALLYSTICK_SECRET"}, is not the one of ${placeName(source)}: a copied ledger keeps its secret`,
    )
  const { workspaces, entries, before } = await copyLedger({
    from: source,
    to: target,
    secrets,
    limits: target.limits,
    progress,
  })
  if (target.databaseUrl === undefined) copySecrets(source.data, target.data)
  say(
    `Copied ${entries} entries of ${counted(workspaces, "workspace")}${before === 0 ? "" : `, ${before} of them before`}.\n`,
  )
  const code = await checkLedger(terminal, target)
  if (code === 0)
    say(
      "Start the service on the copy, with the same secret and instance key. Never start it on the original again.\n",
    )
  return code
}

/** The settings of a service with its ledger at this place. */
function configAt(terminal: Terminal, place: string, option: string): Config {
  const isDatabase = /^postgres(ql)?:/.test(place)
  if (isDatabase) databaseUrlOf(place, option)
  const { TALLYSTICK_DATABASE_URL: _, ...environment } = terminal.environment
  return configOf({
    environment: {
      ...environment,
      ...(isDatabase ? { TALLYSTICK_DATABASE_URL: place } : { TALLYSTICK_DATA: place }),
    },
  })
}
