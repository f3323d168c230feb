// Arrays in PostgreSQL's binary form, as parameters. As text, each would be written and parsed in
// twice its bytes, and a statement of a hundred entries cost three times as much.
//
//   array = i32 dimensions | i32 has nulls | u32 type | i32 length | i32 first index | element…
//   element = i32 length (-1: null) | bytes

export type ElementType = keyof typeof typeIds

const typeIds = { bytea: 17, text: 25 } as const
const headBytes = 20

/** `undefined` is null. An element is bytes, or a text of ASCII letters. */
export function binaryArray(
  type: ElementType,
  elements: readonly (readonly Uint8Array[] | string | undefined)[],
): Buffer {
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
    else
      for (const part of element ?? []) {
        array.set(part, at)
        at += part.length
      }
  }
  return array
}

/** The parts of an element stand end to end. */
function lengthOf(element: readonly Uint8Array[] | string | undefined): number {
  if (element === undefined || typeof element === "string") return element?.length ?? 0
  let bytes = 0
  for (const part of element) bytes += part.length
  return bytes
}
