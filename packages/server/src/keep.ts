// The secrets that the service stands on: given by its configuration, or made at the first start and kept in the data folder, readable
// by its owner alone.

import { randomBytes } from "node:crypto"
import { closeSync, existsSync, fsyncSync, linkSync, mkdirSync, openSync, readFileSync, unlinkSync, writeSync } from "node:fs"
import { dirname, join } from "node:path"
import { rootKeyOf, secretOf, type Config } from "./config.ts"

export interface Secrets {
  readonly secret: Uint8Array
  readonly rootKey: string
  /** Where the instance key is kept, if it was made just now. */
  readonly newRootKeyPath: string | undefined
}

export function keepSecrets(config: Pick<Config, "data" | "secret" | "rootKey">): Secrets {
  const secret = config.secret ?? keptSecret(join(config.data, "secret"))
  if (config.rootKey !== undefined) return { secret, rootKey: config.rootKey, newRootKeyPath: undefined }
  const path = join(config.data, "root-key")
  const { text, isNew } = keep(path, () => `tallystick-root-${randomBytes(32).toString("base64url")}`)
  return { secret, rootKey: the(rootKeyOf(text, path)), newRootKeyPath: isNew ? path : undefined }
}

function keptSecret(path: string): Uint8Array {
  return the(secretOf(keep(path, () => randomBytes(32).toString("hex")).text, path))
}

/** What the file holds; made, and on the disk, if there is none. */
function keep(path: string, make: () => string): { readonly text: string; readonly isNew: boolean } {
  const isNew = !existsSync(path) && place(path, make())
  return { text: readFileSync(path, "utf8").trim(), isNew }
}

/** Puts the file there, unless somebody else has just done so. It is there whole or not at all: a crash must not leave half a secret. */
function place(path: string, text: string): boolean {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  const fresh = `${path}.${randomBytes(8).toString("hex")}`
  const file = openSync(fresh, "wx", 0o600)
  writeSync(file, `${text}\n`)
  fsyncSync(file)
  closeSync(file)
  const isFirst = linked(fresh, path)
  unlinkSync(fresh)
  const folder = openSync(dirname(path), "r")
  fsyncSync(folder)
  closeSync(folder)
  return isFirst
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
