import assert from "node:assert/strict"
import test from "node:test"
import fc from "fast-check"
import { AssertionError } from "./assert.ts"
import { ed25519PublicKey, ed25519Verify } from "./ed25519.ts"
import { concat, toBase64, utf8 } from "./encoding.ts"
import {
  cosign,
  formatSignatureLine,
  openNote,
  parseNote,
  parseSignatureLine,
  signNote,
} from "./note.ts"
import { createVkey, formatVkey, keyId, parseVkey } from "./vkey.ts"
import { flipped } from "../../../test/flipped.ts"
import { native } from "../../../test/native.ts"
import { signerOf } from "../../../test/signers.ts"

const log = signerOf("ledger.example/1", 1)
const next = signerOf("ledger.example/1", 2)
const witness = signerOf("witness.example", 3)
const logKey = createVkey(log.name, log.publicKey)
const nextKey = createVkey(next.name, next.publicKey)
const witnessKey = createVkey(witness.name, witness.publicKey, "cosignature")
const text = "ledger.example/1\n5\nAAAA\n"
const signed = signNote(text, log)

test("OpenSSL verifies a signature too, over the text with its last newline", () => {
  const signature = parseNote(signed)?.signatures[0]?.signature
  assert.ok(signature)
  assert.ok(native.verify(signature, utf8(text), log.publicKey))
  assert.ok(!native.verify(signature, utf8(text.slice(0, -1)), log.publicKey))
})

test("a note opens with the key that signed it", () => {
  assert.deepEqual(openNote(signed, [logKey]), { ok: true, text, signatures: [{ key: logKey }] })
  assert.deepEqual(openNote(signed, [witnessKey, nextKey, logKey]), {
    ok: true,
    text,
    signatures: [{ key: logKey }],
  })
})

test("a note does not open without a key that signed it", () => {
  for (const keys of [[], [nextKey], [witnessKey]])
    assert.deepEqual(openNote(signed, keys), { ok: false, reason: "unsigned" })
  // The same key under another name, or as another type, has another id.
  for (const key of [
    createVkey("other.example", log.publicKey),
    createVkey(log.name, log.publicKey, "cosignature"),
  ]) {
    assert.deepEqual(openNote(signed, [key]), { ok: false, reason: "unsigned" })
  }
})

test("two keys may sign, and each is reported", () => {
  const both = signNote(text, log, next)
  const opened = openNote(both, [nextKey, logKey])
  assert.deepEqual(opened, { ok: true, text, signatures: [{ key: logKey }, { key: nextKey }] })
})

test("a witness's cosignature is verified with its time", () => {
  const note = signed + cosign(text, 1_700_000_000, witness)
  const opened = openNote(note, [logKey, witnessKey])
  assert.deepEqual(opened, {
    ok: true,
    text,
    signatures: [{ key: logKey }, { key: witnessKey, timeSeconds: 1_700_000_000 }],
  })

  const line = parseNote(note)?.signatures[1]
  assert.ok(line)
  for (let at = 0; at < line.signature.length; at += 9) {
    const signature = flipped(line.signature, at)
    const result = openNote(signed + formatSignatureLine({ ...line, signature }), [
      logKey,
      witnessKey,
    ])
    assert.deepEqual(result, { ok: false, reason: "signature", name: witness.name }, `byte ${at}`)
  }
  for (const signature of [line.signature.slice(8), concat(line.signature, Uint8Array.of(0))]) {
    assert.ok(
      !openNote(signed + formatSignatureLine({ ...line, signature }), [logKey, witnessKey]).ok,
    )
  }
  // A log's signature in a cosignature's place, and the reverse.
  const swapped = {
    name: witness.name,
    keyId: witnessKey.keyId,
    signature: witness.sign(utf8(text)),
  }
  assert.ok(!openNote(signed + formatSignatureLine(swapped), [logKey, witnessKey]).ok)
  assert.throws(() => cosign(text, 1.5, witness), AssertionError)
})

