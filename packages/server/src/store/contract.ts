// The tests that every driver must pass, told at the level of store.ts: a driver's own test file calls this, and adds what is its own.

import { strict as assert } from "node:assert"
import { createHash } from "node:crypto"
import { test } from "node:test"
import { encodeRecord } from "@tallystick/proof"
import type { ApiKeyDocument, ProjectDocument } from "./documents.ts"
import { expectChain } from "./expect-chain.ts"
import type { Change, Head, Linked, ListPlace, Outcome, Store, Stored, TileGrowth, WatchedStore } from "./store.ts"

export interface OpenedStore {
  readonly served: Store
  readonly watched: WatchedStore
  /** Closes, and opens the same data again; absent where nothing outlives the store. */
  readonly reopen?: () => Promise<OpenedStore>
  readonly close: () => Promise<void>
}

export function storeContract(name: string, open: () => Promise<OpenedStore>): void {
  const story = (what: string, tell: (store: OpenedStore) => Promise<OpenedStore | void>): void => {
    test(`${name}: ${what}`, async () => {
      const store = await open()
      let last = store
      try {
        last = (await tell(store)) ?? store
      } finally {
        await last.close()
      }
    })
  }
  journalStories(story)
  keyStories(story)
  registryStories(story)
  indexStories(story)
}

type Story = (what: string, tell: (store: OpenedStore) => Promise<OpenedStore | void>) => void

// ---- Entries to write: a ledger is named after its workspace, a key and a receipt after what a test calls them.

/** The head of an empty chain. */
export function genesisOf(workspace: string): Head {
  return { sequence: 0, hash: digest(`ledger ${workspace}`), timeMs: 0 }
}

export function keyNamed(name: string): string {
  return digest(`key ${name}`).toString("base64url").slice(0, 22)
}

/** A name that is a receipt already stays one. */
export function receiptNamed(name: string): string {
  if (name.startsWith("rcp_")) return name
  return `rcp_${digest(`receipt ${name}`).toString("hex").slice(0, 36).toUpperCase()}`
}

/** Entries that follow a head, one for each name; an entry whose name begins with "-" has no key. */
export function entriesAfter(workspace: string, from: Head, names: readonly string[]): { readonly entries: Linked[]; readonly head: Head } {
  const entries: Linked[] = []
  let head = from
  for (const name of names) {
    const [receipt, idem] = [receiptNamed(name), name.startsWith("-") ? undefined : keyNamed(name)]
    const body = Buffer.from(`{${idem === undefined ? "" : `"idem":"${idem}",`}"receipt":"${receipt}","workspaceId":"${workspace}"}`)
    const bodySalt = digest(`salt ${name}`).subarray(0, 16)
    const record = encodeRecord({
      kind: "event",
      index: head.sequence,
      timeMs: head.timeMs + 1,
      ledgerId: digest(`ledger ${workspace}`),
      previousHash: head.hash,
      bodyHash: createHash("sha256").update("ALB1").update(bodySalt).update(body).digest(),
    })
    entries.push({ record, receipt, idem, bodySalt, body, disclosures: "" })
    head = { sequence: head.sequence + 1, hash: createHash("sha256").update("\0").update(record).digest(), timeMs: head.timeMs + 1 }
  }
  return { entries, head }
}

/** Appends to the end of a chain, and fails unless it is done. */
export async function write(store: Store, workspace: string, names: readonly string[], changes: readonly Change[] = []): Promise<Head> {
  const from = (await store.journal.head(workspace)) ?? genesisOf(workspace)
  const { entries, head } = entriesAfter(workspace, from, names)
  assert.deepEqual(await store.journal.append({ workspace, from, entries, changes }), { kind: "done" })
  return head
}

/** The change that makes a workspace. */
function workspaceNamed(id: string): Change {
  const settings = { policyVisibility: "private", projects: "open", transparency: "private", hotDays: 90 } as const
  const more = { requirePublishedPolicy: false, personalKeys: [], laneRules: [], name: id, createdAt: "2026-01-01T00:00:00.000Z" }
  const value = { ...settings, ...more, genesis: "", ledgerId: "", origin: `test/${id}` }
  return { kind: "workspace", id, version: 0, value }
}

