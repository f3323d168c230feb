import assert from "node:assert/strict"
import { spawn, spawnSync } from "node:child_process"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, test } from "node:test"
import { zstdCompressSync } from "node:zlib"
import { systemClock } from "../../packages/server/src/clock.ts"
import type { S3Place } from "../../packages/server/src/config.ts"
import { formatSegment } from "../../packages/server/src/store/archive/segment-file.ts"
import { openS3Storage } from "../../packages/server/src/store/archive/s3-storage.ts"
import { archiveContract } from "../../packages/server/src/store/contract/archive-contract.ts"
import { freePort } from "../free-port.ts"
import { eventually } from "../service.ts"
import { goProgram } from "./go.ts"
import { pythonWith } from "./python.ts"

// S3 storage and a reader of seekable zstd that others wrote.

const gateway = goProgram("github.com/versity/versitygw/cmd/versitygw@v1.8.0")
const folder = mkdtempSync(join(tmpdir(), "tallystick-objects-"))
after(() => rmSync(folder, { recursive: true, force: true }))

if (typeof gateway === "string") test("object storage", { skip: gateway }, () => {})
else {
  const port = await freePort()
  const place: S3Place = {
    kind: "s3",
    bucket: "records",
    prefix: "a/ledger",
    region: "us-east-1",
    endpoint: `http://127.0.0.1:${port}`,
    isPathStyle: true,
    accessKeyId: "access",
    secretAccessKey: "a secret/with+signs",
  }
  mkdirSync(join(folder, "root", place.bucket), { recursive: true })
  const { accessKeyId, secretAccessKey } = place
  const program = spawn(
    gateway.program,
    ["--access", accessKeyId, "--secret", secretAccessKey, "--port", `127.0.0.1:${port}`].concat([
      "--quiet",
      "posix",
      join(folder, "root"),
    ]),
    { stdio: "ignore" },
  )
  after(() => program.kill("SIGKILL"))
  const reopen = () => openS3Storage(place, systemClock)
  await eventually("the gateway to answer", () =>
    fetch(place.endpoint).then(
      (reply) => reply.status,
      () => undefined,
    ),
  )
  archiveContract("versitygw", async () => {
    for await (const { name } of reopen().list("")) await reopen().delete(name)
    return { storage: reopen(), reopen, close: async () => {} }
  })

  test("versitygw refuses a wrong secret, and that is said", async () => {
    const storage = openS3Storage({ ...place, secretAccessKey: "another" }, systemClock)
    await assert.rejects(storage.put("a/1", Buffer.from("x")), {
      message: /it answered 403 SignatureDoesNotMatch$/,
    })
  })
}

const python = pythonWith("pyzstd==0.17.0")
const skip = typeof python === "string" ? python : false

test("a segment is a seekable file to pyzstd, which seeks in it", { skip }, () => {
  const texts = Array.from({ length: 300 }, (_, at) => `line ${at}\n`.repeat(1 + (at % 64)))
  const frames = texts.map((text, at) => ({
    index: 64 * at,
    bytes: zstdCompressSync(text),
    textBytes: text.length,
  }))
  writeFileSync(join(folder, "segment.zst"), formatSegment(0, frames))
  const at = texts.slice(0, 200).join("").length
  const code = `
import sys, pyzstd
with pyzstd.SeekableZstdFile(sys.argv[1]) as file:
    file.seek(${at})
    print(file.readline().decode(), end="")
    file.seek(0)
    print(len(file.read()))
`
  const bin = typeof python === "string" ? "" : python.bin
  const { stdout, stderr } = spawnSync(
    join(bin, "python"),
    ["-c", code, join(folder, "segment.zst")],
    { encoding: "utf8" },
  )
  assert.equal(stdout, `line 200\n${texts.join("").length}\n`, stderr)
})
