import { createHash } from "node:crypto"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { setImmediate } from "node:timers/promises"
import { zstdDecompressSync } from "node:zlib"
import { expectChain, type ExpectedChain } from "../../packages/server/src/store/expect-chain.ts"
import type { Stored } from "../../packages/server/src/store/entries.ts"
import type { JournalReader } from "../../packages/server/src/store/store.ts"
import { databaseOf } from "../engine.ts"
import { askDatabase } from "../postgres-server.ts"

// Reads the journal's file or tables by the written format alone, without our programs.

/**
 * Computes a workspace's chain again from what is stored: every body, every salt, every disclosure.
 * The service may run meanwhile.
 */
export async function expectStoredChain(data: string, workspaceId: string): Promise<ExpectedChain> {
  const database = await databaseOf(data)
  if (database !== undefined) return await expectStoredChainIn(database, workspaceId)
  using journal = new DatabaseSync(join(data, "journal.db"), { readOnly: true })
  // At one moment: the service moves entries from rows into stretches meanwhile.
  journal.exec("PRAGMA busy_timeout = 10000; BEGIN;")
  return await expectChain(readerOf(journal), workspaceId)
}

/** In the database at this URL. */
async function expectStoredChainIn(url: string, workspaceId: string): Promise<ExpectedChain> {
  return await expectChain(tablesOf(url), workspaceId)
}

function tablesOf(url: string): Pick<JournalReader, "head" | "after"> {
  const entries = async (workspace: string, which: string, values: readonly unknown[]) => {
    const rows = await askDatabase(
      url,
      `SELECT *, substr(salted, 1, 16) AS salt, substr(salted, 17) AS body
       FROM tallystick.entries WHERE workspace_id = $1 ${which}`,
      [workspace, ...values],
    )
    return rows.map((row): Stored => ({
      workspace,
      sequence: Number(row["sequence"]),
      record: row["record"] as Uint8Array,
      receipt: String(row["receipt"]),
      idem: (row["idem"] as string | null) ?? undefined,
      bodySalt: (row["salt"] as Uint8Array | null) ?? undefined,
      body: (row["body"] as Uint8Array | null) ?? undefined,
      disclosures: String(row["sealed"]),
    }))
  }
  const frames = async (workspace: string, last: number): Promise<readonly Frame[]> => {
    const rows = await askDatabase(
      url,
      `SELECT bytes FROM tallystick.frames
       WHERE workspace_id = $1 AND first > $2 - 64 AND first <= $2 AND first + count > $2`,
      [workspace, last],
    )
    return rows.map((row) => ({ bytes: row["bytes"] as Uint8Array }))
  }
  return {
    after: async (workspace, sequence, limit) =>
      withBodies(
        await entries(workspace, "AND sequence > $2 ORDER BY sequence LIMIT $3", [sequence, limit]),
        (one) => frames(workspace, one),
      ),
    async head(workspace) {
      const [last] = await entries(workspace, "ORDER BY sequence DESC LIMIT 1", [])
      return last && headOf(last)
    },
  }
}

function headOf({ sequence, record }: Pick<Stored, "sequence" | "record">) {
  const hash = createHash("sha256").update("\0").update(record).digest()
  return { sequence, hash, timeMs: Number(Buffer.from(record).readBigUInt64BE(14)) }
}

function readerOf(journal: DatabaseSync): Pick<JournalReader, "head" | "after"> {
  const columns = `e.sequence, e.record, e.receipt, e.idem, substr(e.salted, 1, 16) AS salt,
    substr(e.salted, 17) AS body, e.sealed FROM workspaces w JOIN entries e ON e.workspace = w.number
    WHERE w.id = ?`
  const following = journal.prepare(
    `SELECT ${columns} AND e.sequence > ? ORDER BY e.sequence LIMIT ?`,
  )
  const last = journal.prepare(`SELECT ${columns} ORDER BY e.sequence DESC LIMIT 1`)
  const spans = journal.prepare(
    `SELECT s.first, s.count FROM workspaces w JOIN stretches s ON s.workspace = w.number
     WHERE w.id = ? AND s.part = 0 AND s.first + s.count > ? + 1 ORDER BY s.first`,
  )
  const frame = journal.prepare(
    `SELECT f.first FROM workspaces w JOIN frames f ON f.workspace = w.number
     WHERE w.id = ?1 AND f.part = 0 AND f.first <= ?2 AND f.first + f.count > ?2`,
  )
  const partsOf = (table: string) => {
    const parts = journal.prepare(
      `SELECT t.bytes FROM workspaces w JOIN ${table} t ON t.workspace = w.number
       WHERE w.id = ? AND t.first = ? ORDER BY t.part`,
    )
    return (workspace: string, first: number): Buffer =>
      Buffer.concat(parts.all(workspace, first).map((row) => row["bytes"] as Uint8Array))
  }
  const [sealed, stretch, bodies] = [
    partsOf("disclosures"),
    partsOf("stretches"),
    partsOf("frames"),
  ]
  const packed = (workspace: string, after: number, limit: number): readonly Stored[] => {
    const found: Stored[] = []
    for (const row of spans.iterate(workspace, after)) {
      const [first, count] = [Number(row["first"]), Number(row["count"])]
      const entries = stretchOf(stretch(workspace, first), count, sealed(workspace, first))
      for (const [at, one] of entries.entries())
        if (first + at > after) found.push({ ...one, workspace, sequence: first + at })
      if (found.length >= limit) break
    }
    return found
  }
  const frames = async (workspace: string, sequence: number): Promise<readonly Frame[]> => {
    const row = frame.get(workspace, sequence)
    return row === undefined ? [] : [{ bytes: bodies(workspace, Number(row["first"])) }]
  }
  return {
    async after(workspace, sequence, limit) {
      // Without a turn of the event loop, connections that the service closes seem open.
      await setImmediate()
      const rows = following.all(workspace, sequence, limit).map((row) => storedOf(workspace, row))
      const all = [...packed(workspace, sequence, limit), ...rows].toSorted(
        (one, other) => one.sequence - other.sequence,
      )
      return withBodies(all.slice(0, limit), (one) => frames(workspace, one))
    },
    async head(workspace) {
      const row = last.get(workspace)
      return row && headOf(storedOf(workspace, row))
    },
  }
}