test("unknown signatures are ignored, and a known one that fails rejects the note", () => {
  const junk = Array.from({ length: 30 }, (_, i) =>
    formatSignatureLine({
      name: `w${i}.example`,
      keyId: Uint8Array.of(0, 0, 0, i),
      signature: new Uint8Array(1 + i * 50),
    }),
  ).join("")
  assert.ok(openNote(signed + junk, [logKey]).ok)
  assert.ok(openNote(`${text}\n${junk}${signed.slice(text.length + 1)}`, [logKey]).ok)
  // The name of a known key, with another id, is another key.
  const sameName = formatSignatureLine({
    name: log.name,
    keyId: Uint8Array.of(1, 2, 3, 4),
    signature: new Uint8Array(64),
  })
  assert.ok(openNote(signed + sameName, [logKey]).ok)
  // And its id, under another name, too: ids are short enough to be made to collide.
  const sameId = formatSignatureLine({
    name: "other.example",
    keyId: logKey.keyId,
    signature: log.sign(utf8(text)),
  })
  assert.ok(openNote(signed + sameId, [logKey]).ok)
  assert.deepEqual(openNote(`${text}\n${sameId}`, [logKey]), { ok: false, reason: "unsigned" })
  const forged = formatSignatureLine({
    name: log.name,
    keyId: logKey.keyId,
    signature: new Uint8Array(64),
  })
  for (const note of [
    signed + forged,
    `${text}\n${forged}${signed.slice(text.length + 1)}`,
    `${text}\n${forged}`,
  ]) {
    assert.deepEqual(openNote(note, [logKey]), { ok: false, reason: "signature", name: log.name })
  }
  const tooShort = formatSignatureLine({
    name: log.name,
    keyId: logKey.keyId,
    signature: new Uint8Array(3),
  })
  assert.deepEqual(openNote(`${text}\n${tooShort}`, [logKey]), {
    ok: false,
    reason: "signature",
    name: log.name,
  })
  // The same line twice is one signature.
  const twice = openNote(signed + signed.slice(text.length + 1), [logKey])
  assert.deepEqual(twice, { ok: true, text, signatures: [{ key: logKey }] })
})

test("a changed text does not open", () => {
  for (let at = 0; at < text.length; at++) {
    const changed = `${text.slice(0, at)}${text[at] === "x" ? "y" : "x"}${text.slice(at + 1)}`
    assert.ok(!openNote(changed + signed.slice(text.length), [logKey]).ok, `character ${at}`)
  }
})

test("signatures follow the last blank line", () => {
  for (const inner of ["a\n\nb\n", "a\n\n\nb\n", "\n", "a\n\n\u2014 x AAAAAAAA\n"]) {
    const note = signNote(inner, log)
    assert.deepEqual(openNote(note, [logKey]), {
      ok: true,
      text: inner,
      signatures: [{ key: logKey }],
    })
  }
})

test("a text that is no note is malformed", () => {
  const line = signed.slice(text.length + 1)
  const good = `${text}\n${line}`
  assert.ok(parseNote(good))
  const bad = [
    "",
    "\n",
    "\n\n",
    text,
    `${text}\n`,
    `${text}${line}`,
    good.slice(0, -1),
    `${good}\n`,
    `\n${line}`,
    `${good}x`,
    `${good} `,
    good.replace("\u2014 ", "- "),
    good.replace("\u2014 ", "\u2014"),
    good.replace("\u2014 ", "\u2014  "),
    good.replace("\u2014 ", "\u2014\t"),
    good.replaceAll("\n", "\r\n"),
    `a\0\n\n${line}`,
    `a\t\n\n${line}`,
    `\ud800\n\n${line}`,
    `${text}\n${line.slice(0, -2)}\n`,
    `${text}\n\u2014 a AAAA\n`,
    `${text}\n\u2014 a AAAAA===\n`,
    `${text}\n\u2014 a+b AAAAAAAA\n`,
    `${text}\n\u2014 a AAAAAAAA \n`,
    `${text}\n${line.repeat(101)}`,
    `${"a".repeat(1_000_000)}\n\n${line}`,
  ]
  for (const note of bad) {
    assert.equal(parseNote(note), undefined, JSON.stringify(note.slice(0, 200)))
    assert.deepEqual(openNote(note, [logKey]), { ok: false, reason: "malformed" })
  }
  assert.ok(parseNote(`${text}\n${line.repeat(100)}`))
  fc.assert(
    fc.property(
      fc.string({ unit: fc.constantFrom("\u2014", " ", "\n", "a", "AAAA", "=", "+") }),
      (note) => void openNote(note, [logKey]),
    ),
  )
})

