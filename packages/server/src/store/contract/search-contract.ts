// The matches that every search must find. plain-search.ts defines them; random searches are
// compared with it too.

import { strict as assert } from "node:assert"
import { wordsOf, type Query, type Term } from "@tallystick/client/grammar"
import { storiesOf, type Story } from "./stories.ts"
import type { Lane } from "../documents.ts"
import { createPlainSearch } from "./plain-search.ts"
import type { Field, Filed, Finder, Owner, Wanted } from "../search/search.ts"
import type { Chance } from "../../../../../test/chance.ts"

export interface OpenedSearch {
  readonly search: Pick<Finder, "find" | "count">
  /** Makes entries findable that follow those before. */
  file(workspace: string, entries: readonly Filed[]): Promise<void>
  readonly close: () => Promise<void>
}

export function searchContract(name: string, open: () => Promise<OpenedSearch>): void {
  const story = storiesOf(name, open)
  positionStories(story)
  filterStories(story)
  wordStories(story)
  valueStories(story)
  manyStories(story)
  subjectStories(story)
}

// ---- Entries and searches.

const hourMs = 3_600_000
const startMs = Date.parse("2026-01-31T09:30:00Z")

type Draft = Partial<Omit<Filed, "sequence" | "fields">> & {
  readonly fields?: Partial<Record<Owner, readonly Field[]>>
}

/** Each entry an hour after the one before. */
function filed(sequence: number, { fields, ...draft }: Draft): Filed {
  return {
    sequence,
    projectId: "core",
    isSystem: false,
    lane: "operations",
    userVisible: false,
    occurredMs: startMs + (sequence - 1) * hourMs,
    occurredNs: 0,
    actor: { id: "usr_1", type: "user" },
    target: { id: "inv_1", type: "invoice" },
    ...draft,
    fields: { nobody: [], actor: [], target: [], ...fields },
  }
}

/** Makes them findable behind those that are. */
async function file(
  store: OpenedSearch,
  workspace: string,
  drafts: readonly Draft[],
): Promise<void> {
  const wanted = { system: "with" } as const
  const { total = 0 } = (await store.search.find(workspace, wanted, 1, 1)) ?? {}
  await store.file(
    workspace,
    drafts.map((draft, at) => filed(total + 1 + at, draft)),
  )
}

function text(names: string, value: string): Field {
  return { names: names === "" ? [] : names.split(" "), value, isText: true }
}

function exact(names: string, value: string): Field {
  return { names: names.split(" "), value, isText: false }
}

function words(
  said: string,
  options: { readonly not?: boolean; readonly isPrefix?: boolean } = {},
): Term {
  return { kind: "text", not: false, isPrefix: false, ...options, words: said.split(" ") }
}

function named(
  field: string,
  value: string,
  options: { readonly not?: boolean; readonly isPrefix?: boolean } = {},
): Term {
  return { kind: "field", not: false, isPrefix: false, ...options, field, value }
}

function query(...terms: readonly Term[]): { readonly query: Query } {
  return { query: { terms } }
}

/**
 * All matches, newest first, read by pages of each size in turn. The total must be the same on each
 * page.
 */
async function found(
  search: Pick<Finder, "find">,
  workspace: string,
  wanted: Partial<Wanted>,
  limits: readonly number[] = [100],
): Promise<number[]> {
  const sequences: number[] = []
  for (let before = Number.MAX_SAFE_INTEGER, page = 0; ; page++) {
    const limit = limits[page % limits.length] ?? 1
    const hits = await search.find(workspace, { system: "without", ...wanted }, before, limit)
    assert.ok(hits !== undefined, "everything is filed")
    sequences.push(...hits.sequences)
    assert.ok(hits.sequences.length === limit || !hits.hasMore, "only the last page is short")
    if (!hits.hasMore) {
      assert.equal(hits.total, sequences.length, `the total of ${JSON.stringify(wanted)}`)
      return sequences
    }
    before = hits.sequences.at(-1) ?? 0
  }
}

