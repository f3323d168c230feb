import assert from "node:assert/strict"
import { createHash } from "node:crypto"
import test from "node:test"
import { packReadme } from "./pack-readme.ts"

test("the text never changes: the hash of every pack that was made is over it", () => {
  const acme = { workspace: "acme", origin: "ledger.example/ledgers/1", ledgerId: new Uint8Array(32) }
  const content = {
    packId: "pack_1",
    title: 'a "title"\n',
    createdAt: "2026-01-01T00:00:00.000Z",
    sequences: [1, 2],
    policies: [],
    checkpoint: "",
  }
  const text = packReadme(acme, content)
  assert.ok(text.includes('title      "a \\"title\\"\\n"\n') && text.includes("entries    2\n"), text)
  assert.equal(createHash("sha256").update(text).digest("hex"), "79126a507d81c8d2447d10f0b18609f00d6cbefb4505a530da36f700112c7972")
})
