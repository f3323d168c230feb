import assert from "node:assert/strict"
import { createHash } from "node:crypto"
import test from "node:test"
import { encodeRecord, eventHash, parseRecord } from "@tallystick/proof"
import type { Clock } from "../clock.ts"
import { LedgerError } from "../error.ts"
import { defaultLimits, type Limits } from "../limits.ts"
import { expectChain } from "../store/expect-chain.ts"
import { openMemory } from "../store/memory.ts"
import { shareCommits } from "../store/share-commits.ts"
import type { Change } from "../store/documents.ts"
import type { Group, Outcome } from "../store/entries.ts"
import type { Journal, Registry } from "../store/store.ts"
import type { SealedEntry } from "./seal.ts"
import type { Chain, Placed } from "./groups.ts"
import { hasCode } from "./test-ledger.ts"
import { createSequencer } from "./sequencer.ts"

const sha256 = (text: string | Uint8Array) => createHash("sha256").update(text).digest()
const chainOf = (workspace: string): Chain => ({
  workspace,
  ledgerId: sha256(workspace),
  before: 0,
})

function the<T>(value: T | undefined): T {
  assert.ok(value !== undefined)
  return value
}

/** An entry by the name of its key; one whose name begins with "-" has none. */
let made = 0
function sealed(workspace: string, name: string): SealedEntry {
  const [receipt, idem] = [`rcp_${++made}`, name.startsWith("-") ? undefined : name]
  const body = Buffer.from(
    JSON.stringify({ ...(idem === undefined ? {} : { idem }), receipt, workspaceId: workspace }),
  )
  const bodySalt = Buffer.alloc(16, 7)
  return {
    kind: "event",
    receipt,
    idem,
    body,
    bodySalt,
    bodyHash: createHash("sha256").update("ALB1").update(bodySalt).update(body).digest(),
    disclosures: "",
  }
}

function project(id: string, version: number): Change {
  return {
    kind: "project",
    id,
    version,
    value: {
      name: `version ${version + 1}`,
      receipts: "private",
      activityLinks: false,
      createdAt: "",
    },
  }
}

interface House {
  readonly journal: Journal
  readonly registry: Registry
  /** Every commit, as the entries' keys by workspace. */
  readonly commits: Map<string, readonly (string | undefined)[]>[]
  readonly clock: Clock & { nowMs: number }
  submit(
    workspace: string,
    names: readonly string[],
    changes?: readonly Change[],
  ): Promise<readonly Placed[]>
  drained(): Promise<void>
}

type Commit = (groups: readonly Group[]) => Promise<readonly Outcome[]>

/**
 * A sequencer over the memory store. Groups share commits, as in the SQLite driver. `around` wraps
 * the commits, to simulate the disk.
 */
function openHouse(
  around: (commit: Commit) => Commit = (commit) => commit,
  changed: Partial<Limits> = {},
): House {
  const { served } = openMemory()
  const limits = { ...defaultLimits, ...changed }
  const commits: House["commits"] = []
  const commit = around((groups) =>
    Promise.all(groups.map((group) => served.journal.append(group))),
  )
  const append = shareCommits(limits, (groups) => {
    commits.push(
      new Map(groups.map(({ workspace, entries }) => [workspace, entries.map(({ idem }) => idem)])),
    )
    return commit(groups)
  })
  const journal: Journal = { ...served.journal, append }
  const clock = {
    nowMs: 1000,
    now: () => clock.nowMs,
    elapsed: () => clock.nowMs,
    sleep: async () => {},
  }
  const sequencer = createSequencer(journal, clock, limits, {
    commit: () => {},
    advanced: () => {},
  })
  return {
    journal: served.journal,
    registry: served.registry,
    commits,
    clock,
    submit: (workspace, names, changes) =>
      sequencer.submit(
        chainOf(workspace),
        names.map((name) => sealed(workspace, name)),
        changes,
      ),
    drained: () => sequencer.drained(),
  }
}

