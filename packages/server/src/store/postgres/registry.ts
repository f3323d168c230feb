// The registry. A directory has the workspace of each document that is looked up without naming a
// workspace.

import { countDocuments, countedAtOnce } from "../counted-documents.ts"
import { documentOf, type Document } from "../documents.ts"
import type { Registry } from "../store.ts"
import type { Queries, Row } from "./connection.ts"

const columns = "d.kind, d.workspace_id, d.id, d.version, d.created"

const oneDocument = `SELECT ${columns}, d.value FROM tallystick.documents d
  WHERE d.workspace_id = $1 AND d.kind = $2 AND d.id = $3`
const placeOfCredential =
  "SELECT workspace_id FROM tallystick.directory WHERE kind = $1 AND id = $2 LIMIT 1"
const countAfter = `SELECT count(*), max(id) FROM (
    SELECT id FROM tallystick.documents WHERE workspace_id = $1 AND kind = $2 AND id > $3
    ORDER BY id LIMIT ${countedAtOnce}
  ) counted`

/** The bytes of documents in one answer: a hundred of the largest would be fifty megabytes. */
const listBytesMax = 1024 * 1024

/** The rows up to that size, at least one. */
const upToBytes = (rows: string): string => `
  SELECT kind, workspace_id, id, version, created, value
  FROM (
    SELECT *, sum(length(value)) OVER (ORDER BY created DESC, id DESC ROWS UNBOUNDED PRECEDING) AS bytes,
           row_number() OVER (ORDER BY created DESC, id DESC) AS place
    FROM (${rows}) found
  ) listed WHERE bytes <= ${listBytesMax} OR place = 1 ORDER BY created DESC, id DESC`

const behind = "ORDER BY created DESC, id DESC LIMIT $4"
const listOfWorkspace = upToBytes(`
  SELECT ${columns}, coalesce(d.listed, d.value) AS value FROM tallystick.documents d
  WHERE d.workspace_id = $1 AND d.kind = $5 AND (d.created, d.id) < ($2, $3) ${behind}`)
const listOfAll = upToBytes(`
  SELECT ${columns}, coalesce(d.listed, d.value) AS value
  FROM (
    SELECT * FROM tallystick.directory
    WHERE kind = $1 AND (created, id) < ($2, $3) ${behind}
  ) w JOIN tallystick.documents d
    ON d.workspace_id = w.workspace_id AND d.kind = w.kind AND d.id = w.id`)

export function registryOf(database: Queries): Registry {
  return {
    staleMsMax: 0,
    async get(kind, workspace, id) {
      const [row] = await database.rows(oneDocument, [workspace, kind, id])
      // A document's kind is the one that was asked for, so its value has that kind's type.
      return (row && documentIn(row)) as never
    },
    async workspaceOf(kind, id) {
      const [row] = await database.rows(placeOfCredential, [kind, id])
      return row === undefined ? undefined : String(row[0])
    },
    async list(kind, workspace, before, limit) {
      const { created = Number.MAX_SAFE_INTEGER, id = "" } = before ?? {}
      const rows =
        workspace === undefined
          ? await database.rows(listOfAll, [kind, created, id, limit])
          : await database.rows(listOfWorkspace, [workspace, created, id, limit, kind])
      return rows.map(documentIn) as never
    },
    count: (...asked) =>
      countDocuments(
        async (kind, workspace, after) => {
          const [[count, last] = []] = await database.rows(countAfter, [workspace, kind, after])
          return { count: Number(count), last: String(last) }
        },
        ...asked,
      ),
  }
}

function documentIn([kind, workspace, id, version, created, value]: Row): Document {
  return documentOf({ kind, workspace, id, version, created, value })
}
