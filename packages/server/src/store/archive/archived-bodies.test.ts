import assert from "node:assert/strict"
import { spawnSync } from "node:child_process"
import { mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import test, { type TestContext } from "node:test"
import { toHex } from "@tallystick/proof"
import { sha256 } from "../../runtime/sha256.ts"
import { indexesOfFrame } from "../body-frame.ts"
import type { Frame } from "../content-keeper.ts"
import { digest, plain, write } from "../contract/written-entries.ts"
import { destroyedChanges } from "../destroyed.ts"
import { created, segmentDocumentId, type ArchiveSegmentDocument } from "../documents.ts"
import { expectChain } from "../expect-chain.ts"
import { openMemory } from "../memory.ts"
import type { Stored } from "../entries.ts"
import type { JournalReader } from "../store.ts"
import { checkSegment, makeSegment, readSegment, segmentWithout } from "./archive-segment.ts"
import { createArchivedBodies, withArchived } from "./archived-bodies.ts"
import { openFolderStorage } from "./folder-storage.ts"

const entries = 700
const workspace = "acme"

/** A chain of 700 entries, the first 640 of them in segments of this many frames. */
async function openArchivedHouse(context: TestContext, framesOfSegment = 10) {
  const folder = mkdtempSync(join(tmpdir(), "tallystick-archived-"))
  context.after(() => rmSync(folder, { recursive: true, force: true }))
  const { served, filing } = openMemory()
  await write(
    served,
    workspace,
    Array.from({ length: entries }, (_, at) => `entry ${at}`),
  )
  for (let after = 0; ;) {
    const packed = await filing.content.pack(workspace, after, entries)
    if (packed === undefined) break
    after = packed.last
  }
  const before = await served.journal.after(workspace, 0, entries)
  const storage = openFolderStorage(folder)
  const frames = await filing.content.frames(workspace, 0, Infinity)
  const ledgerId = digest(`ledger ${workspace}`).toString("hex")
  const segments: ArchiveSegmentDocument[] = []
  for (let at = 0; at < frames.length; at += framesOfSegment) {
    const made = makeSegment(frames.slice(at, at + framesOfSegment), ledgerId, { before: 0 })
    assert.ok(made !== undefined)
    await storage.put(made.document.file, made.content)
    const change = created("archive-segment", segmentDocumentId(made.document), made.document)
    await write(served, workspace, [`the entry that says so, ${at}`], [change])
    await filing.content.dropBodies(workspace, made.document)
    segments.push(made.document)
  }
  const [document] = segments
  assert.ok(document !== undefined)
  assert.equal((await served.journal.at(workspace, [640]))[0]?.body, undefined)
  let asked = 0
  const counting: typeof storage.get = (...given) => {
    asked += 1
    return storage.get(...given)
  }
  const bodies = createArchivedBodies({ get: counting }, served.registry)
  const journal: JournalReader = withArchived<JournalReader>(served.journal, bodies)
  const path = join(folder, document.file)
  return { served, filing, storage, document, before, journal, path, asked: () => asked }
}

const shown = (found: readonly (Stored | undefined)[]) => found.map(plain)

test("archived entries are read as before, by every method", async (context) => {
  const { served, before, journal, asked } = await openArchivedHouse(context)
  assert.deepEqual(shown(await journal.after(workspace, 0, entries)), shown(before))
  // The end of the file, and all frames in one request.
  assert.equal(asked(), 2)
  const some = [3, 700, 9999, 640, 64, 65, 1]
  assert.deepEqual(
    shown(await journal.at(workspace, some)),
    shown(some.map((sequence) => before[sequence - 1])),
  )
  assert.equal(asked(), 2)
  const bytes = (before[2]?.body?.length ?? 0) + (before[699]?.body?.length ?? 0)
  for (const [most, count] of [
    [bytes, 3],
    [bytes - 1, 1],
    [1, 1],
  ] as const)
    assert.equal((await journal.at(workspace, some, most)).length, count)
  assert.deepEqual(
    (await journal.linked(workspace, 0, entries)).flatMap(({ lengths }) => lengths),
    before.map(({ body, bodySalt }) => 4 + (bodySalt?.length ?? 0) + (body?.length ?? 0)),
  )
  assert.equal((await expectChain(journal, workspace)).size, entries + 1)
  await assert.rejects(expectChain(served.journal, workspace))
})

const needed = ["sha256sum", "zstd", "jq", "xxd"]
const without = needed.find((tool) => spawnSync(tool, ["--version"]).error !== undefined)
const skip = without === undefined ? false : `${without} is not installed here`

test("bodies in many segments are requested in parallel", async (context) => {
  const { served, storage, before } = await openArchivedHouse(context, 1)
  let waves = 0
  let wave: Promise<void> | undefined
  const inWaves: typeof storage.get = async (...given) => {
    wave ??= new Promise((resolve) => {
      waves += 1
      setImmediate(() => {
        wave = undefined
        resolve()
      })
    })
    await wave
    return storage.get(...given)
  }
  const bodies = createArchivedBodies({ get: inWaves }, served.registry)
  const journal = withArchived<JournalReader>(served.journal, bodies)
  const some = Array.from({ length: 10 }, (_, at) => 1 + 64 * at)
  const expected = some.map((sequence) => before[sequence - 1])
  assert.deepEqual(shown(await journal.at(workspace, some)), shown(expected))
  // The ends of ten files, and then a frame of each.
  assert.equal(waves, 2)
})

test(
  "the commands of docs/format.md read a segment with standard tools",
  { skip },
  async (context) => {
    const { document, path, before } = await openArchivedHouse(context)
    const docs = join(import.meta.dirname, "..", "..", "..", "..", "..", "docs", "format.md")
    const [, commands = ""] =
      /<!-- segment -->\n```sh\n([^]*?)```/.exec(readFileSync(docs, "utf8")) ?? []
    const { stdout, stderr } = spawnSync("bash", ["-euc", commands], {
      cwd: dirname(path),
      encoding: "utf8",
    })
    const [file, body] = stdout.split("\n").map((line) => line.slice(0, 64))
    assert.equal(file, document.sha256, stderr)
    assert.equal(body, Buffer.from(before[3]?.record ?? []).toString("hex", 86, 118))
  },
)

test("missing or unreachable storage is an error, never an omitted entry, and hot entries are readable", async (context) => {
  const { before, journal, path } = await openArchivedHouse(context)
  const unavailable = { name: "LedgerError", code: "archive_unavailable" }
  const content = readFileSync(path)
  renameSync(path, `${path}.away`)
  await assert.rejects(journal.at(workspace, [700, 1]), unavailable)
  await assert.rejects(journal.after(workspace, 600, 100), unavailable)
  await assert.rejects(journal.linked(workspace, 0, 10), unavailable)
  assert.deepEqual(
    shown(await journal.at(workspace, [700, 641])),
    shown([before[699], before[640]]),
  )
  writeFileSync(path, content.subarray(0, -1))
  await assert.rejects(journal.at(workspace, [1]), unavailable)
  writeFileSync(path, content)
  assert.deepEqual(shown(await journal.at(workspace, [1])), shown(before.slice(0, 1)))
})

test("changed bytes in storage are never shown, and repaired ones are read again", async (context) => {
  const { before, journal, path, storage, served, document } = await openArchivedHouse(context)
  const content = readFileSync(path)
  const check = () => checkSegment(storage, document, recordsIn(before))
  const good = await check()
  assert.deepEqual([good.fault, good.frames.length], [undefined, 10])
  assert.deepEqual(bodiesIn(good.frames), [...before.keys()].slice(0, 640))
  for (let at = 0; at < content.length; at += Math.ceil(content.length / 60)) {
    const changed = Buffer.from(content)
    changed[at] = (changed[at] ?? 0) ^ 4
    writeFileSync(path, changed)
    const fresh = withArchived(served.journal, createArchivedBodies(storage, served.registry))
    for (const [place, found] of (await fresh.after(workspace, 0, 640)).entries()) {
      const { body, bodySalt } = before[place] ?? {}
      const isSame =
        found.body !== undefined && Buffer.compare(found.body, body ?? found.body) === 0
      // A check of the entry compares salt and body with the record.
      assert.ok(isSame || found.body === undefined || found.bodySalt !== bodySalt)
    }
    assert.equal((await check()).fault, "is not the file that was recorded")
  }
  writeFileSync(path, content)
  assert.deepEqual(shown(await journal.after(workspace, 0, 640)), shown(before.slice(0, 640)))
})

test("a segment without some bodies keeps its other frames and its place", async (context) => {
  const { storage, before, document } = await openArchivedHouse(context)
  const read = await readSegment(storage, document)
  assert.ok(typeof read !== "string")
  const without = (...gone: number[]) =>
    segmentWithout(document, read, new Set(gone), async () => {})
  const third = Array.from({ length: 64 }, (_, at) => 128 + at)
  const made = await without(70, 75, ...third)
  assert.ok(made !== undefined)
  await storage.put(made.document.file, made.content)
  const { first, last } = document
  assert.deepEqual([made.document.first, made.document.last], [first, last])
  const checked = await checkSegment(storage, made.document, recordsIn(before))
  assert.equal(checked.fault, undefined)
  assert.deepEqual(
    bodiesIn(checked.frames),
    [...before.keys()].slice(0, 640).filter((index) => ![70, 75, ...third].includes(index)),
  )
  const firsts = checked.frames.map((frame) => [frame.first, frame.count])
  const expected = [0, 1, 3, 4, 5, 6, 7, 8, 9].map((place) => [64 * place + 1, 64])
  assert.deepEqual(firsts, expected)
  for (const [place, frame] of checked.frames.entries()) {
    const { range } = read.places[place < 2 ? place : place + 1] ?? { range: { start: 0, end: 0 } }
    const former = read.content.subarray(range.start, range.end)
    assert.equal(Buffer.compare(frame.bytes, former) === 0, place !== 1, `frame ${place}`)
  }
  assert.equal((await without())?.document, document)
  assert.equal((await without(640, 700))?.document, document)
  assert.equal(await without(...before.keys()), undefined)
})

test("a rewritten segment is read under its new name, without the destroyed content", async (context) => {
  const { served, filing, storage, before, journal, document, path } =
    await openArchivedHouse(context)
  assert.ok((await journal.at(workspace, [70]))[0]?.body !== undefined)
  const chain = await expectChain(journal, workspace)
  const gone = { why: "erased", bodies: [{ first: 70, last: 71 }], fields: [] } as const
  await write(
    served,
    workspace,
    ["the erasure"],
    await destroyedChanges(served.registry, workspace, gone, "era_1"),
  )
  assert.equal((await journal.at(workspace, [70]))[0]?.body, undefined)
  // Like an erasure does it: frames are restored, emptied, and concatenated again.
  const { frames } = await checkSegment(storage, document, recordsIn(before))
  await filing.content.putFrames(workspace, frames)
  await filing.content.destroyBodies(workspace, gone.bodies)
  const left = await filing.content.frames(workspace, 0, Infinity)
  const made = makeSegment(left, document.ledgerId, { before: 0 })
  assert.ok(made !== undefined)
  await storage.put(made.document.file, made.content)
  await write(
    served,
    workspace,
    ["another segment"],
    [
      { kind: "archive-segment", id: segmentDocumentId(document), version: 1, value: null },
      created("archive-segment", segmentDocumentId(made.document), made.document),
    ],
  )
  await filing.content.dropBodies(workspace, document)
  rmSync(path)
  const found = await journal.after(workspace, 0, 640)
  for (const { sequence, body } of found)
    assert.equal(body === undefined, sequence === 70 || sequence === 71, String(sequence))
  const files = readdirSync(join(path, ".."))
  assert.deepEqual(files, [made.document.file.slice(document.ledgerId.length + 1)])
  assert.equal(toHex(sha256(made.content)), made.document.sha256)
  // No record has changed.
  const records = Buffer.from(await journal.records(workspace, 1, chain.size))
  const whole = before.concat((await served.journal.at(workspace, [entries + 1])) as Stored[])
  assert.ok(records.equals(Buffer.concat(whole.map(({ record }) => record))))
})

/** Reads the records of these entries, which begin with the first. */
function recordsIn(entries: readonly Stored[]) {
  return async (sequence: number, count: number): Promise<Uint8Array> =>
    Buffer.concat(entries.slice(sequence - 1, sequence - 1 + count).map(({ record }) => record))
}

/** The indexes of the entries whose bodies these frames have. */
function bodiesIn(frames: readonly Frame[]): readonly number[] {
  return frames.flatMap(({ bytes }) => {
    const indexes = indexesOfFrame(bytes)
    assert(typeof indexes !== "string")
    return indexes
  })
}
