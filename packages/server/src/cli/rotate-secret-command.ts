// `tallystick secret rotate`: gives the data another secret, while the service is stopped.

import { readFileSync } from "node:fs"
import { ConfigError, readConfig, type Config } from "../config.ts"
import { LedgerError, StartError } from "../error.ts"
import { knownSecrets, makeSecret, replaceSecrets, knownRootKey, rootKeyPath } from "../operator/secret-files.ts"
import { aloneOptionsOf } from "../operator/offline-ledger.ts"
import type { KeepingKey } from "../operator/instance-key-tokens.ts"
import { rotateSecret } from "../operator/rotate-secret.ts"

export interface SecretCommand {
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly say: (text: string) => void
  /** Shows how far it has come, in a line that the next one replaces. Absent where nobody watches. */
  readonly progress: ((line: string) => void) | undefined
}

export async function runRotateSecret({ environment, say, progress }: SecretCommand): Promise<void> {
  process.umask(0o077)
  const config = readConfig(environment, (path) => readFileSync(path, "utf8"))
  const isKept = config.secret === undefined
  const { generation, wasOver } = await ended(
    rotateSecret({
      ...(isKept ? keptSecrets(config) : givenSecrets(config)),
      ...aloneOptionsOf(config),
      rootKeys: goodKeys(config),
      keep: isKept ? (secrets) => replaceSecrets(config, secrets) : () => {},
      progress: (step) => progress?.(step),
    }),
  )
  progress?.("")
  say(
    wasOver
      ? `There is nothing to rotate: the secret is the one of this data, generation ${generation}.\n`
      : `The secret is another one, generation ${generation}: all that was sealed is sealed anew, and the one before opens nothing of it.\n`,
  )
  say(
    isKept
      ? "The data folder keeps it. Backups that were made before open with the secret that is in them.\n"
      : "Start the service with TALLYSTICK_SECRET alone. Backups that were made before open with the secret before: keep it with them.\n",
  )
}

/** Those that the service takes. */
function goodKeys(config: Config): readonly KeepingKey[] {
  const rootKey = knownRootKey(config)
  if (rootKey === undefined)
    throw new StartError(`TALLYSTICK_ROOT_KEY is not set, and ${rootKeyPath(config)} is not there: the tokens that it has made would end`)
  const newest = { rootKey, from: config.rootKey === undefined ? rootKeyPath(config) : "TALLYSTICK_ROOT_KEY" }
  const { previousRootKey } = config
  return previousRootKey === undefined ? [newest] : [newest, { rootKey: previousRootKey, from: "TALLYSTICK_ROOT_KEY_PREVIOUS" }]
}

/** Two are there where a rotation was cut short; otherwise the next one is made. */
function keptSecrets(config: Config): { readonly secret: Uint8Array; readonly previous: Uint8Array } {
  if (config.previousSecret !== undefined)
    throw new ConfigError("TALLYSTICK_SECRET_PREVIOUS is set, and TALLYSTICK_SECRET, which is to follow it, is not")
  const { secret, previous } = knownSecrets(config)
  if (secret === undefined) throw new StartError(`there is no secret in ${config.data}, and TALLYSTICK_SECRET is not set`)
  return previous === undefined ? { secret: Buffer.from(makeSecret(), "hex"), previous: secret } : { secret, previous }
}

function givenSecrets({ secret, previousSecret }: Config): { readonly secret: Uint8Array; readonly previous: Uint8Array } {
  if (secret === undefined || previousSecret === undefined)
    throw new ConfigError("TALLYSTICK_SECRET_PREVIOUS is not set: set it to the secret before, and TALLYSTICK_SECRET to the new one")
  return { secret, previous: previousSecret }
}

/** What the ledger refuses meanwhile, such as for want of room, an operator can mend. */
async function ended<T>(rotation: Promise<T>): Promise<T> {
  try {
    return await rotation
  } catch (error) {
    if (error instanceof LedgerError) throw new StartError(`${error.detail}; then run this again, it goes on`, { cause: error })
    throw error
  }
}
