// The last signed size and root of each ledger. The file is outside the data, so a copy of the data
// does not include it: the service must not continue to sign from the end of an old copy.
//
//   <origin> <size> <root in base64>\n
//
// A line is appended and synced before each signature. The last line of an origin counts.

import {
  closeSync,
  fdatasyncSync,
  fstatSync,
  ftruncateSync,
  openSync,
  statSync,
  writeFileSync,
} from "node:fs"
import { dirname } from "node:path"
import { equalBytes, fromBase64, toBase64 } from "@tallystick/proof"
import { replaceFile, syncPath } from "../runtime/durable-file.ts"
import { readIfThere } from "../runtime/read-if-there.ts"
import { StartError } from "../error.ts"

export interface SignedHead {
  readonly size: number
  readonly root: Uint8Array
}

export interface Heads {
  get(origin: string): Promise<SignedHead | undefined>
  /**
   * Resolves to true once the head is on the disk. Resolves to false, without a change, if a larger
   * tree or another tree of this size was signed.
   */
  advance(origin: string, head: SignedHead): Promise<boolean>
  close(): void
}

/** With more superseded lines than this, the file is written anew: it must not grow for ever. */
const staleLinesMax = 10_000

/**
 * Only one process has the file open. Comparison and sync are synchronous, so nothing can happen
 * between them.
 */
export async function openHeads(path: string): Promise<Heads> {
  const read = readLines(path)
  const { heads, cut } = read
  let { lines } = read
  const replace = (): void =>
    replaceFile(path, [...heads].map(([origin, head]) => lineOf(origin, head)).join(""))
  const isStale = (): boolean => lines > heads.size + staleLinesMax
  if (cut || isStale()) {
    replace()
    lines = heads.size
  }
  let { file, good } = openEnd(path)
  /** A line may have been written in part. */
  let isTorn = false
  const reopen = (): void => {
    const before = file
    ;({ file, good } = openEnd(path))
    closeSync(before)
    lines = heads.size
    isTorn = false
  }
  const shorten = (): void => {
    try {
      replace()
    } catch {
      // The old file has all heads. One that is mounted by itself cannot be replaced.
    }
    // Also after an error: the file may have been replaced already.
    reopen()
  }
  const requireOwn = (): void => {
    // It was removed or moved away: the next start would know nothing of what was signed.
    const there = statSync(path, { bigint: true, throwIfNoEntry: false })
    if (there === undefined) {
      replace()
      return reopen()
    }
    const { size, ino } = fstatSync(file, { bigint: true })
    if (there.ino !== ino) throw foreign(path, "replaced")
    if (size !== BigInt(good) && !isTorn) throw foreign(path, "written to")
  }
  const append = (line: string): void => {
    requireOwn()
    // A full disk may have stored a part of a failed line: cut the file after its last good line.
    ftruncateSync(file, good)
    if (isStale()) shorten()
    isTorn = true
    writeFileSync(file, line)
    fdatasyncSync(file)
    isTorn = false
    good += Buffer.byteLength(line)
    lines += 1
  }
  return headsOf(heads, append, () => closeSync(file))
}

/**
 * Nothing is signed then: the next start would not know of it, or of what the other program has
 * signed.
 */
function foreign(path: string, what: "replaced" | "written to"): Error {
  return new Error(
    `the heads file ${path} was ${what} by another program, so nothing is signed: give each service a heads file of its own, put the lines of both into this one, and start again`,
  )
}

/** Opens the file to append to it. It is on the disk, with its name, when this returns. */
function openEnd(path: string): { readonly file: number; readonly good: number } {
  const file = openSync(path, "a", 0o600)
  syncPath(dirname(path))
  return { file, good: fstatSync(file).size }
}

export function memoryHeads(): Heads {
  return headsOf(
    new Map(),
    () => {},
    () => {},
  )
}

/** `keep` appends a line, and throws unless it is on the disk. */
function headsOf(
  heads: Map<string, SignedHead>,
  keep: (line: string) => void,
  close: () => void,
): Heads {
  return {
    get: async (origin) => heads.get(origin),
    async advance(origin, head) {
      const before = heads.get(origin)
      if (before !== undefined && before.size >= head.size)
        return before.size === head.size && equalBytes(before.root, head.root)
      keep(lineOf(origin, head))
      heads.set(origin, head)
      return true
    },
    close,
  }
}

/** Empty if the file does not exist. */
export async function readHeads(path: string): Promise<ReadonlyMap<string, SignedHead>> {
  return readLines(path).heads
}

function readLines(path: string): {
  readonly heads: Map<string, SignedHead>
  readonly lines: number
  readonly cut: boolean
} {
  const heads = new Map<string, SignedHead>()
  const lines = (readIfThere(path)?.toString("utf8") ?? "").split("\n")
  // A crash cut the text after the last newline before it was synced, so nothing was signed.
  const cut = lines.pop() !== ""
  for (const line of lines) {
    const [, origin, size, rootText] = /^(\S+) (\d+) (\S+)$/.exec(line) ?? []
    const root = fromBase64(rootText ?? "")
    if (origin === undefined || size === undefined || root?.length !== 32)
      throw new StartError(`${path} has a line that is not "<origin> <size> <root>"`)
    heads.set(origin, { size: Number(size), root })
  }
  return { heads, lines: lines.length, cut }
}

function lineOf(origin: string, { size, root }: SignedHead): string {
  return `${origin} ${size} ${toBase64(root)}\n`
}
