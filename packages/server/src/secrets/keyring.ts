// The keys of the service, whichever secrets its data has had. Each secret is a generation, counted from 1. What is sealed is sealed under the
// newest; what must stay as it was made for ever outlives its secret in here. Plain data, so that it can be given to a thread.

import { deriveKey, unwrap, wrap } from "./crypto.ts"

export interface Keyring {
  readonly generation: number
  readonly secret: Uint8Array
  /** The secret before, while something may still be sealed under it. */
  readonly before: Uint8Array | undefined
  /** Of every generation, the first one's first: a credential keeps the MAC that it was made with. */
  readonly peppers: readonly Uint8Array[]
  /** Made of the first secret, for ever. */
  readonly passwords: Uint8Array
  readonly memberIds: Uint8Array
  /** The names of former instance keys whose tokens live on. */
  readonly instanceKeys: readonly string[]
  /** What an instance key was called under a former secret, and what it is called now: what it made then lives as long as what it makes now. */
  readonly formerNames: Readonly<Record<string, string>>
}

/** Of data that has had this secret alone. */
export function firstKeyring(secret: Uint8Array): Keyring {
  return {
    generation: 1,
    secret,
    before: undefined,
    peppers: [deriveKey(secret, "token pepper")],
    passwords: deriveKey(secret, "passwords"),
    memberIds: deriveKey(secret, "member ids"),
    instanceKeys: [],
    formerNames: {},
  }
}

type Secrets = Pick<Keyring, "generation" | "secret" | "before">

/** Of the next generation. Instance keys stay the same keys, called otherwise under another secret. */
export function nextKeyring(keyring: Keyring, secret: Uint8Array, rootKeys: readonly string[]): Keyring {
  const names = new Map(rootKeys.map((rootKey) => [instanceKeyName(keyring.secret, rootKey), instanceKeyName(secret, rootKey)]))
  const former = Object.entries(keyring.formerNames).map(([name, since]) => [name, names.get(since) ?? since] as const)
  return {
    ...keyring,
    generation: keyring.generation + 1,
    secret,
    before: keyring.secret,
    peppers: [...keyring.peppers, deriveKey(secret, "token pepper")],
    formerNames: Object.fromEntries([...former, ...names]),
  }
}

/** What is sealed, and under a key of its own. */
export type Sealing = "log keys" | "keyring"

/** Seals under the newest secret, bound to a name. What a later generation than the first has sealed begins with its number. */
export function seal({ generation, secret }: Secrets, sealing: Sealing, name: string, bytes: Uint8Array): string {
  return numbered(generation, wrap(deriveKey(secret, sealing), name, bytes))
}

/** Throws when no secret here has sealed it, or not under this name. */
export function unseal(keyring: Secrets, sealing: Sealing, name: string, sealed: string): Uint8Array {
  const { generation, text } = partsOf(sealed)
  return unwrap(deriveKey(secretOf(keyring, generation), sealing), name, text)
}

/** The same, sealed under the newest secret; undefined where it is already. */
export function sealAnew(keyring: Keyring, sealing: Sealing, name: string, sealed: string): string | undefined {
  return generationOf(sealed) === keyring.generation ? undefined : seal(keyring, sealing, name, unseal(keyring, sealing, name, sealed))
}

/** The generation that has sealed this, or of whose pepper this is the MAC. */
export function generationOf(numberedText: string): number {
  return partsOf(numberedText).generation
}

/** The texts of the first generation are without a number. */
export function numbered(generation: number, text: string): string {
  return generation === 1 ? text : `${generation}.${text}`
}

/** What stands behind `idem` for ever, in a workspace whose first ledger has this id. Without one that is kept, it is made of the first secret. */
export function idempotencySecret(keyring: Keyring, ledgerId: Uint8Array, kept: string | undefined): Uint8Array {
  return kept === undefined
    ? deriveKey(secretOf(keyring, 1), "idempotency", ledgerId)
    : unseal(keyring, "keyring", idempotencyName(ledgerId), kept)
}

/** What such a workspace keeps from now on; undefined where it does already. */
export function idempotencyAnew(keyring: Keyring, ledgerId: Uint8Array, kept: string | undefined): string | undefined {
  return kept !== undefined && generationOf(kept) === keyring.generation
    ? undefined
    : sealIdempotency(keyring, ledgerId, idempotencySecret(keyring, ledgerId, kept))
}

export function sealIdempotency(keyring: Keyring, ledgerId: Uint8Array, secret: Uint8Array): string {
  return seal(keyring, "keyring", idempotencyName(ledgerId), secret)
}

function idempotencyName(ledgerId: Uint8Array): string {
  return `idempotency ${Buffer.from(ledgerId).toString("hex")}`
}

/** Tells an instance key from all others without saying anything of it. */
export function instanceKeyName(secret: Uint8Array, rootKey: string): string {
  return Buffer.from(deriveKey(secret, "instance key", Buffer.from(rootKey))).toString("base64url")
}

/** The names of instance keys whose tokens live, where these are good. */
export function livingNames(keyring: Keyring, rootKeys: readonly string[]): ReadonlySet<string> {
  const living = new Set([...rootKeys.map((rootKey) => instanceKeyName(keyring.secret, rootKey)), ...keyring.instanceKeys])
  for (const [name, since] of Object.entries(keyring.formerNames)) if (living.has(since)) living.add(name)
  return living
}

function secretOf({ generation, secret, before }: Secrets, wanted: number): Uint8Array {
  if (wanted === generation) return secret
  if (wanted === generation - 1 && before !== undefined) return before
  throw new Error(`the secret of generation ${wanted} is not known any more`)
}

function partsOf(numberedText: string): { readonly generation: number; readonly text: string } {
  const dot = numberedText.indexOf(".")
  return dot < 0
    ? { generation: 1, text: numberedText }
    : { generation: Number(numberedText.slice(0, dot)), text: numberedText.slice(dot + 1) }
}
