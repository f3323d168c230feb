// `tallystick keys`: lists, creates and revokes API keys through the running service, with the
// instance key. Each change is an entry of the ledger.

import type { ApiKey, NewApiKey } from "@tallystick/client"
import { asked, type AskingTerminal } from "./service-calls.ts"
import { tableOf } from "./table.ts"
import { counted, jsonText } from "./terminal.ts"

export async function listKeys(
  terminal: AskingTerminal,
  workspaceId: string,
  json: boolean,
): Promise<void> {
  const keys = await asked(terminal, ({ apiKeys }) =>
    Array.fromAsync(apiKeys.each(workspaceId, { limit: 100 })),
  )
  terminal.say(json ? jsonText(keys) : tableOf(rowsOf(keys)))
}

/**
 * Prints the key alone on standard output, so that a script can take it: KEY=$(tallystick keys
 * create …).
 */
export async function createKey(
  terminal: AskingTerminal,
  workspaceId: string,
  request: NewApiKey,
): Promise<void> {
  const { key, keyId, scopes, expiresAt } = await asked(terminal, ({ apiKeys }) =>
    apiKeys.create(workspaceId, request),
  )
  terminal.say(`${key}\n`)
  const until = expiresAt === undefined ? "" : ` until ${expiresAt}`
  terminal.remark(
    `tallystick: key ${keyId} may ${scopes.join(", ")} in ${workspaceId}${until}. It is shown only once.\n`,
  )
}

export async function revokeKey(
  terminal: AskingTerminal,
  workspaceId: string,
  keyId: string,
): Promise<void> {
  const made = await asked(terminal, ({ apiKeys }) => apiKeys.revoke(workspaceId, keyId))
  terminal.remark(
    `tallystick: key ${keyId} of ${workspaceId} no longer works, nor do the tokens made with it.\n`,
  )
  if (made === undefined) return
  const live = `${counted(made.apiKeys.length, "key")} and ${counted(made.members.length, "member")} made with it, or by those, remain`
  terminal.remark(
    `tallystick: ${live}. To revoke them too: DELETE /v1/workspaces/${workspaceId}/api-keys/${keyId}?cascade=true\n`,
  )
}

function rowsOf(keys: readonly ApiKey[]): readonly (readonly string[])[] {
  const rows = keys.map(
    ({ keyId, scopes, projectIds, createdAt, expiresAt = "-", revokedAt, name }) => [
      keyId,
      revokedAt === undefined ? "live" : "revoked",
      scopes.join(","),
      projectIds?.join(",") ?? "all",
      createdAt,
      expiresAt,
      name,
    ],
  )
  return [["KEY", "STATE", "SCOPES", "PROJECTS", "CREATED", "EXPIRES", "NAME"], ...rows]
}