/** Holds each commit until it is let go, one at a time. */
function gate() {
  const held: (() => void)[] = []
  let most = 0
  let under = 0
  let arrived = () => {}
  return {
    most: () => most,
    around: (commit: Commit): Commit =>
      async function gated(groups) {
        under += 1
        most = Math.max(most, under)
        await new Promise<void>((resolve) => {
          held.push(resolve)
          arrived()
        })
        const outcomes = await commit(groups)
        under -= 1
        return outcomes
      },
    /** Waits until a commit is held, then lets it go. */
    async release(): Promise<void> {
      if (held.length === 0) await new Promise<void>((resolve) => (arrived = resolve))
      held.shift()?.()
    },
    async until(): Promise<void> {
      if (held.length === 0) await new Promise<void>((resolve) => (arrived = resolve))
    },
  }
}

const sequences = (placed: readonly Placed[]) =>
  placed.map((one) => (one.kind === "placed" ? one.link.sequence : -one.sequence))

test("any number of entries with one key cost two commits at most", async () => {
  const house = openHouse()
  const again = Array.from({ length: 20 }, () => "a")
  const placed = await Promise.all([
    ...again.map((name) => house.submit("acme", [name])),
    house.submit("acme", ["b", "a", "a"]),
  ])
  const [first, ...others] = placed.flat().filter((one) => one.kind === "placed")
  assert.deepEqual([first?.link.sequence, others.length], [1, 1], "a and b have a place each")
  for (const one of placed.flat()) if (one.kind === "used") assert.equal(one.sequence, 1)
  assert.equal(house.commits.length, 1)

  const later = await Promise.all(again.map((name) => house.submit("acme", [name])))
  for (const [one] of later) assert.deepEqual(one, { kind: "used", sequence: 1 })
  assert.equal(house.commits.length, 2)
  assert.equal((await expectChain(house.journal, "acme")).size, 2)
})

test("entries get their places in the given order, and the answers match the stored entries", async () => {
  const house = openHouse()
  const placed = await Promise.all([
    house.submit("acme", ["a", "b"]),
    house.submit("acme", ["-"]),
    house.submit("other", ["a"]),
    house.submit("acme", ["c"]),
  ])
  assert.deepEqual(placed.map(sequences), [[1, 2], [3], [1], [4]])
  assert.equal(house.commits.length, 1, "one turn of the event loop, one commit")
  const { hashes } = await expectChain(house.journal, "acme")
  const links = [placed[0], placed[1], placed[3]]
    .flat()
    .map((one) => (one?.kind === "placed" ? one.link : assert.fail()))
  assert.deepEqual(
    links.map(({ hash }) => Buffer.from(hash).toString("hex")),
    hashes,
  )
  await expectChain(house.journal, "other")
})

test("an empty submission resolves at once", async () => {
  const house = openHouse()
  assert.deepEqual(await house.submit("acme", []), [])
  assert.equal(house.commits.length, 0)
  await assert.rejects(house.submit("acme", [], [project("p", 0)]), /recorded by an entry/)
  assert.equal(await house.journal.head("acme"), undefined)
})

test("one commit runs at a time, and later entries share the next one", async () => {
  const doors = gate()
  const house = openHouse(doors.around)
  const first = house.submit("acme", ["a"])
  await doors.until()
  const next = ["b", "c", "d"].map((name) => house.submit(name === "c" ? "other" : "acme", [name]))
  await doors.release()
  await first
  await doors.release()
  await Promise.all(next)
  assert.equal(house.commits.length, 2)
  assert.equal(doors.most(), 1)
  await house.drained()
  await expectChain(house.journal, "acme")
})

