import assert from "node:assert/strict"
import { copyFileSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync, type SQLInputValue } from "node:sqlite"
import { zstdCompressSync, zstdDecompressSync } from "node:zlib"
import { bodyHash, encodeRecord, eventHash, parseRecord } from "@tallystick/proof"
import { fsck, passes, type Pass } from "../../packages/server/src/operator/fsck/fsck.ts"
import type { Fault } from "../../packages/server/src/operator/fsck/fault.ts"
import { sha256 } from "../../packages/server/src/runtime/sha256.ts"
import { createSegmentBuilder } from "../../packages/server/src/store/search/segment-builder.ts"
import { packSegment } from "../../packages/server/src/store/search/segment-format.ts"
import { firstOf, lastOf } from "../../packages/server/src/store/search/segment-plan.ts"
import type { SegmentName } from "../../packages/server/src/store/search/segments.ts"
import { createContentKeeper } from "../../packages/server/src/store/sqlite/content.ts"
import { openForReading, openForWriting } from "../../packages/server/src/store/sqlite/database.ts"
import { openSqliteFiling } from "../../packages/server/src/store/sqlite/open-sqlite.ts"
import {
  idemOf,
  packDisclosures,
  packIdem,
  packReceipt,
  receiptOf,
} from "../../packages/server/src/store/sqlite/packed-text.ts"
import { journalReads } from "../../packages/server/src/store/sqlite/reads.ts"
import { expectChain } from "../chain.ts"
import { join as joinAs, setUpFirst } from "../people.ts"
import { startProgram } from "../crash/programs.ts"
import {
  eventFor,
  eventually,
  make,
  makeWorkspace,
  type Service,
  type Workspace,
} from "../service.ts"
import type { Chance } from "../chance.ts"
import { dropTriggers } from "../triggers.ts"

// The real service writes a ledger and stops. Then an attacker who can write its files but has no
// key changes one thing. fsck must find it, and say where. Copying the files undoes the change.

export interface TamperOptions {
  readonly entries: number
  readonly mutations: number
  readonly chance: Chance
  /** The canary: chooses a change and does not make it. */
  readonly isIdle?: boolean
}

export interface Tampered {
  found: number
  readonly kinds: Record<string, number>
  /** Entries that fsck checked, in all runs together. */
  entries: number
}

export async function tamperAgainAndAgain({
  entries,
  mutations,
  chance,
  isIdle,
}: TamperOptions): Promise<Tampered> {
  await using scene = await makeScene(entries)
  const tampered: Tampered = { found: 0, kinds: {}, entries: 0 }
  for (const threads of [0, 2]) {
    const good = await look(scene, passes, "checkpoint", threads)
    assert.deepEqual(good.faults, [], "what was not changed is found fault with")
    assert.ok(good.entries >= passes.length * scene.size)
  }
  const names = Object.keys(mutationKinds)
  const first = chance.below(names.length)
  for (let run = 0; run < mutations; run++) {
    // Every kind has its turn; chance decides only who is first, and the place.
    const name = names[(first + run) % names.length] ?? ""
    const { act, pass = "chain", knows = "both", says } = mutationKinds[name] as Kind
    restore(scene)
    const expected = within(scene, chance, act, isIdle === true)
    // Several threads find the same as one.
    const { faults, entries: checked } = await look(
      scene,
      [pass],
      knows,
      run % threadedEvery === 0 ? 2 : 0,
    )
    tampered.entries += checked
    assert.ok(faults.length > 0, `${name} at ${expected.join(" to ")} was not found`)
    assert.ok(
      faults.some((fault) =>
        says === undefined ? saysSo(fault, scene.id, expected) : says.test(fault.what),
      ),
      `${name}: ${expected.join(" to ")} is not named in ${JSON.stringify(faults)}`,
    )
    tampered.found += 1
    tampered.kinds[name] = (tampered.kinds[name] ?? 0) + 1
  }
  restore(scene)
  assert.deepEqual(
    (await look(scene, passes, "checkpoint", 0)).faults,
    [],
    "it was not put right again",
  )
  return tampered
}

export interface Scene extends AsyncDisposable {
  readonly data: string
  readonly id: string
  readonly workspace: Workspace
  /** Of the workspace's chain. */
  readonly size: number
  readonly checkpoint: string
}

/** fsck must report something in this range, both ends included. */
type Expected = readonly [first: number, last: number]

interface Files {
  readonly journal: DatabaseSync
  readonly index: DatabaseSync
  readonly search: DatabaseSync
  readonly data: string
  readonly number: number
  readonly id: string
  readonly size: number
  readonly chance: Chance
}

type Act = (files: Files) => { readonly expected: Expected; readonly apply: () => void }

interface Kind {
  readonly act: Act
  /** The pass that must find it alone; else the chain's. */
  readonly pass?: Pass
  /** The expected sentence, if it names no entry. */
  readonly says?: RegExp
  /** An exported checkpoint that fsck gets with the data, if nothing else can show the change. */
  readonly knows?: "both" | "checkpoint"
}

/** To start a thread takes as long as to check a small ledger. */
const threadedEvery = 50

const fileNames = ["journal.db", "index.db", "search.db"]

async function makeScene(entries: number): Promise<Scene> {
  // What fails here must not leave a service behind: the test would wait for it.
  await using started = new AsyncDisposableStack()
  const service = started.use(await startProgram())
  const workspace = await makeWorkspace(service)
  await actIn(service, workspace)
  await setUpFirst(service)
  await joinAs(service, workspace.path, "viewer", "grace@example.com", "another battery staple")
  for (let written = 0; written < entries;) {
    const count = Math.min(100, entries - written)
    const events = Array.from({ length: count }, (_, place) =>
      eventFor(workspace.id, {
        target: {
          id: `inv_${written + place}`,
          type: "invoice",
          name: `Invoice ${written + place}`,
        },
      }),
    ).map((event, place) => ({ ...event, idempotencyKey: `event-number-${written + place}` }))
    const reply = await workspace.writer.post("/v1/events/batch", { events })
    assert.equal(reply.status, 202, reply.text)
    written += count
  }
  await expectChain(workspace.reader, workspace.id)
  const checkpoint = await eventually("a checkpoint over all of them", async () => {
    const { text } = await workspace.reader.get(`${workspace.path}/tlog/checkpoint`)
    return Number(text.split("\n")[1]) > entries ? text : undefined
  })
  const { data } = service
  assert.equal(await service.end(), 0)
  await makeSegments(data, workspace.id, entries < 4096 ? 0 : 1)
  await packFirst(data, workspace.id)
  for (const name of fileNames) {
    // The write-ahead log beside a file is part of it.
    using file = new DatabaseSync(join(data, name))
    file.exec("PRAGMA wal_checkpoint(TRUNCATE)")
    copyFileSync(join(data, name), join(data, `${name}.good`))
  }
  copyFileSync(`${data}.heads`, `${data}.heads.good`)
  const size = Number(checkpoint.split("\n")[1])
  const kept = started.move()
  return {
    data,
    id: workspace.id,
    workspace,
    size,
    checkpoint,
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  }
}

