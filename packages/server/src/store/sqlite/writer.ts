// The writer's thread: the only connection that appends to the journal. All waiting groups share one
// transaction, and so one fsync.

import { statSync } from "node:fs"
import { join } from "node:path"
import type { DatabaseSync } from "node:sqlite"
import { toHex } from "@tallystick/proof"
import type { Limits } from "../../limits.ts"
import { conflictIn } from "../conflict.ts"
import type { Change } from "../documents.ts"
import { headReads } from "./chain-head.ts"
import { freeBytes, openForWriting } from "./database.ts"
import { unpack } from "./packed-commit.ts"
import { packDisclosures, packIdem, packReceipt } from "./packed-text.ts"
import { answer, givenToThread } from "../../runtime/worker-thread.ts"
import { workspaceNumbers } from "./workspace-numbers.ts"
import { sqliteCodeOf } from "../../error.ts"

export const writerModule = import.meta.filename

export interface WriterOptions {
  readonly folder: string
  /** An append is refused before it begins if it would leave less free space than the reserve. */
  readonly limits: Pick<Limits, "diskReserveBytes">
}

export interface PackedGroup {
  readonly workspace: string
  /** The hash is text: bytes may be a view of a large buffer, which would be copied as a whole. */
  readonly fromSequence: number
  readonly fromHash: string
  readonly count: number
  /** When the entries were recorded. */
  readonly timeMs: number
  readonly changes: readonly Change[]
}

export type WriterQuestions = {
  append(given: {
    readonly packed: Uint8Array
    readonly groups: readonly PackedGroup[]
  }): WriterAnswer
}

export type WriterAnswer =
  | { readonly full: true }
  | { readonly full: false; readonly groups: readonly GroupOutcome[] }

/** For a recorded group the `n` of its first entry. */
type GroupOutcome =
  | { readonly firstN: number }
  | { readonly moved: true }
  | { readonly conflict: number }

/** SQLite's extended codes for a failed fsync of a file and of its folder. */
const failedSync: readonly number[] = [1034, 1290]
const wholeWalPages = 1000

const options = givenToThread<WriterOptions>(writerModule)
if (options !== undefined) {
  const { folder, limits } = options
  let writer: Writer | undefined = openWriter(folder)
  const journal = fileGuard(folder, "journal.db", "stop it, and put the original back")
  const lock = fileGuard(folder, "lock", "another program may use the folder, so restart it")
  let hasFailed = false
  answer<WriterQuestions>(
    {
      append({ packed, groups }) {
        journal.requireSame()
        lock.requireSame()
        if (freeBytes(folder) < limits.diskReserveBytes + packed.byteLength) return { full: true }
        try {
          writer ??= openWriter(folder)
          // An empty transaction would not show whether the disk can be written to again.
          if (hasFailed && groups.length === 0) writer.writeSame()
          const written = writer.append(packed, groups)
          hasFailed = false
          return { full: false, groups: written }
        } catch (error) {
          // After a failed fsync the content of the disk is unknown, and a second fsync would
          // report success. Only a new process may read the files.
          if (failedSync.includes(sqliteCodeOf(error))) process.exit(1)
          // The outcome of the transaction is unknown, so the next one begins with a new
          // connection.
          hasFailed = true
          writer?.close()
          writer = undefined
          throw error
        }
      },
    },
    () => writer?.close(),
  )
}

/**
 * Throws once a file was removed or replaced: a commit would go into a journal that no start finds,
 * or meet those of a program that has locked the new file.
 */
function fileGuard(folder: string, name: string, advice: string): { requireSame(): void } {
  const path = join(folder, name)
  const inode = () => statSync(path, { bigint: true, throwIfNoEntry: false })?.ino
  const before = inode()
  return {
    requireSame() {
      if (inode() !== before)
        throw new Error(
          `${name} in ${folder} was removed or replaced while the service runs: ${advice}`,
        )
    },
  }
}

type Writer = ReturnType<typeof openWriter>

function openWriter(folder: string) {
  const journal = openForWriting(join(folder, "journal.db"), "journal", "full")
  journal.exec(`PRAGMA wal_autocheckpoint = ${wholeWalPages}`)
  const begin = journal.prepare("BEGIN IMMEDIATE")
  const commit = journal.prepare("COMMIT")
  const headOf = headReads(journal)
  const addWorkspace = journal.prepare("INSERT INTO workspaces (id) VALUES (?)")
  const addEntry = journal.prepare(
    `INSERT INTO entries (n, workspace, sequence, receipt, idem, record, sealed, salted)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  const documents = documentWrites(journal)
  const numberOf = workspaceNumbers(journal)
  let n = Number(journal.prepare("SELECT max(n) AS n FROM entries").get()?.["n"] ?? 0)

  const isAt = (number: number, { fromSequence, fromHash }: PackedGroup): boolean => {
    const head = headOf(number)
    if (head === undefined) return fromSequence === 0
    return head.sequence === fromSequence && toHex(head.hash) === fromHash
  }

  return {
    append(packed: Uint8Array, groups: readonly PackedGroup[]) {
      begin.run()
      let at = 0
      const outcomes = groups.map((group) => {
        const { workspace, fromSequence, count, timeMs, changes } = group
        const conflict = conflictIn(changes, (change) => documents.version(workspace, change))
        const number =
          numberOf(workspace) ??
          (fromSequence === 0 ? Number(addWorkspace.run(workspace).lastInsertRowid) : 0)
        const outcome: GroupOutcome =
          conflict >= 0 ? { conflict } : isAt(number, group) ? { firstN: n + 1 } : { moved: true }
        at = unpack(packed, at, count, (entry, place) => {
          if (!("firstN" in outcome)) return
          n += 1
          addEntry.run(
            n,
            number,
            fromSequence + place + 1,
            packReceipt(entry.receipt),
            packIdem(entry.idem),
            entry.record,
            packDisclosures(entry.disclosures),
            entry.saltedBody,
          )
        })
        if ("firstN" in outcome)
          for (const change of changes) documents.apply(workspace, change, timeMs)
        return outcome
      })
      commit.run()
      return outcomes
    },
    /** Makes a commit that changes nothing, but is synced like any other. */
    writeSame(): void {
      const { user_version: version } = journal.prepare("PRAGMA user_version").get() ?? {}
      journal.exec(`PRAGMA user_version = ${Number(version)}`)
    },
    close: () => journal.close(),
  }
}

function documentWrites(journal: DatabaseSync) {
  const version = journal.prepare(
    "SELECT version FROM documents WHERE kind = ? AND workspace = ? AND id = ?",
  )
  const add = journal.prepare(
    `INSERT INTO documents (kind, workspace, id, version, value, created) VALUES (?1, ?2, ?3, 1, ?4, max(?5,
       (SELECT ifnull(max(created), -1) + 1 FROM documents WHERE kind = ?1 AND workspace = ?2)))`,
  )
  const replace = journal.prepare(
    "UPDATE documents SET version = version + 1, value = ? WHERE kind = ? AND workspace = ? AND id = ?",
  )
  const remove = journal.prepare(
    "DELETE FROM documents WHERE kind = ? AND workspace = ? AND id = ?",
  )
  return {
    version: (workspace: string, { kind, id }: Change): number =>
      Number(version.get(kind, workspace, id)?.["version"] ?? 0),
    apply(workspace: string, { kind, id, version: replaced, value }: Change, timeMs: number): void {
      if (value === null) remove.run(kind, workspace, id)
      else if (replaced === 0) add.run(kind, workspace, id, JSON.stringify(value), timeMs)
      else replace.run(JSON.stringify(value), kind, workspace, id)
    },
  }
}