async function expectFound(
  store: OpenedSearch,
  workspace: string,
  wanted: Partial<Wanted>,
  sequences: readonly number[],
): Promise<void> {
  assert.deepEqual(await found(store.search, workspace, wanted), sequences, JSON.stringify(wanted))
}

// ---- The stories.

function positionStories(story: Story<OpenedSearch>): void {
  story("nothing is found where nothing is filed", async (store) => {
    await expectFound(store, "acme", {}, [])
    await expectFound(store, "acme", query(words("word")), [])
    await file(store, "acme", [])
    await expectFound(store, "acme", {}, [])
  })

  story("each workspace is searched for itself", async (store) => {
    for (const round of [1, 2])
      for (const workspace of ["c", "a", "b"])
        await file(store, workspace, [
          { fields: { nobody: [text("action", `in ${workspace} in round ${round}`)] } },
        ])
    for (const workspace of ["a", "b", "c"]) {
      await expectFound(store, workspace, query(words("round")), [2, 1])
      await expectFound(store, workspace, query(words(`in ${workspace} in round 2`)), [2])
    }
    await expectFound(store, "a", query(words("in b")), [])
  })

  story("a cached total grows with entries that are filed later", async (store) => {
    const hit: Draft = { fields: { nobody: [text("action", "said once more")] } }
    await file(store, "acme", [hit, {}, hit])
    const asked = [
      query(words("said")),
      query(words("sai", { isPrefix: true })),
      query(words("said", { not: true })),
      {},
    ]
    const totals = async () => {
      const all: number[] = []
      for (const wanted of asked)
        all.push((await found(store.search, "acme", wanted, [1, 2])).length)
      return all
    }
    assert.deepEqual(await totals(), [2, 2, 1, 3])
    await file(store, "acme", [{}, hit])
    assert.deepEqual(await totals(), [3, 3, 2, 5])
    assert.deepEqual(await totals(), [3, 3, 2, 5])
    await file(store, "acme", [{}])
    assert.deepEqual(await totals(), [3, 3, 3, 6])
  })
}

