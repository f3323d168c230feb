// Signed sizes in the database, in addition to each server's own file. The larger one counts, and
// nothing is signed before both have it. So two servers never sign two trees of one size.
//
// A failover or a restore may reset the database to an older state. Then the servers that have
// signed since know more than the database, and write that back. The next signer finds that the
// history was changed.

import type { Clock } from "../../clock.ts"
import { closing } from "../../runtime/closing.ts"
import { repeatedly } from "../../runtime/repeatedly.ts"
import type { Heads, SignedHead } from "../heads.ts"
import { bytes, openTool, type Database, type Queries, type Row } from "./connection.ts"

const advanceHead = `
  INSERT INTO tallystick.signed_heads AS h (origin, size, root) VALUES ($1, $2, $3)
  ON CONFLICT (origin) DO UPDATE SET size = excluded.size, root = excluded.root
  WHERE h.size < excluded.size OR (h.size = excluded.size AND h.root = excluded.root)
  RETURNING 1`

const headsOf =
  "SELECT origin, size, root FROM tallystick.signed_heads WHERE origin = ANY ($1::text[])"
const allHeads = "SELECT origin, size, root FROM tallystick.signed_heads"

export async function readPostgresHeads(url: string): Promise<ReadonlyMap<string, SignedHead>> {
  await using tool = closing(await openTool(url))
  return headsIn(await tool.rows(allHeads))
}

/** Writes the heads that a server has signed to the database, before the server starts. */
export async function tellPostgresHeads(
  url: string,
  known: ReadonlyMap<string, SignedHead>,
): Promise<void> {
  await using tool = closing(await openTool(url))
  await tell(tool, known)
}

/** Raises the heads in the database to those that are known here. */
async function tell(database: Queries, known: ReadonlyMap<string, SignedHead>): Promise<void> {
  const listed = headsIn(await database.rows(headsOf, [[...known.keys()]]))
  for (const [origin, { size, root }] of known)
    if ((listed.get(origin)?.size ?? 0) < size)
      await database.rows(advanceHead, [origin, size, Buffer.from(root)])
}

function headsIn(rows: readonly Row[]): ReadonlyMap<string, SignedHead> {
  return new Map(
    rows.map(([origin, size, root]) => [String(origin), { size: Number(size), root: bytes(root) }]),
  )
}

/** The heads that a server has signed are written to the database again at this interval. */
const tellEveryMs = 2000

export function sharedHeads(database: Database, file: Heads, clock: Clock): Heads {
  const signedHere = new Map<string, SignedHead>()
  const telling = repeatedly(clock, tellEveryMs, async () => {
    if (signedHere.size > 0) await tell(database, signedHere)
  })
  return {
    async get(origin) {
      const shared = headsIn(await database.rows(headsOf, [[origin]])).get(origin)
      const own = await file.get(origin)
      return own === undefined || (shared !== undefined && own.size < shared.size) ? shared : own
    },
    async advance(origin, head) {
      const values = [origin, head.size, Buffer.from(head.root)]
      const moved = await database.rows(advanceHead, values)
      const isSigned = moved.length === 1 && (await file.advance(origin, head))
      if (isSigned) signedHere.set(origin, head)
      return isSigned
    },
    close() {
      telling.close()
      file.close()
    },
  }
}