/** Entries up to here are packed in every scene, and no others, because some changes need rows. */
const packedEntries = 128

async function packFirst(data: string, workspace: string): Promise<void> {
  const path = join(data, "journal.db")
  using journal = new DatabaseSync(path)
  const reads = journalReads(journal)
  const putBack = dropTriggers(journal)
  journal.exec("BEGIN")
  for (const { n, sequence, count } of journal.prepare("SELECT * FROM places").all())
    for (let at = 0; at < Number(count); at++) {
      const [entry] = reads.at(workspace, [Number(sequence) + at])
      assert.ok(entry?.body !== undefined && entry.bodySalt !== undefined)
      run(
        journal,
        `INSERT INTO entries (n, workspace, sequence, receipt, idem, record, sealed, salted)
         SELECT ?, number, ?, ?, ?, ?, ?, ? FROM workspaces WHERE id = ?`,
        Number(n) + at,
        entry.sequence,
        packReceipt(Buffer.from(entry.receipt)),
        packIdem(Buffer.from(entry.idem ?? "")),
        entry.record,
        packDisclosures(Buffer.from(entry.disclosures)),
        Buffer.concat([entry.bodySalt, entry.body]),
        workspace,
      )
    }
  for (const table of ["frames", "stretches", "disclosures", "places"])
    journal.exec(`DELETE FROM ${table}`)
  journal.exec("COMMIT")
  putBack()
  using packing = openForWriting(path, "journal", "full")
  const content = createContentKeeper(packing)
  for (const after of [0, 64])
    assert.equal((await content.pack(workspace, after, packedEntries))?.entries, 64)
}

/** One of each thing that is administered. */
async function actIn({ root }: Service, { id, path, writer }: Workspace): Promise<void> {
  const made = (place: string, body: object) => make(root, `${path}/${place}`, body)
  const { keyId } = await made("api-keys", {
    name: "lost",
    scopes: ["read"],
    projectIds: ["core"],
  })
  assert.equal((await root.delete(`${path}/api-keys/${keyId}`)).status, 204)
  await made("members", { email: "ada@example.com", role: "viewer" })
  await made("published-policy", {
    sections: [{ id: "terms", title: "Terms", body: "What is agreed." }],
  })
  await made("published-policy/token", { projectId: "core" })
  const { receipt } = (await writer.write(eventFor(id))).json()
  await made("evidence-packs", { title: "March", receiptIds: [receipt] })
}

function restore({ data }: Scene): void {
  for (const name of fileNames) copyFileSync(join(data, `${name}.good`), join(data, name))
  copyFileSync(`${data}.heads.good`, `${data}.heads`)
}

function within({ data, id, size }: Scene, chance: Chance, act: Act, isIdle: boolean): Expected {
  using journal = new DatabaseSync(join(data, "journal.db"))
  using index = new DatabaseSync(join(data, "index.db"))
  using search = new DatabaseSync(join(data, "search.db"))
  const all = [journal, index, search]
  // Nothing here has to be on the disk.
  for (const file of all) file.exec("PRAGMA synchronous = OFF; BEGIN;")
  const putBack = dropTriggers(journal)
  const number = Number(
    journal.prepare("SELECT number FROM workspaces WHERE id = ?").get(id)?.["number"],
  )
  const { expected, apply } = act({ journal, index, search, data, number, id, size, chance })
  if (!isIdle) apply()
  putBack()
  for (const file of all) file.exec("COMMIT;")
  return expected
}

async function look(
  { data, checkpoint }: Scene,
  asked: readonly Pass[],
  knows: "both" | "checkpoint",
  threads: number,
): Promise<{ faults: readonly Fault[]; entries: number }> {
  const checkpoints = knows === "checkpoint" || asked.includes("chain") ? [checkpoint] : []
  const options = {
    data,
    heads: `${data}.heads`,
    workspaces: undefined,
    checkpoints,
    passes: asked,
    threads,
  }
  const { faults, timings } = await fsck({ ...options, progress: () => {} })
  return { faults, entries: timings.reduce((sum, { entries }) => sum + entries, 0) }
}

function saysSo(
  { workspace, sequence, upTo }: Fault,
  id: string,
  [first, last]: Expected,
): boolean {
  if (workspace !== id) return false
  if (sequence === undefined) return first === 0
  return sequence <= last && (upTo ?? sequence) >= first && sequence >= 1
}

// What is changed ---------------------------------------------------------------------------------

