import assert from "node:assert/strict"
import test from "node:test"
import { askJson, askText } from "./ask.ts"

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

test("a refusal has its own words, or the status that a proxy gave", async (t) => {
  const own = { code: "rate_limited", detail: "too many requests", requestId: "req_1" }
  const noReason = { code: "status 502", detail: "the service gave no reason" }
  for (const [status, body, refusal] of [
    [429, JSON.stringify({ error: own.code, detail: own.detail }), own],
    [502, "<h1>Bad gateway</h1>", noReason],
    [502, "null", noReason],
  ] as const) {
    const headers = status === 429 ? { "x-request-id": own.requestId } : {}
    t.mock.method(globalThis, "fetch", async () => new Response(body, { status, headers }))
    for (const asked of [askJson, askText]) {
      const told = await asked(new URL("https://ledger.example"))
      assert.deepEqual(told, { ok: false, refusal: { status, ...refusal } })
    }
  }
})