/** Asks which of these keys were used, without writing: a group that has a used key is refused as a whole. */
export async function usedOf(
  store: Store,
  workspace: string,
  names: readonly string[],
): Promise<readonly [name: string, sequence: number][]> {
  const from = { ...genesisOf(workspace), sequence: 1, hash: digest("no entry has this hash") }
  const outcome = await store.journal.append({ workspace, from, entries: entriesAfter(workspace, from, names).entries })
  assert.ok(outcome.kind === "used" || outcome.kind === "moved")
  const keys = outcome.kind === "used" ? outcome.keys : []
  return keys.toSorted((a, b) => a.place - b.place).map(({ place, sequence }) => [names[place] ?? "", sequence])
}

export function project(id: string, version: number, name: string | null): Change {
  const value: ProjectDocument = { name: name ?? "", receipts: "private", activityLinks: false, createdAt: "2026-01-01T00:00:00.000Z" }
  return { kind: "project", id, version, value: name === null ? null : value }
}

export function apiKey(id: string, version: number): Change {
  const value: ApiKeyDocument = { name: id, scopes: ["read"], mac: "00", createdAt: "2026-01-01T00:00:00.000Z", createdBy: "instance" }
  return { kind: "api-key", id, version, value }
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest()
}

/** A stored entry in a form that compares: a driver may give back any kind of bytes. */
function plain(entry: Stored | undefined): unknown {
  if (entry === undefined) return undefined
  const hex = (bytes: Uint8Array | undefined) => (bytes === undefined ? undefined : Buffer.from(bytes).toString("hex"))
  return { ...entry, record: hex(entry.record), body: hex(entry.body), bodySalt: hex(entry.bodySalt) }
}

// ---- The stories.