const mutationKinds: Readonly<Record<string, Kind>> = {
  "a bit of a record": { act: (files) => flipIn(files, "record", 118, 1) },
  "a bit of a body": { act: (files) => flipIn(files, "salted") },
  "a byte of what is sealed": { act: changedDisclosure, pass: "contents" },
  "what is sealed is removed": { act: (files) => removed(files, "sealed"), pass: "contents" },
  "a body is removed": { act: (files) => removed(files, "salted") },
  "an entry is removed": {
    act(files) {
      const { sequence, n } = anyEntry(files)
      return once(sequence, () => run(files.journal, "DELETE FROM entries WHERE n = ?", n))
    },
  },
  "two entries change places": { act: swapped },
  "a body takes the place of another": {
    act(files) {
      const [one, other] = [anyEntry(files), anyEntry(files)]
      // The first of them may be the same: then the last is another.
      const to = one.n === other.n ? entryAt(files, fromPlace(files, one.sequence)) : other
      return once(to.sequence, () =>
        run(
          files.journal,
          "UPDATE entries SET salted = (SELECT salted FROM entries WHERE n = ?) WHERE n = ?",
          one.n,
          to.n,
        ),
      )
    },
  },
  "an entry is put between two, with its own hashes right": { act: inserted },
  "an entry is changed, and all behind it linked again": { act: (files) => relinked(files, false) },
  "… and all that was derived and signed of it is removed": {
    act: (files) => relinked(files, true),
    knows: "checkpoint",
  },
  "an entry is older than the one before it, and all behind it linked again": {
    act: (files) => relinked(files, false, (timeMs) => timeMs - 86_400_000),
    says: /^its record has an earlier time than the previous entry$/,
  },
  "the end is cut off": { act: (files) => cut(files, false) },
  "… and all that was derived and signed of it is removed too": {
    act: (files) => cut(files, true),
    knows: "checkpoint",
  },
  "an idempotency key is changed": {
    act: (files) => named(files, "UPDATE entries SET idem = 'AAAAAAAAAAAAAAAAAAAAAA' WHERE n = ?"),
    pass: "contents",
  },
  "an idempotency key is removed": {
    act: (files) => named(files, "UPDATE entries SET idem = NULL WHERE n = ?"),
    pass: "contents",
  },
  "a receipt is changed": {
    act: (files) => named(files, "UPDATE entries SET receipt = 'rcp_nobody' WHERE n = ?"),
    pass: "contents",
  },
  "a receipt is that of another entry": {
    act(files) {
      const to = sealedEntry(files)
      return once(to.sequence, () =>
        run(
          files.journal,
          "UPDATE entries SET receipt = ? WHERE n = ?",
          packReceipt(Buffer.from(journalReads(files.journal).place(1)?.receipt ?? "")),
          to.n,
        ),
      )
    },
    pass: "index",
  },
  "a receipt is that of another entry, kept as text": {
    act: (files) => keptAsText(files, "receipt", receiptOf),
    pass: "index",
    says: /^an earlier entry has the same receipt$/,
  },
  "an idempotency key is that of another entry, kept as text": {
    act: (files) => keptAsText(files, "idem", idemOf),
    pass: "index",
    says: /^an earlier entry has the same idempotency key$/,
  },
  "the index goes beyond the end": {
    act: ({ index, id, size }) =>
      once(size + 1, () => run(index, "UPDATE trees SET size = size + 1 WHERE workspace = ?", id)),
  },
  "the search goes beyond the end": {
    act: ({ search, id, size }) =>
      once(size + 1, () =>
        run(
          search,
          `INSERT INTO segments SELECT number, 1, ?, 'beyond', 0, zeroblob(32) FROM workspaces WHERE id = ?`,
          Math.floor(size / 4096),
          id,
        ),
      ),
  },
  "a bit of the tree's edge": {
    act: (files) => flippedIndex(files, "trees", "hashes", () => [1, files.size]),
  },
  "a bit of a tile": {
    act: (files) =>
      flippedIndex(
        files,
        "tiles",
        "hashes",
        (byte) => [Math.floor(byte / 32) * 256 + 1, (Math.floor(byte / 32) + 1) * 256],
        "level = 1",
      ),
  },
  "a bit of a leaf that is kept": {
    act: (files) => {
      const tile = files.chance.below(Math.ceil(files.size / 256))
      const expected = (): Expected => [tile * 256 + 1, Math.min((tile + 1) * 256, files.size)]
      return flippedIndex(files, "tiles", "hashes", expected, `level = 0 AND tile = ${tile}`)
    },
  },
  "a bit of a full tile's middle": {
    act: (files) => {
      const tile = files.chance.below(Math.floor(files.size / 256))
      const expected = (): Expected => [tile * 256 + 1, (tile + 1) * 256]
      return flippedIndex(files, "tiles", "hashes", expected, `level = 64 AND tile = ${tile}`)
    },
  },
  "a bit of the checkpoint's root": {
    act: (files) => flippedIndex(files, "checkpoints", "root", () => [1, files.size]),
  },
  "the checkpoint's size": {
    act: ({ index, id, size, chance }) => {
      const less = 1 + chance.below(size - 1)
      return {
        expected: [1, size],
        apply: () => run(index, "UPDATE checkpoints SET size = ? WHERE workspace = ?", less, id),
      }
    },
  },
  "a letter of the checkpoint's signature": {
    act: ({ index, id, size, chance }) => {
      const note = String(
        index.prepare("SELECT note FROM checkpoints WHERE workspace = ?").get(id)?.["note"],
      )
      const at = note.length - 10 - chance.below(60)
      const other = note.slice(0, at) + (note[at] === "A" ? "B" : "A") + note.slice(at + 1)
      return {
        expected: [size, size],
        apply: () => run(index, "UPDATE checkpoints SET note = ? WHERE workspace = ?", other, id),
      }
    },
  },
  "the heads file has another root": {
    act: ({ data, size, chance }) => {
      const text = readFileSync(`${data}.heads`, "utf8")
      const line = text.split("\n").findLast((one) => one.includes(` ${size} `)) ?? ""
      const [origin, count] = line.split(" ")
      const root = Buffer.from(Array.from({ length: 32 }, () => chance.below(256))).toString(
        "base64",
      )
      return {
        expected: [1, size],
        apply: () => writeFileSync(`${data}.heads`, `${text}${origin} ${count} ${root}\n`),
      }
    },
  },
  ...frameKinds(),
  ...besideKinds(),
  ...registryKinds(),
}

/** A run of this many mutations has every kind. */
export const kindsCount = Object.keys(mutationKinds).length

/** Changes the frame with the bodies of the entries 1 to 64, or 65 to 128. */
function frameKinds(): Readonly<Record<string, Kind>> {
  const frame: Expected = [1, 64]
  const changed = (says: RegExp, act: (files: Files) => void, pass: Pass = "index"): Kind => ({
    act: (files) => ({ expected: frame, apply: () => act(files) }),
    pass,
    says,
  })
  const damaged = /^the frame with the bodies of entries 1 to 64 /
  const missing = /^its body (is missing|does not match)/
  const changeBytes = ({ journal, number }: Files, change: (bytes: Buffer) => Uint8Array): void => {
    const part = "workspace = ? AND first = 1 AND part = 0"
    const { bytes } = journal.prepare(`SELECT bytes FROM frames WHERE ${part}`).get(number) ?? {}
    run(
      journal,
      `UPDATE frames SET bytes = ? WHERE ${part}`,
      change(Buffer.from(blob(bytes))),
      number,
    )
  }
  const inverted = (bytes: Buffer): Uint8Array => bytes.map((byte, at) => (at === 4 ? ~byte : byte))
  const swapFrames = ({ journal }: Files): void =>
    journal.exec(
      "UPDATE frames SET first = -first; UPDATE frames SET first = CASE first WHEN -1 THEN 65 ELSE 1 END;",
    )
  return {
    "a frame's header is damaged": changed(damaged, (files) => changeBytes(files, inverted)),
    "… and the chain misses its bodies": changed(
      missing,
      (files) => changeBytes(files, inverted),
      "chain",
    ),
    "a byte of a frame is changed": {
      act: (files) => ({
        expected: frame,
        apply: () =>
          changeBytes(files, (bytes) => {
            const at = 100 + files.chance.below(bytes.length - 100)
            return bytes.map((byte, place) => (place === at ? ~byte : byte))
          }),
      }),
    },
    "a frame is cut off": changed(damaged, (files) =>
      changeBytes(files, (bytes) => bytes.subarray(0, 700)),
    ),
    "a frame loses its last part": changed(damaged, ({ journal }) =>
      journal.exec(
        "DELETE FROM frames WHERE first = 1 AND part = (SELECT max(part) FROM frames WHERE first = 1)",
      ),
    ),
    "a frame loses its first part": changed(/^journal.db has part 1 of a frame/, ({ journal }) =>
      journal.exec("DELETE FROM frames WHERE first = 1 AND part = 0"),
    ),
    "a frame is removed": changed(
      missing,
      ({ journal }) => journal.exec("DELETE FROM frames WHERE first = 1"),
      "chain",
    ),
    "two frames change places": changed(damaged, swapFrames),
    "… and the chain finds other bodies": changed(missing, swapFrames, "chain"),
    "a frame is that of another workspace": changed(
      missing,
      ({ journal }) => {
        journal.exec(
          "INSERT INTO workspaces (number, id) VALUES (99, 'wsp_other'); UPDATE frames SET workspace = 99 WHERE first = 1",
        )
      },
      "chain",
    ),
    "… which has no such entries": changed(damaged, ({ journal }) => {
      journal.exec(
        "INSERT INTO workspaces (number, id) VALUES (99, 'wsp_other'); UPDATE frames SET workspace = 99 WHERE first = 1",
      )
    }),
    "a frame unpacks to more than memory holds": changed(damaged, (files) =>
      changeBytes(files, () => zstdCompressSync(Buffer.alloc(2 ** 27))),
    ),
    ...stretchKinds(),
  }
}

