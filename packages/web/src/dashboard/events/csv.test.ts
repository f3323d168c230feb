import assert from "node:assert/strict"
import test from "node:test"
import type { ListedEntry } from "@tallystick/client/wire"
import { csvHeader, csvRow } from "./csv.ts"

test("no cell ends its line, and none is a formula", () => {
  const entry = {
    sequence: 7,
    action: "=cmd()",
    actor: { id: "+1", type: "user", name: 'a "b"\r\n,c' },
    target: { id: "'x", name: { nested: true } },
    metadata: { a: 1 },
  } as unknown as ListedEntry // what a writer may send, and no more of the rest than is looked at
  const row = csvRow(entry)
  const cells = [...row.matchAll(/"((?:[^"]|"")*)"(,|\r\n)/g)].map(([, cell]) => cell)
  const names = [...csvHeader.matchAll(/"([^"]*)"/g)].map(([, name]) => name)
  assert.equal(cells.length, names.length)
  const cell = (name: string): string | undefined => cells[names.indexOf(name)]
  assert.equal(cell("sequence"), "7")
  assert.equal(cell("action"), "'=cmd()")
  assert.equal(cell("actorId"), "'+1")
  assert.equal(cell("actorName"), 'a ""b""\r\n,c')
  assert.equal(cell("targetId"), "''x")
  assert.equal(cell("targetName"), "")
  assert.equal(cell("metadata"), '{""a"":1}')
})