/** The columns of a stretch: hashes, shared parts of records, kinds, times, receipts, keys. */
function stretchOf(bytes: Buffer, count: number, sealed: Buffer) {
  const common = 64 * count
  const [ledgerAt, kindsAt] = [common + 16, common + 48]
  const [timesAt, receiptsAt] = [kindsAt + count, kindsAt + 6 * count]
  const bitsAt = receiptsAt + 23 * count
  let keyAt = bitsAt + Math.ceil(count / 8)
  const text = sealed.length === 0 ? Buffer.alloc(0) : zstdDecompressSync(sealed)
  let from = 0
  return Array.from({ length: count }, (_, place) => {
    const record = Buffer.alloc(118)
    record.write("ALR1", "latin1")
    record[4] = bytes[kindsAt + place] ?? 0
    record.writeBigUInt64BE(bytes.readBigUInt64BE(common) + BigInt(place), 6)
    const afterMs = BigInt(bytes.readUIntBE(timesAt + 5 * place, 5))
    record.writeBigUInt64BE(bytes.readBigUInt64BE(common + 8) + afterMs, 14)
    bytes.copy(record, 22, ledgerAt, kindsAt)
    bytes.copy(record, 54, 64 * place, 64 * (place + 1))
    const receipt = receiptOf(
      bytes.subarray(receiptsAt + 23 * place, receiptsAt + 23 * (place + 1)),
    )
    const hasKey = ((bytes[bitsAt + (place >> 3)] ?? 0) >> (place & 7)) & 1
    const idem = hasKey ? bytes.subarray(keyAt, (keyAt += 16)).toString("base64url") : undefined
    const found = text.indexOf(0xfe, from)
    const end = found < 0 ? text.length : found
    const disclosures = disclosuresOf(text.subarray(from, end))
    from = end + 1
    return { record, receipt, idem, bodySalt: undefined, body: undefined, disclosures }
  })
}

/** The bodies of entries that follow each other, as a text of lines that zstd has compressed. */
interface Frame {
  readonly bytes: Uint8Array
}

/** A row without a body has it in a frame, which was written before the row lost it. */
async function withBodies(
  entries: readonly Stored[],
  framesOf: (sequence: number) => Promise<readonly Frame[]>,
): Promise<readonly Stored[]> {
  const bodies = new Map<number, { readonly salt: string; readonly body: string }>()
  const filled: Stored[] = []
  for (const entry of entries) {
    const index = Number(Buffer.from(entry.record).readBigUInt64BE(6))
    if (entry.body === undefined && !bodies.has(index)) {
      bodies.clear()
      for (const { bytes } of await framesOf(entry.sequence))
        for (const line of zstdDecompressSync(bytes).toString("utf8").trimEnd().split("\n")) {
          const one = JSON.parse(line)
          bodies.set(one.index, one)
        }
    }
    const packed = entry.body === undefined ? bodies.get(index) : undefined
    filled.push(
      packed === undefined
        ? entry
        : {
            ...entry,
            bodySalt: Buffer.from(packed.salt, "hex"),
            body: Buffer.from(packed.body, "utf8"),
          },
    )
  }
  return filled
}

/** The file's own rules say what its columns hold. */
function storedOf(workspace: string, row: Readonly<Record<string, unknown>>): Stored {
  return {
    workspace,
    sequence: Number(row["sequence"]),
    record: row["record"] as Uint8Array,
    receipt: receiptOf(row["receipt"] as Uint8Array),
    idem: row["idem"] === null ? undefined : base64Url(row["idem"] as Uint8Array),
    bodySalt: (row["salt"] as Uint8Array | null) ?? undefined,
    body: (row["body"] as Uint8Array | null) ?? undefined,
    disclosures: disclosuresOf((row["sealed"] as Uint8Array | null) ?? new Uint8Array()),
  }
}

/** Thirty-six digits of five bits each, and four bits of nothing. */
function receiptOf(bytes: Uint8Array): string {
  const digits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
  let text = "rcp_"
  for (let bit = 0; bit < 180; bit += 5) {
    const two = ((bytes[bit >> 3] ?? 0) << 8) | (bytes[(bit >> 3) + 1] ?? 0)
    text += digits[(two >> (11 - (bit & 7))) & 31]
  }
  return text
}

/** What is sealed, one after the other with 0xff between, which UTF-8 does not have. */
function disclosuresOf(bytes: Uint8Array): string {
  const parts: string[] = []
  for (let from = 0; from <= bytes.length;) {
    const found = bytes.indexOf(0xff, from)
    const end = found < 0 ? bytes.length : found
    parts.push(base64Url(bytes.subarray(from, end)))
    from = end + 1
  }
  return parts.join("~")
}

function base64Url(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("base64url")
}