/** Changes the stretch with the rest of the entries 1 to 64. */
function stretchKinds(): Readonly<Record<string, Kind>> {
  const stretch: Expected = [1, 64]
  const where = "first = 1 AND part"
  const bytesOf = ({ journal }: Files, table: string): Buffer =>
    Buffer.concat(
      journal
        .prepare(`SELECT bytes FROM ${table} WHERE first = 1 ORDER BY part`)
        .all()
        .map(({ bytes }) => blob(bytes)),
    )
  /** In one row, whatever its length is. */
  const replace = ({ journal }: Files, table: string, bytes: Uint8Array): void => {
    run(journal, `DELETE FROM ${table} WHERE ${where} > 0`)
    run(journal, `UPDATE ${table} SET bytes = ? WHERE ${where} = 0`, bytes)
  }
  /** Changes a bit of the bytes from an offset on, where an entry has so many of them. */
  const flipped = (from: number, length: number, used = length, pass: Pass = "chain"): Kind => ({
    act(files) {
      const place = files.chance.below(64)
      const bytes = bytesOf(files, "stretches")
      const at = from + place * length + files.chance.below(used)
      bytes[at] = (bytes[at] ?? 0) ^ (1 << files.chance.below(8))
      // A record with another hash shows at the link of the next one.
      const expected: Expected = [place + 1, place + 2]
      return { expected, apply: () => replace(files, "stretches", bytes) }
    },
    pass,
  })
  const made = (pass: Pass, says: RegExp | undefined, apply: (files: Files) => void): Kind => ({
    act: (files) => ({ expected: stretch, apply: () => apply(files) }),
    pass,
    ...(says && { says }),
  })
  const [common, kinds] = [64 * 64, 64 * 64 + 48]
  const [times, receipts] = [kinds + 64, kinds + 6 * 64]
  const keyed = receipts + 23 * 64
  const inDisclosures = (files: Files, change: (text: Buffer) => Uint8Array): void => {
    const text = zstdDecompressSync(bytesOf(files, "disclosures"))
    replace(files, "disclosures", zstdCompressSync(change(text)))
  }
  const cannot = /^the disclosures of the stretch that begins with entry \d /
  return {
    "the hashes of a packed entry are changed": flipped(0, 64),
    "the kind of a packed entry is changed": flipped(kinds, 1),
    "the time of a packed entry is changed": flipped(times, 5),
    // Half of the last byte is no part of it.
    "the receipt of a packed entry is changed": flipped(receipts, 23, 22, "contents"),
    "what the records of a stretch share is changed": made("chain", undefined, (files) => {
      const bytes = bytesOf(files, "stretches")
      const at = common + files.chance.below(48)
      bytes[at] = (bytes[at] ?? 0) ^ (1 << files.chance.below(8))
      replace(files, "stretches", bytes)
    }),
    "a key of a packed entry is changed": made("contents", undefined, (files) => {
      const bytes = bytesOf(files, "stretches")
      const at = keyed + 8 + files.chance.below(bytes.length - keyed - 8)
      bytes[at] = (bytes[at] ?? 0) ^ 1
      replace(files, "stretches", bytes)
    }),
    "who of a stretch has a key is changed": made("contents", undefined, (files) => {
      const bytes = bytesOf(files, "stretches")
      bytes[keyed + files.chance.below(8)]! ^= 1 << files.chance.below(8)
      replace(files, "stretches", bytes)
    }),
    "a packed receipt is said to be another text": made("contents", undefined, (files) =>
      replace(
        files,
        "stretches",
        Buffer.concat([
          bytesOf(files, "stretches"),
          Buffer.from(JSON.stringify({ receipts: { 5: "rcp_nobody" } })),
        ]),
      ),
    ),
    "a packed record is said to be another one": made("chain", undefined, (files) =>
      replace(
        files,
        "stretches",
        Buffer.concat([
          bytesOf(files, "stretches"),
          Buffer.from(JSON.stringify({ records: { 5: "00".repeat(118) } })),
        ]),
      ),
    ),
    "what is not like the others in a stretch is no JSON": made("chain", undefined, (files) => {
      const bytes = bytesOf(files, "stretches")
      replace(files, "stretches", Buffer.concat([Buffer.alloc(bytes.length, 0xff), bytes]))
    }),
    "a stretch is cut off": made("chain", undefined, (files) =>
      replace(files, "stretches", bytesOf(files, "stretches").subarray(0, 1000)),
    ),
    "a stretch is removed": made("chain", undefined, ({ journal }) =>
      run(journal, "DELETE FROM stretches WHERE first = 1"),
    ),
    "… and it is counted all the same": made(
      "index",
      /^journal.db counts it as number \d+, but no stretch has it there$/,
      ({ journal }) => run(journal, "DELETE FROM stretches WHERE first = 1"),
    ),
    "a stretch loses its first part": made(
      "index",
      /^journal.db has part 1 of a stretch that begins with entry 1, but not what is before it$/,
      ({ journal }) => run(journal, `DELETE FROM stretches WHERE ${where} = 0`),
    ),
    // The first and the last record of its frame are still there.
    "a stretch loses the part between": made("chain", undefined, ({ journal }) =>
      run(journal, `DELETE FROM stretches WHERE ${where} = 1`),
    ),
    "a stretch loses its last part": made("contents", undefined, ({ journal }) =>
      run(
        journal,
        `DELETE FROM stretches WHERE ${where} = (SELECT max(part) FROM stretches WHERE first = 1)`,
      ),
    ),
    "a stretch has fewer entries": made("chain", undefined, ({ journal }) =>
      run(journal, "UPDATE stretches SET count = 50 WHERE first = 1"),
    ),
    "a stretch has more entries than any": made(
      "index",
      /^the stretch that begins with entry 1 has entries that are somewhere else as well$/,
      ({ journal }) => run(journal, "UPDATE stretches SET count = 1000000000 WHERE first = 1"),
    ),
    "a stretch begins elsewhere": made("chain", undefined, ({ journal }) =>
      run(journal, "UPDATE stretches SET first = 2 WHERE first = 1"),
    ),
    "a stretch is that of another workspace": made("chain", undefined, ({ journal }) =>
      run(journal, "UPDATE stretches SET workspace = 99 WHERE first = 1"),
    ),
    "a packed entry has a row as well": made(
      "index",
      /^the stretch that begins with entry 1 has entries that are somewhere else as well$/,
      ({ journal, number }) =>
        run(
          journal,
          "INSERT INTO entries SELECT (SELECT max(n) FROM entries) + 1, workspace, 3, receipt, NULL, record, sealed, salted FROM entries WHERE workspace = ? LIMIT 1",
          number,
        ),
    ),
    "packed entries are counted as others": made(
      "index",
      /^journal.db counts it as number \d+, but no stretch has it there$/,
      ({ journal }) => run(journal, "UPDATE places SET sequence = sequence + 1 WHERE sequence = 1"),
    ),
    "packed entries are not counted": made(
      "index",
      /no row has the number before that$/,
      ({ journal }) => run(journal, "DELETE FROM places WHERE sequence = 1"),
    ),
    "the disclosures of a stretch are damaged": made("index", cannot, (files) =>
      replace(files, "disclosures", bytesOf(files, "disclosures").fill(0, 0, 4)),
    ),
    "… and their entries miss them": made("contents", undefined, (files) =>
      replace(files, "disclosures", bytesOf(files, "disclosures").fill(0, 0, 4)),
    ),
    "the disclosures of a stretch are those of fewer entries": made("index", cannot, (files) =>
      inDisclosures(files, (text) => text.subarray(0, text.lastIndexOf(0xfe))),
    ),
    "the disclosures of a stretch are of other entries": made("index", cannot, ({ journal }) =>
      run(journal, "UPDATE disclosures SET first = 2 WHERE first = 1"),
    ),
    "the disclosures of a stretch are removed": made("contents", undefined, ({ journal }) =>
      run(journal, "DELETE FROM disclosures WHERE first = 1"),
    ),
    "a packed disclosure is changed": made("contents", undefined, (files) =>
      inDisclosures(files, (text) => {
        const at = text.indexOf("[") + 4
        return text.fill((text[at] ?? 0) === 0x41 ? 0x42 : 0x41, at, at + 1)
      }),
    ),
    "the disclosures of two packed entries change places": made("contents", undefined, (files) =>
      inDisclosures(files, (text) => {
        const of = text.toString("latin1").split("\xfe")
        const last = of.length - 1
        ;[of[last - 1], of[last]] = [of[last] ?? "", of[last - 1] ?? ""]
        return Buffer.from(of.join("\xfe"), "latin1")
      }),
    ),
  }
}

