// Pages of lists, newest first. A cursor contains a creation time, so it is encrypted: it must not
// tell what others do. It is bound to its list, and another list refuses it.

import { LedgerError } from "../error.ts"
import type { ListPlace } from "../store/documents.ts"
import { deriveKey, unwrap, wrap } from "../secrets/crypto.ts"

export interface Page<T> {
  readonly items: readonly T[]
  readonly nextCursor: string | null
}

interface PageQuery {
  readonly cursor?: string | undefined
  readonly limit: number
}

type Read<T> = (before: ListPlace | undefined, limit: number) => Promise<readonly T[]>

export interface Lists {
  /**
   * A page of the list of this name. Large items make it shorter than `limit`. With `sees`, the
   * page contains only items that pass, but it is still full: a short page would reveal how many
   * items are hidden. If the signal is aborted, reading stops, and the call rejects with its
   * reason.
   */
  page<T extends ListPlace>(
    list: string,
    query: PageQuery,
    signal: AbortSignal,
    read: Read<T>,
    sees?: (item: T) => boolean,
  ): Promise<Page<T>>
}

/** Items that are read at once if some of them may be hidden. */
const readAtOnce = 100

export function createLists(secret: Uint8Array): Lists {
  const key = deriveKey(secret, "list cursors")
  const cursorOf = (list: string, { created, id }: ListPlace): string =>
    Buffer.from(wrap(key, list, Buffer.from(`${created} ${id}`)), "base64").toString("base64url")
  const placeOf = (list: string, cursor: string): ListPlace => {
    try {
      const [created = "", ...id] = Buffer.from(unwrap(key, list, cursor))
        .toString()
        .split(" ")
      return { created: Number(created), id: id.join(" ") }
    } catch {
      throw new LedgerError(
        "invalid_field",
        "cursor must be the nextCursor of another page of this list",
      )
    }
  }

  return {
    async page(list, { cursor, limit }, signal, readAll, sees) {
      const read: typeof readAll = (before, most) => {
        signal.throwIfAborted()
        return readAll(before, most)
      }
      const from = cursor === undefined ? undefined : placeOf(list, cursor)
      // One more than fits, to know whether another page follows. Fewer come back if they are
      // large.
      const found =
        sees === undefined ? await read(from, limit + 1) : await seen(limit + 1, from, read, sees)
      const items = found.slice(0, limit)
      const last = items.at(-1)
      if (last === undefined) return { items, nextCursor: null }
      const hasMore =
        found.length > limit || (sees === undefined && (await read(last, 1)).length > 0)
      return { items, nextCursor: hasMore ? cursorOf(list, last) : null }
    },
  }
}

/** Reads until enough items pass, or none are left. */
async function seen<T extends ListPlace>(
  count: number,
  from: ListPlace | undefined,
  read: Read<T>,
  sees: (item: T) => boolean,
): Promise<readonly T[]> {
  const found: T[] = []
  for (let before = from; found.length < count;) {
    const items = await read(before, readAtOnce)
    const last = items.at(-1)
    if (last === undefined) break
    found.push(...items.filter(sees))
    before = last
  }
  return found
}
