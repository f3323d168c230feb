// Lists: newest first, by a cursor that only we can read.

import { LedgerError } from "../error.ts"

export interface Page<T> {
  readonly items: readonly T[]
  readonly nextCursor: string | null
}

/** Reads one more than the page holds, to know whether another follows. A page has fewer than `limit` where they are large. */
export async function pageOf<T extends { readonly serial: number }>(
  { cursor, limit }: { readonly cursor?: string | undefined; readonly limit: number },
  read: (before: number, limit: number) => Promise<readonly T[]>,
): Promise<Page<T>> {
  const found = await read(cursor === undefined ? Number.MAX_SAFE_INTEGER : serialOf(cursor), limit + 1)
  const items = found.slice(0, limit)
  const last = items.at(-1)
  if (last === undefined) return { items, nextCursor: null }
  const hasMore = found.length > limit || (await read(last.serial, 1)).length > 0
  return { items, nextCursor: hasMore ? Buffer.from(`before ${last.serial}`).toString("base64url") : null }
}

function serialOf(cursor: string): number {
  const [, serial] = /^before ([1-9][0-9]{0,14})$/.exec(Buffer.from(cursor, "base64url").toString("latin1")) ?? []
  if (serial === undefined) throw new LedgerError("invalid_field", "cursor must be the nextCursor of another page")
  return Number(serial)
}
