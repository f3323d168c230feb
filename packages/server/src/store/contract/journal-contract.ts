// The tests that every driver's journal must pass, written against store.ts. A driver's own test
// calls this, and adds tests for its specifics.

import { strict as assert } from "node:assert"
import { expectChain } from "../expect-chain.ts"
import { linkRows, type LinkedRows } from "../linked-rows.ts"
import type { Group, Head } from "../entries.ts"
import { storiesOf, type Open, type OpenedStore, type Story } from "./stories.ts"
import {
  digest,
  entriesAfter,
  genesisOf,
  keyNamed,
  plain,
  project,
  receiptNamed,
  usedOf,
  write,
} from "./written-entries.ts"

export function journalContract(name: string, open: Open): void {
  const story = storiesOf(name, open)

  story("an empty chain has no head and no entries", async ({ served, watched }) => {
    for (const journal of [served.journal, watched.journal]) {
      assert.equal(await journal.head("none"), undefined)
      assert.deepEqual(await journal.at("none", [1, 2]), [undefined, undefined])
      assert.deepEqual(await journal.after("none", 0, 10), [])
      assert.deepEqual(await journal.linked("none", 0, 10), [])
      assert.equal((await journal.records("none", 1, 10)).length, 0)
    }
    assert.equal(await served.journal.byReceipt("none", receiptNamed("a")), undefined)
    assert.equal(await served.journal.byKey("none", keyNamed("a")), undefined)
    assert.equal(await served.journal.isEmpty(), true)
    await served.ready()
  })

  story(
    "appended entries are read back byte for byte, by every method",
    async ({ served, watched }) => {
      const { entries, head } = entriesAfter("acme", genesisOf("acme"), ["a", "-b", "c"])
      const sealed = entries.map((entry, place) =>
        place === 2 ? { ...entry, disclosures: "WyJh~WyJi" } : entry,
      )
      assert.deepEqual(
        await served.journal.append({
          workspace: "acme",
          from: genesisOf("acme"),
          entries: sealed,
        }),
        { kind: "done" },
      )
      assert.equal(await served.journal.isEmpty(), false)

      const expected = sealed.map((entry, place) =>
        plain({ ...entry, workspace: "acme", sequence: place + 1 }),
      )
      for (const journal of [served.journal, watched.journal]) {
        const found = await journal.head("acme")
        assert.deepEqual(
          { ...found, hash: Buffer.from(found?.hash ?? []) },
          { ...head, hash: Buffer.from(head.hash) },
        )
        assert.deepEqual((await journal.at("acme", [3, 9, 1])).map(plain), [
          expected[2],
          undefined,
          expected[0],
        ])
        assert.deepEqual((await journal.at("acme", [0, -1])).map(plain), [undefined, undefined])
        const hex = (await journal.recordsAt("acme", [3, 9, 1])).map(
          (record) => record && Buffer.from(record).toString("hex"),
        )
        assert.deepEqual(
          hex,
          [sealed[2], undefined, sealed[0]].map(
            (entry) => entry && Buffer.from(entry.record).toString("hex"),
          ),
        )
        assert.deepEqual(await journal.recordsAt("none", [1]), [undefined])
        const sizes = sealed.map(({ body, disclosures }) => body.length + disclosures.length)
        const inAll = sizes.reduce((sum, size) => sum + size, 0)
        for (const [bytesMax, count] of [
          [inAll, 4],
          [inAll - 1, 3],
          [sizes[2] ?? 0, 2],
          [0, 1],
        ] as const)
          assert.equal(
            (await journal.at("acme", [3, 9, 1, 2], bytesMax)).length,
            count,
            `${bytesMax} of ${inAll} bytes`,
          )
        assert.deepEqual((await journal.after("acme", 0, 10)).map(plain), expected)
        assert.deepEqual((await journal.after("acme", 1, 1)).map(plain), [expected[1]])
        assert.deepEqual(await journal.after("acme", 3, 10), [])
        for (const [after, count] of [
          [0, 10],
          [1, 1],
          [2, 1],
        ] as const)
          assert.deepEqual((await journal.linked("acme", after, count)).map(plainRows), [
            plainRows(linkRows(await journal.after("acme", after, count))),
          ])
        assert.deepEqual(await journal.linked("acme", 3, 10), [])
        const records = Buffer.from(await journal.records("acme", 2, 10))
        assert.equal(
          records.toString("hex"),
          Buffer.concat(sealed.slice(1).map(({ record }) => record)).toString("hex"),
        )
        assert.equal((await journal.records("acme", 1, 2)).length, 2 * 118)
        assert.deepEqual(await journal.after("other", 0, 10), [])
      }
      assert.deepEqual(
        plain(await served.journal.byReceipt("acme", receiptNamed("-b"))),
        expected[1],
      )
      assert.equal(await served.journal.byReceipt("acme", receiptNamed("z")), undefined)
      assert.equal(await served.journal.byReceipt("other", receiptNamed("a")), undefined)
      assert.equal(
        await served.journal.byReceipt("acme", receiptNamed("a").slice(0, 20)),
        undefined,
      )
      const byKey = (workspace: string, name: string) =>
        served.journal.byKey(workspace, keyNamed(name))
      assert.deepEqual(
        [await byKey("acme", "a"), await byKey("acme", "z"), await byKey("other", "a")],
        [1, undefined, undefined],
      )
    },
  )

  story(
    "of several groups that are appended at once, each is stored completely or not at all",
    async ({ served, watched }) => {
      for (const workspace of ["moved", "used", "conflict"])
        await write(served, workspace, [`${workspace} first`], [project("p", 0, "first")])
      const group = async (workspace: string, names: readonly string[], version: number) => {
        const from = (await served.journal.head(workspace)) ?? genesisOf(workspace)
        return {
          workspace,
          from,
          entries: entriesAfter(workspace, from, names).entries,
          changes: [project("p", version, "second")],
        }
      }
      const stale = { ...(await group("moved", ["m"], 1)), from: genesisOf("moved") }
      const groups = [
        stale,
        await group("used", ["u", "used first", "v"], 1),
        await group("conflict", ["c"], 7),
        await group("done", ["d", "e"], 0),
      ]
      const outcomes = await Promise.all(groups.map((one) => served.journal.append(one)))
      const [moved] = outcomes
      assert.ok(moved?.kind === "moved")
      // If the engine returns the new head, it is the current one.
      if (moved.head !== undefined) assert.deepEqual(moved.head, await served.journal.head("moved"))
      assert.deepEqual(outcomes.slice(1), [
        { kind: "used", keys: [{ place: 1, sequence: 1 }] },
        { kind: "conflict", place: 0 },
        { kind: "done" },
      ])
      for (const workspace of ["moved", "used", "conflict"]) {
        assert.equal((await expectChain(watched.journal, workspace)).size, 1)
        assert.equal((await served.registry.get("project", workspace, "p"))?.value.name, "first")
      }
      assert.equal((await expectChain(served.journal, "done")).size, 2)
      assert.equal((await served.registry.get("project", "done", "p"))?.value.name, "second")
      for (const name of ["m", "u", "v", "c"])
        assert.equal(await served.journal.byReceipt(name, receiptNamed(name)), undefined)
      // A refused group has used no key.
      await write(served, "used", ["u", "v"])
    },
  )

  story(
    "a group is refused unless its head is the current one, by number and hash",
    async ({ served }) => {
      const head = await write(served, "acme", ["a", "b"])
      const ask = async (from: Head) => {
        const { entries } = entriesAfter("acme", from, ["c"])
        return (await served.journal.append({ workspace: "acme", from, entries })).kind
      }
      assert.equal(await ask(genesisOf("acme")), "moved")
      assert.equal(await ask({ ...head, sequence: 1 }), "moved")
      assert.equal(await ask({ ...head, sequence: 3 }), "moved")
      assert.equal(await ask({ ...head, hash: digest("another entry") }), "moved")
      const unborn = { ...head, sequence: 5 }
      const { entries } = entriesAfter("unborn", unborn, ["u"])
      assert.deepEqual(
        await served.journal.append({ workspace: "unborn", from: unborn, entries }),
        { kind: "moved" },
      )
      assert.equal(await served.journal.head("unborn"), undefined)

      // Two that were linked to one head: one of them finds that it has moved, also within one
      // transaction.
      const rivals = await Promise.all(
        ["c", "d"].map((name) =>
          served.journal.append({
            workspace: "acme",
            from: head,
            entries: entriesAfter("acme", head, [name]).entries,
          }),
        ),
      )
      assert.deepEqual(rivals.map(({ kind }) => kind).toSorted(), ["done", "moved"])
      assert.equal((await expectChain(served.journal, "acme")).size, 3)
    },
  )

  sharingStories(story)
  keyStories(story)
}

