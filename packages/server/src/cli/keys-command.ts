// `tallystick keys`: a workspace's API keys, by way of the running service, with the instance key. What it does is an entry of the ledger like any other.

import { readFileSync } from "node:fs"
import { join } from "node:path"
import { createClient, TallystickError, type ApiKey, type Client, type NewApiKey } from "@tallystick/client"
import { ConfigError, httpUrl, readConfig, rootKeyOf, type Config } from "../config.ts"
import { StartError } from "../error.ts"

export interface KeysCommand {
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Where the service is. Absent: on this machine, at the port that the environment says. */
  readonly url: string | undefined
  /** What the command was asked for, and nothing else. */
  readonly say: (text: string) => void
  /** What a person wants to know beside it. */
  readonly remark: (text: string) => void
}

export async function listKeys(command: KeysCommand, workspaceId: string, json: boolean): Promise<void> {
  const keys = await asked(command, ({ apiKeys }) => Array.fromAsync(apiKeys.each(workspaceId, { limit: 100 })))
  command.say(json ? `${JSON.stringify(keys, null, 2)}\n` : tableOf(keys))
}

/** Says the key alone, so that a script can take it: KEY=$(tallystick keys create …). */
export async function createKey(command: KeysCommand, workspaceId: string, request: NewApiKey): Promise<void> {
  const { key, keyId, scopes, expiresAt } = await asked(command, ({ apiKeys }) => apiKeys.create(workspaceId, request))
  command.say(`${key}\n`)
  const until = expiresAt === undefined ? "" : `, until ${expiresAt}`
  command.remark(`tallystick: key ${keyId} may ${scopes.join(", ")} in ${workspaceId}${until}. It is shown this once.\n`)
}

export async function revokeKey(command: KeysCommand, workspaceId: string, keyId: string): Promise<void> {
  const made = await asked(command, ({ apiKeys }) => apiKeys.revoke(workspaceId, keyId))
  command.remark(`tallystick: key ${keyId} of ${workspaceId} opens nothing any more, nor does any token that was made with it.\n`)
  if (made === undefined) return
  const live = `${made.apiKeys.length} keys and ${made.members.length} members that it made, or that these made, live on`
  command.remark(`tallystick: ${live}. To end them too: DELETE /v1/workspaces/${workspaceId}/api-keys/${keyId}?cascade=true\n`)
}

/** A person waits: what does not answer soon is not running. */
const patience = { retriesMax: 2, attemptTimeoutMs: 10_000 } as const

/** Asks the running service with the instance key. What it refuses, and that it does not answer, is a sentence. */
export async function asked<T>(
  { environment, url }: Pick<KeysCommand, "environment" | "url">,
  ask: (client: Client) => Promise<T>,
): Promise<T> {
  const config = readConfig(environment, (path) => readFileSync(path, "utf8"))
  const baseUrl = url ?? addressOf(config)
  try {
    return await ask(createClient({ baseUrl, key: config.rootKey ?? keptKey(config), ...patience }))
  } catch (error) {
    if (!(error instanceof TallystickError)) throw error
    throw new StartError(sentenceOf(error, baseUrl), { cause: error })
  }
}

function sentenceOf({ status, code, systemCode, outcome, detail }: TallystickError, baseUrl: string): string {
  if (status !== 0 || code === "invalid_field") return detail
  const named = systemCode === undefined ? "" : ` (${systemCode})`
  if (outcome === "rejected") return `nothing answers at ${baseUrl}${named}; is the service running there?`
  return `no whole answer came from ${baseUrl}${named}, so it may have been done; look before you repeat it`
}

/** Of the service on this machine. The instance key goes nowhere else unless its holder says so. */
export function addressOf({ host, port }: Config): string {
  if (port === 0) throw new ConfigError("TALLYSTICK_PORT is 0, a port that is chosen at the start; say with --url where the service is")
  const everywhere: Readonly<Record<string, string>> = { "0.0.0.0": "127.0.0.1", "::": "::1" }
  return httpUrl(everywhere[host] ?? host, port)
}

function keptKey({ data }: Config): string {
  const path = join(data, "root-key")
  try {
    const key = rootKeyOf(readFileSync(path, "utf8").trim(), path)
    if (key !== undefined) return key
  } catch (cause) {
    if (cause instanceof ConfigError) throw cause
    throw new ConfigError(`TALLYSTICK_ROOT_KEY is not set, and ${path} cannot be read: run this where the service's data is, or set it`, {
      cause,
    })
  }
  throw new ConfigError(`${path} holds no key`)
}

function tableOf(keys: readonly ApiKey[]): string {
  const rows = keys.map(({ keyId, scopes, projectIds, createdAt, expiresAt = "-", revokedAt, name }) => [
    keyId,
    revokedAt === undefined ? "live" : "revoked",
    scopes.join(","),
    projectIds?.join(",") ?? "all",
    createdAt,
    expiresAt,
    name,
  ])
  const table = [["KEY", "STATE", "SCOPES", "PROJECTS", "CREATED", "EXPIRES", "NAME"], ...rows]
  const widths = table[0]?.map((_, column) => Math.max(...table.map((row) => row[column]?.length ?? 0))) ?? []
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

/** A name is somebody else's text: it must not move the cursor. */
function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, "?")
}
