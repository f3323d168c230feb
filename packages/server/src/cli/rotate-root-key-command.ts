// `tallystick root-key rotate`: replaces the instance key. The service must be stopped.

import { ConfigError, type Config } from "../config.ts"
import type { KeepingKey } from "../operator/instance-key-tokens.ts"
import { offlineOptionsOf } from "../operator/offline-ledger.ts"
import { rotateRootKey } from "../operator/rotate-root-key.ts"
import {
  makeRootKey,
  replaceRootKey,
  requiredRootKey,
  requiredSecrets,
  rootKeyPath,
} from "../operator/secret-files.ts"
import { configOf, type Terminal } from "./terminal.ts"

export async function runRotateRootKey(terminal: Terminal, revokesTokens: boolean): Promise<void> {
  const config = configOf(terminal)
  await rotateRootKey({
    ...offlineOptionsOf(config),
    secrets: requiredSecrets(config),
    previous: revokesTokens ? undefined : oldKey(config),
    given: [config.rootKey, config.previousRootKey].filter((key) => key !== undefined),
  })
  // The last step: if the command is interrupted earlier, the old key and all its tokens still
  // work.
  if (config.rootKey === undefined) replaceRootKey(config, makeRootKey())
  terminal.say(
    config.rootKey === undefined
      ? `${rootKeyPath(config)} holds the new instance key.\n`
      : "TALLYSTICK_ROOT_KEY is the new instance key. The old one works as long as TALLYSTICK_ROOT_KEY_PREVIOUS names it.\n",
  )
  terminal.say(
    revokesTokens
      ? "Tokens made with an instance key no longer work. API keys and members made with one remain: review them.\n"
      : "Tokens made with the old key still work.\n",
  )
}

function oldKey(config: Config): KeepingKey {
  const { rootKey, previousRootKey } = config
  if (rootKey === undefined) return requiredRootKey(config)
  if (previousRootKey === undefined || previousRootKey === rootKey)
    throw new ConfigError(
      "TALLYSTICK_ROOT_KEY_PREVIOUS must be the old instance key, and TALLYSTICK_ROOT_KEY the new one",
    )
  return { rootKey: previousRootKey, from: "TALLYSTICK_ROOT_KEY_PREVIOUS" }
}
