// The keys of the service across rotations of the secret. Each secret is a generation, counted from
// 1. New data is sealed under the newest secret. The keyring preserves keys that must never change
// when their secret is replaced. A keyring is plain data, so that threads can receive it.

import { deriveKey, unwrap, wrap } from "./crypto.ts"

export interface Keyring {
  readonly generation: number
  readonly secret: Uint8Array
  /** The old secret, as long as something may still be sealed under it. */
  readonly before: Uint8Array | undefined
  /** One per generation, the first one first: a credential keeps the MAC that it was made with. */
  readonly peppers: readonly Uint8Array[]
  /** Always derived from the first secret. */
  readonly passwords: Uint8Array
  readonly memberIds: Uint8Array
  /** Names of former instance keys whose tokens stay valid. */
  readonly instanceKeys: readonly string[]
  /**
   * Maps the name of an instance key under an old secret to its name now: tokens made under either
   * name are equally valid.
   */
  readonly formerNames: Readonly<Record<string, string>>
}

/** The keyring of data whose secret was never rotated. */
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

/**
 * The keyring of the next generation. Instance keys stay the same; their names change with the
 * secret.
 */
export function nextKeyring(
  keyring: Keyring,
  secret: Uint8Array,
  rootKeys: readonly string[],
): Keyring {
  const names = new Map(
    rootKeys.map((rootKey) => [
      instanceKeyName(keyring.secret, rootKey),
      instanceKeyName(secret, rootKey),
    ]),
  )
  const former = Object.entries(keyring.formerNames).map(
    ([name, since]) => [name, names.get(since) ?? since] as const,
  )
  return {
    ...keyring,
    generation: keyring.generation + 1,
    secret,
    before: keyring.secret,
    peppers: [...keyring.peppers, deriveKey(secret, "token pepper")],
    formerNames: Object.fromEntries([...former, ...names]),
  }
}

/** Kinds of sealed data. Each has a key of its own. */
type Sealing = "log keys" | "keyring"

/**
 * Seals under the newest secret, bound to a name. The result begins with the number of its
 * generation, except for the first.
 */
export function seal(
  { generation, secret }: Secrets,
  sealing: Sealing,
  name: string,
  bytes: Uint8Array,
): string {
  return numbered(generation, wrap(deriveKey(secret, sealing), name, bytes))
}

/** Throws if no secret of the keyring has sealed it under this name. */
export function unseal(
  keyring: Secrets,
  sealing: Sealing,
  name: string,
  sealed: string,
): Uint8Array {
  const { generation, text } = partsOf(sealed)
  return unwrap(deriveKey(secretOf(keyring, generation), sealing), name, text)
}

/** Seals the same bytes under the newest secret. Undefined if they are sealed under it already. */
export function sealAnew(
  keyring: Keyring,
  sealing: Sealing,
  name: string,
  sealed: string,
): string | undefined {
  return generationOf(sealed) === keyring.generation
    ? undefined
    : seal(keyring, sealing, name, unseal(keyring, sealing, name, sealed))
}

/** The generation that sealed this text, or that made this MAC. */
export function generationOf(numberedText: string): number {
  return partsOf(numberedText).generation
}

export function numbered(generation: number, text: string): string {
  return generation === 1 ? text : `${generation}.${text}`
}

/**
 * The key of `idem` in a workspace whose first ledger has this id. It never changes: it is derived
 * from the first secret, or stored as `kept`.
 */
export function idempotencySecret(
  keyring: Keyring,
  ledgerId: Uint8Array,
  kept: string | undefined,
): Uint8Array {
  return kept === undefined
    ? deriveKey(secretOf(keyring, 1), "idempotency", ledgerId)
    : unseal(keyring, "keyring", idempotencyName(ledgerId), kept)
}

/**
 * The idempotency key, sealed under the newest secret for storage. Undefined if it is sealed under
 * it already.
 */
export function idempotencyAnew(
  keyring: Keyring,
  ledgerId: Uint8Array,
  kept: string | undefined,
): string | undefined {
  return kept !== undefined && generationOf(kept) === keyring.generation
    ? undefined
    : sealIdempotency(keyring, ledgerId, idempotencySecret(keyring, ledgerId, kept))
}

export function sealIdempotency(
  keyring: Keyring,
  ledgerId: Uint8Array,
  secret: Uint8Array,
): string {
  return seal(keyring, "keyring", idempotencyName(ledgerId), secret)
}

function idempotencyName(ledgerId: Uint8Array): string {
  return `idempotency ${Buffer.from(ledgerId).toString("hex")}`
}

/** A name that identifies an instance key and reveals nothing about it. */
export function instanceKeyName(secret: Uint8Array, rootKey: string): string {
  return Buffer.from(deriveKey(secret, "instance key", Buffer.from(rootKey))).toString("base64url")
}

/** Names of all instance keys whose tokens are valid, given the valid instance keys. */
export function livingNames(keyring: Keyring, rootKeys: readonly string[]): ReadonlySet<string> {
  const living = new Set([
    ...rootKeys.map((rootKey) => instanceKeyName(keyring.secret, rootKey)),
    ...keyring.instanceKeys,
  ])
  for (const [name, since] of Object.entries(keyring.formerNames))
    if (living.has(since)) living.add(name)
  return living
}

function secretOf({ generation, secret, before }: Secrets, wanted: number): Uint8Array {
  if (wanted === generation) return secret
  if (wanted === generation - 1 && before !== undefined) return before
  throw new Error(`the secret of generation ${wanted} is no longer known`)
}

function partsOf(numberedText: string): { readonly generation: number; readonly text: string } {
  const dot = numberedText.indexOf(".")
  return dot < 0
    ? { generation: 1, text: numberedText }
    : { generation: Number(numberedText.slice(0, dot)), text: numberedText.slice(dot + 1) }
}