/** Guarantees for several processes that append at once. */
function sharingStories(story: Story<OpenedStore>): void {
  story("a group that may move is linked to the current head, or refused", async ({ served }) => {
    await write(served, "acme", ["a", "b"])
    const head = await served.journal.head("acme")
    assert.ok(head !== undefined)
    const { entries } = entriesAfter("acme", genesisOf("acme"), ["c", "-d"])
    const stale = { workspace: "acme", from: genesisOf("acme"), entries, mayMove: true }
    const outcome = await served.journal.append(stale)
    const after = await served.journal.head("acme")
    if (outcome.kind === "moved") assert.deepEqual(after, head)
    else {
      assert.ok(outcome.kind === "done" && outcome.relinked !== undefined)
      assert.deepEqual(outcome.relinked, { from: head, lastHash: after?.hash })
      assert.equal(after?.sequence, 4)
      const [third] = await served.journal.at("acme", [3])
      assert.equal(third?.receipt, receiptNamed("c"))
    }
    await write(served, "acme", ["e"])
    await expectChain(served.journal, "acme")
    // Its keys were used all the same.
    const used = { ...stale, entries: entriesAfter("acme", genesisOf("acme"), ["a"]).entries }
    const again = await served.journal.append(used)
    assert.ok(again.kind === "moved" || again.kind === "used")
    // A group is not relinked to a head that is behind the one that it names.
    const from = { ...head, sequence: head.sequence + 9 }
    const ahead = { ...stale, from, entries: entriesAfter("acme", from, ["f"]).entries }
    assert.equal((await served.journal.append(ahead)).kind, "moved")
  })

  story("groups that share a commit have separate outcomes", async ({ served }) => {
    const workspaces = ["fresh", "moved", "used", "stale"]
    for (const workspace of workspaces) await write(served, workspace, [`${workspace} first`])
    const groups: Group[] = []
    for (const workspace of workspaces) {
      const head = (await served.journal.head(workspace)) ?? genesisOf(workspace)
      const names = workspace === "used" ? ["x", "used first"] : [`${workspace} x`, "-y"]
      const from = workspace === "stale" ? { ...head, hash: digest("another") } : head
      const { entries } = entriesAfter(workspace, from, names)
      groups.push({ workspace, from, entries, mayMove: workspace === "moved" })
    }
    await write(served, "moved", ["meanwhile"])
    const outcomes = await Promise.all(groups.map((one) => served.journal.append(one)))
    assert.deepEqual(outcomes[0], { kind: "done" })
    assert.ok(outcomes[1]?.kind === "moved" || outcomes[1]?.kind === "done")
    assert.deepEqual(outcomes[2], { kind: "used", keys: [{ place: 1, sequence: 1 }] })
    assert.equal(outcomes[3]?.kind, "moved")
    const sizes = []
    for (const workspace of workspaces)
      sizes.push((await expectChain(served.journal, workspace)).size)
    assert.deepEqual(sizes, [3, outcomes[1].kind === "done" ? 4 : 2, 1, 1])
  })
}

