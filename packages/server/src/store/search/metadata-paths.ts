// The names of metadata in the bytes of entries. Each becomes a string and a group of keys when it
// occurs for the first time.

import type { EntryPoster } from "./entry-poster.ts"
import { isShort } from "./key-groups.ts"
import type { Owner } from "./search.ts"

/** What is known of members by their names. Entries have them in about the same order. */
export class NameList<T> {
  readonly #valueOf: (name: string) => T
  /** In quotes. */
  readonly #names: Uint8Array[] = []
  readonly #values: T[] = []
  #next = 0

  constructor(valueOf: (name: string) => T) {
    this.#valueOf = valueOf
  }

  /** The number of the name that stands there in its quotes; -1 if it is not known. */
  find(bytes: Uint8Array, start: number): number {
    const names = this.#names
    let at = this.#next
    for (let left = names.length; left > 0; left--) {
      if (at >= names.length) at = 0
      const name = names[at++]
      if (name === undefined || !isAt(name, bytes, start)) continue
      this.#next = at
      return at - 1
    }
    return -1
  }

  /** How long a found name is, with its quotes. */
  lengthOf(found: number): number {
    return this.#names[found]?.length ?? 0
  }

  value(found: number): T {
    // Each name has a value.
    return this.#values[found] as T
  }

  /** A name that is plain ASCII. */
  add(name: string): T {
    const value = this.#valueOf(name)
    if (this.#names.length < knownNamesMax) {
      this.#names.push(Uint8Array.from(Buffer.from(`"${name}"`, "latin1")))
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

  /** Its members by their names; undefined if they have no searchable ones. */
  get known(): NameList<PathNode> | undefined {
    if (this.#path !== undefined) this.#known ??= new NameList((name) => this.child(name))
    return this.#known
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