function filterStories(story: Story<OpenedSearch>): void {
  story("filters choose by project, lane, visibility and owner", async (store) => {
    const lanes: readonly Lane[] = ["security", "data", "operations"]
    await file(store, "acme", [
      { projectId: "core", lane: "security" },
      { projectId: "Core", lane: "data", userVisible: true },
      { projectId: "system", lane: "security", isSystem: true },
      { projectId: "desk", lane: "security", userVisible: true },
      { projectId: "", lane: "operations" },
    ])
    // The same filters, together with an excluded word that no entry has, so that the full-text
    // index is used too.
    const rows: readonly (readonly [Partial<Wanted>, readonly number[]])[] = [
      [{}, [5, 4, 2, 1]],
      [{ system: "with" }, [5, 4, 3, 2, 1]],
      [{ system: "only" }, [3]],
      [{ system: "only", projectIds: ["core"] }, [3]],
      [{ system: "with", projectIds: ["core"] }, [3, 1]],
      [{ system: "with", projectIds: [] }, [3]],
      [{ projectIds: [] }, []],
      [{ projectIds: ["Core"] }, [2]],
      [{ projectIds: ["core", "desk", "none"] }, [4, 1]],
      [{ lane: "security" }, [4, 1]],
      [{ lane: "policy" }, []],
      [{ lane: "security", userVisible: true }, [4]],
      [{ userVisible: false }, [5, 1]],
      [{ userVisible: false, system: "with" }, [5, 3, 1]],
      [{ lane: "security", system: "only", userVisible: true }, []],
      ...lanes.map((lane): [Partial<Wanted>, number[]] => [{ lane, projectIds: ["system"] }, []]),
    ]
    for (const [wanted, sequences] of rows) {
      await expectFound(store, "acme", wanted, sequences)
      await expectFound(
        store,
        "acme",
        { ...wanted, ...query(words("absent", { not: true })) },
        sequences,
      )
      await expectFound(store, "acme", { ...wanted, ...query(words("absent")) }, [])
    }
    await expectFound(store, "other", {}, [])
  })

  story(
    "a lane is found by its filter and by its term, also where no value says it",
    async (store) => {
      await file(store, "acme", [
        { lane: "data", fields: { nobody: [exact("lane", "data")] } },
        // As of an entry without its content.
        { lane: "operations" },
      ])
      for (const [lane, sequences] of [
        ["data", [1]],
        ["operations", [2]],
        ["security", []],
      ] as const) {
        await expectFound(store, "acme", { lane }, sequences)
        await expectFound(store, "acme", query(named("lane", lane)), sequences)
        await expectFound(
          store,
          "acme",
          query(named("lane", lane.slice(0, 3), { isPrefix: true })),
          sequences,
        )
      }
      await expectFound(store, "acme", query(named("lane", "operations", { not: true })), [1])
    },
  )

  story("times bound what is found to the nanosecond, sequences to the entry", async (store) => {
    const at = (ms: number, ns = 0): Draft => ({
      occurredMs: ms,
      occurredNs: ns,
      fields: { nobody: [text("action", "timed")] },
    })
    const ancient = Date.parse("0000-01-01T00:00:00Z")
    await file(store, "acme", [
      at(startMs, 5),
      at(startMs + 1),
      at(startMs - 1, 999_999),
      at(ancient),
      at(startMs, 6),
      at(-1),
      at(startMs + 9 * hourMs),
    ])
    const instant = (ms: number, ns = 0) => ({ ms, ns })
    const rows: readonly (readonly [Partial<Wanted>, readonly number[]])[] = [
      [{ from: instant(startMs) }, [7, 5, 2, 1]],
      [{ from: instant(startMs, 6) }, [7, 5, 2]],
      [{ to: instant(startMs, 6) }, [6, 4, 3, 1]],
      [{ to: instant(startMs, 5) }, [6, 4, 3]],
      [{ from: instant(startMs - 1, 999_999), to: instant(startMs) }, [3]],
      [{ from: instant(startMs), to: instant(startMs) }, []],
      [{ from: instant(startMs + 1), to: instant(startMs) }, []],
      [{ from: instant(ancient), to: instant(0) }, [6, 4]],
      [
        { from: instant(startMs - hourMs), to: instant(startMs + hourMs), firstSequence: 2 },
        [5, 3, 2],
      ],
      [
        { from: instant(startMs - hourMs), to: instant(startMs + hourMs), lastSequence: 4 },
        [3, 2, 1],
      ],
      [
        {
          from: instant(startMs - hourMs),
          to: instant(startMs + 99 * hourMs),
          firstSequence: 3,
          lastSequence: 5,
        },
        [5, 3],
      ],
      [{ firstSequence: 3 }, [7, 6, 5, 4, 3]],
      [{ lastSequence: 2 }, [2, 1]],
      [{ firstSequence: 3, lastSequence: 4 }, [4, 3]],
      [{ firstSequence: 5, lastSequence: 4 }, []],
      [{ firstSequence: 0, lastSequence: 99 }, [7, 6, 5, 4, 3, 2, 1]],
      [{ firstSequence: 8 }, []],
    ]
    for (const [wanted, sequences] of rows) {
      await expectFound(store, "acme", wanted, sequences)
      await expectFound(
        store,
        "acme",
        { ...wanted, ...query(words("tim", { isPrefix: true })) },
        sequences,
      )
      await expectFound(store, "acme", { ...wanted, ...query(words("timed")) }, sequences)
    }
  })
}

