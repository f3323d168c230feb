// The names of metadata in the bytes of entries. Each becomes a string and a group of keys when it
// occurs for the first time.

import type { EntryPoster } from "./entry-poster.ts"
import { isShort } from "./key-groups.ts"
import type { Owner } from "./search.ts"

/** Known names, as strings. Entries have them in about the same order. */
export class NameList {
  readonly #names: string[] = []
  #next = 0

  nameOf(bytes: Buffer, start: number, end: number): string {
    const names = this.#names
    for (let tried = 0; tried < names.length; tried++) {
      const at = (this.#next + tried) % names.length
      const name = names[at] ?? ""
      if (!isName(name, bytes, start, end - start)) continue
      this.#next = at + 1
      return name
    }
    const name = bytes.latin1Slice(start, end)
    if (names.length < knownNamesMax) names.push(name)
    return name
  }
}

/** More than the members of a body, and few enough to scan. */
const knownNamesMax = 32

export function isName(name: string, bytes: Uint8Array, start: number, length: number): boolean {
  if (name.length !== length) return false
  for (let at = 0; at < length; at++) if (name.charCodeAt(at) !== bytes[start + at]) return false
  return true
}

/** A name of metadata and its parent; or a member that has no searchable name. */
export class PathNode {
  readonly #poster: EntryPoster
  readonly #path: string | undefined
  // Most have no members, and there may be hundreds of thousands.
  #children: Map<string, PathNode> | undefined
  #known: NameList | undefined
  readonly #groups: Partial<Record<Owner, number>> = {}

  constructor(poster: EntryPoster, path: string | undefined) {
    this.#poster = poster
    this.#path = path
  }

  childAt(bytes: Buffer, start: number, end: number): PathNode {
    return this.#path === undefined
      ? this
      : this.child((this.#known ??= new NameList()).nameOf(bytes, start, end))
  }

  child(name: string): PathNode {
    if (this.#path === undefined) return this
    const children = (this.#children ??= new Map<string, PathNode>())
    const known = children.get(name)
    if (known !== undefined) return known
    const path = `${this.#path}.${name}`
    const made = new PathNode(this.#poster, isShort(path) ? path : undefined)
    children.set(name, made)
    return made
  }

  groupOf(owner: Owner): number {
    return (this.#groups[owner] ??= this.#poster.groups.ofField(
      this.#path === undefined ? [] : [this.#path],
      owner,
      true,
    ))
  }
}
