// The tests that every storage of segments must pass.

import { strict as assert } from "node:assert"
import { storiesOf } from "./stories.ts"
import type { ArchiveStorage } from "../archive/archive-storage.ts"

export interface OpenedArchive {
  readonly storage: ArchiveStorage
  readonly reopen: () => ArchiveStorage
  readonly close: () => Promise<void>
}

const ledger = "ad596589abe4ce9006c686efe3b96d945f887362fbc45bb60b9c9e284c8b1896"
const file = `${ledger}/000000000000-${"5".repeat(64)}.jsonl.zst`

async function namesIn(storage: ArchiveStorage, prefix = ""): Promise<readonly string[]> {
  return (await Array.fromAsync(storage.list(prefix))).map(({ name }) => name).toSorted()
}

export function archiveContract(name: string, open: () => Promise<OpenedArchive>): void {
  const story = storiesOf(name, open)

  story("a stored file can be read by all, completely and in ranges", async (opened) => {
    const bytes = Buffer.from("a segment of some bytes")
    await opened.storage.put(file, bytes)
    for (const storage of [opened.storage, opened.reopen()]) {
      const all = { start: 0, end: bytes.length }
      for (const { start, end } of [all, { start: 2, end: 9 }, { start: 22, end: 23 }])
        assert.deepEqual(
          Buffer.from((await storage.get(file, { start, end })) ?? []),
          bytes.subarray(start, end),
        )
      assert.deepEqual(await Array.fromAsync(storage.list("")), [
        { name: file, bytes: bytes.length },
      ])
    }
  })

  story("a missing file is undefined, and not listed", async ({ storage }) => {
    assert.equal(await storage.get(file, { start: 0, end: 1 }), undefined)
    assert.deepEqual(await namesIn(storage), [])
    await storage.delete(file)
  })

  story("put is idempotent, and a deleted file is gone", async ({ storage }) => {
    for (const text of ["once", "once"]) await storage.put(file, Buffer.from(text))
    assert.deepEqual(await namesIn(storage), [file])
    await storage.delete(file)
    assert.equal(await storage.get(file, { start: 0, end: 1 }), undefined)
    assert.deepEqual(await namesIn(storage), [])
  })

  story("a list has all files with the prefix, of any number", async ({ storage }) => {
    const other = "b".repeat(64)
    const names = Array.from({ length: 25 }, (_, at) => `${ledger}/${String(at).padStart(12, "0")}`)
    for (const one of [...names, `${other}/000000000000`]) await storage.put(one, Buffer.from(one))
    assert.deepEqual(await namesIn(storage, `${ledger}/`), names)
    assert.deepEqual(await namesIn(storage, names[7]), [names[7]])
    assert.equal((await namesIn(storage)).length, 26)
  })

  story("a range beyond the end is a failure that names the file", async ({ storage }) => {
    await storage.put(file, Buffer.from("short"))
    for (const range of [
      { start: 0, end: 6 },
      { start: 5, end: 6 },
    ])
      await assert.rejects(
        async () => storage.get(file, range),
        (error: Error) => error.name === "ArchiveFailure" && error.message.includes(file),
      )
  })

  story("twenty megabytes are read back unchanged", async ({ storage }) => {
    const bytes = Buffer.alloc(20 * 1024 * 1024, "0123456789abcdef!")
    await storage.put(file, bytes)
    const back = await storage.get(file, { start: 0, end: bytes.length })
    assert.ok(back !== undefined && bytes.equals(back))
  })
}
