// All stored documents, for the tool that copies a ledger.

import { listedValue, storedDocument, type Documents, type DocumentKind } from "../documents.ts"
import type { StoredDocument } from "../offline.ts"
import { beginAcrossNodes, type Queries, type ToolConnection } from "./connection.ts"

const documentsPerRead = 100

/** In order of creation within workspace and kind. */
const documentsAfter = `
  SELECT kind, workspace_id, id, version, created, value FROM tallystick.documents
  WHERE (workspace_id, kind, created, id) > ($1, $2, $3::bigint, $4)
  ORDER BY workspace_id, kind, created, id LIMIT ${documentsPerRead}`
const addDocuments = `
  INSERT INTO tallystick.documents (workspace_id, kind, id, version, created, value, listed)
  SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::bigint[],
                       $6::text[], $7::text[])`

export async function* storedDocuments(
  database: Queries,
): AsyncGenerator<readonly StoredDocument[]> {
  for (let last: readonly unknown[] = ["", "", -1, ""]; ;) {
    const rows = await database.rows(documentsAfter, last)
    if (rows.length === 0) return
    yield rows.map(([kind, workspace, id, version, created, value]) =>
      storedDocument({ kind, workspace, id, version, created, value }),
    )
    const [kind, workspace, id, , created] = rows.at(-1) ?? []
    last = [workspace, kind, created, id]
  }
}

export async function replaceDocuments(
  database: ToolConnection,
  documents: AsyncIterable<readonly StoredDocument[]>,
): Promise<void> {
  await database.run(beginAcrossNodes)
  await database.run("DELETE FROM tallystick.documents")
  for await (const page of documents)
    await database.rows(addDocuments, [
      page.map(({ workspace }) => workspace),
      page.map(({ kind }) => kind),
      page.map(({ id }) => id),
      page.map(({ version }) => version),
      page.map(({ created }) => created),
      page.map(({ value }) => value),
      page.map(listedText),
    ])
  await rebuildDirectory(database)
  await database.run("COMMIT")
}

/** Rebuilds the directory from the documents, within a transaction. */
export async function rebuildDirectory(database: ToolConnection): Promise<void> {
  await database.run("DELETE FROM tallystick.directory")
  await database.run(
    `INSERT INTO tallystick.directory (kind, id, workspace_id, created)
     SELECT kind, id, workspace_id, created FROM tallystick.documents
     WHERE kind IN (${listedKinds})`,
  )
}

/** The kinds that are in the directory. `append_group` has the same list. */
export const listedKinds = "'workspace', 'api-key', 'token', 'setup'"

function listedText({ value }: StoredDocument): string | null {
  // Every document was written as the value of its kind.
  const whole = JSON.parse(value) as Documents[DocumentKind]
  const listed = listedValue(whole)
  return listed === whole ? null : JSON.stringify(listed)
}
