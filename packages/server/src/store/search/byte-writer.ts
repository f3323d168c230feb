// A growing buffer, into which parts and headers are written.

export class ByteWriter {
  bytes: Buffer = Buffer.allocUnsafeSlow(4096)
  length = 0

  reserve(more: number): void {
    const needed = this.length + more
    if (needed <= this.bytes.length) return
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, this.bytes.length * 2))
    this.bytes.copy(larger, 0, 0, this.length)
    this.bytes = larger
  }

  /** An integer from 0 to 2^32 - 1: seven bits a byte, the lowest first; the last byte is below 128. */
  varint(value: number): void {
    this.reserve(5)
    const { bytes } = this
    let rest = value
    while (rest > 0x7f) {
      bytes[this.length++] = (rest & 0x7f) | 0x80
      rest >>>= 7
    }
    bytes[this.length++] = rest
  }

  append(from: Uint8Array, start = 0, end = from.length): void {
    this.reserve(end - start)
    const { bytes } = this
    // Most are short, and a copy by the platform begins with an object.
    if (end - start > 64) bytes.set(from.subarray(start, end), this.length)
    else for (let at = start; at < end; at++) bytes[this.length + at - start] = from[at] ?? 0
    this.length += end - start
  }

  f64(value: number): void {
    this.reserve(8)
    this.length = this.bytes.writeDoubleLE(value, this.length)
  }

  /** Returns a copy of the written bytes, and empties the writer. */
  take(): Buffer {
    const taken = Buffer.from(this.bytes.subarray(0, this.length))
    this.length = 0
    return taken
  }
}