test("workspaces whose groups were answered together share the next commit too", async () => {
  const house = openHouse()
  const workspaces = ["a", "b", "c", "d"]
  await Promise.all(
    workspaces.map(async (workspace) => {
      for (const name of ["1", "2", "3"]) await house.submit(workspace, [name])
    }),
  )
  assert.deepEqual(
    house.commits.map((commit) => [...commit.keys()].join("")),
    ["abcd", "abcd", "abcd"],
  )
  for (const workspace of workspaces)
    assert.equal((await expectChain(house.journal, workspace)).size, 3)
})

test("if groups do not share commits, no workspace waits for another's, and a failure concerns only its own group", async () => {
  const { served } = openMemory()
  const slow = Promise.withResolvers<void>()
  let fails = true
  const append: Journal["append"] = async (group) => {
    const outcome = await served.journal.append(group)
    if (group.workspace === "slow") await slow.promise
    if (group.workspace === "failing" && fails) throw new Error("the disk does not answer")
    return outcome
  }
  const heads: string[] = []
  const head: Journal["head"] = (workspace) => (
    heads.push(workspace),
    served.journal.head(workspace)
  )
  const clock = { now: () => 1, elapsed: () => 1, sleep: async () => {} }
  const sequencer = createSequencer({ ...served.journal, append, head }, clock, defaultLimits, {
    commit: () => {},
    advanced: () => {},
  })
  const submit = (workspace: string, name: string) =>
    sequencer.submit(chainOf(workspace), [sealed(workspace, name)])
  const waiting = submit("slow", "a")
  await assert.rejects(submit("failing", "a"), hasCode("ledger_unavailable"))
  assert.deepEqual(sequences(await submit("good", "a")), [1])
  assert.deepEqual(sequences(await submit("good", "b")), [2])
  fails = false
  assert.deepEqual(sequences(await submit("failing", "a")), [-1])
  assert.deepEqual(
    heads,
    ["slow", "failing", "good", "failing"],
    "the one that failed is asked for its head again, and no other",
  )
  slow.resolve()
  assert.deepEqual(sequences(await waiting), [1])
  await sequencer.drained()
  for (const workspace of ["slow", "failing", "good"]) await expectChain(served.journal, workspace)
})

test("if another process appends too, the engine relinks, and receipts have the new places", async () => {
  const { served } = openMemory()
  let lies = false
  const journal: Journal = {
    ...served.journal,
    async append(group) {
      const from = (await served.journal.head(group.workspace)) ?? group.from
      if (group.mayMove !== true || from.sequence <= group.from.sequence)
        return await served.journal.append(group)
      const timeMs = Math.max(from.timeMs, parseRecord(the(group.entries[0]).record)?.timeMs ?? 0)
      let head = from
      const entries = group.entries.map((entry) => {
        const fields = the(parseRecord(entry.record))
        const record = encodeRecord({
          ...fields,
          index: head.sequence,
          timeMs,
          previousHash: head.hash,
        })
        head = { sequence: head.sequence + 1, hash: eventHash(record), timeMs }
        return { ...entry, record }
      })
      const outcome = await served.journal.append({ ...group, from, entries })
      const lastHash = lies ? from.hash : head.hash
      return outcome.kind === "done" ? { ...outcome, relinked: { from, lastHash } } : outcome
    },
  }
  const advanced: number[] = []
  const listener = {
    commit: () => {},
    advanced: (_: string, sequence: number) => advanced.push(sequence),
  }
  let nowMs = 1000
  const clock = { now: () => nowMs, elapsed: () => nowMs, sleep: async () => {} }
  const ours = createSequencer(journal, clock, defaultLimits, listener)
  const theirs = createSequencer(served.journal, clock, defaultLimits, {
    commit: () => {},
    advanced: () => {},
  })
  const submit = (names: readonly string[], sequencer = ours) =>
    sequencer.submit(
      chainOf("w"),
      names.map((name) => sealed("w", name)),
    )
  assert.deepEqual(sequences(await submit(["a"])), [1])
  nowMs += 1
  assert.deepEqual(sequences(await submit(["b", "c"], theirs)), [2, 3])
  nowMs -= 1
  const placed = await submit(["d", "e"])
  assert.deepEqual(sequences(placed), [4, 5])
  const stored = await served.journal.at("w", [4, 5])
  for (const [at, one] of placed.entries()) {
    assert.ok(one.kind === "placed")
    assert.deepEqual(one.link.hash, Buffer.from(eventHash(the(stored[at]).record)))
    assert.equal(one.link.timeMs, 1001)
  }
  assert.deepEqual(sequences(await submit(["f"])), [6])
  assert.deepEqual(advanced, [1, 5, 6])
  // If the engine links in another way, an assertion fails.
  await submit(["g"], theirs)
  lies = true
  await assert.rejects(submit(["h"]), { code: "ledger_unavailable" })
  assert.equal((await expectChain(served.journal, "w")).size, 8)
})

