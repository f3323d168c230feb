// The names of metadata in the bytes of entries. Each becomes a string and a group of keys when it
// occurs for the first time.

import type { EntryPoster } from "./entry-poster.ts"
import { isShort } from "./key-groups.ts"
import type { Owner } from "./search.ts"

/** What is known of members by their names. Entries have them in about the same order. */
export class NameList<T> {
  readonly #valueOf: (name: string) => T
  readonly #names: Uint8Array[] = []
  readonly #values: T[] = []
  #next = 0

  constructor(valueOf: (name: string) => T) {
    this.#valueOf = valueOf
  }

  /** A name is plain ASCII. */
  get(bytes: Buffer, start: number, end: number): T {
    const names = this.#names
    let at = this.#next
    for (let left = names.length; left > 0; left--) {
      if (at >= names.length) at = 0
      const name = names[at++]
      if (name === undefined || name.length !== end - start || !isAt(name, bytes, start)) continue
      this.#next = at
      // Each name has a value.
      return this.#values[at - 1] as T
    }
    const value = this.#valueOf(bytes.latin1Slice(start, end))
    if (names.length < knownNamesMax) {
      names.push(Uint8Array.from(bytes.subarray(start, end)))
      this.#values.push(value)
    }
    return value
  }
}

/** More than the members of a body, and few enough to scan. */
const knownNamesMax = 32

/** Whether these bytes stand there. */
export function isAt(part: Uint8Array, whole: Uint8Array, from: number): boolean {
  for (let at = 0; at < part.length; at++) if (part[at] !== whole[from + at]) return false
  return true
}

/** A name of metadata and its parent; or a member that has no searchable name. */
export class PathNode {
  readonly #poster: EntryPoster
  readonly #path: string | undefined
  // Most have no members, and there may be hundreds of thousands.
  #children: Map<string, PathNode> | undefined
  #known: NameList<PathNode> | undefined
  /** Whose it was when it was asked last, and its group then. */
  #owner: Owner | undefined
  #group = 0

  constructor(poster: EntryPoster, path: string | undefined) {
    this.#poster = poster
    this.#path = path
  }

  childAt(bytes: Buffer, start: number, end: number): PathNode {
    if (this.#path === undefined) return this
    this.#known ??= new NameList((name) => this.child(name))
    return this.#known.get(bytes, start, end)
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
    if (this.#owner !== owner) {
      const names = this.#path === undefined ? [] : [this.#path]
      this.#group = this.#poster.groups.ofField(names, owner, true)
      this.#owner = owner
    }
    return this.#group
  }
}