function wordStories(story: Story<OpenedSearch>): void {
  story("consecutive words of one value are found, the last one by its prefix", async (store) => {
    await file(store, "acme", [
      {
        fields: {
          nobody: [
            text("action", "billing.invoice.approve"),
            text("metadata.note", "Größe 42 – ÉTÉ"),
          ],
        },
      },
      {
        fields: {
          nobody: [text("action", "billing.card"), text("", "approve the invoice")],
          actor: [text("actor name", "Ada")],
        },
      },
      {
        fields: {
          nobody: [exact("type", "approve"), text("", "one"), text("", "two")],
          target: [text("target", "three")],
        },
      },
    ])
    const rows: readonly (readonly [readonly Term[], readonly number[]])[] = [
      [[words("approve")], [2, 1]],
      [[words("appr")], []],
      [[words("appr", { isPrefix: true })], [2, 1]],
      [[words("invoice approve")], [1]],
      [[words("approve invoice")], []],
      [[words("billing inv", { isPrefix: true })], [1]],
      [[words("bill inv", { isPrefix: true })], []],
      [[words("größe")], [1]],
      [[words("grosse")], []],
      [[words("été")], [1]],
      [[words("4", { isPrefix: true })], [1]],
      [[words("one two")], []],
      [[words("two three")], []],
      [[words("card approve")], []],
      [[words("ada")], [2]],
      [[words("approve"), words("card")], [2]],
      [[words("approve"), words("card", { not: true })], [1]],
      [[words("approve", { not: true })], [3]],
      [[words("a", { not: true, isPrefix: true }), words("x", { not: true })], [3]],
      [
        [words("billing"), words("three", { not: true })],
        [2, 1],
      ],
      [[], [3, 2, 1]],
    ]
    for (const [terms, sequences] of rows)
      await expectFound(store, "acme", query(...terms), sequences)
  })
}

