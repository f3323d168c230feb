import type { DatabaseSync } from "node:sqlite"

/**
 * Drops the triggers of a database: they prevent mistakes of the service, not changes by somebody
 * who has the file. Returns a function that restores them.
 */
export function dropTriggers(database: DatabaseSync): () => void {
  const triggers = database
    .prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'")
    .all()
  for (const { name } of triggers) database.exec(`DROP TRIGGER "${String(name)}"`)
  return () => {
    for (const { sql } of triggers) database.exec(String(sql))
  }
}