/**
 * Rows that belong to no entry, that are counted and missing, or that are there and not counted.
 */
function besideKinds(): Readonly<Record<string, Kind>> {
  const planted = (
    file: "journal" | "index" | "search",
    says: RegExp,
    ...statements: readonly string[]
  ): Kind => ({
    act: (files) => ({
      expected: [0, 0],
      apply: () => {
        for (const statement of statements) files[file].exec(statement)
      },
    }),
    pass: "index",
    says,
  })
  const last = "(SELECT max(n) FROM entries)"
  return {
    "an entry is put before the first": planted(
      "journal",
      /^there is an entry 0, but the first entry is 1$/,
      `INSERT INTO entries SELECT ${last} + 1, workspace, 0, 'rcp_before', NULL, record, sealed, salted FROM entries WHERE n = ${last}`,
    ),
    "an entry is put into no workspace": planted(
      "journal",
      /^journal.db has entries of a workspace with the number 77,/,
      `INSERT INTO entries SELECT ${last} + 1, 77, 1, 'rcp_nowhere', NULL, record, sealed, salted FROM entries WHERE n = ${last}`,
    ),
    "an entry is counted beyond the others": {
      act(files) {
        const { n, sequence } = entryAt(files, files.size)
        return once(sequence, () =>
          run(files.journal, "UPDATE entries SET n = n + 65536 WHERE n = ?", n),
        )
      },
      pass: "index",
    },
    "a key is given out in a workspace that there is not": planted(
      "journal",
      /^the registry has the api-key stranger of it,/,
      "INSERT INTO documents (kind, workspace, id, version, value) SELECT kind, 'nowhere', 'stranger', 1, value FROM documents WHERE kind = 'api-key' LIMIT 1",
    ),
    "a trigger is put into the journal": planted(
      "journal",
      /^journal.db has quietly, which this program did not make$/,
      "CREATE TRIGGER quietly AFTER INSERT ON entries BEGIN SELECT 1; END",
    ),
    "a rule of the journal is taken away": planted(
      "journal",
      /^journal.db does not have documents_by_id as/,
      "DROP INDEX documents_by_id",
    ),
    "the index has a tree of nobody": planted(
      "index",
      /^index.db has trees of it,/,
      "INSERT INTO trees VALUES ('nobody', 1, zeroblob(32))",
    ),
    "a part of the keys is said to be complete": planted(
      "index",
      /^part 0 .* is complete, but its entries are missing$/,
      "INSERT INTO runs VALUES (0, '', '', zeroblob(131072))",
    ),
    "a part of the keys comes before its time": planted(
      "index",
      /^part 0 .* is missing, and part 5 is there$/,
      "INSERT INTO runs VALUES (5, '', '', zeroblob(131072))",
    ),
    "keys belong to no part": planted(
      "index",
      /^bucket 3 of part 9 .* is in no complete part$/,
      "INSERT INTO buckets VALUES (9, 3, '', '')",
    ),
    "an entry is taken out of the search": {
      act(files) {
        const { level, k } = anySegment(files)
        const [first, last] = [firstOf({ level, k }), lastOf({ level, k })]
        const gone = first + files.chance.below(last - first + 1)
        const apply = () => replaceSegment(files, { level, k }, gone)
        return { expected: [first, last], apply }
      },
      pass: "index",
    },
    "a part of the search is damaged": {
      act(files) {
        const { number, level, k } = anySegment(files)
        const where = "WHERE workspace = ? AND level = ? AND k = ?"
        const parts = files.search
          .prepare(`SELECT rowid, bytes FROM parts ${where}`)
          .all(number, level, k)
        const { rowid, bytes } = files.chance.pick(parts)
        const value = blob(bytes)
        const before = unpacked(value)
        do {
          const at = files.chance.below(value.length)
          value[at] = (value[at] ?? 0) ^ (1 << files.chance.below(8))
        } while (before !== undefined && unpacked(value) === before)
        const apply = () =>
          run(files.search, "UPDATE parts SET bytes = ? WHERE rowid = ?", value, Number(rowid))
        return { expected: [firstOf({ level, k }), lastOf({ level, k })], apply }
      },
      pass: "index",
    },
    "the search lists a segment as another": {
      act(files) {
        const { number, level, k } = anySegment(files)
        const column = files.chance.pick([
          "hash = hash || '0'",
          "bytes = bytes + 1",
          "last_record = x'00'",
        ])
        const apply = () =>
          run(
            files.search,
            `UPDATE segments SET ${column} WHERE workspace = ? AND level = ? AND k = ?`,
            number,
            level,
            k,
          )
        return { expected: [firstOf({ level, k }), lastOf({ level, k })], apply }
      },
      pass: "index",
    },
    "the search lacks a segment": planted(
      "search",
      /^segment 1 of level [01] in search.db does not follow the previous one,/,
      "DELETE FROM segments WHERE k = 0",
    ),
    "the search has a segment of no workspace": planted(
      "search",
      /^search.db has segments of a segment 7 of level 1 that it does not list$/,
      "INSERT INTO segments VALUES (88, 1, 7, '', 0, zeroblob(32))",
    ),
    "the search has a segment without a hash": planted(
      "search",
      /^segment 7 of level 1 in search.db has no hash, and no merge has left it$/,
      "INSERT INTO segments SELECT number, 1, 7, '', 0, x'' FROM workspaces LIMIT 1",
    ),
    "the search has a part of no segment": planted(
      "search",
      /^search.db has parts of a segment 7 of level 1 that it does not list$/,
      "INSERT INTO parts VALUES (1, 1, 7, 0, zeroblob(32))",
    ),
    "the search has a workspace of nobody": planted(
      "search",
      /^search.db has segments of it,/,
      "INSERT INTO workspaces VALUES (88, 'nobody')",
    ),
  }
}

