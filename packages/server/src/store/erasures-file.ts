// A list of erasures, in a file next to the heads file: digests and places, never values. Copies of
// the data do not include it, so if a copy from before an erasure is started, its content is erased
// again before anything is served.
//
//   erasure <origin> <id>
//   body <index> <event hash in base64>
//   fields <index> <digest> <digest> …
//   end
//
// An erasure has one block for each epoch of the ledger, and one `end`, so that a crash leaves all
// its blocks or none. It is synced before anything is destroyed.

import {
  closeSync,
  fdatasyncSync,
  ftruncateSync,
  openSync,
  readSync,
  statSync,
  writeFileSync,
} from "node:fs"
import { dirname } from "node:path"
import { StartError } from "../error.ts"
import { syncPath } from "../runtime/durable-file.ts"
import { ifThere } from "../runtime/read-if-there.ts"

/** The erased content of one ledger. The index of an entry counts from 0 within its epoch. */
export interface ErasedBlock {
  readonly origin: string
  readonly id: string
  readonly bodies: readonly { readonly index: number; readonly hash: string }[]
  readonly fields: readonly { readonly index: number; readonly digests: readonly string[] }[]
}

export interface ErasuresFile {
  has(id: string): boolean
  /** The blocks of an erasure are on the disk on return. Skips those that the file has already. */
  add(blocks: readonly ErasedBlock[]): void
}

export function erasuresPath(heads: string): string {
  return `${heads.replace(/\.heads$/, "")}.erasures`
}

/** One process writes the file. */
export function openErasuresFile(path: string): ErasuresFile {
  let listed = listedIn(path)
  return {
    has: (id) => listed.known.has(id),
    add(blocks) {
      // An attempt may have failed here, or somebody has removed or replaced the file.
      const { size = 0 } = statSync(path, { throwIfNoEntry: false }) ?? {}
      if (size !== listed.end) listed = listedIn(path)
      const { known, end } = listed
      const left = blocks.filter((block) => !known.has(nameOf(block)))
      if (left.length === 0) return
      const text = `${left.map(formatBlock).join("")}end\n`
      append(path, end, text)
      for (const name of left.flatMap(namesOf)) known.add(name)
      listed = { known, end: end + Buffer.byteLength(text) }
    },
  }
}

interface Listed {
  readonly known: Set<string>
  /** The byte after the last complete erasure. */
  readonly end: number
}

/** They are on the disk on return. */
function listedIn(path: string): Listed {
  const known = new Set<string>()
  let end = 0
  for (const erasure of erasuresIn(path)) {
    for (const name of erasure.blocks.flatMap(namesOf)) known.add(name)
    end = erasure.end
  }
  // Whoever wrote them may have failed, or been killed, before they were on the disk.
  if (known.size > 0) {
    syncPath(path)
    syncPath(dirname(path))
  }
  return { known, end }
}

export function memoryErasures(): ErasuresFile {
  const known = new Set<string>()
  return {
    has: (id) => known.has(id),
    add: (blocks) => blocks.forEach(({ id }) => known.add(id)),
  }
}

function nameOf({ origin, id }: ErasedBlock): string {
  return `${origin} ${id}`
}

function namesOf(block: ErasedBlock): readonly string[] {
  return [nameOf(block), block.id]
}

/**
 * A crash or a full disk may have left an incomplete erasure at the end. It is removed before the
 * next one is appended.
 */
function append(path: string, end: number, text: string): void {
  const file = openSync(path, "a", 0o600)
  try {
    ftruncateSync(file, end)
    // Writes all of it or throws. A single write stores only a part if the disk has no more room.
    writeFileSync(file, text)
    fdatasyncSync(file)
  } finally {
    closeSync(file)
  }
  // The file may be new, or made by an attempt that failed here.
  syncPath(dirname(path))
}

function formatBlock({ origin, id, bodies, fields }: ErasedBlock): string {
  return [
    `erasure ${origin} ${id}`,
    ...bodies.map(({ index, hash }) => `body ${index} ${hash}`),
    ...fields.map(({ index, digests }) => `fields ${index} ${digests.join(" ")}`),
    "",
  ].join("\n")
}

/** Reads the file in pieces, because it only grows. Empty if there is no file. */
export function* readErasures(path: string): Generator<ErasedBlock> {
  for (const { blocks } of erasuresIn(path)) yield* blocks
}

interface ListedErasure {
  readonly blocks: readonly ErasedBlock[]
  /** The byte after its last line. */
  readonly end: number
}

/** The complete ones. */
function* erasuresIn(path: string): Generator<ListedErasure> {
  let blocks: string[][] = []
  for (const { line, end } of linesOf(path)) {
    if (line === "end") {
      yield { blocks: blocks.map((lines) => parseBlock(path, lines)), end }
      blocks = []
    } else if (blocks.length === 0 || line.startsWith("erasure ")) blocks.push([line])
    else blocks.at(-1)?.push(line)
  }
}

const pieceBytes = 64 * 1024

/** The complete lines, and where each ends. */
function* linesOf(path: string): Generator<{ readonly line: string; readonly end: number }> {
  const file = openIfThere(path)
  if (file === undefined) return
  try {
    const piece = Buffer.allocUnsafe(pieceBytes)
    let [rest, before] = [Buffer.alloc(0), 0]
    for (let count = 0; (count = readSync(file, piece)) > 0;) {
      const bytes = Buffer.concat([rest, piece.subarray(0, count)])
      let from = 0
      for (let to = 0; (to = bytes.indexOf("\n", from)) >= 0; from = to + 1)
        yield { line: bytes.toString("utf8", from, to), end: before + to + 1 }
      rest = bytes.subarray(from)
      before += from
    }
  } finally {
    closeSync(file)
  }
}

function openIfThere(path: string): number | undefined {
  try {
    return openSync(path, "r")
  } catch (error) {
    return ifThere(error)
  }
}

function parseBlock(path: string, [first = "", ...lines]: readonly string[]): ErasedBlock {
  const wrong = (): never => {
    throw new StartError(`${path} has a line that is not part of an erasure`)
  }
  const [, origin = wrong(), id = wrong()] = /^erasure (\S+) (\S+)$/.exec(first) ?? []
  const bodies: { index: number; hash: string }[] = []
  const fields: { index: number; digests: readonly string[] }[] = []
  for (const line of lines) {
    const [, kind, index, rest = ""] = /^(body|fields) (\d+) (\S+(?: \S+)*)$/.exec(line) ?? wrong()
    if (kind === "body") bodies.push({ index: Number(index), hash: rest })
    else fields.push({ index: Number(index), digests: rest.split(" ") })
  }
  return { origin, id, bodies, fields }
}
