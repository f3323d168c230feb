// Passwords: kept as Argon2id under a key that is not in the database, so that a stolen database is not even a list to guess from.

import { argon2, randomBytes, timingSafeEqual } from "node:crypto"
import { promisify } from "node:util"
import { LedgerError } from "../error.ts"

export interface Passwords {
  /** What is kept of a password, as a PHC string. */
  hash(password: string): Promise<string>
  /** Whether this is the password of which that was kept. Where nothing was, it takes as long, and the answer is no. */
  check(password: string, kept: string | undefined): Promise<boolean>
}

export interface PasswordLimits {
  /** Hashes made at once: each has its own memory, and a thread of the four that the platform has for such work. */
  readonly passwordsAtOnceMax: number
  /** And those that may wait for one of these. */
  readonly passwordsWaitingMax: number
}

interface Cost {
  readonly memory: number
  readonly passes: number
  readonly parallelism: number
}

/**
 * Between the two sets that OWASP gives as equal (19 MiB twice, 46 MiB once) and more than either: 32 MiB twice, some 0.13 s of one core. One lane, because a
 * server has its other cores for others. What was kept under another cost says so, and is checked under that.
 */
const cost: Cost = { memory: 32 * 1024, passes: 2, parallelism: 1 }
const saltBytes = 16
const tagBytes = 32

const phc = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/
const derive = promisify(argon2)

export function createPasswords(key: Uint8Array, limits: PasswordLimits): Passwords {
  const inTurn = createTurns(limits)
  const tagOf = (password: string, salt: Uint8Array, { memory, passes, parallelism }: Cost): Promise<Buffer> =>
    inTurn(() =>
      derive("argon2id", {
        // Two keyboards may write one character in two ways.
        message: Buffer.from(password.normalize("NFKC")),
        nonce: salt,
        secret: key,
        tagLength: tagBytes,
        memory,
        passes,
        parallelism,
      }),
    )
  const nobody = formatPhc(cost, randomBytes(saltBytes), randomBytes(tagBytes))

  return {
    async hash(password) {
      const salt = randomBytes(saltBytes)
      return formatPhc(cost, salt, await tagOf(password, salt, cost))
    },
    async check(password, kept = nobody) {
      const [, memory, passes, parallelism, salt = "", tag = ""] = phc.exec(kept) ?? []
      if (tag === "") throw new Error("what is kept of a password is a PHC string of Argon2id")
      const usual = { memory: Number(memory), passes: Number(passes), parallelism: Number(parallelism) }
      const made = await tagOf(password, Buffer.from(salt, "base64"), usual)
      const expected = Buffer.from(tag, "base64")
      return made.length === expected.length && timingSafeEqual(made, expected) && kept !== nobody
    },
  }
}

function formatPhc({ memory, passes, parallelism }: Cost, salt: Buffer, tag: Buffer): string {
  const text = (bytes: Buffer) => bytes.toString("base64").replace(/=+$/, "")
  return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${text(salt)}$${text(tag)}`
}

/** Lets a few work at once, has some wait, and refuses the others. */
function createTurns({ passwordsAtOnceMax, passwordsWaitingMax }: PasswordLimits): <T>(work: () => Promise<T>) => Promise<T> {
  const waiting: (() => void)[] = []
  let working = 0
  return async (work) => {
    if (working >= passwordsAtOnceMax) {
      if (waiting.length >= passwordsWaitingMax) throw new LedgerError("overloaded", "too many passwords are being checked at this moment")
      // Whoever leaves hands on the place, so `working` stays as it is.
      await new Promise<void>((resolve) => waiting.push(resolve))
    } else working += 1
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      if (next === undefined) working -= 1
      else next()
    }
  }
}
