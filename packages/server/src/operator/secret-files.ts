// The secrets that the service stands on: given by its configuration, or made at the first start and kept in the data folder, readable
// by its owner alone.

import { randomBytes } from "node:crypto"
import { existsSync, linkSync, mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { dirname, join } from "node:path"
import { rootKeyOf, secretOf, type Config } from "../config.ts"
import { replaceFile, syncPath, writeSynced } from "../runtime/durable-file.ts"

export interface Secrets {
  readonly secret: Uint8Array
  /** The secret before, while it is being rotated. */
  readonly previous: Uint8Array | undefined
  readonly rootKey: string
  /** The instance key before, which is good as well. */
  readonly previousRootKey: string | undefined
  /** Where the instance key is kept, if it was made just now. */
  readonly newRootKeyPath: string | undefined
}

type Given = Pick<Config, "data" | "secret" | "previousSecret" | "rootKey" | "previousRootKey">

/** Makes what neither the configuration nor the data folder has. */
export function keepSecrets(config: Given): Secrets {
  if (config.secret === undefined) keep(secretPath(config), makeSecret)
  const isNew = config.rootKey === undefined && keep(rootKeyPath(config), makeRootKey)
  const { secret, previous } = knownSecrets(config)
  const { previousRootKey } = config
  const newRootKeyPath = isNew ? rootKeyPath(config) : undefined
  return { secret: the(secret), previous, rootKey: the(knownRootKey(config)), previousRootKey, newRootKeyPath }
}

export interface KnownSecrets {
  readonly secret: Uint8Array | undefined
  readonly previous: Uint8Array | undefined
}

/** What the configuration or the data folder has of secrets. The file has the one before in a second line while it is being rotated. */
export function knownSecrets(config: Given): KnownSecrets {
  const path = secretPath(config)
  if (config.secret !== undefined || !existsSync(path)) return { secret: config.secret, previous: config.previousSecret }
  const [secret, before] = readFileSync(path, "utf8").trim().split("\n")
  return { secret: secretOf(secret, path), previous: config.previousSecret ?? secretOf(before, path) }
}

/** Puts these into the file, the newest first, in the place of what is there; on the disk when it returns. */
export function replaceSecrets(config: Given, secrets: readonly Uint8Array[]): void {
  replaceFile(secretPath(config), `${secrets.map((one) => Buffer.from(one).toString("hex")).join("\n")}\n`)
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

/** The instance key, if the configuration or the data folder has one. */
export function knownRootKey(config: Given): string | undefined {
  const path = rootKeyPath(config)
  return config.rootKey ?? (existsSync(path) ? rootKeyOf(readFileSync(path, "utf8").trim(), path) : undefined)
}

export function rootKeyPath({ data }: Given): string {
  return join(data, "root-key")
}

function secretPath({ data }: Given): string {
  return join(data, "secret")
}

/** A file is there and on the disk when it returns; whether it was made just now. */
function keep(path: string, make: () => string): boolean {
  return !existsSync(path) && place(path, make())
}

/** Puts the file there, unless somebody else has just done so. It is there whole or not at all: a crash must not leave half a secret. */
function place(path: string, text: string): boolean {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  // Each of two that start at once writes a file of its own.
  const fresh = `${path}.${randomBytes(8).toString("hex")}`
  writeSynced(fresh, `${text}\n`, "wx")
  const isFirst = linked(fresh, path)
  rmSync(fresh, { force: true })
  syncPath(dirname(path))
  return isFirst
}

/** What a kill has left of them, a former secret maybe. For whoever has the folder's lock. */
export function removeUnplaced(data: string): void {
  const unplaced = readdirSync(data).filter((name) => /^(secret|root-key)\.([0-9a-f]{16}|new)$/.test(name))
  for (const name of unplaced) rmSync(join(data, name), { force: true })
}

/** A link, and not a rename, which would replace the file of whoever was first. */
function linked(from: string, to: string): boolean {
  try {
    linkSync(from, to)
    return true
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EEXIST") return false
    throw error
  }
}

function the<T>(value: T | undefined): T {
  if (value === undefined) throw new Error("a kept secret is a secret")
  return value
}
