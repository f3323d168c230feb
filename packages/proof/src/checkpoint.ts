import { assert } from "./assert.ts"
import { fromBase64, toBase64 } from "./encoding.ts"
import { isHash, isSize } from "./tree.ts"
import { isKeyName } from "./vkey.ts"

/**
 * A checkpoint commits to the whole log at one size (C2SP tlog-checkpoint). As the text of a signed
 * note, it has three lines:
 *
 *     <origin>           the log's name, and the name of the key that signs
 *     <size>             decimal
 *     <root>             base64
 *
 * The specification also allows further lines. We write none and accept none, because a cosignature
 * need not cover them.
 */
export type Checkpoint = {
  readonly origin: string
  readonly size: number
  readonly root: Uint8Array
}

export function formatCheckpoint({ origin, size, root }: Checkpoint): string {
  assert(
    isKeyName(origin) && isSize(size) && isHash(root),
    "a checkpoint has a name, a size, and a root",
  )
  return `${origin}\n${size}\n${toBase64(root)}\n`
}

export function parseCheckpoint(text: string): Checkpoint | undefined {
  const [origin, sizeText, rootText, end, ...others] = text.split("\n")
  if (
    origin === undefined ||
    rootText === undefined ||
    end !== "" ||
    others.length > 0 ||
    !isKeyName(origin)
  )
    return undefined
  const size = parseDecimal(sizeText)
  const root = fromBase64(rootText)
  if (size === undefined || !root || !isHash(root)) return undefined
  return { origin, size, root }
}

/** A number of leaves in the C2SP formats: digits only, no leading zero. */
export function parseDecimal(text: string | undefined): number | undefined {
  if (text === undefined || !/^(?:0|[1-9][0-9]{0,15})$/.test(text)) return undefined
  const value = Number(text)
  return isSize(value) ? value : undefined
}
