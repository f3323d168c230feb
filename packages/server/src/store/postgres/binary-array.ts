// Array parameters in PostgreSQL's binary format. In the text format they have twice the bytes, and
// a statement of a hundred entries costs three times as much.
//
//   array = i32 dimensions | i32 has nulls | u32 type | i32 length | i32 first index | element…
//   element = i32 length (-1: null) | bytes

export type ElementType = keyof typeof typeIds

const typeIds = { bytea: 17, int8: 20, text: 25 } as const
const headBytes = 20

/** Undefined stands for null. A string must be ASCII. A list of byte arrays is concatenated. */
export type Element = readonly Uint8Array[] | string | number | undefined

export function binaryArray(type: ElementType, elements: readonly Element[]): Buffer {
  let bytes = headBytes
  for (const element of elements) bytes += 4 + lengthOf(element)
  const array = Buffer.allocUnsafe(bytes)
  array.writeInt32BE(1, 0)
  array.writeInt32BE(elements.includes(undefined) ? 1 : 0, 4)
  array.writeUInt32BE(typeIds[type], 8)
  array.writeInt32BE(elements.length, 12)
  array.writeInt32BE(1, 16)
  let at = headBytes
  for (const element of elements) {
    at = array.writeInt32BE(element === undefined ? -1 : lengthOf(element), at)
    if (typeof element === "string") at += array.latin1Write(element, at)
    else if (typeof element === "number") at = array.writeBigInt64BE(BigInt(element), at)
    else
      for (const part of element ?? []) {
        array.set(part, at)
        at += part.length
      }
  }
  return array
}

function lengthOf(element: Element): number {
  if (typeof element === "number") return 8
  if (element === undefined || typeof element === "string") return element?.length ?? 0
  let bytes = 0
  for (const part of element) bytes += part.length
  return bytes
}
