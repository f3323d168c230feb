import { createHash } from "node:crypto"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { expectChain, type ExpectedChain } from "../../packages/server/src/store/expect-chain.ts"
import type { JournalReader, Stored } from "../../packages/server/src/store/store.ts"

// The journal's file as somebody reads it who has the file and the written format, and none of our
// programs.

/**
 * Computes a workspace's chain again from the file: every body, every salt, every disclosure. The
 * service may run meanwhile.
 */
export async function expectKept(data: string, workspaceId: string): Promise<ExpectedChain> {
  using journal = new DatabaseSync(join(data, "journal.db"), { readOnly: true })
  journal.exec("PRAGMA busy_timeout = 10000")
  return await expectChain(readerOf(journal), workspaceId)
}

function readerOf(journal: DatabaseSync): Pick<JournalReader, "head" | "after"> {
  const columns = `e.sequence, e.record, e.receipt, e.idem, substr(b.salted, 1, 16) AS salt, substr(b.salted, 17) AS body, d.sealed FROM workspaces w JOIN entries e ON e.workspace = w.number
    LEFT JOIN bodies b ON b.n = e.n LEFT JOIN disclosures d ON d.n = e.n WHERE w.id = ?`
  const following = journal.prepare(
    `SELECT ${columns} AND e.sequence > ? ORDER BY e.sequence LIMIT ?`,
  )
  const last = journal.prepare(`SELECT ${columns} ORDER BY e.sequence DESC LIMIT 1`)
  return {
    after: async (workspace, sequence, limit) =>
      following.all(workspace, sequence, limit).map((row) => storedOf(workspace, row)),
    async head(workspace) {
      const row = last.get(workspace)
      if (row === undefined) return undefined
      const { sequence, record } = storedOf(workspace, row)
      const hash = createHash("sha256").update("\0").update(record).digest()
      return { sequence, hash, timeMs: Number(Buffer.from(record).readBigUInt64BE(14)) }
    },
  }
}

/** The file's own rules say what its columns hold. */
function storedOf(workspace: string, row: Readonly<Record<string, unknown>>): Stored {
  return {
    workspace,
    sequence: Number(row["sequence"]),
    record: row["record"] as Uint8Array,
    receipt: row["receipt"] as string,
    idem: (row["idem"] as string | null) ?? undefined,
    bodySalt: (row["salt"] as Uint8Array | null) ?? undefined,
    body: (row["body"] as Uint8Array | null) ?? undefined,
    disclosures: (row["sealed"] as string | null) ?? "",
  }
}
