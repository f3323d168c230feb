// Signed sizes in the database, in front of each server's own file: the larger one counts, and
// nothing is signed before both have it. So two servers never sign two trees of one size, and a
// database that was put back to an older state is noticed by any server that signed since.

import type { Heads, SignedHead } from "../heads.ts"
import { bytes, openTool, type Database, type Statement } from "./connection.ts"

const signedHead: Statement = {
  name: "signed head",
  text: "SELECT size, root FROM tallystick.signed_heads WHERE origin = $1",
}
const advanceHead: Statement = {
  name: "advance head",
  text: `INSERT INTO tallystick.signed_heads AS h (origin, size, root) VALUES ($1, $2, $3)
         ON CONFLICT (origin) DO UPDATE SET size = excluded.size, root = excluded.root
         WHERE h.size < excluded.size OR (h.size = excluded.size AND h.root = excluded.root)
         RETURNING 1`,
}

const allHeads: Statement = {
  name: "signed heads",
  text: "SELECT origin, size, root FROM tallystick.signed_heads",
}

export async function readPostgresHeads(url: string): Promise<ReadonlyMap<string, SignedHead>> {
  const tool = await openTool(url)
  try {
    const rows = await tool.rows(allHeads)
    return new Map(
      rows.map(([origin, size, root]) => [
        String(origin),
        { size: Number(size), root: bytes(root) },
      ]),
    )
  } finally {
    await tool.close()
  }
}

export function sharedHeads(database: Database, file: Heads): Heads {
  return {
    async get(origin) {
      const [row] = await database.rows(signedHead, [origin])
      const own = await file.get(origin)
      if (row === undefined) return own
      const shared = { size: Number(row[0]), root: bytes(row[1]) }
      return own === undefined || own.size < shared.size ? shared : own
    },
    async advance(origin, { size, root }) {
      const values = [origin, size, Buffer.from(root)]
      const moved = await database.rows(advanceHead, values)
      return moved.length === 1 && file.advance(origin, { size, root })
    },
    close: () => file.close(),
  }
}
