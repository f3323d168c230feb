// `tallystick keys`: lists, creates and revokes API keys through the running service, with the
// instance key. Each change is an entry of the ledger.

import {
  createClient,
  TallystickError,
  type ApiKey,
  type Client,
  type NewApiKey,
} from "@tallystick/client"
import { ConfigError, httpUrl, type Config } from "../config.ts"
import { StartError } from "../error.ts"
import { requiredRootKey } from "../operator/secret-files.ts"
import { printable } from "./printable.ts"
import { configOf, counted, type Terminal } from "./terminal.ts"

/** A command that asks the running service. */
export interface AskingTerminal extends Pick<Terminal, "environment" | "say" | "remark"> {
  /** Address of the service. Undefined: on this machine, at the configured port. */
  readonly url: string | undefined
}

export async function listKeys(
  terminal: AskingTerminal,
  workspaceId: string,
  json: boolean,
): Promise<void> {
  const keys = await asked(terminal, ({ apiKeys }) =>
    Array.fromAsync(apiKeys.each(workspaceId, { limit: 100 })),
  )
  terminal.say(json ? `${JSON.stringify(keys, null, 2)}\n` : tableOf(keys))
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

/** A person waits: a service that does not answer soon is not running. */
const retries = { retriesMax: 2, attemptTimeoutMs: 10_000 } as const

/**
 * Asks the running service with the instance key. Throws a StartError if it refuses or does not
 * answer.
 */
export async function asked<T>(
  terminal: Pick<AskingTerminal, "environment" | "url">,
  ask: (client: Client) => Promise<T>,
): Promise<T> {
  const config = configOf(terminal)
  const baseUrl = terminal.url ?? addressOf(config)
  const { rootKey: key } = requiredRootKey(config)
  try {
    return await ask(createClient({ baseUrl, key, ...retries }))
  } catch (error) {
    if (!(error instanceof TallystickError)) throw error
    throw new StartError(sentenceOf(error, baseUrl), { cause: error })
  }
}

function sentenceOf(
  { status, code, systemCode, outcome, detail }: TallystickError,
  baseUrl: string,
): string {
  if (status !== 0 || code === "invalid_field") return detail
  const named = systemCode === undefined ? "" : ` (${systemCode})`
  if (outcome === "rejected")
    return `nothing answers at ${baseUrl}${named}; is the service running there?`
  return `no complete answer came from ${baseUrl}${named}, so it may have happened; check before you repeat it`
}

/**
 * Address of the service on this machine. The instance key is sent nowhere else unless --url names
 * the place.
 */
export function addressOf({ host, port }: Config): string {
  if (port === 0)
    throw new ConfigError(
      "TALLYSTICK_PORT is 0, so the service chose its port at its start; give its address with --url",
    )
  const anyAddress: Readonly<Record<string, string>> = { "0.0.0.0": "127.0.0.1", "::": "::1" }
  return httpUrl(anyAddress[host] ?? host, port)
}

function tableOf(keys: readonly ApiKey[]): string {
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
  const table = [["KEY", "STATE", "SCOPES", "PROJECTS", "CREATED", "EXPIRES", "NAME"], ...rows]
  const widths =
    table[0]?.map((_, column) => Math.max(...table.map((row) => row[column]?.length ?? 0))) ?? []
  return table
    .map(
      (row) =>
        `${row
          .map((cell, column) => printable(cell).padEnd(widths[column] ?? 0))
          .join("  ")
          .trimEnd()}\n`,
    )
    .join("")
}