function keyStories(story: Story<OpenedStore>): void {
  story("a key is used once in its workspace, for ever", async (store) => {
    await write(store.served, "acme", ["a", "-b", "c"])
    await write(store.served, "other", ["x"])
    const expectExact = async ({ served }: OpenedStore) => {
      assert.deepEqual(await usedOf(served, "acme", ["new", "c", "-b", "a"]), [
        ["c", 3],
        ["a", 1],
      ])
      assert.deepEqual(await usedOf(served, "other", ["a", "c", "x"]), [["x", 1]])
      assert.deepEqual(await usedOf(served, "nobody", ["a"]), [])
      assert.equal((await served.journal.byReceipt("acme", receiptNamed("c")))?.sequence, 3)
      assert.equal(await served.journal.byKey("acme", keyNamed("c")), 3)
    }
    await expectExact(store)
    const again = (await store.reopen?.()) ?? store
    await expectExact(again)
    await write(again.served, "acme", ["d"])
    assert.deepEqual(await usedOf(again.served, "acme", ["d"]), [["d", 4]])
    assert.equal((await expectChain(again.served.journal, "acme")).size, 4)
    return again
  })
}

function plainRows({ leaves, bodies, ...rows }: LinkedRows): unknown {
  const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex")
  return { ...rows, leaves: hex(leaves), bodies: hex(bodies) }
}
