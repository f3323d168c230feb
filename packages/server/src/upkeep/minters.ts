// Which instance keys have tokens out. A key itself is nowhere in the data: what it has made tells whether it is the one that is meant.

import { systemClock } from "../clock.ts"
import { every } from "../store/every.ts"
import type { Registry } from "../store/store.ts"

/** The names of the instance keys that have made a token which is neither revoked nor over. */
export async function mintersOut(registry: Registry): Promise<ReadonlySet<string>> {
  const nowMs = systemClock.now()
  const names = new Set<string>()
  for await (const { value } of every(registry, "token", undefined)) {
    const { minter, revokedAt, expiresAt } = value
    if (minter.kind === "instance" && revokedAt === undefined && Date.parse(expiresAt) > nowMs) names.add(minter.mac)
  }
  return names
}
