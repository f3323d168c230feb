// The secret and the instance key: configured, or made at the first start and kept in the data
// folder, readable by its owner alone.

import { randomBytes } from "node:crypto"
import { existsSync, linkSync, readdirSync, rmSync } from "node:fs"
import { dirname, join } from "node:path"
import { rootKeyOf, secretOf, type Config } from "../config.ts"
import { codeOf, StartError } from "../error.ts"
import { statsOf } from "./check-places.ts"
import type { KeepingKey } from "./instance-key-tokens.ts"
import { replaceFile, syncPath, writeSynced } from "../runtime/durable-file.ts"
import { makeFolderOf } from "../runtime/make-folder.ts"
import { readIfThere } from "../runtime/read-if-there.ts"
import { beginInDatabase } from "../store/open-offline.ts"
import { lockFolder } from "../store/sqlite/lock.ts"

export interface Secrets {
  readonly secret: Uint8Array
  /** The old secret, during a rotation. */
  readonly previous: Uint8Array | undefined
  readonly rootKey: string
  /** The old instance key, which still works. */
  readonly previousRootKey: string | undefined
}

type Given = Pick<Config, "data" | "secret" | "previousSecret" | "rootKey" | "previousRootKey">

/**
 * Makes the secrets that neither the configuration nor the data folder has. Throws a StartError if
 * another process uses the folder: it would leave secrets there that nobody uses.
 */
export async function keepSecrets(config: Given & Pick<Config, "databaseUrl">): Promise<Secrets> {
  const missing = [
    ...(config.secret === undefined ? [[secretPath(config), makeSecret] as const] : []),
    ...(config.rootKey === undefined ? [[rootKeyPath(config), makeRootKey] as const] : []),
  ].filter(([path]) => statsOf(path) === undefined)
  if (missing.length > 0) {
    // A new secret would open nothing of this data, and backups would include it.
    if (config.databaseUrl === undefined && existsSync(join(config.data, "journal.db")))
      requiredSecrets(config, "bring the file back; this data was made with it")
    const placeMissing = () => {
      makeFolderOf("TALLYSTICK_DATA", config.data)
      for (const [path, make] of missing) place(path, make())
    }
    if (config.databaseUrl === undefined) placeAlone(config, placeMissing)
    else if (knownSecrets(config).secret !== undefined) placeMissing()
    else if (!(await beginInDatabase(config, placeMissing)))
      requiredSecrets(config, "put the file there; the ledger in the database has a secret already")
  }
  const { secret, previous } = knownSecrets(config)
  const { previousRootKey } = config
  return {
    secret: present(secret),
    previous,
    rootKey: present(knownRootKey(config)),
    previousRootKey,
  }
}

function placeAlone({ data }: Given, placeMissing: () => void): void {
  makeFolderOf("TALLYSTICK_DATA", data)
  using _lock = lockFolder(data)
  placeMissing()
}

export interface KnownSecrets {
  readonly secret: Uint8Array | undefined
  readonly previous: Uint8Array | undefined
}

/**
 * The secrets of the configuration or the data folder. During a rotation the file has the old
 * secret in a second line.
 */
export function knownSecrets(config: Given): KnownSecrets {
  const path = secretPath(config)
  const text = config.secret === undefined ? readIfThere(path)?.toString() : undefined
  if (text === undefined) return { secret: config.secret, previous: config.previousSecret }
  const [secret, before] = text.trim().split("\n")
  return {
    secret: secretOf(secret, path),
    previous: config.previousSecret ?? secretOf(before, path),
  }
}

/** Throws if there is no secret. `orElse` is what helps besides setting it. */
export function requiredSecrets(
  config: Given,
  orElse = "set TALLYSTICK_DATA to the data of the service",
): KnownSecrets & { readonly secret: Uint8Array } {
  const { secret, previous } = knownSecrets(config)
  if (secret === undefined)
    throw new StartError(
      `TALLYSTICK_SECRET is not set, and there is no ${secretPath(config)}: set it, or ${orElse}`,
    )
  return { secret, previous }
}

/** Replaces the secrets in the file, the newest first. They are on the disk when it returns. */
export function replaceSecrets(config: Given, secrets: readonly Uint8Array[]): void {
  replaceFile(
    secretPath(config),
    `${secrets.map((one) => Buffer.from(one).toString("hex")).join("\n")}\n`,
  )
}

export function replaceRootKey(config: Given, rootKey: string): void {
  replaceFile(rootKeyPath(config), `${rootKey}\n`)
}

export function makeRootKey(): string {
  return `tallystick-root-${randomBytes(32).toString("base64url")}`
}

export function makeSecret(): string {
  return randomBytes(32).toString("hex")
}

/** The instance key of the configuration or the data folder. */
function knownRootKey(config: Given): string | undefined {
  if (config.rootKey !== undefined) return config.rootKey
  const path = rootKeyPath(config)
  const text = readIfThere(path)?.toString()
  return text === undefined ? undefined : rootKeyOf(text.trim(), path)
}

/** Throws if there is no instance key. */
export function requiredRootKey(config: Given): KeepingKey {
  const rootKey = knownRootKey(config)
  const path = rootKeyPath(config)
  if (rootKey === undefined)
    throw new StartError(
      `TALLYSTICK_ROOT_KEY is not set, and there is no ${path}: set it, or set TALLYSTICK_DATA to the data of the service`,
    )
  return { rootKey, from: config.rootKey === undefined ? path : "TALLYSTICK_ROOT_KEY" }
}

export function rootKeyPath({ data }: Given): string {
  return join(data, "root-key")
}

function secretPath({ data }: Given): string {
  return join(data, "secret")
}

/**
 * Makes the file, unless another process was faster. It appears complete or not at all: a crash
 * must not leave half a secret.
 */
function place(path: string, text: string): void {
  // Two processes that start at once each write a file of their own.
  const fresh = `${path}.${randomBytes(8).toString("hex")}`
  writeSynced(fresh, `${text}\n`, "wx")
  linkUnlessThere(fresh, path)
  rmSync(fresh, { force: true })
  syncPath(dirname(path))
}

/** Removes what a kill left behind, perhaps an old secret. The caller holds the folder's lock. */
export function removeUnplaced(data: string): void {
  // A service on a database that is given its secrets needs no folder.
  if (!existsSync(data)) return
  const unplaced = readdirSync(data).filter((name) =>
    /^(secret|root-key)\.([0-9a-f]{16}|new)$/.test(name),
  )
  for (const name of unplaced) rmSync(join(data, name), { force: true })
}

/** Links, because a rename would replace the file of a faster process. */
function linkUnlessThere(from: string, to: string): void {
  try {
    linkSync(from, to)
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw error
  }
}

/** keepSecrets has just made the missing ones. */
function present<T>(value: T | undefined): T {
  if (value === undefined) throw new Error("a secret file is empty")
  return value
}
