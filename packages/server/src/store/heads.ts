// The last signed size and root of each ledger, kept outside the data: a copy of the data that is older than what was signed must not
// be signed again from there, and only something that did not travel with the copy can know.
//
//   <origin> <size> <root in base64>\n     appended and synced before each signature; the last line of an origin counts

import {
  closeSync,
  existsSync,
  fdatasyncSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from "node:fs"
import { dirname } from "node:path"
import { equalBytes, fromBase64, toBase64 } from "@tallystick/proof"
import { StartError } from "../error.ts"

export interface SignedHead {
  readonly size: number
  readonly root: Uint8Array
}

export interface Heads {
  get(origin: string): SignedHead | undefined
  /** On the disk when it returns true. False, and no change, when a larger tree or another one of this size was signed. */
  advance(origin: string, head: SignedHead): boolean
  close(): void
}

/** Superseded lines that may stand in the file before it is written anew at the next start. */
const staleLinesMax = 10_000

export function openHeads(path: string): Heads {
  const { heads, lines, cut } = readHeads(path)
  if (cut || lines > heads.size + staleLinesMax) rewrite(path, heads)
  const file = openSync(path, "a", 0o600)
  // Its name, whether the file is new or was just put in the place of another.
  syncFolder(path)
  let good = fstatSync(file).size
  return {
    get: (origin) => heads.get(origin),
    advance(origin, head) {
      const before = heads.get(origin)
      if (before !== undefined && before.size > head.size) return false
      if (before?.size === head.size) return equalBytes(before.root, head.root)
      // A full disk may have taken a part of the last line that was tried: each one begins where the last good one ends.
      ftruncateSync(file, good)
      const line = lineOf(origin, head)
      writeFileSync(file, line)
      fdatasyncSync(file)
      good += Buffer.byteLength(line)
      heads.set(origin, head)
      return true
    },
    close: () => closeSync(file),
  }
}

export function memoryHeads(): Heads {
  const heads = new Map<string, SignedHead>()
  return {
    get: (origin) => heads.get(origin),
    advance(origin, head) {
      const before = heads.get(origin)
      if (before !== undefined && before.size >= head.size) return before.size === head.size && equalBytes(before.root, head.root)
      heads.set(origin, head)
      return true
    },
    close: () => {},
  }
}

/** What was signed, for a look at the start; the file may not be there yet. */
export function readHeads(path: string): { readonly heads: Map<string, SignedHead>; readonly lines: number; readonly cut: boolean } {
  const heads = new Map<string, SignedHead>()
  const lines = existsSync(path) ? readFileSync(path, "utf8").split("\n") : [""]
  // What follows the last newline was cut by a crash before it was synced, so nothing was signed on it.
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

function rewrite(path: string, heads: ReadonlyMap<string, SignedHead>): void {
  const fresh = openSync(`${path}.new`, "w", 0o600)
  writeFileSync(fresh, [...heads].map(([origin, head]) => lineOf(origin, head)).join(""))
  fsyncSync(fresh)
  closeSync(fresh)
  renameSync(`${path}.new`, path)
}

function lineOf(origin: string, { size, root }: SignedHead): string {
  return `${origin} ${size} ${toBase64(root)}\n`
}

function syncFolder(path: string): void {
  const folder = openSync(dirname(path), "r")
  fsyncSync(folder)
  closeSync(folder)
}
