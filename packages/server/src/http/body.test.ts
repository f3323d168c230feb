import assert from "node:assert/strict"
import { once } from "node:events"
import type { IncomingMessage } from "node:http"
import { PassThrough } from "node:stream"
import test from "node:test"
import { LedgerError } from "../error.ts"
import { readBody, type BodyRules } from "./body.ts"

function openBody(
  headers: Record<string, string>,
  bytesMax = 100_000,
  place?: BodyRules["place"],
  arrived: readonly string[] = [],
) {
  const stream = new PassThrough()
  for (const part of arrived) stream.write(part)
  const raw = Object.assign(stream, {
    headers: { "content-type": "application/json", ...headers },
  }) as unknown as IncomingMessage
  const incoming = { raw, askForBody: () => {} }
  return { stream, body: readBody(incoming, { mayBeAbsent: false, bytesMax, place }) }
}

const ways: readonly (readonly [about: string, headers: Record<string, string>])[] = [
  ["with its length", { "content-length": "50000" }],
  ["in chunks", { "transfer-encoding": "chunked" }],
]
for (const [about, headers] of ways) {
  test(`a body ${about} is read correctly from chunks of any size, and tiny chunks take no more memory`, async () => {
    const sent = Buffer.from(Array.from({ length: 50_000 }, (_, at) => 32 + (at % 90)))
    for (const part of [1, 7, 4096, 50_000]) {
      const { stream, body } = openBody(headers)
      for (let at = 0; at < sent.length; at += part) stream.write(sent.subarray(at, at + part))
      stream.end()
      const read = await body
      assert.ok(read.equals(sent), `${part}`)
      assert.ok(
        read.buffer.byteLength <= 2 * sent.length || part === 50_000,
        `${read.buffer.byteLength} bytes are held`,
      )
    }
  })
}

test("a body that has arrived with its headers is returned at once, and its stream ends", async () => {
  const headers = { "content-length": "6" }
  const { stream, body } = openBody(headers, 100, undefined, ["123", "456"])
  assert.deepEqual(body, Buffer.from("123456"))
  stream.end()
  await once(stream, "end")
})

test("memory is reserved for a body before it is read, or chunk by chunk, and a refusal stops the reading", async () => {
  const taken: number[] = []
  const place: BodyRules["place"] = {
    take(bytes) {
      if (taken.reduce((sum, one) => sum + one, bytes) > 10)
        throw new LedgerError("overloaded", "no room")
      taken.push(bytes)
    },
  }
  assert.throws(() => openBody({ "content-length": "11" }, 100, place), /no room/)
  const { stream, body } = openBody({ "transfer-encoding": "chunked" }, 100, place)
  for (const part of ["123456", "1234", "1", "12345"]) stream.write(part)
  await assert.rejects(async () => await body, /no room/)
  assert.deepEqual(taken, [6, 4])
})
