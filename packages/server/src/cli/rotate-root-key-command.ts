// `tallystick root-key rotate`: puts another instance key in the place of one, while the service is stopped.

import { readFileSync } from "node:fs"
import { ConfigError, readConfig, type Config } from "../config.ts"
import { StartError } from "../error.ts"
import { knownRootKey, knownSecrets, makeRootKey, replaceRootKey, rootKeyPath } from "../operator/secret-files.ts"
import { aloneOptionsOf } from "../operator/offline-ledger.ts"
import type { KeepingKey } from "../operator/instance-key-tokens.ts"
import { rotateRootKey } from "../operator/rotate-root-key.ts"

export interface RootKeyCommand {
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly revokesTokens: boolean
  readonly say: (text: string) => void
}

export async function runRotateRootKey({ environment, revokesTokens, say }: RootKeyCommand): Promise<void> {
  process.umask(0o077)
  const config = readConfig(environment, (path) => readFileSync(path, "utf8"))
  const { secret, previous: previousSecret } = knownSecrets(config)
  if (secret === undefined) throw new StartError(`there is no secret in ${config.data}, and TALLYSTICK_SECRET is not set`)
  await rotateRootKey({
    ...aloneOptionsOf(config),
    secrets: { secret, previous: previousSecret },
    previous: revokesTokens ? undefined : goingKey(config),
    given: [config.rootKey, config.previousRootKey].filter((key) => key !== undefined),
  })
  // Last: cut short before, the key is still the one before, and all that it has made lives.
  if (config.rootKey === undefined) replaceRootKey(config, makeRootKey())
  say(
    config.rootKey === undefined
      ? `The instance key is another one, and is kept in ${rootKeyPath(config)}.\n`
      : "The instance key is the one in TALLYSTICK_ROOT_KEY; the one before is good as long as TALLYSTICK_ROOT_KEY_PREVIOUS names it.\n",
  )
  say(
    revokesTokens
      ? "The tokens that instance keys have made open nothing any more. API keys and members that they have made stay: look at them.\n"
      : "The tokens that the one before has made live on.\n",
  )
}

function goingKey(config: Config): KeepingKey {
  const { rootKey, previousRootKey } = config
  if (rootKey !== undefined) {
    if (previousRootKey === undefined || previousRootKey === rootKey)
      throw new ConfigError("TALLYSTICK_ROOT_KEY_PREVIOUS must be the instance key before, and TALLYSTICK_ROOT_KEY the new one")
    return { rootKey: previousRootKey, from: "TALLYSTICK_ROOT_KEY_PREVIOUS" }
  }
  const kept = knownRootKey(config)
  if (kept === undefined) throw new StartError(`TALLYSTICK_ROOT_KEY is not set, and ${rootKeyPath(config)} is not there`)
  return { rootKey: kept, from: rootKeyPath(config) }
}
