import assert from "node:assert/strict"
import test from "node:test"
import {
  addressOf,
  askedIn,
  chipsOf,
  filterOf,
  liftTimes,
  metadataTerm,
  termText,
  withTerm,
  withoutField,
  type Asked,
} from "./asked.ts"

const now = new Date("2026-11-12T12:00:00.000Z")
const asked = (text: string): Asked => ({ text, range: { since: "all" }, withSystem: false })
const filter = (text: string) => {
  const { projectId, storage, includeSystem: _, ...rest } = filterOf(asked(text), now)
  return {
    ...rest,
    ...(projectId !== "all" && { projectId }),
    ...(storage !== "all" && { storage }),
  }
}

test("terms for which the service has a parameter become parameters", () => {
  const cases: readonly (readonly [text: string, parameters: object])[] = [
    ["", { query: "" }],
    ["approve lane:security", { query: "approve", lane: "security" }],
    ["lane:security lane:data", { query: "lane:security lane:data" }],
    ["-lane:security", { query: "-lane:security" }],
    ["lane:nonsense", { query: "lane:nonsense" }],
    ["storage:archive x", { query: "x", storage: "archive" }],
    ["visible:true", { query: "", userVisible: true }],
    ["project:system", { query: "", projectId: "system" }],
    ["project:core", { query: "project:core" }],
    ['target:"Invoice 42"* -"test run"', { query: 'target:"Invoice 42"* -"test run"' }],
  ]
  for (const [text, parameters] of cases) assert.deepEqual(filter(text), parameters, text)
})

test("a typed range becomes the range of the list", () => {
  const cases: readonly (readonly [text: string, left: string, range: object])[] = [
    ["since:24h x", "x", { since: "24h" }],
    ["since:all", "", { since: "all" }],
    ["since:soon", "since:soon", { since: "all" }],
    [
      "time:2026-11-12T10:00:00Z..2026-11-12T11:00:00Z",
      "",
      { from: "2026-11-12T10:00:00.000Z", to: "2026-11-12T11:00:00.000Z" },
    ],
    ["-time:2026-11-12", "-time:2026-11-12", { since: "all" }],
  ]
  for (const [text, left, range] of cases) {
    const lifted = liftTimes(asked(text), false)
    assert.deepEqual([lifted.text, lifted.range], [left, range], text)
  }
  const day = liftTimes(asked("time:2026-11-12"), false).range
  assert.ok("from" in day && day.from !== undefined && day.to !== undefined)
  assert.equal(Date.parse(day.to) - Date.parse(day.from), 86_400_000)
})

test("terms are shown separately, and an unknown field is shown as text", () => {
  const shown = chipsOf('a -actor:ci metadata.order:"A 17" foo:bar since:7d').map(
    ({ text, field, isNot, isUnknownField }) => [text, field, isNot, isUnknownField],
  )
  assert.deepEqual(shown, [
    ["a", undefined, false, false],
    ["-actor:ci", "actor", true, false],
    ['metadata.order:"A 17"', "metadata.order", false, false],
    ["foo:bar", undefined, false, true],
    ["since:7d", "since", false, false],
  ])
})

test("a term replaces its opposite, and a facet counts without its own field", () => {
  assert.equal(withTerm("a -actor:ci", "actor:ci"), "a actor:ci")
  assert.equal(withTerm("a", "a"), "a")
  assert.equal(withoutField("lane:data x -lane:policy", "lane"), "x -lane:policy")
  assert.equal(termText("actor", "a b"), 'actor:"a b"')
  assert.equal(termText("actor", 'a "b'), 'actor:"a "*')
  assert.equal(termText("actor", "😀".repeat(101)), `actor:"${"😀".repeat(100)}"*`)
  assert.equal(termText("actor", "a-b"), "actor:a-b")
})

test("a member of metadata gets a name that a search accepts, or none", () => {
  for (const [path, value, term] of [
    ["ticket", "SUP-1", "metadata.ticket:SUP-1"],
    ["after.mfa-required", true, "metadata.after.mfa-required:true"],
    ["sum", 12.5, "metadata.sum:12.5"],
    ["note", "two words", 'metadata.note:"two words"'],
    ["with space", "x", undefined],
    ["a:b", "x", undefined],
    ["list", ["x"], undefined],
    ["nothing", null, undefined],
  ] as const) {
    assert.equal(metadataTerm(path, value), term)
    if (term !== undefined) assert.equal(chipsOf(term)[0]?.field, `metadata.${path}`)
  }
})

test("the address contains the whole search, and malformed parts become defaults", () => {
  for (const each of [
    { text: "a:b", range: { since: "24h" }, withSystem: true },
    { text: "", range: { from: "2026-11-12T10:00:00.000Z", to: undefined }, withSystem: false },
  ] satisfies Asked[]) {
    const given = Object.entries(addressOf(each)).filter(([, value]) => value !== undefined)
    const query = new URLSearchParams(given.map(([name, value]) => [name, String(value)]))
    assert.deepEqual(askedIn(query), each)
  }
  const linked = askedIn(new URLSearchParams("query=a&lane=security&projectId=system"))
  assert.equal(linked.text, "a lane:security project:system")
  assert.deepEqual(askedIn(new URLSearchParams("range=soon&from=x")).range, { since: "7d" })
})

/** The zone of the reader. */
function inMadrid(check: () => void): void {
  const { TZ } = process.env
  process.env["TZ"] = "Europe/Madrid"
  check()
  if (TZ === undefined) delete process.env["TZ"]
  else process.env["TZ"] = TZ
}

test("a typed time without a zone is in that of the page", () => {
  inMadrid(() => {
    for (const [text, local, utc] of [
      ["2026-11-12T10:00", "2026-11-12T09:00:00.000Z", "2026-11-12T10:00:00.000Z"],
      ["2026-11-12T10:00:30.5", "2026-11-12T09:00:30.500Z", "2026-11-12T10:00:30.500Z"],
      ["2026-11-12T10:00+02:00", "2026-11-12T08:00:00.000Z", "2026-11-12T08:00:00.000Z"],
      ["2026-11-12T10:00z", "2026-11-12T10:00:00.000Z", "2026-11-12T10:00:00.000Z"],
    ] as const) {
      for (const [inUtc, from] of [
        [false, local],
        [true, utc],
      ] as const)
        assert.deepEqual(liftTimes(asked(`since:${text}`), inUtc).range, { from, to: undefined })
    }
  })
})

test("a typed day is one of the page's zone, and one of 25 hours is whole", () => {
  inMadrid(() => {
    const day = asked("time:2026-10-25")
    assert.deepEqual(liftTimes(day, false).range, {
      from: "2026-10-24T22:00:00.000Z",
      to: "2026-10-25T23:00:00.000Z",
    })
    assert.deepEqual(liftTimes(day, true).range, {
      from: "2026-10-25T00:00:00.000Z",
      to: "2026-10-26T00:00:00.000Z",
    })
  })
})
