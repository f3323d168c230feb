import { parseCanonical } from "./canonical.ts"
import { fromBase64Url, fromHex, toHex, utf8 } from "./encoding.ts"
import { isJsonObject, type Json } from "./json.ts"
import { preimage } from "./preimage.ts"
import { sha256, type Sha256 } from "./sha256.ts"
import { isSize } from "./tree.ts"

/**
 * The constants of a ledger. The canonical text is stored unchanged, and its hash identifies the
 * ledger in every record, so an entry cannot be replayed into another workspace or deployment:
 *
 *     ledgerId = SHA-256( "ALG1" || JCS(genesis) )
 */
export type Genesis = {
  readonly createdAt: string
  /** 16 random bytes in base64url. */
  readonly nonce: string
  /** Permanent name of the log: the first line of its checkpoints. */
  readonly origin: string
  readonly v: 1
  readonly workspaceId: string
  /** Present if this ledger continues another one, as after a restore that lost its end. */
  readonly continues?: Continued
}

/**
 * How many entries of the former ledger are kept, and its last known signed head. If that head is
 * unknown, its size and root are null.
 */
export type Continued = {
  readonly ledgerId: string
  readonly origin: string
  readonly size: number
  readonly root: string
  readonly lostSize: number | null
  readonly lostRoot: string | null
}

const genesisTag = "ALG1"

/** Takes the text, not the object: the hash covers the stored bytes. */
export function ledgerId(genesisJson: string, hash: Sha256 = sha256): Uint8Array {
  return hash(preimage(utf8(genesisTag), utf8(genesisJson)))
}

/** Exactly these members, in canonical form. */
export function parseGenesis(genesisJson: string): Genesis | undefined {
  const genesis = parseCanonical(genesisJson)
  if (!isJsonObject(genesis)) return undefined
  const { createdAt, nonce, origin, v, workspaceId, continues, ...others } = genesis
  if (v !== 1 || Object.keys(others).length > 0) return undefined
  if (
    typeof createdAt !== "string" ||
    typeof origin !== "string" ||
    typeof workspaceId !== "string"
  )
    return undefined
  if (typeof nonce !== "string" || fromBase64Url(nonce)?.length !== 16) return undefined
  if (continues === undefined) return { createdAt, nonce, origin, v, workspaceId }
  const continued = parseContinued(continues)
  return continued && { createdAt, nonce, origin, v, workspaceId, continues: continued }
}

/**
 * One ledger of a lineage: its genesis, and the number of entries before it, which its sequences
 * count too.
 */
export type Born = {
  readonly genesis: Genesis
  readonly ledgerId: Uint8Array
  readonly earlierEntries: number
}

/**
 * Reads the geneses of a ledger and of all ledgers that it continues, newest first. Undefined if
 * one of them does not continue the next, or if the last continues another ledger.
 */
export function readLineage(
  geneses: readonly string[],
  hash: Sha256 = sha256,
): readonly Born[] | undefined {
  const lineage: Born[] = []
  for (const text of geneses.toReversed()) {
    const genesis = parseGenesis(text)
    const before = lineage.at(-1)
    if (genesis === undefined || !follows(genesis, before)) return undefined
    const earlierEntries =
      before === undefined ? 0 : before.earlierEntries + (genesis.continues?.size ?? 0)
    if (!Number.isSafeInteger(earlierEntries)) return undefined
    lineage.push({ genesis, ledgerId: ledgerId(text, hash), earlierEntries })
  }
  return lineage.length === 0 ? undefined : lineage.toReversed()
}

function follows({ continues, workspaceId }: Genesis, before: Born | undefined): boolean {
  if (before === undefined || continues === undefined)
    return before === undefined && continues === undefined
  const { genesis, ledgerId: id } = before
  return (
    continues.ledgerId === toHex(id) &&
    continues.origin === genesis.origin &&
    workspaceId === genesis.workspaceId
  )
}

function parseContinued(value: Json): Continued | undefined {
  if (!isJsonObject(value)) return undefined
  const { ledgerId, origin, size, root, lostSize, lostRoot, ...others } = value
  if (Object.keys(others).length > 0 || typeof origin !== "string") return undefined
  if (!isHash(ledgerId) || !isHash(root) || !isSize(size)) return undefined
  if (lostSize === null && lostRoot === null)
    return { ledgerId, origin, size, root, lostSize, lostRoot }
  if (!isHash(lostRoot) || !isSize(lostSize)) return undefined
  return { ledgerId, origin, size, root, lostSize, lostRoot }
}

function isHash(value: Json | undefined): value is string {
  return typeof value === "string" && fromHex(value)?.length === 32
}