function valueStories(story: Story<OpenedSearch>): void {
  story(
    "a value is found whole or by its prefix, under each of its names, in any case and script",
    async (store) => {
      const values = [
        "a b",
        "a\u00a0b",
        "a_b",
        'a"b',
        "a'b",
        "a\tb",
        "A*B",
        "a b c",
        "",
        "\x80",
        "a\x80gb",
        "a\x81b",
        "İx",
        "😀 x",
        "a\\b",
        "a^b",
        "a\0b",
      ]
      await file(
        store,
        "acme",
        values.map((value) => ({
          fields: {
            nobody: [exact("metadata.key one", value)],
            actor: [text("actor email", `${value}@x`)],
          },
        })),
      )
      for (const [at, value] of values.entries()) {
        const same = values
          .flatMap((other, place) =>
            other.toLowerCase() === value.toLowerCase() ? [place + 1] : [],
          )
          .toReversed()
        for (const field of ["metadata.key", "one"])
          await expectFound(store, "acme", query(named(field, value.toUpperCase())), same)
        for (const field of ["actor", "email"])
          await expectFound(store, "acme", query(named(field, `${value}@X`)), same)
        const starts = values
          .flatMap((other, place) =>
            other.toLowerCase().startsWith(value.toLowerCase()) ? [place + 1] : [],
          )
          .toReversed()
        await expectFound(store, "acme", query(named("one", value, { isPrefix: true })), starts)
        await expectFound(store, "acme", query(named("metadata.key one", value)), [])
        assert.ok(same.includes(at + 1))
      }
      await expectFound(
        store,
        "acme",
        query(named("one", "a", { isPrefix: true }), named("one", "a b", { not: true })),
        [17, 16, 15, 12, 11, 8, 7, 6, 5, 4, 3, 2],
      )
      await expectFound(store, "acme", query(named("one", "a b"), named("one", "A*b")), [7, 1])
      await expectFound(store, "acme", query(named("one", "a b"), named("email", "A*b@x")), [])
      await expectFound(
        store,
        "acme",
        query(named("email", "A*b@x"), named("one", "a", { isPrefix: true })),
        [7],
      )
    },
  )

  story("names of fields are case-sensitive, although values are not", async (store) => {
    await file(store, "acme", [
      { fields: { nobody: [exact("metadata.orderId orderId", "A1")] } },
      { fields: { nobody: [exact("metadata.orderid orderid", "a1")] } },
    ])
    for (const isPrefix of [false, true]) {
      for (const [name, sequences] of [
        ["orderId", [1]],
        ["orderid", [2]],
        ["ORDERID", []],
      ] as const) {
        await expectFound(store, "acme", query(named(name, "a1", { isPrefix })), sequences)
        await expectFound(
          store,
          "acme",
          query(named(`metadata.${name}`, "A1", { isPrefix })),
          sequences,
        )
        if (!isPrefix) continue
        for (const start of ["", "A"])
          await expectFound(store, "acme", query(named(name, start, { isPrefix })), sequences)
      }
      await expectFound(store, "acme", query(named("Metadata.orderId", "a1", { isPrefix })), [])
      await expectFound(
        store,
        "acme",
        query(named("orderId", "a1", { isPrefix, not: true }), named("orderid", "a1")),
        [2],
      )
    }
  })

  story("long values are compared to the last character that a search can have", async (store) => {
    const long = "x".repeat(511)
    const values = [long, `${long}y`, `${long}yz`, `${long}y z`, `${long}${long}`]
    await file(
      store,
      "acme",
      values.map((value) => ({ fields: { nobody: [text("metadata.long", value)] } })),
    )
    await expectFound(store, "acme", query(named("metadata.long", long)), [1])
    await expectFound(store, "acme", query(named("metadata.long", `${long}y`)), [2])
    await expectFound(
      store,
      "acme",
      query(named("metadata.long", `${long}y`, { isPrefix: true })),
      [4, 3, 2],
    )
    await expectFound(store, "acme", query(words(`${long}y`)), [4, 2])
    await expectFound(store, "acme", query(words(`${long}y`, { isPrefix: true })), [4, 3, 2])
    await expectFound(store, "acme", query(words(long, { isPrefix: true })), [5, 4, 3, 2, 1])
  })

  story("a prefix is found with any number of matching words or values", async (store) => {
    const count = 100
    await file(
      store,
      "acme",
      Array.from({ length: count }, (_, at) => ({
        fields: {
          nobody: [
            text("metadata.key", `word${at} and and${at % 3} more`),
            text("id", `evt_${at}`),
          ],
        },
      })),
    )
    await file(store, "other", [{ fields: { nobody: [text("action", "word")] } }])
    const all = Array.from({ length: count }, (_, at) => count - at)
    const tens = all.filter((sequence) => String(sequence - 1).startsWith("1"))
    const rows: readonly (readonly [readonly Term[], readonly number[]])[] = [
      [[words("word", { isPrefix: true })], all],
      [[words("word1", { isPrefix: true })], tens],
      [[named("metadata.key", "WORD", { isPrefix: true })], all],
      [[named("metadata.key", "word1", { isPrefix: true })], tens],
      [[named("id", "evt_1", { isPrefix: true })], tens],
      [[words("and and", { isPrefix: true })], all],
      [
        [words("word", { isPrefix: true }), words("word1", { isPrefix: true, not: true })],
        all.filter((sequence) => !tens.includes(sequence)),
      ],
      [[words("word1", { isPrefix: true }), words("word", { isPrefix: true, not: true })], []],
      [[words("wordy", { isPrefix: true })], []],
    ]
    for (const [terms, sequences] of rows)
      await expectFound(store, "acme", query(...terms), sequences)
    const first = await store.search.find(
      "acme",
      { system: "without", ...query(words("word", { isPrefix: true })) },
      50,
      10,
    )
    assert.deepEqual(first, {
      sequences: [49, 48, 47, 46, 45, 44, 43, 42, 41, 40],
      hasMore: true,
      total: count,
      end: count,
    })
  })
}

