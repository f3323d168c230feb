import assert from "node:assert/strict"
import test from "node:test"
import type { Lane } from "../store/documents.ts"
import { laneOf } from "./lane.ts"

// A copy of the table in docs/api.md, "Writing".
const table: Readonly<Record<Exclude<Lane, "operations">, string>> = {
  security:
    "auth login session mfa password access permission role key token secret security user.role",
  data: "data record file document export import report invoice customer payment",
  policy: "policy consent terms privacy retention",
}

test("a built-in prefix of whole segments decides the lane, ignoring case", () => {
  for (const [lane, prefixes] of Object.entries(table)) {
    for (const prefix of prefixes.split(" ")) {
      assert.equal(laneOf(`${prefix}.create`, []), lane)
      assert.equal(laneOf(`${prefix.toUpperCase()}.Create.now`, []), lane)
      assert.equal(laneOf(`${prefix}s.create`, []), "operations", `${prefix}s is another word`)
      assert.equal(laneOf(`x${prefix}.create`, []), "operations")
      assert.equal(laneOf(`billing.${prefix}`, []), "operations", "from the start only")
    }
  }
})

const cases: readonly (readonly [
  action: string,
  rules: readonly (readonly [prefix: string, lane: Lane])[],
  lane: Lane,
])[] = [
  ["billing.invoice.approve", [], "operations"],
  ["user.role.change", [], "security"],
  ["user.roles.change", [], "operations"],
  ["user.create", [], "operations"],
  ["user.role", [], "security"],
  // A workspace's own rules come first, even short ones, and ignore case too.
  ["auth.login", [["auth", "data"]], "data"],
  ["user.role.change", [["user", "policy"]], "policy"],
  ["AUTH.login", [["Auth", "data"]], "data"],
  ["auth.login", [["authx", "data"]], "security"],
  // The longest of them wins, in whatever order they stand.
  [
    "a.b.c.d",
    [
      ["a", "data"],
      ["a.b.c", "policy"],
      ["a.b", "security"],
    ],
    "policy",
  ],
  [
    "a.b.x.d",
    [
      ["a", "data"],
      ["a.b.c", "policy"],
      ["a.b", "security"],
    ],
    "security",
  ],
  [
    "a.bb",
    [
      ["a", "data"],
      ["a.b", "security"],
    ],
    "data",
  ],
  ["auth.login", [["auth", "operations"]], "operations"],
  ["a.b", [["a.b", "data"]], "data"],
  ["a.b", [["a.b.c", "data"]], "operations"],
]
for (const [action, rules, lane] of cases) {
  test(`${action} under ${JSON.stringify(rules)} is ${lane}`, () => {
    assert.equal(
      laneOf(
        action,
        rules.map(([prefix, of]) => ({ prefix, lane: of })),
      ),
      lane,
    )
  })
}

test("each rule is read once, however many segments an action has", () => {
  let reads = 0
  const rule = {
    get prefix() {
      reads += 1
      return "billing"
    },
    lane: "data",
  } as const
  assert.equal(laneOf("a".repeat(100).split("").join("."), [rule]), "operations")
  assert.equal(reads, 1)
})
