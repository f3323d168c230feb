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

import { closeSync, fdatasyncSync, ftruncateSync, openSync, writeFileSync } from "node:fs"
import { dirname } from "node:path"
import { StartError } from "../error.ts"
import { syncPath } from "../runtime/durable-file.ts"
import { readIfThere } from "../runtime/read-if-there.ts"

/** The erased content of one ledger. The index of an entry counts from 0 within its epoch. */
export interface ErasedBlock {
  readonly origin: string
  readonly id: string
  readonly bodies: readonly { readonly index: number; readonly hash: string }[]
  readonly fields: readonly { readonly index: number; readonly digests: readonly string[] }[]
}

export interface ErasuresFile {
  /** Whether it lists the erasure with this id. */
  has(id: string): boolean
  /** The blocks of an erasure are on the disk on return. Skips those that the file has already. */
  add(blocks: readonly ErasedBlock[]): void
}

export function erasuresPath(heads: string): string {
  return `${heads.replace(/\.heads$/, "")}.erasures`
}

/** One process writes the file. */
export function openErasuresFile(path: string): ErasuresFile {
  const known = new Set(readErasures(path).flatMap(namesOf))
  // Whoever wrote them may have been killed before they were on the disk.
  if (known.size > 0) {
    syncPath(path)
    syncPath(dirname(path))
  }
  return {
    has: (id) => known.has(id),
    add(blocks) {
      const left = blocks.filter((block) => !known.has(nameOf(block)))
      if (left.length === 0) return
      append(path, `${left.map(formatBlock).join("")}${blockEnd}`)
      for (const name of left.flatMap(namesOf)) known.add(name)
    },
  }
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
 * A crash or a full disk may have left an incomplete block. It is removed before the next one is
 * appended.
 */
function append(path: string, text: string): void {
  const good = goodBytes(readIfThere(path)?.toString("utf8") ?? "")
  const file = openSync(path, "a", 0o600)
  try {
    ftruncateSync(file, good)
    // Writes all of it or throws. A single write stores only a part if the disk has no more room.
    writeFileSync(file, text)
    fdatasyncSync(file)
  } finally {
    closeSync(file)
  }
  // The file may be new, or made by an attempt that failed here.
  syncPath(dirname(path))
}

const blockEnd = "end\n"

function goodBytes(text: string): number {
  const last = text.lastIndexOf(`\n${blockEnd}`)
  return last < 0 ? 0 : Buffer.byteLength(text.slice(0, last + 1 + blockEnd.length))
}

function formatBlock({ origin, id, bodies, fields }: ErasedBlock): string {
  return [
    `erasure ${origin} ${id}`,
    ...bodies.map(({ index, hash }) => `body ${index} ${hash}`),
    ...fields.map(({ index, digests }) => `fields ${index} ${digests.join(" ")}`),
    "",
  ].join("\n")
}

/** Empty if there is no file. */
export function readErasures(path: string): readonly ErasedBlock[] {
  const text = readIfThere(path)?.toString("utf8") ?? ""
  return text
    .slice(0, goodBytes(text))
    .split(/^end\n|^(?=erasure )/m)
    .filter((block) => block !== "")
    .map((block) => parseBlock(path, block))
}

function parseBlock(path: string, text: string): ErasedBlock {
  const wrong = (): never => {
    throw new StartError(`${path} has a line that is not part of an erasure`)
  }
  const [first = "", ...lines] = text.trimEnd().split("\n")
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