test("workspaces take turns: one with a long queue does not delay the others", async () => {
  const house = openHouse(undefined, { commitEntriesMax: 4 })
  const order: string[] = []
  const note = (workspace: string, name: string) =>
    house.submit(workspace, [name]).then(() => order.push(workspace))
  await Promise.all([
    ...Array.from({ length: 12 }, (_, at) => note("long", `l${at}`)),
    note("short", "s"),
    note("brief", "b"),
  ])
  assert.deepEqual(house.commits.slice(0, 2), [
    new Map([
      ["short", ["s"]],
      ["brief", ["b"]],
    ]),
    new Map([["long", ["l0", "l1"]]]),
  ])
  assert.ok(order.indexOf("short") < 4 && order.indexOf("brief") < 4)

  // A submission that did not fit goes first the next time.
  const crowded = openHouse(undefined, { commitEntriesMax: 2 })
  await Promise.all(
    ["a", "b", "c", "d"].flatMap((workspace) => [
      crowded.submit(workspace, ["1"]),
      crowded.submit(workspace, ["2"]),
    ]),
  )
  assert.deepEqual(
    crowded.commits.map((commit) => [...commit.keys()].join("")),
    ["ab", "cd", "ab", "cd"],
  )
  for (const workspace of ["a", "b", "c", "d"]) await expectChain(crowded.journal, workspace)
})

const keys = (count: number) => Array.from({ length: count }, (_, at) => `k${at}`)

test("small groups do not wait for large ones that came before, and delay them by one commit only", async () => {
  const written: Promise<unknown>[] = []
  const submitLater = async (sizes: Readonly<Record<string, number>>): Promise<void> => {
    for (const [workspace, entries] of Object.entries(sizes))
      written.push(house.submit(workspace, keys(entries)))
    await new Promise((resolve) => setImmediate(resolve))
  }
  // What is submitted while one of these commits is written.
  const during: Readonly<Record<string, Readonly<Record<string, number>>>> = {
    first: { large: 40, small: 1, larger: 41, brief: 2 },
    small: { late: 1 },
  }
  const house = openHouse(
    (commit) =>
      async function slow(groups) {
        await submitLater(during[groups[0]?.workspace ?? ""] ?? {})
        return commit(groups)
      },
    { commitEntriesMax: 80 },
  )
  await house.submit("first", keys(40))
  await house.drained()
  await Promise.all(written)
  assert.deepEqual(
    house.commits.map((commit) => [...commit.keys()].join(" ")),
    ["first", "small brief", "large larger", "late"],
  )
  for (const workspace of ["first", "large", "small", "larger", "brief", "late"])
    await expectChain(house.journal, workspace)
})

test("groups that are small together, or all large, share a commit", async () => {
  const house = openHouse(undefined, { commitEntriesMax: 80 })
  await Promise.all([house.submit("a", keys(1)), house.submit("b", keys(9))])
  await Promise.all([house.submit("c", keys(30)), house.submit("d", keys(40))])
  assert.deepEqual(
    house.commits.map((commit) => [...commit.keys()].join(" ")),
    ["a b", "c d"],
  )
  for (const workspace of ["a", "b", "c", "d"]) await expectChain(house.journal, workspace)
})

