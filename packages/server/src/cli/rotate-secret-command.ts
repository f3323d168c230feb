// `tallystick secret rotate`: replaces the secret. The service must be stopped.

import { ConfigError, type Config } from "../config.ts"
import { LedgerError, StartError } from "../error.ts"
import type { KeepingKey } from "../operator/instance-key-tokens.ts"
import { offlineOptionsOf } from "../operator/offline-ledger.ts"
import { rotateSecret } from "../operator/rotate-secret.ts"
import {
  makeSecret,
  replaceSecrets,
  requiredRootKey,
  requiredSecrets,
} from "../operator/secret-files.ts"
import { configOf, type Terminal } from "./terminal.ts"

export async function runRotateSecret(
  terminal: Pick<Terminal, "environment" | "say" | "progress">,
): Promise<void> {
  const { say, progress } = terminal
  const config = configOf(terminal)
  const isKept = config.secret === undefined
  const { generation, wasOver } = await mendable(
    rotateSecret({
      ...(isKept ? keptSecrets(config) : givenSecrets(config)),
      ...offlineOptionsOf(config),
      rootKeys: goodKeys(config),
      keep: isKept ? (secrets) => replaceSecrets(config, secrets) : () => {},
      progress,
    }),
  )
  say(
    wasOver
      ? `There is nothing to rotate: this data already uses the secret, generation ${generation}.\n`
      : `The new secret is generation ${generation}: everything that was sealed is sealed again, and the old secret opens none of it.\n`,
  )
  say(
    isKept
      ? "The data folder holds the new secret. An older backup needs the secret that it includes.\n"
      : "Start the service with TALLYSTICK_SECRET alone. Keep the old secret with the older backups: they need it.\n",
  )
}

function goodKeys(config: Config): readonly KeepingKey[] {
  const newest = requiredRootKey(config)
  const { previousRootKey } = config
  return previousRootKey === undefined
    ? [newest]
    : [newest, { rootKey: previousRootKey, from: "TALLYSTICK_ROOT_KEY_PREVIOUS" }]
}

interface Exchange {
  readonly secret: Uint8Array
  readonly previous: Uint8Array
}

/**
 * The file holds two secrets if a rotation was cut short. If it holds one, the next one is made
 * here.
 */
function keptSecrets(config: Config): Exchange {
  if (config.previousSecret !== undefined)
    throw new ConfigError(
      "TALLYSTICK_SECRET_PREVIOUS is set, and TALLYSTICK_SECRET, the new secret, is not",
    )
  const { secret, previous } = requiredSecrets(config)
  return previous === undefined
    ? { secret: Buffer.from(makeSecret(), "hex"), previous: secret }
    : { secret, previous }
}

function givenSecrets({ secret, previousSecret }: Config): Exchange {
  if (secret === undefined || previousSecret === undefined)
    throw new ConfigError(
      "TALLYSTICK_SECRET_PREVIOUS is not set: set it to the old secret, and TALLYSTICK_SECRET to the new one",
    )
  return { secret, previous: previousSecret }
}

/**
 * Turns a refusal during a rotation, such as lack of space, into a message that tells the operator
 * what to do.
 */
async function mendable<T>(rotation: Promise<T>): Promise<T> {
  try {
    return await rotation
  } catch (error) {
    if (error instanceof LedgerError)
      throw new StartError(
        `${error.detail}; then run this again, and it continues where it stopped`,
        { cause: error },
      )
    throw error
  }
}
