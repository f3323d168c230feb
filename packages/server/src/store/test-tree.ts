// A tree that grows, for tests of what reads it.

import { createHash } from "node:crypto"
import { createFrontier } from "@tallystick/proof"
import { sha256 } from "../runtime/sha256.ts"
import type { TreeStore } from "./tree-reads.ts"
import { flipped } from "../../../../test/flipped.ts"

export const log = { workspace: "acme", number: 1, before: 0, end: undefined }

export function leafOf(at: number): Buffer {
  return createHash("sha256").update(`leaf ${at}`).digest()
}

/** Tiles of a tree that grows, by level and number, and how often each was read. */
export function openTree() {
  const tree = createFrontier(undefined, sha256)
  const tiles = new Map<string, Uint8Array>()
  const read: string[] = []
  const kept: TreeStore = {
    journal: { records: async () => new Uint8Array() },
    index: {
      tiles: async (_, __, wanted) =>
        wanted.map(({ level, tile }) => {
          read.push(`${level}/${tile}`)
          return tiles.get(`${level}/${tile}`) ?? new Uint8Array()
        }),
    },
  }
  const grow = (size: number): { readonly size: number; readonly root: Uint8Array } => {
    while (tree.size < size)
      tree.append(leafOf(tree.size), (level, n, hash) => {
        if (level % 8 !== 0 && level !== 5) return
        const name = level === 5 ? `64/${Math.floor(n / 8)}` : `${level / 8}/${Math.floor(n / 256)}`
        tiles.set(name, Buffer.concat([tiles.get(name) ?? Buffer.alloc(0), hash]))
      })
    return { size, root: tree.root() }
  }
  const flip = (name: string, at: number): void =>
    void tiles.set(name, flipped(tiles.get(name), at))
  return { tiles, kept, grow, read, flip }
}
