import assert from "node:assert/strict"
import { createHash } from "node:crypto"
import test from "node:test"
import fc from "fast-check"
import { AssertionError } from "./assert.ts"
import type { Json, JsonObject } from "./json.ts"
import { digest, disclosure, openBody, parseDisclosure } from "./sealed.ts"

const salt = (byte: number) => new Uint8Array(16).fill(byte)
const base64Url = (text: string) => Buffer.from(text).toString("base64url")

const email = disclosure(salt(1), "email", "ada@example.com")
const other = disclosure(salt(2), "other", { team: "red", tags: [1, { a: null }] })
const context = disclosure(salt(3), "context", { requestId: "r1" })
const note = disclosure(salt(4), "note", "hello")
const body: JsonObject = {
  _sd: [digest(context)],
  _sd_alg: "sha-256",
  actor: { _sd: [digest(email), digest(other)].sort(), id: "usr_1", type: "user" },
  list: { first: { _sd: [digest(note)] } },
  v: 1,
}

test("a disclosure parses back, and its digest is the hash of its text", () => {
  fc.assert(
    fc.property(
      fc.uint8Array({ minLength: 16, maxLength: 16 }),
      fc.string({ unit: "grapheme" }),
      fc.jsonValue(),
      (salt, name, value) => {
        fc.pre(!["_sd", "_sd_alg", "...", "__proto__"].includes(name))
        const clean = JSON.parse(
          JSON.stringify(value).replaceAll(/"(_sd|_sd_alg|\.\.\.|__proto__)":/g, '"x":'),
        ) as Json
        const text = disclosure(salt, name, clean)
        assert.deepEqual(parseDisclosure(text), { salt, name, value: clean })
        assert.equal(digest(text), createHash("sha256").update(text, "ascii").digest("base64url"))
      },
    ),
  )
})

test("a claim with a reserved name or another salt fails an assertion", () => {
  for (const name of ["_sd", "_sd_alg", "...", "__proto__"])
    assert.throws(() => disclosure(salt(1), name, 1), AssertionError)
  assert.throws(() => disclosure(new Uint8Array(15), "a", 1), AssertionError)
})

test("a text that is no disclosure is refused", () => {
  const saltText = base64Url("\x01".repeat(16))
  const bad = [
    "",
    "W10",
    "not base64!",
    `${email}=`,
    base64Url('{"a":1}'),
    base64Url(`["${saltText}","email"]`),
    base64Url(`["${saltText}","email",1,2]`),
    base64Url(`["${saltText}",1,2]`),
    base64Url(`[1,"email",2]`),
    base64Url(`["${saltText}","email", 1]`),
    base64Url(`["${saltText}","email",{"b":1,"a":2}]`),
    base64Url(`["${saltText}","email",{"a":1,"a":2}]`),
    base64Url(`["${saltText.slice(2)}","email",1]`),
    base64Url(`["${saltText}=","email",1]`),
    base64Url(`["${saltText}","_sd",[]]`),
    base64Url(`["${saltText}","...",1]`),
    base64Url(`["${saltText}","__proto__",1]`),
    base64Url(`["${saltText}","email",{"_sd":[]}]`),
    base64Url(`["${saltText}","email",[{"a":{"...":"x"}}]]`),
    Buffer.from([0x5b, 0xff]).toString("base64url"),
  ]
  for (const text of bad) {
    assert.equal(parseDisclosure(text), undefined, text)
    assert.deepEqual(openBody(body, [text]), { ok: false, reason: "malformed" })
  }
  assert.ok(parseDisclosure(base64Url(`["${saltText}","email",{"a":1}]`)))
})

test("every claim goes where its digest stood", () => {
  freeze(body)
  assert.deepEqual(openBody(body, [note, email, context, other]), {
    ok: true,
    withheld: 0,
    missing: [],
    value: {
      context: { requestId: "r1" },
      actor: {
        email: "ada@example.com",
        other: { team: "red", tags: [1, { a: null }] },
        id: "usr_1",
        type: "user",
      },
      list: { first: { note: "hello" } },
      v: 1,
    },
  })
  const deeper = freeze({ a: { b: { _sd: [digest(note)] } }, c: [] })
  assert.deepEqual(openBody(deeper, [note]), {
    ok: true,
    withheld: 0,
    missing: [],
    value: { a: { b: { note: "hello" } }, c: [] },
  })
})