function manyStories(story: Story<OpenedSearch>): void {
  story("a filter may name very many projects", async (store) => {
    const projectIds = Array.from({ length: 2000 }, (_, at) => `p${at}`)
    await file(
      store,
      "acme",
      ["p7", "q", "p1999", "p2000"].map((projectId) => ({
        projectId,
        fields: { nobody: [text("action", "said")] },
      })),
    )
    for (const asked of [
      { projectIds },
      { projectIds, ...query(words("said")) },
      { projectIds, ...query(words("unsaid", { not: true })) },
    ])
      await expectFound(store, "acme", asked, [3, 1])
  })

  story(
    "ids are found by their words, whole and by prefix, and never by similar ones",
    async (store) => {
      const id = "evt_01ABCXYZ"
      await file(store, "acme", [
        { fields: { nobody: [text("id", id), text("receipt", "rcp_01ABC")] } },
        {
          fields: {
            nobody: [
              text("id", "evt_01OTHER"),
              text("receipt", "rcp_01ABD"),
              text("metadata.of", id),
            ],
          },
        },
        { fields: { nobody: [text("id", "evt-01ABCXYZ"), text("receipt", "rcp 01ABC")] } },
        { fields: { nobody: [text("id", "evt_01ABC_X")] } },
      ])
      const rows: readonly (readonly [Term, readonly number[]])[] = [
        [named("id", id.toLowerCase()), [1]],
        [named("metadata.of", id), [2]],
        [named("id", "evt_01ABC", { isPrefix: true }), [4, 1]],
        [named("id", "evt_01ABC"), []],
        [named("id", "evt_", { isPrefix: true }), [4, 2, 1]],
        [named("id", "evt", { isPrefix: true }), [4, 3, 2, 1]],
        [named("id", "ev", { isPrefix: true }), [4, 3, 2, 1]],
        [named("id", "evt"), []],
        [named("id", "01abc", { isPrefix: true }), []],
        [named("id", "", { isPrefix: true }), [4, 3, 2, 1]],
        [named("id", "_", { isPrefix: true }), []],
        [named("id", "evt-01", { isPrefix: true }), [3]],
        [named("id", "evt_01abc_x"), [4]],
        [named("id", "evt_01abc_", { isPrefix: true }), [4]],
        [named("receipt", id), []],
        [named("receipt", "rcp_01abc"), [1]],
        [named("receipt", "rcp_01AB", { isPrefix: true }), [2, 1]],
        [words("evt 01abcxyz"), [3, 2, 1]],
        [words("evt 01abc", { isPrefix: true }), [4, 3, 2, 1]],
        [words("01abcxyz rcp"), []],
        [words("01abc"), [4, 3, 1]],
      ]
      for (const [term, sequences] of rows) await expectFound(store, "acme", query(term), sequences)
    },
  )
}

function subjectStories(story: Story<OpenedSearch>): void {
  story("a subject finds its own visible entries, by the text that it may see", async (store) => {
    const fields = (note: string): NonNullable<Draft["fields"]> => ({
      nobody: [text("action", `open ${note}`)],
      actor: [text("actor email", "mine@example.com")],
      target: [text("target name", "theirs")],
    })
    const [ada, bob] = [
      { id: "ada", type: "user" },
      { id: "bob", type: "user" },
    ]
    await file(store, "acme", [
      { userVisible: true, actor: ada, target: bob, fields: fields("one") },
      { userVisible: true, actor: bob, target: ada, fields: fields("two") },
      { userVisible: true, actor: ada, target: ada, fields: fields("three") },
      { userVisible: false, actor: ada, target: ada, fields: fields("four") },
      {
        userVisible: true,
        actor: { ...ada, type: "robot" },
        target: bob,
        fields: fields("five"),
      },
      { userVisible: true, actor: { ...ada, id: "Ada" }, target: bob, fields: fields("six") },
      { userVisible: true, actor: ada, target: bob, projectId: "desk", fields: fields("seven") },
      // A project whose id begins with another's.
      { userVisible: true, actor: ada, target: ada, projectId: "core2", fields: fields("eight") },
    ])
    const subject = { id: "ada", types: ["person", "user"] }
    const core = { subject, projectIds: ["core"] }
    const rows: readonly (readonly [Partial<Wanted>, readonly number[]])[] = [
      [core, [3, 2, 1]],
      [{ subject }, [8, 7, 3, 2, 1]],
      [{ subject, projectIds: ["core2"] }, [8]],
      [{ subject, projectIds: ["cor"] }, []],
      [{ subject, projectIds: ["core", "desk"] }, [7, 3, 2, 1]],
      [{ subject: { id: "ada", types: ["robot"] }, projectIds: ["core"] }, [5]],
      [{ subject: { id: "Ada", types: ["user"] }, projectIds: ["core"] }, [6]],
      [{ subject: { id: "ad", types: ["user"] } }, []],
      [{ subject: { id: "ada", types: ["us"] } }, []],
      [{ subject: { id: "ada", types: [] } }, []],
      [{ ...core, userVisible: false }, []],
      [{ ...core, userVisible: true, lane: "operations" }, [3, 2, 1]],
      [{ ...core, system: "only" }, []],
      [{ ...core, lastSequence: 2 }, [2, 1]],
      [{ ...core, to: { ms: startMs + hourMs, ns: 0 } }, [1]],
      [{ ...core, ...query(words("open")) }, [3, 2, 1]],
      [{ ...core, ...query(words("mine")) }, [3, 1]],
      [{ ...core, ...query(words("theirs")) }, [3, 2]],
      [{ ...core, ...query(words("mine"), words("theirs")) }, [3]],
      [{ ...core, ...query(named("email", "mine@example.com")) }, [3, 1]],
      [{ ...core, ...query(named("target", "the", { isPrefix: true })) }, [3, 2]],
      [{ ...core, ...query(words("mine", { not: true })) }, [2]],
      [{ ...core, ...query(words("theirs", { not: true }), words("open")) }, [1]],
      [{ ...core, ...query(words("two"), words("absent", { not: true })) }, [2]],
    ]
    for (const [wanted, sequences] of rows) await expectFound(store, "acme", wanted, sequences)
    await expectFound(store, "other", core, [])
  })

  story(
    "a subject's id and type may have any length and characters, and never match those of others",
    async (store) => {
      const long = "z".repeat(700)
      const ids = [
        "a b",
        "a_b",
        "a\x81b",
        "aB",
        "ab",
        long,
        `${long}z`,
        long.slice(0, 513),
        "\x82b",
      ]
      await file(
        store,
        "acme",
        ids.map((id) => ({ userVisible: true, actor: { id, type: `t ${id}` } })),
      )
      for (const [at, id] of ids.entries()) {
        await expectFound(
          store,
          "acme",
          { projectIds: ["core"], subject: { id, types: ["x", `t ${id}`] } },
          [at + 1],
        )
        await expectFound(store, "acme", { subject: { id, types: [`t ${id}`] } }, [at + 1])
      }
    },
  )
}

