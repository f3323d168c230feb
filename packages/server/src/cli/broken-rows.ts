// How many rows of an export are broken, read from its bytes as they arrive.

/** `added` takes the bytes in order. `total`: undefined if the file is not complete. */
export interface BrokenRows {
  added(bytes: Uint8Array): void
  total(): number | undefined
}

const [quote, comma, newline] = [0x22, 0x2c, 0x0a]
/** Of a cell that is compared: more than `integrity` and `broken` have. */
const comparedMax = 16

/** Of CSV with every cell in quotes. Nothing says whether a file of it is complete. */
export function brokenCsvRows(): BrokenRows {
  let isQuoted = false
  let [row, column, cell] = [0, 0, ""]
  let integrity: number | undefined
  let broken = 0
  const endCell = (isLast: boolean): void => {
    if (row === 0 && cell === "integrity") integrity = column
    if (row > 0 && column === integrity && cell === "broken") broken += 1
    cell = ""
    column = isLast ? 0 : column + 1
    if (isLast) row += 1
  }
  return {
    added(bytes) {
      for (let at = 0; at < bytes.length; at++) {
        const byte = bytes[at] ?? 0
        // A quote within a cell is doubled, and so turns twice.
        if (byte === quote) isQuoted = !isQuoted
        else if (!isQuoted && (byte === comma || byte === newline)) endCell(byte === newline)
        else if (isQuoted && (row === 0 || column === integrity) && cell.length < comparedMax)
          cell += String.fromCharCode(byte)
      }
    },
    total: () => broken,
  }
}

/** More than the last metadata of a file and what follows them. */
const endBytes = 1024

/** Of Parquet, whose footer has their number near its end. */
export function brokenParquetRows(): BrokenRows {
  let end = Buffer.alloc(0)
  return {
    added(bytes) {
      end = Buffer.concat([end, bytes.subarray(-endBytes)]).subarray(-endBytes)
    },
    total() {
      const text = end.toString("latin1")
      const said = [...text.matchAll(/\{"end":\{"count":\d+,"broken":(\d+),"sequence":\d+\}\}/g)]
      const broken = said.at(-1)?.[1]
      return broken === undefined || !text.endsWith("PAR1") ? undefined : Number(broken)
    },
  }
}
