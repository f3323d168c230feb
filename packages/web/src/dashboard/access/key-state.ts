import type { ApiKey } from "@tallystick/client/wire"
import { dayMs } from "../../parts/spans.ts"

export function keyState({ revokedAt, expiresAt }: ApiKey): "live" | "revoked" | "expired" {
  if (revokedAt !== undefined) return "revoked"
  return expiresAt !== undefined && Date.parse(expiresAt) <= Date.now() ? "expired" : "live"
}

/** For 90 days, of a key that works. */
export function isUnused(key: ApiKey): boolean {
  const { lastUsedAt, createdAt } = key
  const isIdle = Date.now() - Date.parse(lastUsedAt ?? createdAt) > 90 * dayMs
  return isIdle && keyState(key) === "live"
}
