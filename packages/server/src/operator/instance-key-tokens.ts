// Which instance keys have tokens out. A key itself is nowhere in the data: what it has made tells whether it is the one that is meant.

import { systemClock } from "../clock.ts"
import { StartError } from "../error.ts"
import { instanceKeyName, type Keyring } from "../secrets/keyring.ts"
import { every } from "../store/every.ts"
import type { Registry } from "../store/store.ts"

/** The names, as they are now, of the instance keys that have made a token which is neither revoked nor over. */
export async function mintersOut(registry: Registry, { formerNames }: Keyring): Promise<ReadonlySet<string>> {
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

/** A key that keeps what it has made. */
export interface KeepingKey {
  readonly rootKey: string
  /** The setting or the file that it is from. */
  readonly from: string
}

/** A mistaken key would keep nothing, and what the right one has made would end without a word. */
export async function assertMinters(registry: Registry, keyring: Keyring, keys: readonly KeepingKey[]): Promise<void> {
  const out = await mintersOut(registry, keyring)
  const named = keys.map(({ rootKey, from }) => ({ name: instanceKeyName(keyring.secret, rootKey), from }))
  // What former keys have made lives on in any case, and what the others here have made: neither says anything of one that made nothing.
  const ending = out.difference(new Set([...keyring.instanceKeys, ...named.map(({ name }) => name)]))
  const mistaken = named.find(({ name }) => !out.has(name) && !keyring.instanceKeys.includes(name))
  if (mistaken !== undefined && ending.size > 0)
    throw new StartError(
      `${mistaken.from} is not the instance key that has made the tokens that are out, and they would end: give the one that the service ran with; if that is lost, they have ended already: revoke each of them, and run this again`,
    )
}