// ---- Random searches, compared with the reference.

/**
 * Files random entries and runs random searches, page by page unless there are too many, and
 * compares every result with the reference. Returns how many searches had matches.
 */
export async function compareByChance(
  store: OpenedSearch,
  chance: Chance,
  entries: number,
  questions: number,
): Promise<number> {
  const reference = createPlainSearch()
  const { search } = store
  const workspaces = ["acme", "other"]
  const rounds = 3
  let answered = 0
  for (let round = 1; round <= rounds; round++) {
    for (const workspace of workspaces) {
      const drafts = Array.from({ length: Math.ceil(entries / rounds) + round }, () =>
        draftBy(chance),
      )
      const position = await reference.position(workspace)
      const more = drafts.map((draft, at) => filed(position + 1 + at, draft))
      reference.file(workspace, more)
      await store.file(workspace, more)
    }
    for (let asked = 0; asked < questions / rounds; asked++) {
      const workspace = chance.pick(workspaces)
      const wanted: Wanted = {
        system: "without",
        ...wantedBy(chance, await reference.position(workspace)),
      }
      const what = `${workspace}: ${JSON.stringify(wanted)}`
      if (entries < 1000) {
        const limits = [1 + chance.below(7), 1 + chance.below(60)]
        assert.deepEqual(
          await found(search, workspace, wanted, limits),
          await found(reference, workspace, wanted, limits),
          what,
        )
      }
      for (let place = 0; place < 3; place++) {
        const [before, limit] = [chance.below(entries), 1 + chance.below(100)]
        const expected = await reference.find(workspace, wanted, before, limit)
        assert.deepEqual(
          await search.find(workspace, wanted, before, limit),
          expected,
          `below ${before}, ${what}`,
        )
        if (expected.total > 0) answered += 1
      }
      const { total } = await reference.find(workspace, wanted, 1, 1)
      const counted = (await search.count(workspace, wanted, wholeTimeline)) ?? []
      const sum = counted.reduce((all, { counts: [count = 0] }) => all + count, 0)
      assert.equal(sum, total, `counted, ${what}`)
    }
  }
  return answered
}

