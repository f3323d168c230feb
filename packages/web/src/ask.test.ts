import assert from "node:assert/strict"
import test from "node:test"
import { askJson } from "./ask.ts"

test("names of members arrive as they were sent", async (t) => {
  const texts = [String.raw`{"a":0,"\\":0}`, String.raw`{"a":0,"\n":0}`]
  const answers = texts.values()
  t.mock.method(globalThis, "fetch", async () => new Response(answers.next().value))
  for (const name of ["\\", "\n"]) {
    const told = await askJson<object>(new URL("https://ledger.example"))
    assert.deepEqual(told.ok && Object.keys(told.value), ["a", name])
  }
})

test("an answer that is cut off is no answer", async (t) => {
  t.mock.method(globalThis, "fetch", async () => new Response('{"a":'))
  const told = await askJson<object>(new URL("https://ledger.example"))
  assert.equal(!told.ok && told.refusal.code, "unreachable")
})
