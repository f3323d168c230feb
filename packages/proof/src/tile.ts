import { assert } from "./assert.ts"
import { sha256, type Sha256 } from "./sha256.ts"
import { hashBytes, isSize, nodeHash } from "./tree.ts"

/**
 * The tree as files that never change, by C2SP tlog-tiles. A full tile has 256 hashes; hash i of
 * tile N on tile level L is the root of the complete subtree over 256^L leaves that is number 256 *
 * N + i. So tiles of level 0 list leaf hashes, and each hash on a level above is the root of one
 * full tile below. The last tile of a level may be partial: the first 1 to 255 hashes of what will
 * be the full one.
 *
 *     tile/<L>/<N>[.p/<W>]         W hashes, or 256
 *     tile/entries/<N>[.p/<W>]     W entries, or 256: for each a uint16, big-endian, which is its length, then its bytes
 *
 * N is written in groups of three digits, all but the last behind an x: 1234067 is x001/x234/067.
 */
export type Tile = {
  readonly level: number | "entries"
  readonly index: number
  /** How many hashes or entries it holds, 1 to 256. */
  readonly width: number
}

export const tileWidth = 256
const tileLevelMax = 63

export function tilePath(
  level: number | "entries",
  index: number,
  width: number = tileWidth,
): string {
  assert(
    level === "entries" || (isSize(level) && level <= tileLevelMax),
    "a tile's level is 0 to 63",
  )
  assert(
    isSize(index) && isSize(width) && width >= 1 && width <= tileWidth,
    "a tile has an index, and 1 to 256 hashes",
  )
  const groups = [threeDigits(index % 1000)]
  for (let rest = Math.floor(index / 1000); rest > 0; rest = Math.floor(rest / 1000))
    groups.unshift(`x${threeDigits(rest % 1000)}`)
  return `tile/${level}/${groups.join("/")}${width === tileWidth ? "" : `.p/${width}`}`
}

/** Undefined unless `tilePath` would write the same path. */
export function parseTilePath(path: string): Tile | undefined {
  const [, levelText, groups, widthText] =
    /^tile\/(entries|\d{1,2})\/((?:x\d{3}\/){0,5}\d{3})(?:\.p\/(\d{1,3}))?$/.exec(path) ?? []
  if (levelText === undefined || groups === undefined) return undefined
  const level = levelText === "entries" ? levelText : Number(levelText)
  const index = Number(groups.replaceAll(/[x/]/g, ""))
  const width = widthText === undefined ? tileWidth : Number(widthText)
  if (
    (level !== "entries" && level > tileLevelMax) ||
    !isSize(index) ||
    width < 1 ||
    width > tileWidth
  )
    return undefined
  return tilePath(level, index, width) === path ? { level, index, width } : undefined
}

/**
 * How many hashes the partial tile at the right edge of this level has, for a tree of this size. 0:
 * the level ends with a full tile.
 */
export function partialWidth(level: number, size: number): number {
  return levelWidth(level, size) % tileWidth
}

/** How many hashes this level has in all. */
export function levelWidth(level: number, size: number): number {
  return Math.floor(size / tileWidth ** level)
}

/**
 * The location of the complete subtree (level, n): it covers `count` hashes of one tile, from
 * `start`.
 */
export type TileSlice = {
  readonly level: number
  readonly index: number
  readonly start: number
  readonly count: number
}

export function tileOf(level: number, n: number): TileSlice {
  const tileLevel = Math.floor(level / 8)
  const count = 2 ** (level % 8)
  const first = n * count
  return { level: tileLevel, index: Math.floor(first / tileWidth), start: first % tileWidth, count }
}

/**
 * The hash of the subtree over `count` hashes, a power of two, from `start` of a tile's bytes.
 * Always a copy.
 */
export function nodeInTile(
  tile: Uint8Array,
  start: number,
  count: number,
  hash: Sha256 = sha256,
): Uint8Array {
  assert((start + count) * hashBytes <= tile.length, "the tile must hold the whole subtree")
  if (count === 1) return new Uint8Array(tile.subarray(start * hashBytes, (start + 1) * hashBytes))
  const middle = count / 2
  return nodeHash(
    nodeInTile(tile, start, middle, hash),
    nodeInTile(tile, start + middle, middle, hash),
    hash,
  )
}

const entryBytesMax = 0xffff

/** The bytes of `tile/entries/…` for these entries. */
export function bundle(entries: readonly Uint8Array[]): Uint8Array {
  assert(entries.length <= tileWidth, "a bundle has up to 256 entries")
  assert(
    entries.every((entry) => entry.length <= entryBytesMax),
    "the length of an entry is a uint16",
  )
  const bytes = new Uint8Array(entries.reduce((length, entry) => length + 2 + entry.length, 0))
  let at = 0
  for (const entry of entries) {
    bytes[at] = entry.length >> 8
    bytes[at + 1] = entry.length & 0xff
    bytes.set(entry, at + 2)
    at += 2 + entry.length
  }
  return bytes
}

/** The entries, as views into `bytes`; undefined if they do not fill it exactly. */
export function parseBundle(bytes: Uint8Array): Uint8Array[] | undefined {
  const entries: Uint8Array[] = []
  let at = 0
  while (at < bytes.length) {
    const [high, low] = [bytes[at], bytes[at + 1]]
    if (high === undefined || low === undefined || entries.length === tileWidth) return undefined
    const end = at + 2 + high * 256 + low
    if (end > bytes.length) return undefined
    entries.push(bytes.subarray(at + 2, end))
    at = end
  }
  return entries
}

function threeDigits(group: number): string {
  return String(group).padStart(3, "0")
}
