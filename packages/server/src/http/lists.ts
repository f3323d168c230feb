// Lists: newest first, by a cursor that only we can read. What it holds counts across all workspaces, so it is sealed, to its list: nobody learns
// from it how much others do, and it opens no other list.

import { LedgerError } from "../error.ts"
import { deriveKey, unwrap, wrap } from "../secrets.ts"

export interface Page<T> {
  readonly items: readonly T[]
  readonly nextCursor: string | null
}

interface PageQuery {
  readonly cursor?: string | undefined
  readonly limit: number
}

type Read<T> = (before: number, limit: number) => Promise<readonly T[]>

export interface Lists {
  /**
   * A page of the list of this name; it has fewer than `limit` where they are large. With `sees` it has only what passes, as if there were nothing else: whoever reaches a part cannot count the
   * rest by pages that come out short. Nothing more is read once the signal is aborted; the page is then refused with its reason.
   */
  page<T extends { readonly serial: number }>(
    list: string,
    query: PageQuery,
    signal: AbortSignal,
    read: Read<T>,
    sees?: (item: T) => boolean,
  ): Promise<Page<T>>
}

/** Items that are read at once where some of them may be out of sight. */
const readAtOnce = 100

export function createLists(secret: Uint8Array): Lists {
  const key = deriveKey(secret, "list cursors")
  const cursorOf = (list: string, serial: number): string => {
    const bytes = new Uint8Array(8)
    new DataView(bytes.buffer).setFloat64(0, serial)
    return Buffer.from(wrap(key, list, bytes), "base64").toString("base64url")
  }
  const serialOf = (list: string, cursor: string): number => {
    try {
      const { buffer, byteOffset } = unwrap(key, list, cursor)
      return new DataView(buffer, byteOffset).getFloat64(0)
    } catch {
      throw new LedgerError("invalid_field", "cursor must be the nextCursor of another page of this list")
    }
  }

  return {
    async page(list, { cursor, limit }, signal, readAll, sees) {
      const read: typeof readAll = (before, most) => {
        signal.throwIfAborted()
        return readAll(before, most)
      }
      const from = cursor === undefined ? Number.MAX_SAFE_INTEGER : serialOf(list, cursor)
      // One more than the page holds, to know whether another follows. Where they are large, fewer are read at once.
      const found = sees === undefined ? await read(from, limit + 1) : await seen(limit + 1, from, read, sees)
      const items = found.slice(0, limit)
      const last = items.at(-1)
      if (last === undefined) return { items, nextCursor: null }
      const hasMore = found.length > limit || (sees === undefined && (await read(last.serial, 1)).length > 0)
      return { items, nextCursor: hasMore ? cursorOf(list, last.serial) : null }
    },
  }
}

/** Reads on until so many are in sight, or none are left. */
async function seen<T extends { readonly serial: number }>(
  count: number,
  from: number,
  read: Read<T>,
  sees: (item: T) => boolean,
): Promise<readonly T[]> {
  const found: T[] = []
  for (let before = from; found.length < count;) {
    const items = await read(before, readAtOnce)
    const last = items.at(-1)
    if (last === undefined) break
    found.push(...items.filter(sees))
    before = last.serial
  }
  return found
}
