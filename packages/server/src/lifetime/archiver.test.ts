import assert from "node:assert/strict"
import { mkdir, mkdtemp, rename, rm, rmdir, truncate } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import test, { type TestContext } from "node:test"
import { zstdDecompressSync } from "node:zlib"
import { formatDestroyed } from "@tallystick/proof"
import { systemClock } from "../clock.ts"
import { createSegmentArchiving, type SegmentArchiving } from "../followers/segment-archiving.ts"
import { openTestLedger, testEvent, testWorkspace } from "../ledger/test-ledger.ts"
import { defaultLimits } from "../limits.ts"
import { createArchivedBodies, withArchived } from "../store/archive/archived-bodies.ts"
import { makeSegment } from "../store/archive/archive-segment.ts"
import { openFolderStorage } from "../store/archive/folder-storage.ts"
import { createSegmentDirectory } from "../store/archive/segment-directory.ts"
import { expectChain } from "../store/expect-chain.ts"
import { openMemory } from "../store/memory.ts"
import { created, segmentDocumentId, type ArchiveSegmentDocument } from "../store/documents.ts"
import type { Journal, JournalReader } from "../store/store.ts"
import { bodiless, destroyedChanges } from "../store/destroyed.ts"
import { recordPlanned } from "../workspace/admin-entries.ts"
import { removeDestroyed, removeFromArchive, restoreSegment } from "./archive-segments.ts"
import { archiveDue, startArchiver } from "./archiver.ts"

const workspace = testWorkspace("acme", { hotDays: 0 })