function journalStories(story: Story): void {
  story("an empty chain has no head and no entries", async ({ served, watched }) => {
    for (const journal of [served.journal, watched.journal]) {
      assert.equal(await journal.head("none"), undefined)
      assert.deepEqual(await journal.at("none", [1, 2]), [undefined, undefined])
      assert.deepEqual(await journal.after("none", 0, 10), [])
      assert.equal((await journal.records("none", 1, 10)).length, 0)
    }
    assert.equal(await served.journal.byReceipt("none", receiptNamed("a")), undefined)
    assert.equal(await served.journal.byKey("none", keyNamed("a")), undefined)
    await served.ready()
  })

  story("what was appended is given back, byte for byte, however it is asked for", async ({ served, watched }) => {
    const { entries, head } = entriesAfter("acme", genesisOf("acme"), ["a", "-b", "c"])
    const sealed = entries.map((entry, place) => (place === 2 ? { ...entry, disclosures: "WyJh~WyJi" } : entry))
    assert.deepEqual(await served.journal.append({ workspace: "acme", from: genesisOf("acme"), entries: sealed }), { kind: "done" })

    const expected = sealed.map((entry, place) => plain({ ...entry, workspace: "acme", sequence: place + 1 }))
    for (const journal of [served.journal, watched.journal]) {
      const found = await journal.head("acme")
      assert.deepEqual({ ...found, hash: Buffer.from(found?.hash ?? []) }, { ...head, hash: Buffer.from(head.hash) })
      assert.deepEqual((await journal.at("acme", [3, 9, 1])).map(plain), [expected[2], undefined, expected[0]])
      assert.deepEqual((await journal.at("acme", [0, -1])).map(plain), [undefined, undefined])
      const hex = (await journal.recordsAt("acme", [3, 9, 1])).map((record) => record && Buffer.from(record).toString("hex"))
      assert.deepEqual(
        hex,
        [sealed[2], undefined, sealed[0]].map((entry) => entry && Buffer.from(entry.record).toString("hex")),
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
        assert.equal((await journal.at("acme", [3, 9, 1, 2], bytesMax)).length, count, `${bytesMax} of ${inAll} bytes`)
      assert.deepEqual((await journal.after("acme", 0, 10)).map(plain), expected)
      assert.deepEqual((await journal.after("acme", 1, 1)).map(plain), [expected[1]])
      assert.deepEqual(await journal.after("acme", 3, 10), [])
      const records = Buffer.from(await journal.records("acme", 2, 10))
      assert.equal(records.toString("hex"), Buffer.concat(sealed.slice(1).map(({ record }) => record)).toString("hex"))
      assert.equal((await journal.records("acme", 1, 2)).length, 2 * 118)
      assert.deepEqual(await journal.after("other", 0, 10), [])
    }
    assert.deepEqual(plain(await served.journal.byReceipt("acme", receiptNamed("-b"))), expected[1])
    assert.equal(await served.journal.byReceipt("acme", receiptNamed("z")), undefined)
    assert.equal(await served.journal.byReceipt("other", receiptNamed("a")), undefined)
    assert.equal(await served.journal.byReceipt("acme", receiptNamed("a").slice(0, 20)), undefined)
    const byKey = (workspace: string, name: string) => served.journal.byKey(workspace, keyNamed(name))
    assert.deepEqual([await byKey("acme", "a"), await byKey("acme", "z"), await byKey("other", "a")], [1, undefined, undefined])
  })

  story("of several groups that are appended at once each is kept whole or not at all", async ({ served, watched }) => {
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
    assert.deepEqual(await Promise.all(groups.map((one) => served.journal.append(one))), [
      { kind: "moved" },
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
    for (const name of ["m", "u", "v", "c"]) assert.equal(await served.journal.byReceipt(name, receiptNamed(name)), undefined)
    // What was refused has used no key.
    await write(served, "used", ["u", "v"])
  })

  story("a group is refused unless its head is the head, by number and by hash", async ({ served }) => {
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
    assert.deepEqual(await served.journal.append({ workspace: "unborn", from: unborn, entries }), { kind: "moved" })
    assert.equal(await served.journal.head("unborn"), undefined)

    // Two that were linked to one head: one of them finds that it has moved, also within one transaction.
    const rivals = await Promise.all(
      ["c", "d"].map((name) =>
        served.journal.append({ workspace: "acme", from: head, entries: entriesAfter("acme", head, [name]).entries }),
      ),
    )
    assert.deepEqual(rivals.map(({ kind }) => kind).toSorted(), ["done", "moved"])
    assert.equal((await expectChain(served.journal, "acme")).size, 3)
  })
}

function keyStories(story: Story): void {
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

function registryStories(story: Story): void {
  story("a document changes from the version that is named, and is seen changed at once", async ({ served, watched }) => {
    const registries = [served.registry, watched.registry]
    for (const registry of registries) {
      assert.equal(await registry.get("project", "acme", "p"), undefined)
    }
    await write(served, "acme", ["a"], [project("p", 0, "one")])
    for (const registry of registries) {
      const found = await registry.get("project", "acme", "p")
      assert.deepEqual([found?.kind, found?.workspace, found?.id, found?.version, found?.value.name], ["project", "acme", "p", 1, "one"])
      assert.equal(await registry.get("project", "other", "p"), undefined)
      assert.equal(await registry.get("workspace", "acme", "p"), undefined)
    }
    const created = (await served.registry.get("project", "acme", "p"))?.created
    await write(served, "acme", ["b"], [project("p", 1, "two")])
    for (const registry of registries) {
      const found = await registry.get("project", "acme", "p")
      assert.deepEqual([found?.version, found?.value.name, found?.created], [2, "two", created])
    }
    for (const version of [0, 1, 3])
      assert.deepEqual(await change(served, "acme", [project("p", version, "lost")]), { kind: "conflict", place: 0 })

    await write(served, "acme", ["c"], [project("p", 2, null)])
    for (const registry of registries) {
      assert.equal(await registry.get("project", "acme", "p"), undefined)
    }
    assert.deepEqual(await change(served, "acme", [project("p", 2, "lost")]), { kind: "conflict", place: 0 })
    await write(served, "acme", ["d"], [project("p", 0, "anew")])
    const anew = await served.registry.get("project", "acme", "p")
    assert.deepEqual([anew?.version, (anew?.created ?? 0) > (created ?? 0)], [1, true])
    assert.equal((await expectChain(served.journal, "acme")).size, 4)
  })

  story("a credential's id alone says which workspace it is of", async (store) => {
    await write(store.served, "acme", ["a"], [apiKey("k1", 0), project("k3", 0, "no credential")])
    await write(store.served, "other", ["a"], [apiKey("k2", 0)])
    const again = (await store.reopen?.()) ?? store
    for (const { registry } of [again.served, again.watched]) {
      const found = ["k1", "k2", "k3"].map((id) => registry.workspaceOf("api-key", id))
      assert.deepEqual(await Promise.all(found), ["acme", "other", undefined])
      assert.equal(await registry.workspaceOf("token", "k1"), undefined)
    }
    for (const workspace of ["acme", "other"]) await expectChain(again.served.journal, workspace)
    return again
  })

  story("of two changes of one document in a group the second is a conflict, and neither is made", async ({ served }) => {
    const made = [project("q", 0, "q"), project("p", 0, "mine"), project("p", 0, "yours")]
    assert.deepEqual(await change(served, "acme", made), { kind: "conflict", place: 2 })
    assert.equal(await served.registry.get("project", "acme", "p"), undefined)
    assert.equal(await served.registry.get("project", "acme", "q"), undefined)
    await write(served, "acme", ["a"], made.slice(0, 2))
    const twice = [project("p", 1, "second"), project("p", 1, "also second")]
    assert.deepEqual(await change(served, "acme", twice), { kind: "conflict", place: 1 })
    // One that builds on the other is none.
    await write(served, "acme", ["b"], [project("p", 1, "second"), project("p", 2, "third"), project("q", 1, null)])
    const found = await served.registry.get("project", "acme", "p")
    assert.deepEqual([found?.version, found?.value.name], [3, "third"])
    assert.equal(await served.registry.get("project", "acme", "q"), undefined)
    assert.equal((await expectChain(served.journal, "acme")).size, 2)
  })

  story("a list says how many entries a pack has, and not which", async ({ served }) => {
    const sequences = Array.from({ length: 10_000 }, (_, at) => at + 1)
    const about = { title: "T", createdAt: "2026-01-01T00:00:00.000Z", projectIds: ["p"], checkpoint: "signed", packHash: "00" }
    const value = { ...about, sequences, policies: [{ projectId: "p", version: 1 }] }
    await write(served, "acme", ["a"], [{ kind: "pack", id: "pack_1", version: 0, value }])
    const [listed] = await served.registry.list("pack", "acme", undefined, 10)
    assert.deepEqual(listed?.value, { ...about, receiptCount: sequences.length })
    assert.deepEqual((await served.registry.get("pack", "acme", "pack_1"))?.value, value)
    await expectChain(served.journal, "acme")
  })

  story("workspaces are listed by when they were made, and by their ids where that was at once", async (store) => {
    const { served } = store
    // Entries of a chain are a millisecond apart, and every chain begins at the same time.
    await write(served, "late", ["a", "b"])
    for (const id of ["b", "late", "c", "a"]) await write(served, id, [`made ${id}`], [workspaceNamed(id), project(`of-${id}`, 0, id)])
    const again = (await store.reopen?.()) ?? store
    const { registry } = again.served
    assert.deepEqual(await pagesOf((before) => registry.list("workspace", undefined, before, 1)), ["late", "c", "b", "a"])
    for (const id of ["late", "a", "b", "c"]) await expectChain(again.served.journal, id)
    return again
  })

  story("lists go back in the order of creation, page by page", async (store) => {
    for (let count = 1; count <= 7; count++) {
      const workspace = count % 3 === 0 ? "other" : "acme"
      await write(store.served, workspace, [`${count}`], [project(`p${count}`, 0, "p"), apiKey(`k${count}`, 0)])
    }
    await write(store.served, "acme", ["change"], [project("p2", 1, "changed"), project("p4", 1, null)])
    // Of one commit the last is the newest, whatever the names.
    const together = ["q2", "q3", "q1"].map((id) => project(id, 0, "together"))
    await write(store.served, "acme", ["together"], together)
    const pages = ({ served: { registry } }: OpenedStore, workspace: string) =>
      pagesOf((before) => registry.list("project", workspace, before, 2))
    const again = (await store.reopen?.()) ?? store
    assert.deepEqual(await pages(again, "acme"), ["q1", "q3", "q2", "p7", "p5", "p2", "p1"])
    assert.deepEqual(await pages(again, "other"), ["p6", "p3"])
    assert.deepEqual(await pages(again, "nobody"), [])
    const counts = ["acme", "other", "nobody"].map((workspace) => again.served.registry.count("project", workspace))
    assert.deepEqual(await Promise.all(counts), [7, 2, 0])
    await expectChain(again.served.journal, "acme")
    await expectChain(again.served.journal, "other")
    return again
  })
}

/** The ids of a list that is read page by page, by what the last of each page says of its place. */
async function pagesOf(read: (before: ListPlace | undefined) => Promise<readonly ListPlace[]>): Promise<readonly string[]> {
  const ids: string[] = []
  for (let before: ListPlace | undefined; ;) {
    const page = await read(before && { created: before.created, id: before.id })
    ids.push(...page.map(({ id }) => id))
    before = page.at(-1)
    if (before === undefined) return ids
  }
}

async function change(store: Store, workspace: string, changes: readonly Change[]): Promise<Outcome> {
  const from = (await store.journal.head(workspace)) ?? genesisOf(workspace)
  const { entries } = entriesAfter(workspace, from, [`change ${from.sequence}`])
  return store.journal.append({ workspace, from, entries, changes })
}

function indexStories(story: Story): void {
  story("the index takes entries in order, without a gap, each workspace for itself", async (store) => {
    const { served, watched } = store
    await write(served, "acme", ["a", "b", "c"])
    await write(served, "other", ["x"])
    assert.equal(await watched.index.position("acme"), 0)
    await watched.index.add("acme", await watched.journal.after("acme", 0, 2))
    assert.equal(await watched.index.position("acme"), 2)
    assert.equal(await served.index.position("acme"), 2)
    assert.equal(await served.index.position("other"), 0)
    await assert.rejects(
      watched.index.add(
        "other",
        (await watched.journal.after("acme", 0, 1)).map((entry) => ({ ...entry, sequence: 2 })),
      ),
    )
    await assert.rejects(watched.index.add("acme", await watched.journal.after("acme", 0, 1)))
    assert.equal(await watched.index.position("acme"), 2)
    await watched.index.add("acme", await watched.journal.after("acme", 2, 1))
    await watched.index.add("acme", [])
    const again = (await store.reopen?.()) ?? store
    assert.equal(await again.served.index.position("acme"), 3)
    await expectChain(again.served.journal, "acme")
    return again
  })

  story("a tree and a checkpoint move on from the size that is named", async ({ served, watched }) => {
    const tree = (size: number) => ({ size, hashes: [digest(`tree ${size}`)] })
    const signed = (size: number) => ({ size, root: digest(`root ${size}`), note: `size ${size} — \u2014\n`, signedMs: size * 1000 })
    const { index } = watched
    assert.equal(await index.tree("acme", 1), undefined)
    assert.equal(await index.growTree("acme", 1, 1, tree(2), []), false)
    assert.equal(await index.growTree("acme", 1, 0, tree(2), []), true)
    assert.equal(await index.growTree("acme", 1, 0, tree(1), [growth(1, 0, 1)]), false)
    assert.equal(await index.growTree("acme", 1, 1, tree(3), [growth(1, 0, 1)]), false)
    assert.equal(await index.growTree("acme", 1, 2, tree(4), []), true)
    for (const reader of [index, served.index]) {
      const found = await reader.tree("acme", 1)
      assert.deepEqual(
        [found?.size, found?.hashes.map((hash) => Buffer.from(hash).toString("hex"))],
        [4, [digest("tree 4").toString("hex")]],
      )
      assert.equal((await reader.tiles("acme", 1, [{ level: 1, tile: 0 }]))[0]?.length, 0)
      assert.equal(await reader.tree("other", 1), undefined)
      assert.equal(await reader.tree("acme", 2), undefined)
    }
    assert.equal(await index.checkpoint("acme", 1), undefined)
    assert.equal(await index.putCheckpoint("acme", 1, 1, signed(2)), false)
    assert.equal(await index.putCheckpoint("acme", 1, 0, signed(2)), true)
    assert.equal(await index.putCheckpoint("acme", 1, 0, signed(3)), false)
    assert.equal(await index.putCheckpoint("acme", 1, 2, signed(4)), true)
    assert.equal(await index.putCheckpoint("acme", 1, 2, signed(5)), false)
    // An epoch has a tree of its own, and a checkpoint.
    assert.equal(await index.growTree("acme", 2, 0, tree(7), []), true)
    assert.equal(await index.putCheckpoint("acme", 2, 0, signed(7)), true)
    assert.deepEqual([(await index.tree("acme", 1))?.size, (await served.index.tree("acme", 2))?.size], [4, 7])
    for (const reader of [index, served.index]) {
      const found = await reader.checkpoint("acme", 1)
      assert.deepEqual({ ...found, root: Buffer.from(found?.root ?? []) }, signed(4))
      assert.equal(await reader.checkpoint("other", 1), undefined)
    }
  })

  story("who listens hears of all workspaces, then of those that grew, and together of what grew meanwhile", async ({ served }) => {
    await write(served, "acme", ["a"], [workspaceNamed("acme")])
    const end = new AbortController()
    const heard = served.grown(end.signal)[Symbol.asyncIterator]()
    const hear = async (): Promise<readonly string[] | undefined> => (await heard.next()).value as readonly string[] | undefined
    assert.deepEqual(await hear(), ["acme"])
    const next = hear()
    await write(served, "acme", ["b"])
    assert.deepEqual(await next, ["acme"])
    for (const [workspace, name] of [
      ["acme", "c"],
      ["other", "d"],
      ["acme", "e"],
    ] as const)
      await write(served, workspace, [name])
    assert.deepEqual((await hear())?.toSorted(), ["acme", "other"])
    await usedOf(served, "acme", ["a"])
    await write(served, "other", ["f"])
    end.abort()
    assert.deepEqual(await hear(), ["other"], "what was refused has not grown, and what is left is told at the end")
    assert.equal(await hear(), undefined)
  })

  story("how far the auditor has come in a workspace moves on from the version that is named", async (store) => {
    const { index } = store.watched
    assert.equal(await index.audit("acme"), undefined)
    const finding = { workspace: "acme", sequence: 7, detail: "entry 7: the body has another hash", foundMs: 5 }
    const hashes = [digest("left"), digest("right")].map((hash) => new Uint8Array(hash))
    const first = { version: 1, round: 2, startedMs: 4, sinceMs: 3, entries: 9, isDone: false, epoch: 1, tree: { size: 3, hashes } }
    assert.equal(await index.putAudit("acme", { ...first, version: 2 }), false)
    assert.equal(await index.putAudit("acme", first), true)
    assert.equal(await index.putAudit("acme", first), false)
    assert.equal(await index.putAudit("other", first), true)
    const last = { ...first, version: 2, entries: 12, isDone: true, tree: { size: 6, hashes }, finding }
    assert.equal(await index.putAudit("acme", last), true)
    for (const version of [1, 2, 4]) assert.equal(await index.putAudit("acme", { ...first, version }), false)
    const again = (await store.reopen?.()) ?? store
    const kept = await again.watched.index.audit("acme")
    assert.deepEqual({ ...kept, tree: { size: 6, hashes: kept?.tree.hashes.map((hash) => new Uint8Array(hash)) } }, last)
    assert.equal((await again.watched.index.audit("other"))?.version, 1)
    return again
  })

  story("tiles grow to their full width and on, over the edges of both levels", async (store) => {
    const { watched } = store
    const sizes = [1, 255, 256, 257, 511, 513, 1000, 65_535, 65_536, 65_537, 65_792, 131_328, 200_000]
    let size = 0
    for (const next of sizes) {
      assert.equal(await watched.index.growTree("acme", 1, size, { size: next, hashes: [digest("edge")] }, grown(size, next)), true)
      size = next
      for (const level of [1, 2]) await expectTiles(watched, level, size)
    }
    const again = (await store.reopen?.()) ?? store
    for (const level of [1, 2]) await expectTiles(again.watched, level, size)
    // A tile that would have a hole is refused.
    await assert.rejects(again.watched.index.growTree("acme", 1, size, { size: size + 1, hashes: [] }, [growth(2, 7, 5)]))
    assert.equal((await again.watched.index.tree("acme", 1))?.size, size)
    return again
  })
}

function nodeNamed(level: number, n: number): Buffer {
  return digest(`node ${level}/${n}`)
}

function growth(level: number, tile: number, offset: number): TileGrowth {
  return { level, tile, offset, hashes: nodeNamed(level, tile * 256 + offset) }
}

/** What each tile gains between two sizes of a tree. */
function grown(from: number, to: number): TileGrowth[] {
  const gains = new Map<string, TileGrowth>()
  for (const level of [1, 2]) {
    for (let n = Math.floor(from / 256 ** level); n < Math.floor(to / 256 ** level); n++) {
      const key = `${level}/${Math.floor(n / 256)}`
      const before = gains.get(key)
      const here = growth(level, Math.floor(n / 256), n % 256)
      gains.set(key, before === undefined ? here : { ...before, hashes: Buffer.concat([before.hashes, here.hashes]) })
    }
  }
  return [...gains.values()]
}

async function expectTiles({ index }: WatchedStore, level: number, size: number): Promise<void> {
  const nodes = Math.floor(size / 256 ** level)
  const wanted = Array.from({ length: Math.ceil(nodes / 256) + 1 }, (_, tile) => ({ level, tile }))
  const tiles = await index.tiles("acme", 1, wanted)
  for (const [tile, hashes] of tiles.entries()) {
    const width = Math.min(Math.max(nodes - tile * 256, 0), 256)
    const expected = Buffer.concat(Array.from({ length: width }, (_, place) => nodeNamed(level, tile * 256 + place)))
    assert.equal(Buffer.from(hashes).toString("hex"), expected.toString("hex"), `tile ${level}/${tile} at size ${size}`)
  }
}