/** One span that has every entry. */
const wholeTimeline = {
  kind: "timeline",
  fromMs: 0,
  bucketMs: 2 ** 52,
  buckets: 1,
  by: "project",
} as const

const someWords = ["ada", "adam", "Invoice", "invoices", "42", "4", "é", "e\u0301", "x_y", "ÉTÉ"]
const someNames = [
  "action",
  "actor",
  "target name",
  "actor email",
  "metadata.a",
  "metadata.a.b",
  "id",
  "",
]
const somePeople = ["ada", "Ada", "bob", "x y"]
const someTypes = ["user", "robot"]
const someProjects = ["core", "Core", "core2", "desk"]
const someLanes: readonly Lane[] = ["security", "data", "policy", "operations"]

function some<T>(chance: Chance, most: number, make: () => T): T[] {
  return Array.from({ length: chance.below(most + 1) }, make)
}

function valueBy(chance: Chance): string {
  return [chance.pick(someWords), ...some(chance, 2, () => chance.pick(someWords))].join(
    chance.pick([" ", "_", ".", " - "]),
  )
}

function draftBy(chance: Chance): Draft {
  const field = () =>
    chance.below(8) === 0
      ? exact("type", chance.pick(someTypes))
      : text(chance.pick(someNames), valueBy(chance))
  const fields = () => some(chance, 2, field)
  const isSystem = chance.below(8) === 0
  return {
    projectId: isSystem ? "system" : chance.pick(someProjects),
    isSystem,
    lane: chance.pick(someLanes),
    // No subject sees the service's own entries.
    userVisible: !isSystem && chance.below(3) > 0,
    occurredMs: startMs + chance.below(6 * hourMs) - 3 * hourMs,
    occurredNs: chance.below(3),
    actor: { id: chance.pick(somePeople), type: chance.pick(someTypes) },
    target: { id: chance.pick(somePeople), type: chance.pick(someTypes) },
    fields: { nobody: fields(), actor: fields(), target: fields() },
  }
}

function termBy(chance: Chance): Term {
  const options = { not: chance.below(4) === 0, isPrefix: chance.below(3) === 0 }
  const value = chance.below(3) === 0 ? chance.pick(someWords) : valueBy(chance)
  const cut = options.isPrefix ? value.slice(0, 1 + chance.below(value.length)) : value
  if (chance.below(2) === 0) {
    const names = chance.pick(someNames).split(" ")
    // No search can name a field that has no name.
    return named(names.at(chance.below(2) - 1) || "action", cut, options)
  }
  const inside = wordsOf(cut)
  return words(inside.length === 0 ? "ada" : inside.join(" "), options)
}

function wantedBy(chance: Chance, position: number): Partial<Wanted> {
  const maybe = <T extends object>(times: number, make: () => T): T | object =>
    chance.below(times) === 0 ? make() : {}
  const instant = () => ({
    ms: startMs + chance.below(8 * hourMs) - 4 * hourMs,
    ns: chance.below(3),
  })
  return {
    system: chance.pick(["without", "without", "with", "only"] as const),
    ...maybe(3, () => ({ projectIds: some(chance, 2, () => chance.pick(someProjects)) })),
    ...maybe(4, () => ({ lane: chance.pick(someLanes) })),
    ...maybe(4, () => ({ userVisible: chance.below(2) === 0 })),
    ...maybe(4, () => ({ from: instant() })),
    ...maybe(4, () => ({ to: instant() })),
    ...maybe(4, () => ({ firstSequence: chance.below(position) })),
    ...maybe(4, () => ({ lastSequence: chance.below(position) })),
    ...maybe(2, () => ({
      query: { terms: [termBy(chance), ...some(chance, 2, () => termBy(chance))] },
    })),
    ...maybe(4, () => ({
      subject: {
        id: chance.pick(somePeople),
        types: [chance.pick(someTypes), ...some(chance, 1, () => chance.pick(someTypes))],
      },
    })),
  }
}
