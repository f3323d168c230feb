import assert from "node:assert/strict"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { test } from "node:test"
import { readChain } from "../chain.ts"
import { makeWorkspace, startService, clockAhead } from "../service.ts"
import { find, labels, writeAll, type Parameters } from "./pages.ts"
import { dropTriggers } from "../triggers.ts"

// GET …/events of old data, and of data that was changed on the disk.

/** A start that leaves all changes but one to the queries. */
const hardlyRechecked = { TALLYSTICK_LIMIT_RECHECK_ENTRIES: "1" }

test("the ledger's time and the workspace's setting decide what is hot and what is archived", async () => {
  await using first = await startService()
  const { id, path, writer, reader } = await makeWorkspace(first)
  await writeAll(
    { id, writer },
    { old1: { occurredAt: "2030-01-01T00:00:00Z" }, old2: {}, old3: { projectId: "shop" } },
  )
  assert.equal(labels(await find(reader, path)), "old3 old2 old1")
  assert.equal(await first.end(), 0)

  await using now = await startService({ data: first.data, environment: clockAhead(40) })
  const [writes, reads] = [now.client(writer.bearer), now.client(reader.bearer)]
  await writeAll(
    { id, writer: writes },
    { new1: { occurredAt: "1999-01-01T00:00:00Z" }, new2: { projectId: "shop" } },
  )
  const expectTiers = async (days: number, hot: string, archive: string): Promise<void> => {
    const set = await now.root.patch(path, { hotDays: days })
    assert.equal(set.status, 200, set.text)
    const all = [hot, archive].filter((text) => text !== "").join(" ")
    const asked: readonly (readonly [Parameters, string])[] = [
      [{}, hot],
      [{ storage: "hot" }, hot],
      [{ storage: "hot", includeArchive: true }, hot],
      [{ storage: "archive" }, archive],
      [{ storage: "archive", includeArchive: false }, archive],
      [{ includeArchive: true }, all],
      [{ includeArchive: false }, hot],
      [{ storage: "all" }, all],
      [{ storage: "all", includeArchive: false }, all],
      [
        { storage: "archive", query: "metadata.label:o*" },
        archive
          .split(" ")
          .filter((label) => label.startsWith("o"))
          .join(" "),
      ],
      [
        { storage: "hot", from: "2029-01-01T00:00:00Z" },
        hot
          .split(" ")
          .filter((label) => label === "old1")
          .join(" "),
      ],
    ]
    for (const [parameters, found] of asked) {
      const page = await find(reads, path, parameters)
      assert.deepEqual(
        [labels(page), page.total],
        [found, found === "" ? 0 : found.split(" ").length],
        `${days} days, ${JSON.stringify(parameters)}`,
      )
      for (const { storageTier, metadata } of page.events)
        assert.equal(
          storageTier,
          archive.split(" ").includes(String(metadata["label"])) ? "archive" : "hot",
        )
    }
    const { receipt } = (await find(reads, path, { storage: "all", query: "metadata.label:old1" }))
      .events[0] ?? { receipt: "" }
    const { entry } = (await reads.get(`${path}/receipts/${receipt}`)).json()
    assert.equal(
      entry.storageTier,
      archive.includes("old1") ? "archive" : "hot",
      "a receipt says the same",
    )
  }
  const all = "new2 new1 old3 old2 old1"
  await expectTiers(90, all, "")
  await expectTiers(39, "new2 new1", "old3 old2 old1")
  await expectTiers(41, all, "")
  await expectTiers(30, "new2 new1", "old3 old2 old1")
  await expectTiers(0, "", all)
  await expectTiers(50, all, "")
  await expectTiers(1, "new2 new1", "old3 old2 old1")
  await readChain(reads, id)
  assert.equal(await now.end(), 0)
})

