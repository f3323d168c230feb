// Which instance keys have live tokens. The data does not contain the keys themselves: a key is
// recognised by the tokens made with it.

import { systemClock } from "../clock.ts"
import { StartError } from "../error.ts"
import { instanceKeyName, type Keyring } from "../secrets/keyring.ts"
import { every } from "../store/all-documents.ts"
import type { Registry } from "../store/store.ts"

/** Current names of the instance keys with live tokens: neither revoked nor expired. */
export async function keysWithTokens(
  registry: Registry,
  { formerNames }: Keyring,
): Promise<ReadonlySet<string>> {
  const nowMs = systemClock.now()
  const names = new Set<string>()
  for await (const { id } of every(registry, "workspace", undefined)) {
    for await (const { value } of every(registry, "token", id)) {
      const { minter, revokedAt, expiresAt } = value
      if (minter.kind === "instance" && revokedAt === undefined && Date.parse(expiresAt) > nowMs)
        names.add(formerNames[minter.mac] ?? minter.mac)
    }
  }
  return names
}

/** An instance key whose tokens shall stay valid. */
export interface KeepingKey {
  readonly rootKey: string
  /** The setting or the file that has it. */
  readonly from: string
}

/**
 * Refuses a wrong key: it would keep no token, and the tokens of the right key would silently stop
 * working.
 */
export async function assertKeysWithTokens(
  registry: Registry,
  keyring: Keyring,
  keys: readonly KeepingKey[],
): Promise<void> {
  const out = await keysWithTokens(registry, keyring)
  const named = keys.map(({ rootKey, from }) => ({
    name: instanceKeyName(keyring.secret, rootKey),
    from,
  }))
  // Tokens of the given keys and of former keys stay valid. Only if others would end can a key
  // without tokens be a mistake.
  const ending = out.difference(
    new Set([...keyring.instanceKeys, ...named.map(({ name }) => name)]),
  )
  const mistaken = named.find(({ name }) => !out.has(name) && !keyring.instanceKeys.includes(name))
  if (mistaken !== undefined && ending.size > 0)
    throw new StartError(
      `${mistaken.from} is not the instance key that has made the live tokens, so they would stop working: give the key that the service ran with. If that key is lost, they no longer work: revoke each of them, and run this again`,
    )
}
