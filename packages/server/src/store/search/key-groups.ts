// The first part of a search key: the names of a field, the owner of the field, and whether the
// words of its value can be searched.

import type { Owner } from "./search.ts"

/** Bytes that never occur in UTF-8. */
export const nameEnd = 0xff
export const nameJoin = 0xfe

/**
 * Of names: a query has 512 bytes, so none can name a longer one. A value under such a name is
 * found by its words alone; else a deep object would repeat its names in every key.
 */
const nameBytesMax = 512

const tags: Readonly<Record<Owner, readonly [exact: string, text: string]>> = {
  nobody: ["n", "N"],
  actor: ["a", "A"],
  target: ["t", "T"],
}
export const owners = ["nobody", "actor", "target"] as const

/** The tags of the owners by whose fields a reader may search, with and without words. */
export function tagsOf(owner: Owner): readonly number[] {
  return tags[owner].map((tag) => tag.charCodeAt(0))
}

export function textTagOf(owner: Owner): number {
  return tags[owner][1].charCodeAt(0)
}

const ownersOfTags = new Map(
  owners.flatMap((owner) => tagsOf(owner).map((tag) => [tag, owner] as const)),
)

export function ownerOf(tag: number): Owner {
  return ownersOfTags.get(tag) ?? "nobody"
}

/** Values for filters, in groups of their own. They keep their case and are not fields. */
export type Filter =
  | "project"
  | "system"
  | "lane"
  | "visible"
  | "actor"
  | "target"
  | "id"
  | "receipt"

export function filterPrefix(filter: Filter): Buffer {
  return Buffer.concat([Buffer.of(nameJoin), Buffer.from(filter), Buffer.of(nameEnd)])
}

/** The subject of a filter `actor` or `target`, with its case kept. */
export function partyValue({ id, type }: { readonly id: string; readonly type: string }): Buffer {
  return Buffer.concat([Buffer.from(id), Buffer.of(nameEnd), Buffer.from(type)])
}

export function joinedNames(names: readonly string[]): Buffer {
  const parts = names.flatMap((name, at) =>
    at === 0 ? [Buffer.from(name)] : [Buffer.of(nameJoin), Buffer.from(name)],
  )
  return Buffer.concat(parts)
}

/** No character takes more than three bytes. */
export function isShort(name: string): boolean {
  return name.length * 3 <= nameBytesMax || Buffer.byteLength(name) <= nameBytesMax
}

/** How long the first part of a key is; all of what is no key. */
export function startLength(key: Uint8Array, length: number): number {
  const end = key.subarray(0, length).indexOf(nameEnd)
  return end < 0 ? length : Math.min(end + (key[0] === nameJoin ? 1 : 2), length)
}

/** The groups of a segment that is being made, numbered in order of appearance. */
export class KeyGroups {
  /** The prefix of all keys of a group. */
  readonly prefixes: Buffer[] = []
  readonly #numbers = new Map<string, number>()

  ofField(names: readonly string[], owner: Owner, isText: boolean): number {
    const shortNames = names.every(isShort) ? names : names.filter(isShort)
    const tag = tags[owner][isText ? 1 : 0]
    const [name] = shortNames
    const isOne = name !== undefined && shortNames.length === 1
    const known = isOne ? `1${tag}${name}` : `2${tag}${JSON.stringify(shortNames)}`
    return this.#numberOf(known, () => {
      const end = Buffer.of(nameEnd, tag.charCodeAt(0))
      return Buffer.concat([isOne ? Buffer.from(name) : joinedNames(shortNames), end])
    })
  }

  ofFilter(filter: Filter): number {
    return this.#numberOf(`0${filter}`, () => filterPrefix(filter))
  }

  #numberOf(known: string, prefixOf: () => Buffer): number {
    const number = this.#numbers.get(known)
    if (number !== undefined) return number
    this.prefixes.push(prefixOf())
    this.#numbers.set(known, this.prefixes.length - 1)
    return this.prefixes.length - 1
  }

  /** The rank of each group in byte order. */
  ranks(): Uint32Array {
    const order = this.prefixes.map((_, group) => group)
    order.sort((one, other) =>
      Buffer.compare(this.prefixes[one] ?? nothing, this.prefixes[other] ?? nothing),
    )
    const ranks = new Uint32Array(order.length)
    for (const [rank, group] of order.entries()) ranks[group] = rank
    return ranks
  }
}

const nothing = Buffer.alloc(0)