test("an entry changed on the disk is shown as broken at its place, and its neighbours are verified", async () => {
  await using first = await startService()
  const { id, path, writer, reader } = await makeWorkspace(first)
  const receipts = await writeAll(
    { id, writer },
    { d1: {}, d2: {}, d3: {}, d4: {}, d5: {}, d6: {} },
  )
  for (const receipt of receipts) await reader.get(`${path}/receipts/${receipt}/proof`)
  assert.equal(labels(await find(reader, path)), "d6 d5 d4 d3 d2 d1")
  await first.end()

  const journal = new DatabaseSync(join(first.data, "journal.db"))
  dropTriggers(journal)
  const changed =
    "UPDATE entries SET salted = CAST(replace(CAST(salted AS TEXT), 'inv_9', 'inv_8') AS BLOB) WHERE instr(CAST(salted AS TEXT), ?) > 0"
  assert.equal(Number(journal.prepare(changed).run(receipts[1] ?? "").changes), 1)
  const spoilt =
    "UPDATE entries SET salted = zeroblob(length(salted)) WHERE instr(CAST(salted AS TEXT), ?) > 0"
  assert.equal(Number(journal.prepare(spoilt).run(receipts[3] ?? "").changes), 1)
  journal.close()

  await using now = await startService({ data: first.data, environment: hardlyRechecked })
  const reads = now.client(reader.bearer)
  const page = await find(reads, path)
  assert.deepEqual([page.total, page.returned, page.verified], [6, 6, false])
  assert.deepEqual(
    page.events.map(({ integrity, receipt }) => [integrity, receipt]),
    receipts
      .map((receipt, place) => [place === 1 || place === 3 ? "broken" : "verified", receipt])
      .toReversed(),
  )
  const [, , spoiled, , turned] = page.events
  assert.deepEqual(
    [spoiled?.action, spoiled?.projectId, spoiled?.metadata],
    ["", "", {}],
    "what cannot be read of it is empty",
  )
  assert.deepEqual([turned?.action, turned?.metadata["label"]], ["billing.invoice.approve", "d2"])
  // An unreadable entry is found by its receipt, which is stored beside the body.
  const found = await find(reads, path, { query: `receipt:${receipts[3]}` })
  assert.deepEqual([found.total, found.verified, found.events[0]?.receipt], [1, false, receipts[3]])
  for (const query of ["metadata.label:d1", "metadata.label:d3", "metadata.label:d5"]) {
    const sound = await find(reads, path, { query, include: "proof" })
    assert.deepEqual([sound.verified, sound.events[0]?.integrity], [true, "verified"], query)
  }
  const proved = await find(reads, path, { include: "proof" })
  assert.deepEqual(
    proved.events.map(({ integrity }) => integrity),
    page.events.map(({ integrity }) => integrity),
  )
  const others = { query: `-metadata.label:d2 -receipt:${receipts[3]}` }
  assert.equal((await find(reads, path, others)).verified, true)
  assert.equal(await now.end(), 0)
})

test("a cut or missing record is broken at its place, and later entries are still in the signed tree", async () => {
  await using first = await startService()
  const places = { cut: await makeWorkspace(first), gone: await makeWorkspace(first) }
  const labelled = { d1: {}, d2: {}, d3: {}, d4: {}, d5: {} }
  const sequences = new Map<string, readonly number[]>()
  for (const { id, path, writer, reader } of Object.values(places)) {
    const receipts = await writeAll({ id, writer }, labelled)
    await reader.get(`${path}/receipts/${receipts[4]}/proof`)
    sequences.set(
      id,
      (await find(reader, path)).events.map(({ sequence }) => sequence),
    )
  }
  await first.end()

  const journal = new DatabaseSync(join(first.data, "journal.db"), {
    enableForeignKeyConstraints: false,
  })
  journal.exec("PRAGMA ignore_check_constraints = ON")
  dropTriggers(journal)
  const third = "workspace = (SELECT number FROM workspaces WHERE id = ?) AND sequence = ?"
  for (const [{ id }, sql] of [
    [places.cut, `UPDATE entries SET record = x'00' WHERE ${third}`],
    [places.gone, `DELETE FROM entries WHERE ${third}`],
  ] as const)
    assert.equal(Number(journal.prepare(sql).run(id, sequences.get(id)?.[2] ?? 0).changes), 1)
  journal.close()

  await using now = await startService({ data: first.data, environment: hardlyRechecked })
  for (const { id, path, reader } of Object.values(places)) {
    const reads = now.client(reader.bearer)
    const page = await find(reads, path)
    assert.deepEqual([page.total, page.returned, page.verified, page.hasMore], [5, 5, false, false])
    assert.deepEqual(
      page.events.map(({ sequence, integrity }) => [sequence, integrity]),
      sequences.get(id)?.map((sequence, place) => [sequence, place === 2 ? "broken" : "verified"]),
    )
    const proved = await find(reads, path, { include: "proof" })
    assert.deepEqual([proved.total, proved.returned, proved.verified], [5, 5, false])
    assert.equal((await find(reads, path, { query: "metadata.label:d2" })).verified, true)
  }
  assert.equal(await now.end(), 0)
})
