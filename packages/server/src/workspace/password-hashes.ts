// Passwords: kept as Argon2id under a key that is not in the database, so that a stolen database is not even a list to guess from.

import { argon2, createHmac, randomBytes } from "node:crypto"
import { promisify } from "node:util"
import { sameText } from "./credential-format.ts"

export interface Passwords {
  /** The costly step, the same for one account, several and none. The settings are those of the e-mail. */
  stretch(password: string, settings: string): Promise<Stretched>
}

/** What Argon2id makes of a password. */
export interface Stretched {
  /** Where accounts of this e-mail and this password are looked for. */
  readonly login: string
  /** What is kept of it in an account, and is worth nothing in another. */
  keep(memberId: string): string
  fits(memberId: string, kept: string): boolean
}

interface Cost {
  readonly memory: number
  readonly passes: number
  readonly parallelism: number
}

/**
 * Between the two sets that OWASP gives as equal (19 MiB twice, 46 MiB once) and more than either: 32 MiB twice, some 0.13 s of one core. One lane, because a
 * server has its other cores for others. What was kept under another cost says so, and all that belongs to its e-mail is checked under that.
 */
const cost: Cost = { memory: 32 * 1024, passes: 2, parallelism: 1 }
const tagBytes = 32
const nonceBytes = 16

/** `$argon2id$v=19$m=…,t=…,p=…$salt` are the settings. Behind them: what Argon2id made, as older versions kept it; or a nonce and a tag, see `tagOf`. */
const form = /^(\$argon2id\$v=19\$m=\d+,t=\d+,p=\d+\$[A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)(?:\$([A-Za-z0-9+/]+))?$/
const settingsForm = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([A-Za-z0-9+/]+)$/
const derive = promisify(argon2)

export const settingsOf = {
  /** The salt is made of the person, whose id is made of the e-mail under a key: all accounts of an e-mail are checked by one hash. */
  person: (person: string): string =>
    `$argon2id$v=19$m=${cost.memory},t=${cost.passes},p=${cost.parallelism}$${base64(Buffer.from(person))}`,
  /** Empty, and fitting nothing, where somebody has put something else there. */
  kept: (kept: string): string => partsOf(kept).settings,
  /** Where an account that an older version made is looked for. */
  formerLogin: (kept: string): string => loginOf(Buffer.from(partsOf(kept).first, "base64")),
} as const

/** As older versions kept it: of an account, but not bound to it. */
export function isUnbound(kept: string): boolean {
  return partsOf(kept).tag === undefined
}

/** How many are stretched at once is for whoever asks. */
export function createPasswords(key: Uint8Array): Passwords {
  return {
    async stretch(password, settings) {
      const [, memory, passes, parallelism, salt = ""] = settingsForm.exec(settings) ?? []
      const stretched = await derive("argon2id", {
        // Two keyboards may write one character in two ways.
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
          const { settings: keptUnder, first, tag } = partsOf(kept)
          const [expected, made] = tag === undefined ? [first, stretched] : [tag, tagOf(stretched, memberId, first)]
          return keptUnder === settings && sameText(expected, base64(made))
        },
      }
    },
  }
}

/** Binds what Argon2id made to one account: copied into another's document, it fits nothing. */
function tagOf(stretched: Uint8Array, memberId: string, nonce: string): Buffer {
  return createHmac("sha256", stretched).update(`account ${memberId} ${nonce}`).digest()
}

function loginOf(stretched: Uint8Array): string {
  return createHmac("sha256", stretched).update("login").digest("base64url")
}

function partsOf(kept: string): { readonly settings: string; readonly first: string; readonly tag: string | undefined } {
  const [, settings = "", first = "", tag] = form.exec(kept) ?? []
  return { settings, first, tag }
}

function base64(bytes: Buffer): string {
  return bytes.toString("base64").replace(/=+$/, "")
}
