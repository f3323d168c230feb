// This package works in browsers: it imports nothing of Node, uses no global that only Node has,
// and needs no crypto.subtle. It also works where Uint8Array has no hex and base64 methods, and
// where iterators have no methods, as in Node 20. The compiler refuses other newer features
// (tsconfig.browser.json).

import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { readdirSync, readFileSync } from "node:fs"
import { isBuiltin } from "node:module"
import test from "node:test"
import type * as Proof from "./index.ts"

const index = new URL("./index.ts", import.meta.url)

test("sources import only each other and @noble", () => {
  const sources = readdirSync(new URL(".", import.meta.url)).filter(
    (name) => name.endsWith(".ts") && !name.endsWith(".test.ts"),
  )
  let imports = 0
  for (const name of sources) {
    const text = readFileSync(new URL(name, import.meta.url), "utf8")
    for (const [, specifier = ""] of text.matchAll(/\b(?:from|import)\s*\(?\s*"([^"]+)"/g)) {
      imports++
      assert.match(
        specifier,
        /^(?:\.\/[a-z0-9-]+\.ts|@noble\/hashes\/sha2\.js|@noble\/ed25519)$/,
        name,
      )
    }
  }
  assert.ok(
    sources.length >= 20 && imports > 60,
    `${imports} imports of ${sources.length} sources were read`,
  )
})

/**
 * Uses every part of the package, and returns texts. It is passed to the child as source, so it
 * refers to nothing outside.
 */
function scenario(proof: typeof Proof): string[] {
  const { fromHex, toHex, toBase64, toBase64Url, utf8 } = proof
  const bytes = Uint8Array.from({ length: 65 }, (_, i) => (i * 37) % 256)
  const name = "ledger.example/1"
  const seed = bytes.slice(0, 32)
  const signer = { name, publicKey: proof.ed25519PublicKey(seed), sign: proof.ed25519Sign(seed) }
  const vkey = proof.formatVkey(proof.createVkey(name, signer.publicKey))

  const sealed = proof.disclosure(bytes.slice(0, 16), "email", "ada@example.com")
  const body = proof.canonicalize({
    v: 1,
    workspaceId: "acme",
    receipt: "rcp_1",
    _sd_alg: "sha-256",
    actor: { id: "ä", _sd: [proof.digest(sealed)] },
  })
  const salt = bytes.slice(16, 32)
  const genesis = proof.canonicalize({
    createdAt: "",
    nonce: toBase64Url(bytes.slice(0, 16)),
    origin: name,
    v: 1,
    workspaceId: "acme",
  })
  const id = proof.ledgerId(genesis)
  const hash = proof.bodyHash(salt, utf8(body))
  const record = proof.encodeRecord({
    kind: "event",
    index: 0,
    timeMs: 1767225600123,
    ledgerId: id,
    previousHash: id,
    bodyHash: hash,
  })
  const root = proof.eventHash(record)
  const checkpoint = proof.signNote(proof.formatCheckpoint({ origin: name, size: 1, root }), signer)
  const tlogProof = proof.formatTlogProof({ extra: record, index: 0, hashes: [], checkpoint })
  const answer = {
    proof: { record: toBase64(record), body, bodySalt: toHex(salt), vkey, tlogProof },
    disclosures: [sealed],
  }
  const verdicts = [{ trustedKeys: [vkey] }, {}].map(
    (options) => proof.verifyReceipt(answer, options).verdict,
  )
  const files = new Map<string, Uint8Array>([
    ["genesis.json", utf8(genesis)],
    ["log.vkey", utf8(`${vkey}\n`)],
    ["checkpoint", utf8(checkpoint)],
    ["tile/entries/000.p/1", proof.bundle([record])],
    ["tile/0/000.p/1", root],
    ["bodies/000.jsonl", utf8(`${proof.formatBodyLine({ index: 0, salt, body })}\n`)],
  ])
  verdicts.push(proof.verifyExport((path) => files.get(path), { trustedKeys: [vkey] }).verdict)
  const lengths = Array.from({ length: 65 }, (_, length) => bytes.subarray(0, length))
  const texts = lengths.flatMap((part) => [toHex(part), toBase64(part), toBase64Url(part)])
  const read = String(proof.equalBytes(fromHex(toHex(bytes)) ?? seed, bytes))
  return [vkey, body, tlogProof, ...verdicts, ...texts, read]
}

test("the package works without Node's globals and without the newest methods", async () => {
  const expected = scenario(await import("./index.ts"))
  assert.deepEqual(expected.slice(3, 5), ["genuine", "unconfirmed"])
  assert.equal(expected[5], "genuine")
  assert.equal(expected.length, 7 + 3 * 65)

  const program = `
    import { registerHooks } from "node:module"
    const imported = []
    registerHooks({ resolve(specifier, context, next) { imported.push(specifier); return next(specifier, context) } })
    const { log } = console
    for (const name of ["Buffer", "process", "global", "require", "module", "setImmediate", "clearImmediate", "crypto", "console", "atob", "btoa"]) {
      delete globalThis[name]
    }
    for (const name of ["toHex", "toBase64", "setFromHex", "setFromBase64"]) delete Uint8Array.prototype[name]
    for (const name of ["fromHex", "fromBase64"]) delete Uint8Array[name]
    for (const name of Object.getOwnPropertyNames(Iterator.prototype)) if (name !== "constructor") delete Iterator.prototype[name]
    const proof = await import(${JSON.stringify(index.href)})
    const scenario = ${scenario.toString()}
    log(JSON.stringify({ imported, left: typeof Buffer + typeof process + typeof crypto + typeof Uint8Array.prototype.toHex + typeof [].values().map, texts: scenario(proof) }))
  `
  const output = execFileSync(process.execPath, ["--input-type=module", "--eval", program], {
    encoding: "utf8",
  })
  const { imported, left, texts } = JSON.parse(output) as {
    imported: string[]
    left: string
    texts: string[]
  }
  assert.equal(left, "undefined".repeat(5))
  assert.ok(imported.length > 20, "the hook saw the imports")
  assert.deepEqual(
    imported.filter((specifier) => isBuiltin(specifier)),
    [],
  )
  assert.deepEqual(texts, expected)
})
