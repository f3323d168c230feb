// The secrets that the service stands on: given by its configuration, or made at the first start and kept in the data folder, readable
// by its owner alone.

import { randomBytes } from "node:crypto"
import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, readFileSync, writeSync } from "node:fs"
import { dirname, join } from "node:path"
import { secretOf, type Config } from "./config.ts"

export interface Secrets {
  readonly secret: Uint8Array
  readonly rootKey: string
  /** Where the instance key is kept, if it was made just now. */
  readonly newRootKeyPath: string | undefined
}

export function keepSecrets(config: Pick<Config, "data" | "secret" | "rootKey">): Secrets {
  const secret = config.secret ?? secretOf(keep(join(config.data, "secret"), () => randomBytes(32).toString("hex")).text)
  if (secret === undefined) throw new Error("a kept secret is 32 bytes")
  if (config.rootKey !== undefined) return { secret, rootKey: config.rootKey, newRootKeyPath: undefined }
  const path = join(config.data, "root-key")
  const { text: rootKey, isNew } = keep(path, () => `tallystick-root-${randomBytes(32).toString("base64url")}`)
  return { secret, rootKey, newRootKeyPath: isNew ? path : undefined }
}

/** What the file holds; made, and on the disk, if there is none. */
function keep(path: string, make: () => string): { readonly text: string; readonly isNew: boolean } {
  if (existsSync(path)) return { text: readFileSync(path, "utf8").trim(), isNew: false }
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  const text = make()
  const file = openSync(path, "wx", 0o600)
  writeSync(file, `${text}\n`)
  fsyncSync(file)
  closeSync(file)
  const folder = openSync(dirname(path), "r")
  fsyncSync(folder)
  closeSync(folder)
  return { text, isNew: true }
}
