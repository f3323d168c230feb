// The first part of a key: under which names an entry stands, whose they are, and whether words
// are found in what follows.

import type { Owner } from "./search.ts"

/** Bytes that are in no UTF-8. */
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
const owners = ["nobody", "actor", "target"] as const

/** The tags of whom a reader may find by, words or not. */
export function tagsOf(owner: Owner): readonly number[] {
  return tags[owner].map((tag) => tag.charCodeAt(0))
}

export function textTagOf(owner: Owner): number {
  return tags[owner][1].charCodeAt(0)
}

export function isTextTag(tag: number): boolean {
  return tag < 0x61
}

export function ownerOf(tag: number): Owner {
  return owners.find((owner) => tagsOf(owner).includes(tag)) ?? "nobody"
}

/** What filters ask for, in groups of their own: as it is, and no field. */
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

/** The subject of a filter `actor` or `target`: both in their case. */
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

/** The groups of a segment that is being made, numbered as they come. */
export class KeyGroups {
  /** What the keys of a group begin with. */
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

  /** Each group's place in the order of their bytes. */
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
