// The keyring document: what the service still needs of former secrets. It is in the workspace
// `instance`, sealed under the newest secret. It does not exist before the first rotation.

import { equalBytes, utf8 } from "@tallystick/proof"
import { StartError } from "../error.ts"
import { firstKeyring, seal, unseal, type Keyring } from "../secrets/keyring.ts"
import { deriveKey } from "../secrets/crypto.ts"
import { isSealedBy } from "../store/log-keys.ts"
import type { Change, Document } from "../store/documents.ts"
import type { Registry, Store } from "../store/store.ts"
import { instanceWorkspace } from "./permissions.ts"
import { commitmentTo } from "./credential-format.ts"

export interface GivenSecrets {
  readonly secret: Uint8Array
  /** The secret before, during a rotation. */
  readonly previous?: Uint8Array | undefined
}

const id = "keyring"

/** Stored as sealed JSON. Bytes are in base64. */
interface StoredKeyring {
  /** Of the former secrets. */
  readonly peppers: readonly string[]
  readonly passwords: string
  readonly memberIds: string
  readonly instanceKeys: readonly string[]
  readonly formerNames: Readonly<Record<string, string>>
}

/**
 * Throws a StartError that names the missing secret. Before a rotation begins, the data still has
 * the previous secret.
 */
export async function openKeyring(registry: Registry, given: GivenSecrets): Promise<Keyring> {
  const document = await keptKeyring(registry)
  const { secret, previous } = given
  const candidates =
    previous === undefined || equalBytes(previous, secret) ? [secret] : [secret, previous]
  if (document === undefined) return firstKeyring(await firstSecret(registry, candidates))
  const { generation, endedAt } = document.value
  const isOver = endedAt !== undefined
  const opened = candidates
    .map((one) => openedBy(document, one))
    .find((keyring) => keyring !== undefined)
  if (opened === undefined && generation === 1) throw anotherSecret()
  if (opened === undefined)
    throw new StartError(
      isOver
        ? `TALLYSTICK_SECRET is not the secret of this data, which was rotated: its last rotation ended at ${endedAt}, and the secret before it opens nothing any more`
        : "the secret of this data is being rotated: set TALLYSTICK_SECRET to the new one and TALLYSTICK_SECRET_PREVIOUS to the one before it, until `tallystick secret rotate` has ended",
    )
  if (isOver) return opened
  const pepperBefore = opened.peppers[generation - 2]
  const before = candidates.find(
    (one) => pepperBefore !== undefined && equalBytes(deriveKey(one, "token pepper"), pepperBefore),
  )
  if (before === undefined)
    throw new StartError(
      "the secret of this data is being rotated: set TALLYSTICK_SECRET_PREVIOUS to the one before TALLYSTICK_SECRET as well, until `tallystick secret rotate` has ended",
    )
  return { ...opened, before }
}

export function keptKeyring(registry: Registry): Promise<Document<"keyring"> | undefined> {
  return registry.get("keyring", instanceWorkspace, id)
}

export interface KeyringChange {
  readonly change: Change
  readonly recorded: { readonly generation: number; readonly commitment: string }
}

/**
 * Replaces the stored keyring. `endedAt` says that nothing is sealed under the previous secret any
 * more.
 */
export function keyringChange(
  keyring: Keyring,
  replaced: Document<"keyring"> | undefined,
  endedAt: string | undefined,
): KeyringChange {
  const text = (bytes: Uint8Array) => Buffer.from(bytes).toString("base64")
  const { generation, peppers, passwords, memberIds, instanceKeys, formerNames } = keyring
  const kept: StoredKeyring = {
    peppers: peppers.slice(0, -1).map(text),
    passwords: text(passwords),
    memberIds: text(memberIds),
    instanceKeys,
    formerNames,
  }
  const sealed = seal(keyring, "keyring", nameOf(generation), utf8(JSON.stringify(kept)))
  const value = { generation, sealed, ...(endedAt === undefined ? {} : { endedAt }) }
  return {
    change: { kind: "keyring", id, version: replaced?.version ?? 0, value },
    recorded: { generation, commitment: commitmentTo(sealed) },
  }
}

/**
 * With a wrong secret no API key would be known, nothing could be signed and, worst, a repeated
 * write would be recorded twice.
 */
async function firstSecret(
  registry: Registry,
  candidates: readonly Uint8Array[],
): Promise<Uint8Array> {
  const key = await anyLogKey(registry)
  const found = candidates.find(
    (one) => key === undefined || isSealedBy(firstKeyring(one))(key.value),
  )
  if (found === undefined) throw anotherSecret()
  return found
}

/**
 * Throws a StartError if another server has begun the data with another secret, and no workspace was
 * made yet.
 */
export async function requireSameBeginning(
  { registry, begun }: Pick<Store, "registry" | "begun">,
  { generation, secret }: Keyring,
): Promise<void> {
  // Opening the keyring has shown that the secret is right.
  if (begun === undefined || generation > 1 || (await anyLogKey(registry)) !== undefined) return
  const commitment = Buffer.from(deriveKey(secret, "first secret")).toString("base64url")
  if ((await begun(commitment)) !== commitment)
    throw new StartError(
      "another server has begun this database with another TALLYSTICK_SECRET: start this one with that secret, or, if nobody has it any more, drop the schema tallystick, which has no workspace yet",
    )
}

/** A signing key of one of the workspaces; undefined if nothing was sealed yet. */
export async function anyLogKey(
  registry: Pick<Registry, "list">,
): Promise<Document<"log-key"> | undefined> {
  const [workspace] = await registry.list("workspace", undefined, undefined, 1)
  return workspace && (await registry.list("log-key", workspace.id, undefined, 1))[0]
}

function anotherSecret(): StartError {
  return new StartError("TALLYSTICK_SECRET is not the secret that this data was made with")
}

function openedBy(
  { value: { generation, sealed } }: Document<"keyring">,
  secret: Uint8Array,
): Keyring | undefined {
  try {
    const bytes = unseal(
      { generation, secret, before: undefined },
      "keyring",
      nameOf(generation),
      sealed,
    )
    // The seal is valid, so this program wrote it.
    const { peppers, passwords, memberIds, instanceKeys, formerNames } = JSON.parse(
      Buffer.from(bytes).toString(),
    ) as StoredKeyring
    const former = peppers.map(bytesOf)
    return {
      generation,
      secret,
      before: undefined,
      peppers: [...former, deriveKey(secret, "token pepper")],
      passwords: bytesOf(passwords),
      memberIds: bytesOf(memberIds),
      instanceKeys,
      formerNames,
    }
  } catch {
    return undefined
  }
}

function bytesOf(text: string): Uint8Array {
  return new Uint8Array(Buffer.from(text, "base64"))
}

function nameOf(generation: number): string {
  return `keyring ${generation}`
}