test("a vkey parses back, and nothing else parses", () => {
  for (const key of [logKey, nextKey, witnessKey]) assert.deepEqual(parseVkey(formatVkey(key)), key)
  const vkey = formatVkey(logKey)
  const [name = "", id = "", key = ""] = vkey.split(/\+(.{8})\+/)
  const typed = (type: number, bytes = log.publicKey) => toBase64(Uint8Array.of(type, ...bytes))
  assert.equal(vkey, `${name}+${id}+${typed(1)}`)
  const bad = [
    "",
    "+",
    "++",
    name,
    `${name}+${id}`,
    `${name}+${key}`,
    `${name}+${id}+`,
    `+${id}+${key}`,
    ` ${vkey}`,
    `${vkey} `,
    `${vkey}\n`,
    `${name}+${id.toUpperCase()}+${key}`,
    `${name}+00000000+${key}`,
    `${name}+${id.slice(2)}+${key}`,
    `${name}x+${id}+${key}`,
    `${name}+${id}+${typed(4)}`,
    `${name}+${id}+${typed(2)}`,
    `${name}+${id}+${typed(6)}`,
    `${name}+${id}+${typed(1, log.publicKey.slice(1))}`,
    `${name}+${id}+${key}=`,
    `${name} +${id}+${key}`,
    `a b+${id}+${key}`,
    `${name}+${id}+${key}+x`,
  ]
  for (const text of bad) assert.equal(parseVkey(text), undefined, text)
})

test("a key whose base64 has a plus is read", () => {
  let found = 0
  for (let byte = 4; byte < 200 && found < 3; byte++) {
    const vkey = formatVkey(
      createVkey("a.example", ed25519PublicKey(new Uint8Array(32).fill(byte))),
    )
    if (vkey.split("+").length === 3) continue
    found++
    assert.equal(parseVkey(vkey)?.name, "a.example")
  }
  assert.equal(found, 3)
})

test("impossible key ids and lines fail an assertion", () => {
  for (const name of ["", "a b", "a+b", "a\n", "a\u0085", "a\u2003b"])
    assert.throws(() => keyId(name, log.publicKey), AssertionError)
  assert.throws(() => keyId("a", log.publicKey.slice(1)), AssertionError)
  for (const text of ["", "a", "a\r\n", "\ud800\n"])
    assert.throws(() => signNote(text, log), AssertionError)
  assert.throws(() => signNote("a\n"), AssertionError)
  assert.throws(
    () =>
      formatSignatureLine({ name: "a", keyId: new Uint8Array(3), signature: new Uint8Array(64) }),
    AssertionError,
  )
  assert.equal(parseSignatureLine("\u2014 a AAAAAA=="), undefined)
})

test("Ed25519 refuses keys and signatures that only some readers accept, and does not throw", () => {
  const message = utf8("m")
  const signature = log.sign(message)
  assert.ok(ed25519Verify(signature, message, log.publicKey))
  const order = 2n ** 252n + 27742317777372353535851937790883648493n
  const scalar = BigInt(`0x${Buffer.from(signature.slice(32)).reverse().toString("hex")}`) + order
  const malleable = concat(
    signature.slice(0, 32),
    Uint8Array.from(Buffer.from(scalar.toString(16).padStart(64, "0"), "hex").reverse()),
  )
  const smallOrder = new Uint8Array(32).with(0, 1)
  const identity = concat(smallOrder, new Uint8Array(32))
  for (const [bad, key] of [
    [malleable, log.publicKey],
    [identity, smallOrder],
    [signature, new Uint8Array(32).fill(255)],
    [signature.slice(1), log.publicKey],
    [signature, log.publicKey.slice(1)],
    [new Uint8Array(), new Uint8Array()],
  ] as const) {
    assert.equal(ed25519Verify(bad, message, key), false)
  }
})