test("a commit is bounded by entries and by bytes, and a submission is never divided", async () => {
  const house = openHouse(undefined, { commitEntriesMax: 5, commitBytesMax: 100_000 })
  await Promise.all([
    house.submit("acme", ["a", "b", "c"]),
    house.submit("acme", ["d", "e", "f"]),
    house.submit("acme", ["g"]),
  ])
  assert.deepEqual(
    house.commits.map((commit) => commit.get("acme")?.length),
    [6, 1],
  )
  const small = openHouse(undefined, { commitBytesMax: 10 })
  await Promise.all([small.submit("acme", ["a", "b"]), small.submit("acme", ["c"])])
  assert.deepEqual(
    small.commits.map((commit) => commit.get("acme")?.length),
    [2, 1],
  )
  await expectChain(house.journal, "acme")
})

test("of several senders of one key, one is first, and the others get its entry", async () => {
  const house = openHouse()
  const sent = await Promise.all([
    house.submit("acme", ["k", "x"]),
    house.submit("acme", ["k"]),
    house.submit("acme", ["y", "k", "k"]),
    house.submit("other", ["k"]),
  ])
  assert.deepEqual(sent.map(sequences), [[1, 2], [-1], [3, -1, -1], [1]])
  assert.deepEqual(sequences(await house.submit("acme", ["z", "k", "x", "-"])), [4, -1, -2, 5])
  assert.equal((await expectChain(house.journal, "acme")).size, 5)
})

test("one key within one submission is one entry", async () => {
  const house = openHouse()
  assert.deepEqual(sequences(await house.submit("acme", ["k", "k", "k"])), [1, -1, -1])
  await expectChain(house.journal, "acme")
})

test("a duplicate of an entry that is being written waits for it", async () => {
  const doors = gate()
  const house = openHouse(doors.around)
  const first = house.submit("acme", ["k"])
  await doors.until()
  const second = house.submit("acme", ["k"])
  await doors.release()
  assert.deepEqual(sequences(await first), [1])
  await doors.release()
  assert.deepEqual(sequences(await second), [-1])
  await expectChain(house.journal, "acme")
})

test("new entries are recorded during an endless stream of replays", async () => {
  // The next replay arrives during each commit, so a replay is always waiting when a group is
  // gathered.
  let streaming = false
  let kept = false
  const replays: Promise<unknown>[] = []
  const house = openHouse((commit) => async (groups) => {
    if (streaming && !kept && replays.length < 50) replays.push(house.submit("acme", ["k"]))
    return commit(groups)
  })
  await house.submit("acme", ["k"])
  streaming = true
  replays.push(house.submit("acme", ["k"]))
  await house.submit("acme", ["new"])
  kept = true
  assert.ok(replays.length < 5, `it was kept after ${replays.length} replays`)
  await Promise.all(replays)
  assert.equal((await expectChain(house.journal, "acme")).size, 2)
})

test("if another process has moved the head, entries are relinked to the new one", async () => {
  let times = 0
  const house = openHouse((commit) => async (groups) => {
    if (times-- > 0) await other.submit(chainOf("acme"), [sealed("acme", "-theirs")])
    return commit(groups)
  })
  const other = createSequencer(house.journal, house.clock, defaultLimits, {
    commit: () => {},
    advanced: () => {},
  })
  await house.submit("acme", ["a"])
  times = 3
  const sent = [house.submit("acme", ["b"]), house.submit("acme", ["c"])]
  assert.deepEqual(
    (await Promise.all(sent)).map(sequences),
    [[5], [6]],
    "in the order in which they came",
  )
  // If the head moves each time, the outcome is unknown, and the key is free.
  times = Infinity
  await assert.rejects(house.submit("acme", ["d"]), hasCode("ledger_unavailable"))
  times = 0
  const { size } = await expectChain(house.journal, "acme")
  assert.equal(size, 6 + defaultLimits.relinksMax + 1)
  assert.deepEqual(sequences(await house.submit("acme", ["d"])), [size + 1])
  await expectChain(house.journal, "acme")
})