/** 200 entries, 192 of them in frames, and the archiver. */
async function openHouse(
  t: TestContext,
  packed: readonly (readonly [number, number])[] = [[1, 192]],
) {
  const folder = await mkdtemp(join(tmpdir(), "tallystick-"))
  t.after(() => rm(folder, { recursive: true }))
  const { served, filing } = openMemory()
  const { journal, registry } = served
  const ledger = openTestLedger(journal, { registry })
  await ledger.record(
    workspace,
    Array.from({ length: 200 }, () => testEvent()),
    [created("workspace", workspace.id, workspace.value)],
  )
  const pack = async ([first, last]: readonly [number, number]): Promise<void> => {
    for (let after = first - 1; after < last;)
      after = (await filing.content.pack(workspace.id, after, last, true))?.last ?? last
  }
  for (const range of packed) await pack(range)
  const storage = openFolderStorage(folder)
  const archiving = createSegmentArchiving(filing, storage, systemClock)
  const limits = { ...defaultLimits, archiveEntriesMax: 64 }
  const parts = { journal, registry, ledger, clock: systemClock, limits, archiving }
  const options = {
    partialMs: 0,
    ends: new Map(),
    incomplete: new Set<string>(),
    isOver: () => false,
  }
  const archived = withArchived<JournalReader>(journal, createArchivedBodies(storage, registry))
  return {
    ...parts,
    folder,
    storage,
    filing,
    options,
    pack,
    remove: (segments: readonly ArchiveSegmentDocument[], by = archiving) =>
      removeDestroyed({ ...parts, archiving: by }, workspace, segments),
    async destroy(pairs: readonly (readonly [number, number])[]) {
      const bodies = pairs.map(([first, last]) => ({ first, last }))
      const gone = { why: "expired", bodies, fields: [] } as const
      await recordPlanned({ ledger, clock: systemClock }, workspace, async () => ({
        by: { kind: "instance" },
        action: "retention.body.expire",
        kind: "retention",
        target: { id: "rule", type: "retention_rule" },
        metadata: formatDestroyed(gone),
        changes: await destroyedChanges(registry, workspace.id, gone, "rule"),
      }))
      await filing.content.destroyBodies(workspace.id, bodies)
    },
    segments: () => createSegmentDirectory(registry).list(workspace.id),
    /** The first entries of the frames in the database. */
    async frames() {
      return (await filing.content.frames(workspace.id, 0, Infinity)).map(({ first }) => first)
    },
    /** The first and last entries of these frames. */
    async spans() {
      const frames = await filing.content.frames(workspace.id, 0, Infinity)
      return frames.map(({ first, count }) => [first, first + count - 1])
    },
    /** Of a process for which the frame of the first entry is damaged. */
    damaged: createSegmentArchiving(
      {
        ...filing,
        content: {
          ...filing.content,
          frames: async (...asked) =>
            (await filing.content.frames(...asked)).map((frame) =>
              frame.first === 1 ? { ...frame, bytes: Buffer.from("damaged") } : frame,
            ),
        },
      },
      storage,
      systemClock,
    ),
    /** Records a segment around entries that are not packed, as older versions did. */
    async recordOver(first: number, last: number) {
      const frames = await filing.content.frames(workspace.id, first - 1, Infinity)
      const within = frames.filter((frame) => frame.first <= last)
      const made = makeSegment(within, workspace.value.ledgerId, { before: 0 })
      assert.ok(made !== undefined)
      await storage.put(made.document.file, made.content)
      await ledger.record(
        workspace,
        [testEvent()],
        [created("archive-segment", segmentDocumentId(made.document), made.document)],
      )
    },
    /** The archive has these and nothing else. */
    async expectFiles(segments: readonly ArchiveSegmentDocument[], when: string) {
      const files = (await Array.fromAsync(storage.list(""))).map(({ name }) => name)
      const recorded = segments.map(({ file }) => file)
      assert.deepEqual(files.toSorted(), recorded.toSorted(), when)
    },
    /** The first sweep of another process. */
    async start() {
      const { promise: swept, resolve, reject } = Promise.withResolvers<void>()
      const archiver = startArchiver(parts, {
        isOurs: async () => true,
        isHalted: () => false,
        report(report) {
          if (report.kind === "not archived") reject(report.error)
          if (report.kind === "swept") resolve()
        },
      })
      await swept
      await archiver.close()
    },
    archive: (by = archiving) => archiveDue({ ...parts, archiving: by }, workspace, options),
    /** The indexes of the entries whose bodies are in storage. */
    async stored() {
      let text = ""
      for await (const { name, bytes } of storage.list("")) {
        const file = await storage.get(name, { start: 0, end: bytes })
        text += zstdDecompressSync(file ?? assert.fail(name)).toString()
      }
      return Array.from(text.matchAll(/","index":(\d+),"salt":/g), ([, index]) => Number(index))
    },
    /** Another process, with larger segments, which stalls before it records the first one. */
    async archiveLarger(stalled: () => Promise<unknown>, by = archiving) {
      let isFirst = true
      const slow: Journal = {
        ...journal,
        async append(group) {
          const isSegment = group.changes?.some(({ kind }) => kind === "archive-segment")
          if (isSegment === true && isFirst) {
            isFirst = false
            await stalled()
          }
          return journal.append(group)
        },
      }
      const larger = { ...limits, archiveEntriesMax: 128 }
      const slowLedger = openTestLedger(slow, { registry })
      const other = { ...parts, archiving: by, ledger: slowLedger, limits: larger }
      await archiveDue(other, workspace, options)
    },
    /** The entries that have no body, neither in the database nor in storage. */
    lacking: async () => bodiless(await archived.after(workspace.id, 0, 1000)),
    [Symbol.asyncDispose]: async () => void (await expectChain(archived, workspace.id)),
  }
}

test("a segment that another process records at the same time stays", async (t) => {
  await using house = await openHouse(t)
  const { archiving, archive } = house
  // This process paused between writing the file and the entry, for longer than its lease.
  let others = 0
  await archive({
    ...archiving,
    async write(due) {
      const written = await archiving.write(due)
      if (others === 0) others = (await archive()).entries
      return written
    },
  })
  assert.ok(others >= 64, "the other process has archived")
})

test("a segment of entries that another process has just archived is not recorded", async (t) => {
  await using house = await openHouse(t)
  await house.archiveLarger(() => house.archive())
  const { segments } = await house.archive()
  assert.deepEqual(
    segments.map(({ first, last }) => [first, last]),
    [
      [1, 64],
      [65, 128],
      [129, 192],
    ],
  )
  await house.expectFiles(segments, "of the faster process")
})

test("what was destroyed while a segment was recorded leaves it, even if the process dies then", async (t) => {
  for (const [first, last] of [
    [1, 10],
    [1, 128],
  ] as const) {
    await using house = await openHouse(t)
    const killed = async (): Promise<never> => assert.fail("killed")
    const archived = house.archiveLarger(() => house.destroy([[first, last]]), {
      ...house.archiving,
      without: killed,
      discard: killed,
    })
    await assert.rejects(archived, /killed/)
    await house.start()
    const stored = await house.stored()
    assert.deepEqual(
      stored.filter((index) => index < last),
      [],
    )
    await house.expectFiles((await house.archive()).segments, "rewritten")
  }
})

test("the file of a destroyed segment is deleted, even if the process dies in between", async (t) => {
  await using house = await openHouse(t)
  const { archiving, archive, storage } = house
  const [segment] = (await archive()).segments
  assert.ok(segment !== undefined)
  await house.destroy([[segment.first, segment.last]])
  const killed = async (): Promise<never> => assert.fail("killed")
  // A start checks the existing segments.
  const remove = async (by: SegmentArchiving) => house.remove((await archive()).segments, by)
  await assert.rejects(remove({ ...archiving, discard: killed }), /killed/)
  await remove(archiving)
  assert.equal(await storage.get(segment.file, { start: 0, end: 1 }), undefined)
  const { segments } = await archive()
  assert.ok(segments.every(({ file }) => file !== segment.file))
})

test("a destroyed segment is not taken for deleted while its disk is not mounted", async (t) => {
  await using house = await openHouse(t)
  const { folder, storage } = house
  const { segments } = await house.archive()
  const [segment] = segments
  assert.ok(segment !== undefined)
  await house.destroy([[segment.first, segment.last]])
  await rename(folder, `${folder}.away`)
  await mkdir(folder)
  const removed = house.remove(segments)
  await assert.rejects(removed, { name: "ArchiveFailure", message: /is its disk mounted\?/ })
  await rmdir(folder)
  await rename(`${folder}.away`, folder)
  await house.remove((await house.archive()).segments)
  assert.equal(await storage.get(segment.file, { start: 0, end: 1 }), undefined)
})

test("nothing is archived while the disk with earlier segments is not mounted", async (t) => {
  await using house = await openHouse(t, [[1, 64]])
  const { folder } = house
  while ((await house.archive()).segments.length === 0) continue
  await house.pack([65, 128])
  await rename(folder, `${folder}.away`)
  await mkdir(folder)
  await house.archive()
  const archived = house.archive()
  // Once it is mounted, it would hide what was written meanwhile.
  await assert.rejects(archived, { name: "ArchiveFailure", message: /is its disk mounted\?/ })
  assert.deepEqual(await house.frames(), [65])
  await rmdir(folder)
  await rename(`${folder}.away`, folder)
  while ((await house.archive()).segments.length < 2) continue
  assert.deepEqual(await house.lacking(), [])
})

test("the first segment of a workspace is not written where those of others are missing", async (t) => {
  await using house = await openHouse(t)
  const { archiving, filing, ledger } = house
  const other = testWorkspace("globex", { hotDays: 0 })
  const events = Array.from({ length: 64 }, () => testEvent())
  await ledger.record(other, events, [created("workspace", other.id, other.value)])
  await filing.content.pack(other.id, 0, 64, true)
  while ((await house.archive()).segments.length === 0) continue
  // Its disk is not mounted, or the prefix is mistyped.
  const elsewhere = openFolderStorage(await mkdtemp(join(house.folder, "elsewhere-")))
  const archiveTo = (by: SegmentArchiving) =>
    archiveDue({ ...house, archiving: by }, other, house.options)
  const wrong = createSegmentArchiving(filing, elsewhere, systemClock)
  const written = Array.fromAsync({ length: 2 }, () => archiveTo(wrong))
  await assert.rejects(written, { name: "ArchiveFailure", message: /has none of the segments/ })
  assert.deepEqual(await Array.fromAsync(elsewhere.list("")), [])
  while ((await archiveTo(archiving)).segments.length === 0) continue
})

test("after the newest segment was lost, archiving goes on", async (t) => {
  await using house = await openHouse(t, [[1, 128]])
  while ((await house.archive()).segments.length < 2) continue
  const { file } = (await house.segments()).at(-1) ?? assert.fail()
  await rename(join(house.folder, file), join(house.folder, "lost"))
  await house.pack([129, 192])
  for (let sweep = 0; sweep < 3; sweep++) await house.archive()
  assert.equal((await house.segments()).length, 3)
  await rename(join(house.folder, "lost"), join(house.folder, file))
})

test("a segment that another server has rewritten meanwhile is rewritten from the new one", async (t) => {
  for (const moment of [
    "before it is looked up",
    "before it is written",
    "before it is recorded",
  ]) {
    await using house = await openHouse(t)
    const { archiving, archive } = house
    const { segments } = await archive()
    const [segment] = segments
    assert.ok(segment !== undefined && segments.length > 1)
    await house.destroy([[segment.first, segment.first + 9]])
    let others = 0
    const other = async (): Promise<void> => {
      if (others++ > 0) return
      await house.remove(segments)
      await house.destroy([[segment.first + 20, segment.first + 29]])
    }
    if (moment === "before it is looked up") await other()
    await house.remove(segments, {
      ...archiving,
      async without(...asked) {
        if (moment === "before it is written") await other()
        const document = await archiving.without(...asked)
        if (moment === "before it is recorded") await other()
        return document
      },
    })
    assert.ok(others > 0, moment)
    await house.expectFiles((await archive()).segments, moment)
  }
})

test("a segment that another server removes meanwhile stays removed", async (t) => {
  for (const moment of ["after this one has written it anew", "before"]) {
    await using house = await openHouse(t)
    const { archiving, archive, storage } = house
    const { segments } = await archive()
    const [segment] = segments
    assert.ok(segment !== undefined)
    await house.destroy([[segment.first, segment.first + 9]])
    await house.remove(segments, {
      ...archiving,
      async without(...asked) {
        const document = await archiving.without(...asked)
        assert.ok(document !== undefined)
        const content = await storage.get(document.file, { start: 0, end: document.bytes })
        assert.ok(content !== undefined)
        await house.destroy([[segment.first + 10, segment.last]])
        await house.remove(segments)
        if (moment === "before") await storage.put(document.file, content)
        return document
      },
    })
    const left = (await archive()).segments
    assert.ok(left.every(({ first }) => first !== segment.first))
    await house.expectFiles(left, moment)
  }
})

test("a file that another server has written stays until it is recorded", async (t) => {
  await using house = await openHouse(t)
  const { archiving, archive } = house
  const { segments } = await archive()
  const [segment] = segments
  assert.ok(segment !== undefined)
  await house.destroy([[segment.first, segment.first + 9]])
  const [isWritten, mayRecord] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  let other: Promise<void> | undefined
  await house.remove(segments, {
    ...archiving,
    async files(place) {
      if (other === undefined) {
        await house.destroy([[segment.first + 20, segment.first + 29]])
        other = house.remove(segments, {
          ...archiving,
          async without(...asked) {
            const document = await archiving.without(...asked)
            isWritten.resolve()
            await mayRecord.promise
            return document
          },
        })
        await isWritten.promise
      }
      return archiving.files(place)
    },
  })
  mayRecord.resolve()
  await other
  await house.expectFiles((await archive()).segments, "recorded by either")
})

test("a segment that cannot be read is not taken for one that another server has written", async (t) => {
  await using house = await openHouse(t)
  const { segments } = await house.archive()
  await house.destroy([[1, 9]])
  const away = async (): Promise<never> => assert.fail("storage is away")
  await assert.rejects(house.remove(segments, { ...house.archiving, without: away }), /is away/)
  await house.remove(segments)
  await house.expectFiles((await house.archive()).segments, "read later")
})

test("bodies that were packed after the segment around them was archived are not dropped", async (t) => {
  await using house = await openHouse(t, [
    [1, 64],
    [129, 192],
  ])
  const larger = { ...house, limits: { ...house.limits, archiveEntriesMax: 192 } }
  const archive = () => archiveDue(larger, workspace, house.options)
  let archived = await archive()
  while (archived.segments.at(-1)?.last !== 192) archived = await archive()
  // Such as entries that did not match their records, and were repaired.
  await house.pack([65, 128])
  archived = await archive()
  assert.deepEqual(await house.lacking(), [])
  while (archived.segments.length < 3) archived = await archive()
  assert.deepEqual(
    archived.segments.map(({ first, last }) => [first, last]),
    [
      [1, 64],
      [65, 128],
      [129, 192],
    ],
  )
  assert.deepEqual(await house.lacking(), [])
})

test("bodies that a recorded segment around them lacks stay in the database", async (t) => {
  for (const later of [
    [65, 128],
    [66, 70],
  ] as const) {
    const [first, last] = later
    await using house = await openHouse(t, [
      [1, first - 1],
      [last + 1, 192],
    ])
    await house.recordOver(1, 192)
    await house.archive()
    assert.deepEqual(await house.lacking(), [])
    // They did not match their records, and were repaired.
    await house.pack(later)
    await house.ledger.record(
      workspace,
      Array.from({ length: 100 }, () => testEvent()),
    )
    await house.pack([193, 256])
    let reads = 0
    const counting: SegmentArchiving = {
      ...house.archiving,
      async drop(...asked) {
        reads += 1
        return house.archiving.drop(...asked)
      },
    }
    for (let sweep = 0; sweep < 3; sweep++) await house.archive(counting)
    const { segments, overdueMs } = await house.archive(counting)
    assert.deepEqual(await house.lacking(), [])
    assert.deepEqual(
      segments.map((segment) => [segment.first, segment.last]),
      [
        [1, 192],
        [193, 256],
      ],
      "what comes after them is archived",
    )
    assert.equal(overdueMs, 0)
    assert.equal(reads, 2, "a segment is not read again at each sweep")
    // Once more, after they are in the database together with all others.
    for (const segment of segments) await restoreSegment(house, workspace, segment)
    await house.expectFiles([], "taken back")
    assert.deepEqual(await house.lacking(), [])
  }
})

test("a restored frame does not span entries that are not packed", async (t) => {
  await using house = await openHouse(t, [
    [1, 65],
    [71, 192],
  ])
  await house.recordOver(1, 192)
  await house.archive()
  const [segment] = (await house.archive()).segments
  assert.ok(segment !== undefined)
  await restoreSegment(house, workspace, segment)
  assert.deepEqual(await house.spans(), [
    [1, 64],
    [65, 65],
    [71, 128],
    [129, 192],
  ])
  await house.pack([66, 70])
  await house.archive()
  assert.deepEqual(await house.lacking(), [])
})

test("a restore that is killed leaves no file that no segment names, and can be repeated", async (t) => {
  for (const moment of ["before the file is deleted", "after it"]) {
    await using house = await openHouse(t)
    const { archiving, archive } = house
    const [segment] = (await archive()).segments
    assert.ok(segment !== undefined)
    const killed: SegmentArchiving = {
      ...archiving,
      async discard(files) {
        if (moment === "after it") await archiving.discard(files)
        assert.fail("killed")
      },
    }
    const restore = async (by = archiving) => {
      for (const one of await house.segments())
        if (one.first === segment.first)
          await restoreSegment({ ...house, archiving: by }, workspace, one)
    }
    await assert.rejects(restore(killed), /killed/)
    // An erasure finds all that has its content by the segments.
    await house.destroy([[segment.first, segment.first + 9]])
    await house.remove(await house.segments())
    await house.expectFiles(await house.segments(), moment)
    await restore()
    await house.expectFiles(await house.segments(), moment)
    assert.equal((await house.lacking()).length, 10, "nothing else is lost")
  }
})

test("a restore that is killed after it has deleted a file is finished by the next one", async (t) => {
  await using house = await openHouse(t)
  const { archiving, archive, storage } = house
  const { segments } = await archive()
  for (const segment of segments) {
    const parts = {
      ...house,
      archiving: { ...archiving, files: async () => assert.fail("killed") },
    }
    await assert.rejects(restoreSegment(parts, workspace, segment), /killed/)
    await storage.delete(segment.file)
    await restoreSegment(house, workspace, segment)
  }
  assert.deepEqual(await house.segments(), [])
  assert.deepEqual(await house.lacking(), [])
  // Bodies that are nowhere else are not taken for restored ones.
  const [again] = (await archive()).segments
  assert.ok(again !== undefined)
  const content = await storage.get(again.file, { start: 0, end: again.bytes })
  assert.ok(content !== undefined)
  const { journal, registry } = house.filing
  const bodies = createArchivedBodies(storage, registry)
  const reader = withArchived<JournalReader>(journal, bodies)
  const cached = createSegmentArchiving({ ...house.filing, journal: reader }, storage, systemClock)
  assert.deepEqual(bodiless(await reader.after(workspace.id, 0, 300)), [])
  await storage.delete(again.file)
  for (const by of [archiving, cached])
    await assert.rejects(
      restoreSegment({ ...house, archiving: by }, workspace, again),
      /is not in the archive/,
    )
  await storage.put(again.file, content)
})

test("a file that a killed archiver has not recorded does not outlive the bodies in it", async (t) => {
  await using house = await openHouse(t)
  const { archiving } = house
  const write: SegmentArchiving["write"] = async (due) => {
    await archiving.write(due)
    return assert.fail("killed")
  }
  await assert.rejects(house.archive({ ...archiving, write }), /killed/)
  assert.equal((await house.stored()).length, 64)
  // No later segment begins with the same entry.
  await house.destroy([[1, 64]])
  await removeFromArchive(house, workspace.id, [{ first: 1, last: 64 }])
  await house.expectFiles([], "destroyed")
})

test("a segment whose file an erasure deletes before the segment is recorded loses no other body", async (t) => {
  await using house = await openHouse(t)
  const gone = { first: 5, last: 5 }
  // The erasure begins after the archiver has looked for destroyed content, and ends before the
  // segment is recorded.
  await house.archiveLarger(async () => {
    await house.destroy([[gone.first, gone.last]])
    await removeFromArchive(house, workspace.id, [gone])
  })
  assert.deepEqual(await house.lacking(), [gone.first])
  const { segments } = await house.archive()
  assert.deepEqual(await house.lacking(), [gone.first])
  await house.expectFiles(segments, "after the next sweep")
})

test("a segment that is recorded while an erasure looks through the archive loses what was destroyed", async (t) => {
  await using house = await openHouse(t)
  const { archiving } = house
  const gone = { first: 5, last: 5 }
  const destroyed = Promise.withResolvers<void>()
  const looking = Promise.withResolvers<void>()
  const archived = house.archiveLarger(
    async () => {
      await house.destroy([[gone.first, gone.last]])
      destroyed.resolve()
      await looking.promise
    },
    // The process dies once the segment is recorded.
    { ...archiving, without: async () => assert.fail("killed") },
  )
  await destroyed.promise
  const discardStrays: SegmentArchiving["discardStrays"] = async (...asked) => {
    looking.resolve()
    await assert.rejects(archived, /killed/)
    await archiving.discardStrays(...asked)
  }
  const parts = { ...house, archiving: { ...archiving, discardStrays } }
  await removeFromArchive(parts, workspace.id, [gone])
  assert.ok(!(await house.stored()).includes(gone.first - 1))
  await house.archive()
  assert.deepEqual(await house.lacking(), [gone.first])
})

test("a running archiver goes on behind a segment whose file an erasure has deleted before it was recorded", async (t) => {
  await using house = await openHouse(t)
  const { archiving, limits } = house
  const gone = { first: 5, last: 5 }
  let isBusy = true
  const { promise: failed, resolve: fail } = Promise.withResolvers<void>()
  const { promise: archived, resolve: archive } = Promise.withResolvers<void>()
  const { promise: swept, resolve: sweep } = Promise.withResolvers<void>()
  const archiver = startArchiver(
    {
      ...house,
      limits: { ...limits, archiveEveryMs: 1, archivePartialMs: 0 },
      archiving: {
        ...archiving,
        oldest: async (...asked) => (isBusy ? undefined : archiving.oldest(...asked)),
      },
    },
    {
      isOurs: async () => true,
      isHalted: () => false,
      report({ kind }) {
        if (kind === "not archived") fail()
        if (kind === "archived") archive()
        if (kind === "swept") sweep()
      },
    },
  )
  await swept
  const dying = house.archiveLarger(
    async () => {
      await house.destroy([[gone.first, gone.last]])
      await removeFromArchive(house, workspace.id, [gone])
    },
    { ...archiving, without: async () => assert.fail("killed") },
  )
  await assert.rejects(dying, /killed/)
  isBusy = false
  await failed
  await Promise.race([archived, systemClock.sleep(5000)])
  await archiver.close()
  assert.deepEqual(await house.lacking(), [gone.first])
  const segments = await house.segments()
  assert.deepEqual(
    segments.slice(0, 2).map(({ first, last }) => [first, last]),
    [
      [1, 64],
      [65, 128],
    ],
  )
  await house.expectFiles(segments, "archived")
})

test("a file that is about to be recorded stays while other bodies are destroyed", async (t) => {
  await using house = await openHouse(t)
  await house.archiveLarger(async () => {
    await house.destroy([[129, 192]])
    await removeFromArchive(house, workspace.id, [{ first: 129, last: 192 }])
  })
  assert.equal((await house.lacking()).length, 64)
  await house.expectFiles(await house.segments(), "recorded")
})

test("a segment that a dead process has recorded is finished behind frames that are not archived", async (t) => {
  await using house = await openHouse(t)
  const killed = async (): Promise<never> => assert.fail("killed")
  await assert.rejects(house.archive({ ...house.damaged, drop: killed }), /killed/)
  assert.deepEqual(await house.frames(), [1, 65, 129])
  await house.archive(house.damaged)
  const { segments, overdueMs } = await house.archive(house.damaged)
  assert.deepEqual(
    segments.map(({ first, last }) => [first, last]),
    [
      [65, 128],
      [129, 192],
    ],
  )
  assert.deepEqual(await house.frames(), [1])
  assert.ok(overdueMs > 0, "the damaged frame waits")
})

test("a segment ends before one that a dead process has recorded and not dropped", async (t) => {
  await using house = await openHouse(t, [[129, 192]])
  const killed = async (): Promise<never> => assert.fail("killed")
  await house.archive()
  await assert.rejects(house.archive({ ...house.archiving, drop: killed }), /killed/)
  await house.pack([1, 128])
  const larger = { ...house, limits: { ...house.limits, archiveEntriesMax: 192 } }
  for (let sweep = 0; sweep < 3; sweep++) await archiveDue(larger, workspace, house.options)
  const { segments } = await archiveDue(larger, workspace, house.options)
  assert.deepEqual(
    segments.map(({ first, last }) => [first, last]),
    [
      [1, 128],
      [129, 192],
    ],
  )
  assert.deepEqual(await house.frames(), [])
})

test("a segment that storage has only in part is written again from the database", async (t) => {
  await using house = await openHouse(t)
  const killed = async (): Promise<never> => assert.fail("killed")
  await assert.rejects(house.archive({ ...house.archiving, drop: killed }), /killed/)
  const { file, bytes } = (await house.segments())[0] ?? assert.fail()
  await truncate(join(house.folder, file), bytes - 1)
  for (let sweep = 0; sweep < 3; sweep++) await house.archive()
  assert.deepEqual(await house.frames(), [])
})
