import assert from "node:assert/strict"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import test from "node:test"
import { entryFields, fieldsWith } from "./entry-fields.ts"

/** The text between two headings of a document. */
function section(path: string, begin: string, end: string): string {
  const text = readFileSync(join(import.meta.dirname, "../../../docs", path), "utf8")
  return text.slice(text.indexOf(begin), text.indexOf(end))
}

test("docs/format.md and docs/api.md describe every field", () => {
  const bodies = section("format.md", "## The body", "## The record and its hash")
  const shown = section("format.md", "## What the API shows", "## Evidence packs")
  for (const name of Object.keys(entryFields)) {
    assert.ok(bodies.includes(`\`${name}\``), `${name} is not described under "The body"`)
    assert.ok(shown.includes(`\`${name}\``), `${name} is not described under "What the API shows"`)
  }
})

test("every field that a writer sets is described in the API's section about writing", () => {
  const rows = section("api.md", "**`POST /v1/events`**", "**The receipt**")
  for (const name of fieldsWith("from", "writer"))
    assert.ok(rows.includes(`\n| \`${name}\` |`), `${name} has no row`)
})