/**
 * Documents that people administer, changed where no record shows it: one for each kind of access.
 */
function registryKinds(): Readonly<Record<string, Kind>> {
  const said = (says: RegExp, statement: string): Kind => ({
    act: ({ journal, id }) => ({ expected: [0, 0], apply: () => run(journal, statement, id) }),
    pass: "contents",
    says,
  })
  const set = (kind: string, change: string, which = "1"): string =>
    `UPDATE documents SET value = ${change} WHERE kind = '${kind}' AND workspace = ? AND ${which}`
  const copied = (kind: string): string =>
    `INSERT INTO documents (kind, workspace, id, version, value) SELECT kind, workspace, 'stranger', 1, value FROM documents WHERE kind = '${kind}' AND workspace = ? LIMIT 1`
  // Accounts and sessions belong to the instance, and so do the findings about them.
  const setOfInstance = (kind: string, change: string): string =>
    `UPDATE documents SET value = ${change} WHERE kind = '${kind}' AND workspace = 'instance' AND ? IS NOT NULL`
  const another = (kind: string, member: string): string => {
    const others = `SELECT json_extract(value, '$.${member}') FROM documents other WHERE kind = '${kind}' AND other.id <> documents.id`
    return `json_set(value, '$.${member}', (${others} AND workspace = documents.workspace LIMIT 1))`
  }
  const nobody = `'${"0".repeat(64)}'`
  const later = "'2999-01-31T09:30:00.000Z'"
  const revoked = "json_extract(value, '$.revokedAt') IS NOT NULL"
  const joined = "json_extract(value, '$.joinedAt') IS NOT NULL"
  return {
    "an API key is let in": said(
      /^API key stranger is in the registry, and no entry records it$/,
      copied("api-key"),
    ),
    "a token is let in": said(
      /^token stranger is in the registry, and no entry records it$/,
      copied("token"),
    ),
    "a member is let in": said(
      /^member stranger is in the registry, and no entry records it$/,
      copied("membership"),
    ),
    "API keys are taken away": said(
      /^it records API key \S+, which is missing in the registry$/,
      "DELETE FROM documents WHERE kind = 'api-key' AND workspace = ?",
    ),
    "an API key may do more": said(
      /^API key .* recorded: scopes$/,
      set("api-key", `json_set(value, '$.scopes', json('["admin"]'))`),
    ),
    "an API key reaches more": said(
      /^API key .* recorded: projectIds$/,
      set("api-key", "json_remove(value, '$.projectIds')", revoked),
    ),
    "an API key lives again": said(
      /^API key .* recorded: isRevoked$/,
      set("api-key", "json_remove(value, '$.revokedAt')", revoked),
    ),
    "a token opens something else": said(
      /^token .* recorded: bound$/,
      set("token", "json_set(value, '$.bound.projectId', 'shop')"),
    ),
    "a token outlives whoever made it": said(
      /^token .* recorded: createdBy$/,
      set("token", `json_set(value, '$.minter', json('{"kind":"api-key","id":"0123456789ABC"}'))`),
    ),
    "a token is one of a newer instance key": said(
      /^token .* recorded: minter$/,
      set("token", `json_set(value, '$.minter.mac', ${nobody})`),
    ),
    "a token is of another time": said(
      /^token .* recorded: createdAt$/,
      set("token", `json_set(value, '$.createdAt', ${later})`),
    ),
    "an evidence pack is of other projects": said(
      /^evidence pack .* recorded: projects$/,
      set("pack", `json_set(value, '$.projectIds', json('["elsewhere"]'))`),
    ),
    "the verifier of a pack is another one": said(
      /^verifier [0-9a-f]{64} .* recorded: text$/,
      set("verifier", "json_set(value, '$.html', 'genuine')"),
    ),
    "a member is shown by another e-mail": said(
      /^member .* recorded: email$/,
      set("membership", "json_set(value, '$.email', 'nobody@example.com')"),
    ),
    "a member has belonged for longer": said(
      /^member .* recorded: joinedAt$/,
      set("membership", "json_set(value, '$.joinedAt', '2020-01-31T09:30:00.000Z')", joined),
    ),
    "a workspace may have more projects": said(
      /^the workspace .* recorded: projectsMax$/,
      set("workspace", "json_set(value, '$.projectsMax', 1000000)"),
    ),
    "an API key is recognised by what another is": said(
      /^API key .* recorded: commitment$/,
      set("api-key", another("api-key", "mac")),
    ),
    "a token is recognised by something else": said(
      /^token .* recorded: commitment$/,
      set("token", `json_set(value, '$.mac', ${nobody})`),
    ),
    "an invitation is recognised by something else": said(
      /^set-up token of .* recorded: commitment$/,
      set("setup", `json_set(value, '$.mac', ${nobody})`),
    ),
    "an invitation sets a password": said(
      /^set-up token of .* for another password is in the registry, and no entry records it$/,
      set("setup", "json_set(value, '$.purpose', 'password')"),
    ),
    "a password is that of another account": said(
      /^account .* recorded: commitment$/,
      setOfInstance("member", another("member", "password")),
    ),
    "a session speaks for another account": said(
      /^session .* recorded: memberIds$/,
      setOfInstance("session", another("session", "memberIds")),
    ),
    "a session lives on": said(
      /^session .* recorded: expiresAt$/,
      setOfInstance("session", "json_set(value, '$.expiresAt', '2999-01-31T09:30:00.000Z')"),
    ),
    "a session is let in": said(
      /^session stranger is in the registry, and no entry records it$/,
      "INSERT INTO documents (kind, workspace, id, version, value) SELECT kind, workspace, 'stranger', 1, value FROM documents WHERE kind = 'session' AND ? IS NOT NULL LIMIT 1",
    ),
    "a role is raised": said(
      /^member .* recorded: role$/,
      set("membership", "json_set(value, '$.role', 'admin')"),
    ),
    "an invitation is taken up by nobody": said(
      /^member .* recorded: hasJoined$/,
      set("membership", "json_set(value, '$.joinedAt', '2026-01-31T09:30:00.000Z')"),
    ),
    "receipts become public": said(
      /^project core .* recorded: receipts$/,
      set("project", "json_set(value, '$.receipts', 'public')"),
    ),
    "a log becomes public": said(
      /^the workspace .* recorded: transparency$/,
      set("workspace", "json_set(value, '$.transparency', 'public')"),
    ),
    "a policy is written anew": said(
      /^policy core:1 .* recorded: text$/,
      set("policy", "json_set(value, '$.sections[0].body', 'All of it.')"),
    ),
  }
}

