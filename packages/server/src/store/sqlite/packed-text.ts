// Receipts, keys and disclosures are digits of base 32 or 64. The journal stores the decoded bytes,
// which are a quarter to a third fewer. A text that could not be restored exactly from these bytes
// is stored as text, so the type of a column shows its form.
//
//   receipt      "rcp_" and 36 digits of Crockford's base 32        23 bytes
//   idem         22 digits of base64url                             16 bytes
//   disclosures  base64url, joined by "~"                           their bytes, joined by 0xff

interface Digits {
  readonly bits: number
  /** The value of each character. `none` if it is no digit. */
  readonly values: Int32Array
  readonly codes: Uint8Array
}

/** Negative, so that an OR of several values is negative if one of them is. */
const none = -1
const crockford = digitsOf("0123456789ABCDEFGHJKMNPQRSTVWXYZ")
const base64Url = digitsOf("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")

const prefix = Buffer.from("rcp_")
const receiptDigits = 36
const receiptChars = prefix.length + receiptDigits
export const receiptBytes = Math.ceil((receiptDigits * crockford.bits) / 8)
const idemChars = 22
export const idemBytes = 16
const tilde = 0x7e
/** UTF-8 has no such byte, and disclosures are UTF-8. */
const between = 0xff

/** Reused buffers: each result is valid until the next call. */
const receipt = new Uint8Array(receiptBytes)
const idem = new Uint8Array(idemBytes)
let disclosures = Buffer.alloc(4096)
/** The prefix, and room for digits up to a multiple of eight. */
const receiptText = Buffer.concat([prefix], prefix.length + 40)

export function packReceipt(text: Buffer): Uint8Array | string {
  const isReceipt = text.length === receiptChars && prefix.compare(text, 0, prefix.length) === 0
  return isReceipt && pack(crockford, text, prefix.length, text.length, receipt, 0) > 0
    ? receipt
    : text.latin1Slice()
}

/** Null for an entry without a key. */
export function packIdem(text: Buffer): Uint8Array | string | null {
  if (text.length === 0) return null
  const isDigest = text.length === idemChars
  return isDigest && pack(base64Url, text, 0, text.length, idem, 0) === idemBytes
    ? idem
    : text.latin1Slice()
}

export function packDisclosures(text: Buffer): Uint8Array | string | null {
  if (text.length === 0) return null
  if (text.length > disclosures.length) disclosures = Buffer.alloc(2 * text.length)
  let at = 0
  for (let from = 0; from <= text.length;) {
    const found = text.indexOf(tilde, from)
    const to = found < 0 ? text.length : found
    const end = pack(base64Url, text, from, to, disclosures, at)
    if (end < 0 || holdsBetween(at, end)) return text.latin1Slice()
    disclosures[end] = between
    at = end + 1
    from = to + 1
  }
  return disclosures.subarray(0, at - 1)
}

function holdsBetween(from: number, to: number): boolean {
  const found = disclosures.indexOf(between, from)
  return found >= 0 && found < to
}

export function receiptOf(column: unknown): string {
  if (!(column instanceof Uint8Array)) return String(column)
  return unpackReceipt(column)
}

export function idemOf(column: unknown): string | undefined {
  if (column instanceof Uint8Array) return base64UrlOf(column, 0, column.length)
  return typeof column === "string" ? column : undefined
}

export function disclosuresOf(column: unknown): string {
  if (!(column instanceof Uint8Array)) return typeof column === "string" ? column : ""
  let text = ""
  for (let from = 0; from <= column.length;) {
    const found = column.indexOf(between, from)
    const to = found < 0 ? column.length : found
    text += `${from === 0 ? "" : "~"}${base64UrlOf(column, from, to)}`
    from = to + 1
  }
  return text
}

function base64UrlOf({ buffer, byteOffset }: Uint8Array, from: number, to: number): string {
  return Buffer.from(buffer, byteOffset + from, to - from).base64urlSlice()
}

/** Five bytes are eight digits. The bits after the last whole digit are padding. */
function unpackReceipt(bytes: Uint8Array): string {
  const { bits, codes } = crockford
  const count = Math.min(receiptDigits, Math.floor((bytes.length * 8) / bits))
  for (let [from, at] = [0, prefix.length]; from < bytes.length && at < receiptChars; from += 5) {
    const middle = bytes[from + 2] ?? 0
    const high = ((bytes[from] ?? 0) << 12) | ((bytes[from + 1] ?? 0) << 4) | (middle >>> 4)
    const low = ((middle & 15) << 16) | ((bytes[from + 3] ?? 0) << 8) | (bytes[from + 4] ?? 0)
    putFour(codes, high, at)
    putFour(codes, low, at + 4)
    at += 8
  }
  return receiptText.latin1Slice(0, prefix.length + count)
}

/** The digits of twenty bits. */
function putFour(codes: Uint8Array, four: number, at: number): void {
  receiptText[at] = codes[four >>> 15] ?? 0
  receiptText[at + 1] = codes[(four >>> 10) & 31] ?? 0
  receiptText[at + 2] = codes[(four >>> 5) & 31] ?? 0
  receiptText[at + 3] = codes[four & 31] ?? 0
}

/** Returns the end of the bytes in `into`. -1 if they would not restore the same text. */
function pack(
  { bits, values }: Digits,
  text: Uint8Array,
  from: number,
  to: number,
  into: Uint8Array,
  start: number,
): number {
  let [word, held, at, place] = [0, 0, start, from]
  // Four digits at a time are three bytes.
  for (; bits === base64Url.bits && place + 4 <= to; place += 4) {
    const three =
      (valueAt(values, text, place) << 18) |
      (valueAt(values, text, place + 1) << 12) |
      (valueAt(values, text, place + 2) << 6) |
      valueAt(values, text, place + 3)
    if (three < 0) return -1
    into[at++] = three >>> 16
    into[at++] = three >>> 8
    into[at++] = three
  }
  for (; place < to; place++) {
    const value = valueAt(values, text, place)
    if (value < 0) return -1
    word = ((word << bits) | value) & 0xffff
    held += bits
    if (held < 8) continue
    held -= 8
    into[at++] = word >>> held
  }
  const rest = word & ((1 << held) - 1)
  if (bits === crockford.bits) into[at++] = rest << (8 - held)
  else if (rest !== 0 || held >= bits) return -1
  return at
}

function valueAt(values: Int32Array, text: Uint8Array, place: number): number {
  return values[text[place] ?? 0] ?? none
}

function digitsOf(alphabet: string): Digits {
  const codes = Buffer.from(alphabet)
  const values = new Int32Array(256).fill(none)
  for (const [value, code] of codes.entries()) values[code] = value
  return { bits: Math.log2(alphabet.length), values, codes }
}
