import assert from "node:assert/strict"
import { copyFileSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import {
  bodyHash,
  createFrontier,
  createVkey,
  ed25519PublicKey,
  ed25519Sign,
  encodeRecord,
  eventHash,
  formatCheckpoint,
  formatVkey,
  parseRecord,
  signNote,
  toHex,
} from "@tallystick/proof"
import { dropTriggers } from "../triggers.ts"

// An attacker who can write every file of a service and knows every format, but has no key.

export interface Files extends Disposable {
  readonly journal: DatabaseSync
  readonly index: DatabaseSync
}

export function openFiles(data: string): Files {
  const open = (name: string): DatabaseSync =>
    new DatabaseSync(join(data, name), { timeout: 10_000 })
  const [journal, index] = [open("journal.db"), open("index.db")]
  dropTriggers(journal)
  return {
    journal,
    index,
    [Symbol.dispose]() {
      journal.close()
      index.close()
    },
  }
}

interface Row {
  readonly n: number
  readonly record: Uint8Array
  readonly salted: Uint8Array
}

/**
 * Changes the action in an entry's body, and its hash in the record. `isLinked`: also makes every
 * later record anew.
 */
export function rewrite(
  { journal }: Files,
  workspace: string,
  sequence: number,
  isLinked: boolean,
): void {
  const number = numberOf(journal, workspace)
  const rows = journal
    .prepare(
      "SELECT n, record, salted FROM entries WHERE workspace = ? AND sequence >= ? ORDER BY sequence",
    )
    .all(number, sequence) as unknown as Row[] // as it is selected
  let previousHash: Uint8Array | undefined
  for (const { n, record, salted } of isLinked ? rows : rows.slice(0, 1)) {
    const fields = parseRecord(record)
    assert.ok(fields !== undefined)
    const text = Buffer.from(salted.subarray(16)).toString("utf8")
    const body =
      previousHash === undefined
        ? text.replace("billing.invoice.approve", "billing.invoice.decline")
        : text
    assert.ok(previousHash !== undefined || body !== text, "the entry says another action")
    const bytes = Buffer.concat([salted.subarray(0, 16), Buffer.from(body)])
    const made = encodeRecord({
      ...fields,
      bodyHash: bodyHash(bytes.subarray(0, 16), bytes.subarray(16)),
      ...(previousHash && { previousHash }),
    })
    journal.prepare("UPDATE entries SET salted = ?, record = ? WHERE n = ?").run(bytes, made, n)
    previousHash = eventHash(made)
  }
}

/**
 * Rebuilds the tree of the index from the journal's records: tiles, edge, and a checkpoint of the
 * new root with the old signatures.
 */
export function rebuildTree(
  { journal, index }: Files,
  workspace: string,
  sign?: (text: string, origin: string) => string,
): { readonly line: string } {
  const records = journal
    .prepare("SELECT record FROM entries WHERE workspace = ? ORDER BY sequence")
    .all(numberOf(journal, workspace))
    .map(({ record }) => record as Uint8Array) // a column of bytes
  const { note, size } = index
    .prepare("SELECT note, size FROM checkpoints WHERE workspace = ?")
    .get(workspace) as {
    note: string
    size: number
  } // as it is selected
  const tree = createFrontier()
  const tiles = new Map<string, Buffer[]>()
  for (const record of records.slice(0, size))
    tree.append(eventHash(record), (level, n, hash) => {
      if (level % 8 !== 0 && level !== 5) return
      const key = level === 5 ? `64 ${Math.floor(n / 8)}` : `${level / 8} ${Math.floor(n / 256)}`
      tiles.set(key, [...(tiles.get(key) ?? []), Buffer.from(hash)])
    })
  for (const [key, hashes] of tiles) {
    const [level = 0, tile = 0] = key.split(" ").map(Number)
    index
      .prepare("UPDATE tiles SET hashes = ? WHERE workspace = ? AND level = ? AND tile = ?")
      .run(Buffer.concat(hashes), workspace, level, tile)
  }
  const origin = note.split("\n")[0] ?? ""
  const text = formatCheckpoint({ origin, size, root: tree.root() })
  const signed = sign?.(text, origin) ?? `${text}${note.slice(note.lastIndexOf("\n\n") + 1)}`
  index
    .prepare("UPDATE trees SET size = ?, hashes = ? WHERE workspace = ?")
    .run(size, Buffer.concat(tree.save().hashes), workspace)
  index
    .prepare("UPDATE checkpoints SET root = ?, note = ? WHERE workspace = ?")
    .run(tree.root(), signed, workspace)
  return { line: `${origin} ${size} ${Buffer.from(tree.root()).toString("base64")}\n` }
}

/** Replaces the log's key by another one, with the old seal: a new seal needs the secret. */
export function replaceLogKey(
  { journal }: Files,
  workspace: string,
): (text: string, origin: string) => string {
  const seed = new Uint8Array(32).fill(9)
  const publicKey = ed25519PublicKey(seed)
  return (text, origin) => {
    const key = createVkey(origin, publicKey)
    journal
      .prepare(
        "UPDATE documents SET id = ?, value = json_set(value, '$.vkey', ?) WHERE kind = 'log-key' AND workspace = ?",
      )
      .run(toHex(key.keyId), formatVkey(key), workspace)
    return signNote(text, { name: origin, publicKey, sign: ed25519Sign(seed) })
  }
}

/** The heads file says what is wanted of this log. */
export function rewriteHeads(data: string, line: string): void {
  const origin = line.slice(0, line.indexOf(" "))
  const others = readFileSync(`${data}.heads`, "utf8")
    .split("\n")
    .filter((one) => one !== "" && !one.startsWith(`${origin} `))
  writeFileSync(`${data}.heads`, [...others, line].join("\n"))
}

const names = ["journal.db", "index.db", "search.db"]

/** Everything in one file each, so that copies of the files are copies of the data. */
export function keepCopy(data: string, suffix: string): void {
  for (const name of names) {
    using file = new DatabaseSync(join(data, name), { timeout: 10_000 })
    file.exec("PRAGMA wal_checkpoint(TRUNCATE)")
    copyFileSync(join(data, name), join(data, `${name}.${suffix}`))
  }
  copyFileSync(`${data}.heads`, `${data}.heads.${suffix}`)
}

/** For a stopped service: the write-ahead logs are removed. */
export function restoreCopy(data: string, suffix: string): void {
  for (const name of names) {
    for (const beside of ["-wal", "-shm"]) rmSync(join(data, name + beside), { force: true })
    copyFileSync(join(data, `${name}.${suffix}`), join(data, name))
  }
  copyFileSync(`${data}.heads.${suffix}`, `${data}.heads`)
}

function numberOf(journal: DatabaseSync, workspace: string): number {
  return Number(
    journal.prepare("SELECT number FROM workspaces WHERE id = ?").get(workspace)?.["number"],
  )
}