/** Segments of one level. Those that the service has made depend on how fast it was. */
async function makeSegments(data: string, workspace: string, level: number): Promise<void> {
  using search = new DatabaseSync(join(data, "search.db"))
  dropSegments(search)
  const filing = openSqliteFiling(data)
  const end = (await filing.journal.head(workspace))?.sequence ?? 0
  for (let k = 0; lastOf({ level, k }) <= end; k++) {
    const first = firstOf({ level, k })
    const builder = createSegmentBuilder(first, lastOf({ level, k }) - first + 1)
    for (let last = first - 1; last < lastOf({ level, k });) {
      const entries = await filing.journal.after(workspace, last, lastOf({ level, k }) - last)
      for (const entry of entries) builder.add(entry)
      last += entries.length
    }
    await filing.segments.put(workspace, { level, k }, packSegment(builder.finish()), [])
  }
  await filing.close()
}

interface AnySegment extends SegmentName {
  readonly number: number
}

/**
 * What zstd makes of a part; undefined for a header, and for what it cannot read. It reads some bits
 * of a part in vain: with others it makes the same of it.
 */
function unpacked(part: Uint8Array): string | undefined {
  try {
    return zstdDecompressSync(part).toString("latin1")
  } catch {
    return undefined
  }
}

function anySegment({ search, id, chance }: Files): AnySegment {
  const segments = search
    .prepare(
      "SELECT number, level, k FROM segments JOIN workspaces ON number = workspace WHERE id = ?",
    )
    .all(id)
  const { number, level, k } = chance.pick(segments)
  return { number: Number(number), level: Number(level), k: Number(k) }
}

/** Replaced by a segment of the same entries, but for one. */
function replaceSegment({ data, search, id }: Files, name: SegmentName, gone: number): void {
  const journal = openForReading(join(data, "journal.db"))
  const reads = journalReads(journal)
  const [first, end] = [firstOf(name), lastOf(name)]
  const builder = createSegmentBuilder(first, end - first + 1)
  for (const entry of reads.after(id, first - 1, end - first + 1))
    if (entry.sequence !== gone) builder.add(entry)
  builder.addMissing(end)
  for (const [part, bytes] of packSegment(builder.finish()).entries())
    run(
      search,
      `INSERT OR REPLACE INTO parts (workspace, level, k, part, bytes)
       SELECT number, ?, ?, ?, ? FROM workspaces WHERE id = ?`,
      name.level,
      name.k,
      part,
      bytes,
      id,
    )
  journal.close()
}

function once(sequence: number, apply: () => void): ReturnType<Act> {
  return { expected: [sequence, sequence], apply }
}

/** Changes a bit of one row. In a record, it may show first at the next entry. */
function flipIn(files: Files, column: string, length?: number, after = 0): ReturnType<Act> {
  const { journal, chance } = files
  const { n, sequence } = anyEntry(files)
  const value = blob(
    journal.prepare(`SELECT ${column} AS value FROM entries WHERE n = ?`).get(n)?.["value"],
  )
  const at = chance.below(length ?? value.length)
  value[at] = (value[at] ?? 0) ^ (1 << chance.below(8))
  const apply = () => run(journal, `UPDATE entries SET ${column} = ? WHERE n = ?`, value, n)
  return { expected: [sequence, Math.min(sequence + after, files.size)], apply }
}

function changedDisclosure(files: Files): ReturnType<Act> {
  const { journal, chance } = files
  const { n, sequence } = sealedEntry(files)
  const sealed = blob(journal.prepare("SELECT sealed FROM entries WHERE n = ?").get(n)?.["sealed"])
  const at = chance.below(sealed.length)
  sealed[at] = (sealed[at] ?? 0) ^ (1 << chance.below(8))
  return once(sequence, () => run(journal, "UPDATE entries SET sealed = ? WHERE n = ?", sealed, n))
}

function removed(files: Files, column: "sealed" | "salted"): ReturnType<Act> {
  const { n, sequence } = column === "salted" ? anyEntry(files) : sealedEntry(files)
  return once(sequence, () =>
    run(files.journal, `UPDATE entries SET ${column} = NULL WHERE n = ?`, n),
  )
}

function named(files: Files, statement: string): ReturnType<Act> {
  const { n, sequence } = sealedEntry(files)
  return once(sequence, () => run(files.journal, statement, n))
}

/** Gives an entry the name of another one, in the form in which the service does not write it. */
function keptAsText(
  files: Files,
  column: "receipt" | "idem",
  textOf: (kept: unknown) => string | undefined,
): ReturnType<Act> {
  const { journal, size } = files
  const [one, other] = [entryAt(files, size - 1), entryAt(files, size)]
  const kept = journal.prepare(`SELECT ${column} AS kept FROM entries WHERE n = ?`).get(one.n)
  const text = textOf(kept?.["kept"]) ?? ""
  return once(other.sequence, () =>
    run(journal, `UPDATE entries SET ${column} = ? WHERE n = ?`, text, other.n),
  )
}

