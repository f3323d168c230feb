import assert from "node:assert/strict"
import { createHash } from "node:crypto"
import test from "node:test"
import { packReadme } from "./pack-readme.ts"

test("the text of the README never changes, because the hash of every pack covers it", () => {
  const acme = {
    workspace: "acme",
    origin: "ledger.example/ledgers/1",
    ledgerId: new Uint8Array(32),
  }
  const content = {
    packId: "pack_1",
    title: 'a "title"\n',
    createdAt: "2026-01-01T00:00:00.000Z",
    sequences: [1, 2],
    policies: [],
    checkpoint: "",
  }
  const text = packReadme(acme, content)
  assert.ok(
    text.includes('title      "a \\"title\\"\\n"\n') && text.includes("entries    2\n"),
    text,
  )
  const hashOf = (form: string) => createHash("sha256").update(form).digest("hex")
  assert.equal(hashOf(text), "2a09fd16b9488e54ad7755e9a26ea436043034d815848777aa7f4d778924eeca")
  const other = packReadme(acme, { ...content, verifier: "ab" })
  assert.equal(hashOf(other), "8080d210fc7387ef738155c65cc853de8a53eb1eb3e214269c2cdbed387262bf")
  for (const named of ["= + - @ or '", "tab", "line feed", "carriage return", "＝ ＋ － or ＠"])
    assert.ok(text.includes(named), named)
})