test("a refusal by the disk is passed on unchanged: nothing was recorded", async () => {
  let full = true
  const house = openHouse((commit) => async (groups) => {
    if (full) throw new LedgerError("storage_full", "the disk is full")
    return commit(groups)
  })
  const sent = [house.submit("acme", ["a"]), house.submit("other", ["b"])]
  for (const one of sent) await assert.rejects(one, hasCode("storage_full"))
  full = false
  assert.deepEqual(sequences(await house.submit("acme", ["a"])), [1])
  await expectChain(house.journal, "acme")
})

test("a submission is in one commit, even with a repeated key, so a refusal by the disk is definite", async () => {
  let appends = 0
  const house = openHouse((commit) => async (groups) => {
    if (++appends === 1) throw new LedgerError("storage_full", "the disk is full")
    return commit(groups)
  })
  await assert.rejects(house.submit("acme", ["k", "x", "k"]), hasCode("storage_full"))
  assert.equal(await house.journal.head("acme"), undefined)
  assert.deepEqual(sequences(await house.submit("acme", ["k", "x", "k"])), [1, 2, -1])
  assert.deepEqual([appends, (await expectChain(house.journal, "acme")).size], [2, 2])
})

for (const [when, stores] of [
  ["before", false],
  ["after", true],
] as const) {
  test(`after an error ${when} the commit no answer is wrong, and the same key makes one entry`, async () => {
    let failing = false
    const house = openHouse((commit) => async (groups) => {
      if (!failing) return commit(groups)
      failing = false
      if (stores) await commit(groups)
      throw new Error("the disk does not answer")
    })
    await house.submit("acme", ["a"])
    failing = true
    const sent = [house.submit("acme", ["b", "c"]), house.submit("other", ["x"])]
    for (const one of sent) await assert.rejects(one, hasCode("ledger_unavailable"))
    const before = house.commits.length
    assert.deepEqual(
      sequences(await house.submit("acme", ["d"])),
      [stores ? 4 : 2],
      "linked to the head that storage has",
    )
    assert.equal(house.commits.length, before + 1, "and to no other first")
    assert.deepEqual(sequences(await house.submit("acme", ["b", "c"])), stores ? [-2, -3] : [3, 4])
    assert.deepEqual(sequences(await house.submit("other", ["x"])), stores ? [-1] : [1])
    assert.equal((await expectChain(house.journal, "acme")).size, 4)
    assert.equal((await expectChain(house.journal, "other")).size, 1)
  })
}

test("if the head cannot be read, the outcome is unknown, and the head is read again", async () => {
  const { served } = openMemory()
  let failing = true
  const journal: Journal = {
    ...served.journal,
    head: (workspace) =>
      failing ? Promise.reject(new Error("no answer")) : served.journal.head(workspace),
  }
  const clock = { now: () => 1, elapsed: () => 1, sleep: async () => {} }
  const sequencer = createSequencer(journal, clock, defaultLimits, {
    commit: () => {},
    advanced: () => {},
  })
  await assert.rejects(
    sequencer.submit(chainOf("acme"), [sealed("acme", "a")]),
    hasCode("ledger_unavailable"),
  )
  failing = false
  assert.deepEqual(sequences(await sequencer.submit(chainOf("acme"), [sealed("acme", "a")])), [1])
  await expectChain(served.journal, "acme")
})

