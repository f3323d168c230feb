import assert from "node:assert/strict"
import dns from "node:dns"
import test from "node:test"
import { systemClock, type Clock } from "../../clock.ts"
import type { S3Place } from "../../config.ts"
import { refuse, startS3Server, type S3Server } from "../../../../../test/s3-server.ts"
import { archiveContract } from "../contract/archive-contract.ts"
import { openS3Storage } from "./s3-storage.ts"
import { sha256Hex, signed } from "./s3-signature.ts"

/** A clock whose sleeps end at once. */
const hasty: Clock = { ...systemClock, sleep: () => systemClock.sleep(1) }

// Not every machine resolves names below localhost to itself.
const { lookup } = dns
test.before(() => {
  const own = (name: string, ...others: readonly unknown[]): void =>
    Reflect.apply(lookup, dns, [name.replace(/^.*\.localhost$/, "127.0.0.1"), ...others])
  Object.assign(dns, { lookup: own })
})
test.after(() => void Object.assign(dns, { lookup }))

for (const [name, options] of [
  ["S3", {}],
  ["S3 with the bucket in the host", { isPathStyle: false, sessionToken: "a token/+=" }],
  ["S3 without a prefix", { prefix: "" }],
] as const)
  archiveContract(name, async () => {
    const server = await startS3Server(options)
    const reopen = () => openS3Storage(server.place, hasty)
    return { storage: reopen(), reopen, close: server.close }
  })

// The examples of Amazon's description of the signature ("GET Object" and "List Objects").
const amazon = {
  accessKeyId: "AKIAIOSFODNN7EXAMPLE",
  secretAccessKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
  region: "us-east-1",
}

test("requests are signed as in Amazon's examples", () => {
  const nowMs = Date.UTC(2013, 4, 24)
  const sign = (url: string, headers: Readonly<Record<string, string>>) =>
    signed({ method: "GET", url: new URL(url), headers, bodyHash: sha256Hex("") }, amazon, nowMs)[
      "authorization"
    ]
  const host = "https://examplebucket.s3.amazonaws.com"
  const credential = "Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request"
  assert.equal(
    sign(`${host}/test.txt`, { range: "bytes=0-9" }),
    `AWS4-HMAC-SHA256 ${credential}, SignedHeaders=host;range;x-amz-content-sha256;x-amz-date, Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41`,
  )
  assert.equal(
    sign(`${host}/?max-keys=2&prefix=J`, {}),
    `AWS4-HMAC-SHA256 ${credential}, SignedHeaders=host;x-amz-content-sha256;x-amz-date, Signature=34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7`,
  )
})

async function withServer(
  place: Partial<S3Place>,
  tell: (storage: ReturnType<typeof openS3Storage>, server: S3Server) => Promise<void>,
): Promise<void> {
  await using server = await startS3Server()
  const storage = openS3Storage({ ...server.place, ...place }, hasty)
  await storage.put("a/1", Buffer.from("0123456789")).catch(() => undefined)
  server.asked.length = 0
  await tell(storage, server)
}

const part = { start: 2, end: 6 }

test("a wrong key or bucket is a failure with the storage's own code, at once", async () => {
  for (const [place, code] of [
    [{ secretAccessKey: "another" }, /a\/1: it answered 403 SignatureDoesNotMatch$/],
    [{ accessKeyId: "another" }, /a\/1: it answered 403 InvalidAccessKeyId$/],
  ] as const)
    await withServer(place, async (storage, { asked }) => {
      await assert.rejects(storage.get("a/1", part), { name: "ArchiveFailure", message: code })
      await assert.rejects(storage.put("a/2", Buffer.from("x")), { name: "ArchiveFailure" })
      assert.equal(asked.length, 2)
    })
})

test("a temporary failure is retried, and a lasting one is reported", async () => {
  await withServer({}, async (storage, server) => {
    let failing = 2
    server.misbehave = ({ socket }, response) => {
      if (failing-- <= 0) return false
      if (failing % 2 === 0) refuse(response, 503, "SlowDown")
      else socket.destroy()
      return true
    }
    assert.equal(String(await storage.get("a/1", part)), "2345")
    assert.equal(server.asked.length, 3)
    failing = Infinity
    for (const act of [
      () => storage.get("a/1", part),
      () => storage.put("a/2", Buffer.from("x")),
      () => storage.delete("a/1"),
      () => Array.fromAsync(storage.list("")),
    ])
      await assert.rejects(act, { name: "ArchiveFailure", message: /^the archive s3:\/\/records/ })
    assert.deepEqual([...server.objects.keys()], ["ledger/a/1"])
  })
})

test("answers that are cut off, too long, or of another range are refused", async () => {
  await withServer({}, async (storage, server) => {
    const answers: readonly (readonly [RegExp, Record<string, string | number>, string])[] = [
      [/cut off|aborted/, { "content-length": 4, "content-range": "bytes 2-5/10" }, "23"],
      [/bytes 2 to 5 were asked for/, { "content-range": "bytes 2-3/10" }, "23"],
      [/bytes 2 to 5 were asked for/, { "content-range": "bytes 0-3/10" }, "0123"],
      [/longer than 4 bytes/, { "content-range": "bytes 2-5/10" }, "23456789"],
    ]
    for (const [words, headers, body] of answers) {
      server.misbehave = (_, response) => {
        response.writeHead(206, headers)
        response.write(body)
        // Deferred, so that the written bytes arrive.
        setImmediate(() =>
          Number(headers["content-length"] ?? 0) > body.length
            ? response.destroy()
            : response.end(),
        )
        return true
      }
      await assert.rejects(storage.get("a/1", part), { name: "ArchiveFailure", message: words })
    }
    // A server that ignores the range sends the whole file.
    server.misbehave = (_, response) => response.writeHead(200).end("0123").writableEnded
    await assert.rejects(storage.get("a/1", part), { message: /it answered 200$/ })
    server.misbehave = (_, response) => response.writeHead(200).end("<html>").writableEnded
    await assert.rejects(Array.fromAsync(storage.list("")), { message: /cannot be read/ })
  })
})

test("a list that is cut off and names no next page, or the same again, is refused", async () => {
  await withServer({}, async (storage, server) => {
    const token = "<NextContinuationToken>again</NextContinuationToken>"
    for (const next of ["", token]) {
      const page = `<ListBucketResult><IsTruncated>true</IsTruncated>${next}<Contents><Key>ledger/a/1</Key><Size>10</Size></Contents></ListBucketResult>`
      server.misbehave = (_, response) => response.writeHead(200).end(page).writableEnded
      await assert.rejects(Array.fromAsync(storage.list("")), {
        name: "ArchiveFailure",
        message: /is cut off/,
      })
    }
  })
})

test("a locked object cannot be deleted before its day", async () => {
  await using server = await startS3Server({ lockDays: 30 })
  const storage = openS3Storage(server.place, hasty)
  await storage.put("a/1", Buffer.from("0123456789"))
  await assert.rejects(storage.delete("a/1"), {
    message: /DELETE ledger\/a\/1: it answered 403 AccessDenied/,
  })
  assert.equal(String(await storage.get("a/1", part)), "2345")
})
