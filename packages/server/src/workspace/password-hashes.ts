// Password hashes: Argon2id under a key that is not in the database, so a stolen database alone
// does not allow guessing.

import { argon2, createHmac, randomBytes } from "node:crypto"
import { promisify } from "node:util"
import { sameText } from "./credential-format.ts"

export interface Passwords {
  /**
   * The slow hash. It is computed once per sign-in, whether the e-mail has no, one or many
   * accounts. `settings` depend on the e-mail.
   */
  stretch(password: string, settings: string): Promise<StretchedPassword>
}

export interface StretchedPassword {
  /** The index key for accounts with this e-mail and password. */
  readonly login: string
  /** The stored form, bound to one account. */
  keep(memberId: string): string
  fits(memberId: string, kept: string): boolean
}

interface Cost {
  readonly memory: number
  readonly passes: number
  readonly parallelism: number
}

/**
 * OWASP lists 19 MiB with two passes and 46 MiB with one as equal. This is more than either: 32 MiB
 * with two passes, about 0.13 s of one core. One lane, because other requests need the other cores.
 * A hash with another cost carries that cost, and all accounts of its e-mail are checked with it.
 */
const cost: Cost = { memory: 32 * 1024, passes: 2, parallelism: 1 }
const tagBytes = 32
const nonceBytes = 16

/** `$argon2id$v=19$m=…,t=…,p=…$salt` are the settings. A nonce and a tag follow (see `tagOf`). */
const form =
  /^(\$argon2id\$v=19\$m=\d+,t=\d+,p=\d+\$[A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/
const settingsForm = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([A-Za-z0-9+/]+)$/
const derive = promisify(argon2)

export const settingsOf = {
  /**
   * The salt is the person's id, a keyed hash of the e-mail: one hash then serves all accounts of
   * an e-mail.
   */
  person: (person: string): string =>
    `$argon2id$v=19$m=${cost.memory},t=${cost.passes},p=${cost.parallelism}$${base64(Buffer.from(person))}`,
  /** Empty for a malformed hash, which then matches no password. */
  kept: (kept: string): string => partsOf(kept).settings,
} as const

/** The caller limits how many hashes run at once. */
export function createPasswords(key: Uint8Array): Passwords {
  return {
    async stretch(password, settings) {
      const [, memory, passes, parallelism, salt = ""] = settingsForm.exec(settings) ?? []
      const stretched = await derive("argon2id", {
        // Different keyboards may encode the same character differently.
        message: Buffer.from(password.normalize("NFKC")),
        nonce: Buffer.from(salt, "base64"),
        secret: key,
        tagLength: tagBytes,
        memory: Number(memory),
        passes: Number(passes),
        parallelism: Number(parallelism),
      })
      return {
        login: loginOf(stretched),
        keep(memberId) {
          const nonce = base64(randomBytes(nonceBytes))
          return `${settings}$${nonce}$${base64(tagOf(stretched, memberId, nonce))}`
        },
        fits(memberId, kept) {
          const { settings: keptUnder, nonce, tag } = partsOf(kept)
          return keptUnder === settings && sameText(tag, base64(tagOf(stretched, memberId, nonce)))
        },
      }
    },
  }
}

/**
 * Binds the Argon2id output to one account. Copied into another account's document, it matches
 * nothing.
 */
function tagOf(stretched: Uint8Array, memberId: string, nonce: string): Buffer {
  return createHmac("sha256", stretched).update(`account ${memberId} ${nonce}`).digest()
}

function loginOf(stretched: Uint8Array): string {
  return createHmac("sha256", stretched).update("login").digest("base64url")
}

function partsOf(kept: string): {
  readonly settings: string
  readonly nonce: string
  readonly tag: string
} {
  const [, settings = "", nonce = "", tag = ""] = form.exec(kept) ?? []
  return { settings, nonce, tag }
}

function base64(bytes: Buffer): string {
  return bytes.toString("base64").replace(/=+$/, "")
}