function swapped(files: Files): ReturnType<Act> {
  const { journal, size, number } = files
  const one = anyEntry(files)
  const beyond = one.sequence + files.chance.below(size - packedEntries - 1)
  const other = entryAt(files, fromPlace(files, beyond - packedEntries))
  return once(Math.min(one.sequence, other.sequence), () => {
    const place = (n: number, sequence: number) =>
      run(
        journal,
        "UPDATE entries SET sequence = ? WHERE n = ? AND workspace = ?",
        sequence,
        n,
        number,
      )
    place(one.n, -1)
    place(other.n, one.sequence)
    place(one.n, other.sequence)
  })
}

/** The following entries move by one: the first of them is at the wrong place. */
function inserted(files: Files): ReturnType<Act> {
  const { journal, number, size, chance } = files
  const before = entryAt(files, packedEntries + 1 + chance.below(size - packedEntries - 1))
  const sequence = before.sequence + 1
  const apply = () => {
    run(
      journal,
      "UPDATE entries SET sequence = -sequence - 1 WHERE workspace = ? AND sequence >= ?",
      number,
      sequence,
    )
    run(
      journal,
      "UPDATE entries SET sequence = -sequence WHERE workspace = ? AND sequence < 0",
      number,
    )
    const fields = parseRecord(before.record)
    assert.ok(fields !== undefined)
    const salted = blob(
      journal.prepare("SELECT salted FROM entries WHERE n = ?").get(before.n)?.["salted"],
    )
    salted.fill(7, 0, 16)
    const hash = bodyHash(salted.subarray(0, 16), salted.subarray(16), sha256)
    const record = encodeRecord({
      ...fields,
      index: sequence - 1,
      previousHash: eventHash(before.record, sha256),
      bodyHash: hash,
    })
    const n = Number(journal.prepare("SELECT max(n) AS n FROM entries").get()?.["n"]) + 1
    run(
      journal,
      "INSERT INTO entries (n, workspace, sequence, record, receipt, salted) VALUES (?, ?, ?, ?, 'rcp_made', ?)",
      n,
      number,
      sequence,
      record,
      salted,
    )
  }
  return { expected: [sequence, sequence + 1], apply }
}

/** The work of an attacker who knows the format: another body, and every later record rewritten. */
function relinked(
  files: Files,
  isThorough: boolean,
  timed = (timeMs: number): number => timeMs,
): ReturnType<Act> {
  const { journal, number, size, chance } = files
  const { sequence } = entryAt(files, size - chance.below(Math.min(2000, size - packedEntries - 1)))
  const apply = () => {
    const rows = journal
      .prepare(
        "SELECT n, sequence, record, salted FROM entries WHERE workspace = ? AND sequence >= ? ORDER BY sequence",
      )
      .all(number, sequence - 1)
    let previous = eventHash(blob(rows.shift()?.["record"]), sha256)
    for (const row of rows) {
      const fields = parseRecord(blob(row["record"]))
      assert.ok(fields !== undefined)
      const salted = blob(row["salted"])
      const isFirst = Number(row["sequence"]) === sequence
      if (isFirst) {
        salted[3] = (salted[3] ?? 0) ^ 1
        run(journal, "UPDATE entries SET salted = ? WHERE n = ?", salted, Number(row["n"]))
      }
      const hash = bodyHash(salted.subarray(0, 16), salted.subarray(16), sha256)
      const timeMs = isFirst ? timed(fields.timeMs) : fields.timeMs
      const record = encodeRecord({ ...fields, timeMs, previousHash: previous, bodyHash: hash })
      run(journal, "UPDATE entries SET record = ? WHERE n = ?", record, Number(row["n"]))
      previous = eventHash(record, sha256)
    }
    if (isThorough) forget(files)
  }
  return { expected: [sequence, sequence], apply }
}

function cut(files: Files, isThorough: boolean): ReturnType<Act> {
  const { sequence } = entryAt(files, files.size - files.chance.below(files.size - packedEntries))
  return once(sequence, () => {
    run(
      files.journal,
      "DELETE FROM entries WHERE workspace = ? AND sequence >= ?",
      files.number,
      sequence,
    )
    if (isThorough) forget(files)
  })
}

/** Removes everything derived from the entries, and every signature over them. */
function forget({ index, search, data }: Files): void {
  for (const table of ["trees", "tiles", "checkpoints"]) index.exec(`DELETE FROM ${table}`)
  dropSegments(search)
  writeFileSync(`${data}.heads`, "")
}

function dropSegments(search: DatabaseSync): void {
  for (const table of ["segments", "parts"]) search.exec(`DELETE FROM ${table}`)
}

function flippedIndex(
  { index, id, chance }: Files,
  table: string,
  column: string,
  expected: (byte: number) => Expected,
  which = "true",
): ReturnType<Act> {
  const row = index
    .prepare(`SELECT ${column} AS value FROM ${table} WHERE workspace = ? AND ${which}`)
    .get(id)
  const value = blob(row?.["value"])
  const at = chance.below(value.length)
  value[at] = (value[at] ?? 0) ^ (1 << chance.below(8))
  return {
    expected: expected(at),
    apply: () =>
      run(index, `UPDATE ${table} SET ${column} = ? WHERE workspace = ? AND ${which}`, value, id),
  }
}

// Rows --------------------------------------------------------------------------------------------

interface Row {
  readonly n: number
  readonly sequence: number
  readonly record: Uint8Array
}

function anyEntry(files: Files): Row {
  return entryAt(files, fromPlace(files, files.chance.below(files.size)))
}

/**
 * One of the events: each has something sealed, and a key. The first entries are the service's own.
 */
function sealedEntry(files: Files): Row {
  return anyEntry(files)
}

/** The entry at this place of those that are not packed, counted round and round. */
function fromPlace({ size }: Files, place: number): number {
  return packedEntries + 1 + (place % (size - packedEntries))
}

function entryAt({ journal, number }: Files, sequence: number): Row {
  const row = journal
    .prepare("SELECT n, sequence, record FROM entries WHERE workspace = ? AND sequence = ?")
    .get(number, sequence)
  assert.ok(row !== undefined, `there is no entry ${sequence}`)
  return { n: Number(row["n"]), sequence, record: blob(row["record"]) }
}

function run(file: DatabaseSync, statement: string, ...values: SQLInputValue[]): void {
  assert.ok(
    Number(file.prepare(statement).run(...values).changes) >= 1,
    `this changed nothing: ${statement}`,
  )
}

function blob(value: unknown): Uint8Array {
  assert.ok(value instanceof Uint8Array)
  return value
}