test("changes commit with their entries exactly once, after any number of attempts", async () => {
  const outcomes: Outcome[] = []
  const house = openHouse((commit) => async (groups) => {
    const planned = outcomes.shift()
    return planned === undefined ? commit(groups) : groups.map(() => planned)
  })
  await house.submit("acme", ["k"])
  // Moved, then refused for another's replay, then with a duplicate of its own that waits for the
  // next commit.
  outcomes.push({ kind: "moved" })
  await Promise.all([
    house.submit("acme", ["k"]),
    house.submit("acme", ["p", "p"], [project("p", 0)]),
  ])
  assert.equal((await house.registry.get("project", "acme", "p"))?.version, 1)
  await house.submit("acme", ["q"], [project("p", 1)])
  assert.equal((await house.registry.get("project", "acme", "p"))?.version, 2)
  assert.equal((await expectChain(house.journal, "acme")).size, 3)
})

test("of two concurrent changes of one document one is refused, and no other entry is", async () => {
  const { served } = openMemory()
  const clock = { now: () => 1, elapsed: () => 1, sleep: async () => {} }
  const sequencer = createSequencer(served.journal, clock, defaultLimits, {
    commit: () => {},
    advanced: () => {},
  })
  const submit = (name: string, changes: readonly Change[] = []) =>
    sequencer.submit(chainOf("acme"), [sealed("acme", name)], changes)
  const sent = await Promise.allSettled([
    submit("a"),
    submit("b", [project("p", 0)]),
    submit("c"),
    submit("d", [project("p", 0)]),
    submit("e", [project("q", 0)]),
  ])
  assert.deepEqual(
    sent.map(({ status }) => status),
    ["fulfilled", "fulfilled", "fulfilled", "rejected", "fulfilled"],
  )
  assert.ok(sent[3]?.status === "rejected" && hasCode("conflict")(sent[3].reason))
  assert.equal((await served.registry.get("project", "acme", "p"))?.version, 1)
  assert.equal((await served.registry.get("project", "acme", "q"))?.version, 1)
  assert.equal((await expectChain(served.journal, "acme")).size, 4)
})

test("of many concurrent changes of one document all but one are refused, with two more commits", async () => {
  const house = openHouse()
  await house.submit("acme", ["a"], [project("core", 0)])
  const before = house.commits.length
  const changes = await Promise.allSettled(
    Array.from({ length: 20 }, (_, at) => house.submit("acme", [`-${at}`], [project("core", 1)])),
  )
  assert.equal(changes.filter(({ status }) => status === "fulfilled").length, 1)
  for (const one of changes)
    if (one.status === "rejected") assert.ok(hasCode("conflict")(one.reason))
  assert.equal(house.commits.length - before, 2)
  assert.equal((await house.registry.get("project", "acme", "core"))?.version, 2)
  await expectChain(house.journal, "acme")
})

test("times never decrease, even if the clock is set back or an error occurs", async () => {
  let failing = false
  const house = openHouse((commit) => async (groups) => {
    if (failing) throw new Error("no answer")
    return commit(groups)
  })
  const timeOf = async (name: string) => {
    const [placed] = await house.submit("acme", [name])
    return placed?.kind === "placed" ? placed.link.timeMs : undefined
  }
  house.clock.nowMs = 5000
  assert.equal(await timeOf("a"), 5000)
  house.clock.nowMs = 3000
  assert.equal(await timeOf("b"), 5000)
  failing = true
  await assert.rejects(timeOf("c"))
  failing = false
  assert.equal(await timeOf("c"), 5000)
  house.clock.nowMs = 6000
  assert.equal(await timeOf("d"), 6000)
  await expectChain(house.journal, "acme")
})

test("drained resolves when no entry waits any more, and at once if none waits", async () => {
  const doors = gate()
  const house = openHouse(doors.around)
  await house.drained()
  const sent = house.submit("acme", ["a"])
  let drained = false
  const waiting = house.drained().then(() => (drained = true))
  await doors.until()
  assert.equal(drained, false)
  await doors.release()
  await sent
  await waiting
  await expectChain(house.journal, "acme")
})