test("withheld fields are counted", () => {
  const all = [email, other, context, note]
  for (let chosen = 0; chosen < 16; chosen++) {
    const given = all.filter((_, i) => Math.floor(chosen / 2 ** i) % 2 === 1)
    const opened = openBody(body, given)
    assert.ok(opened.ok)
    assert.equal(opened.withheld, 4 - given.length)
    const text = JSON.stringify(opened.value)
    assert.equal(text.includes("ada@example.com"), given.includes(email))
    assert.equal(text.includes("team"), given.includes(other))
    assert.ok(!text.includes("_sd"))
  }
})

test("a disclosure without a digest is refused, also among valid ones", () => {
  const stranger = disclosure(salt(9), "email", "ada@example.com")
  for (const given of [[stranger], [email, stranger], [stranger, email, other, context, note]]) {
    assert.deepEqual(openBody(body, given), { ok: false, reason: "unmatched" })
  }
  assert.deepEqual(openBody({ v: 1 }, [email]), { ok: false, reason: "unmatched" })
})

test("a duplicate disclosure or digest is refused", () => {
  assert.deepEqual(openBody(body, [email, email]), { ok: false, reason: "repeated" })
  for (const disclosures of [[], [email]]) {
    assert.deepEqual(openBody({ ...body, target: { _sd: [digest(email)] } }, disclosures), {
      ok: false,
      reason: "repeated",
    })
    assert.deepEqual(openBody({ _sd: [digest(email), digest(email)] }, disclosures), {
      ok: false,
      reason: "repeated",
    })
  }
})

test("a claim cannot take the place of a member, or of another claim", () => {
  assert.deepEqual(
    openBody({ actor: { _sd: [digest(email)], email: "eve@example.com" } }, [email]),
    { ok: false, reason: "name" },
  )
  const second = disclosure(salt(7), "email", "eve@example.com")
  assert.deepEqual(openBody({ actor: { _sd: [digest(email), digest(second)] } }, [email, second]), {
    ok: false,
    reason: "name",
  })
  const toString = disclosure(salt(7), "toString", 1)
  assert.deepEqual(openBody({ _sd: [digest(toString)] }, [toString]), {
    ok: true,
    withheld: 0,
    missing: [],
    value: { toString: 1 },
  })
})

test("a body that is sealed in another way is refused", () => {
  const bad: JsonObject[] = [
    { _sd_alg: "sha-512" },
    { _sd_alg: 1 },
    { _sd: "x" },
    { _sd: [] },
    { _sd: {} },
    { _sd: [1] },
    { _sd: ["short"] },
    { _sd: [`${digest(email)}=`] },
    { actor: { _sd_alg: "sha-256" } },
    { list: [{ "...": digest(email) }] },
    { list: [{ _sd: [digest(email)] }] },
    { list: [[{ a: { _sd_alg: "sha-256" } }]] },
    JSON.parse('{"__proto__":{"a":1}}') as JsonObject,
  ]
  for (const body of bad)
    assert.deepEqual(openBody(body, []), { ok: false, reason: "malformed" }, JSON.stringify(body))
})

test("a claim for several members restores all of them", () => {
  const opened = (place: string, name: string, value: Json) => {
    const text = disclosure(salt(7), name, value)
    const sealed = { _sd: [digest(text)] }
    return openBody(place === "" ? sealed : { [place]: sealed }, [text]).ok
  }
  for (const place of ["actor", "target"]) {
    assert.ok(opened(place, "other", { team: { a: 1 } }))
    for (const value of ["red", 1, null, ["red"]])
      assert.ok(!opened(place, "other", value), `${place}.other ${JSON.stringify(value)}`)
  }
  assert.ok(opened("", "context", { requestId: "r1" }))
  for (const value of ["r1", null, [], { requestId: 1 }, { keyId: { a: 1 } }])
    assert.ok(!opened("", "context", value), JSON.stringify(value))
  // Elsewhere the names mean nothing.
  assert.ok(
    opened("metadata", "other", 1) && opened("metadata", "context", 1) && opened("", "other", 1),
  )
})

/** Frozen, so that code that changes its argument throws. */
function freeze<T extends Json>(value: T): T {
  if (typeof value === "object" && value !== null) Object.values(value).forEach(freeze)
  return Object.freeze(value)
}
