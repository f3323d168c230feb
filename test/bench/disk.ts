// Bytes of an entry on the disk, by file and table, and within a row by column.

import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"

const columns = ["record", "receipt", "idem", "salted", "sealed"] as const

/** Rows of a table: what is measured, and its bytes for each entry. */
export function measureDisk(data: string): readonly (readonly [what: string, bytes: number])[] {
  const entries = firstOf(data, "journal.db", "SELECT max(n) AS number FROM entries")
  const rows: [string, number][] = []
  let all = 0
  for (const file of ["journal.db", "index.db", "search.db"]) {
    const tables = tablesOf(data, file)
    const bytes = tables.reduce((sum, table) => sum + table.bytes, 0)
    all += bytes
    rows.push([file, bytes / entries])
    for (const table of tables)
      if (table.bytes >= entries) rows.push([`… ${table.name}`, table.bytes / entries])
    if (file !== "journal.db") continue
    for (const name of columns) {
      const average = `SELECT avg(ifnull(length(${name}), 0)) AS number FROM entries`
      rows.push([`… … ${name} of an entry with a row`, firstOf(data, file, average)])
    }
  }
  return [["all", all / entries], ...rows]
}

function tablesOf(data: string, file: string): { readonly name: string; readonly bytes: number }[] {
  using database = new DatabaseSync(join(data, file), { readOnly: true })
  return database
    .prepare("SELECT name, sum(pgsize) AS bytes FROM dbstat GROUP BY name ORDER BY bytes DESC")
    .all()
    .map(({ name, bytes }) => ({ name: String(name), bytes: Number(bytes) }))
}

function firstOf(data: string, file: string, statement: string): number {
  using database = new DatabaseSync(join(data, file), { readOnly: true })
  return Number(database.prepare(statement).get()?.["number"])
}
