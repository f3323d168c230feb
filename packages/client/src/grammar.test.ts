import assert from "node:assert/strict"
import test from "node:test"
import { parseQuery, queryBytesMax, queryTermsMax, wordsOf, type Term } from "./grammar.ts"
import { createChance, seedOf } from "../../../test/chance.ts"

const text = (words: string, more: Partial<Term> = {}): Term =>
  ({ kind: "text", not: false, words: words.split(" "), isPrefix: true, ...more }) as Term
const field = (name: string, value: string, more: Partial<Term> = {}): Term =>
  ({ kind: "field", not: false, field: name, value, isPrefix: false, ...more }) as Term

const understood: readonly (readonly [search: string, ...terms: Term[]])[] = [
  [""],
  ["approve", text("approve")],
  ["  Approve \t invoice ", text("approve"), text("invoice")],
  ["appr*", text("appr")],
  ["inv_42", text("inv 42")],
  ["ada@example.com", text("ada example com")],
  ['"Invoice 42"', text("invoice 42", { isPrefix: false })],
  ['"invoice 4"*', text("invoice 4")],
  ['-"a b" -c', text("a b", { not: true, isPrefix: false }), text("c", { not: true })],
  ["actor:usr_1", field("actor", "usr_1")],
  ["-action:billing.*", field("action", "billing.", { not: true, isPrefix: true })],
  ['target:"Invoice 42"', field("target", "Invoice 42")],
  [
    'name:"Invoice 4"* lane:security',
    field("name", "Invoice 4", { isPrefix: true }),
    field("lane", "security"),
  ],
  ["metadata.order.id:A-7", field("metadata.order.id", "A-7")],
  ["actor:*", field("actor", "", { isPrefix: true })],
  ['actor:""', field("actor", "")],
  // An unknown field is text, and so is a term that only looks like a field.
  ["colour:red", text("colour red")],
  ["Actor:x", text("actor x")],
  ["actor:", text("actor")],
  ["metadata.:x", text("metadata x")],
  ["12:30", text("12 30")],
  // Every text is a valid search.
  ['"an open end', text("an open end", { isPrefix: false })],
  ["a*b", text("a b")],
  ["a**", text("a")],
  ["--x", text("x", { not: true })],
  ['say"what', text("say"), text("what", { isPrefix: false })],
  ['* - -- ! "" "?!" **'],
]

test("a search parses into its terms", () => {
  for (const [search, ...terms] of understood)
    assert.deepEqual(parseQuery(search), { query: { terms } }, search)
})

test("words are runs of letters and digits with their marks, in lower case", () => {
  assert.deepEqual(wordsOf("Invoice-42, ÉTÉ_x"), ["invoice", "42", "été", "x"])
  assert.deepEqual(wordsOf("Cafe\u0301 नमस्ते Ωμέγα 東京1"), ["cafe\u0301", "नमस्ते", "ωμέγα", "東京1"])
  assert.deepEqual(wordsOf(" \u0301!? "), [])
  assert.deepEqual(
    wordsOf(wordsOf("İstanbul").join(" ")),
    wordsOf("İstanbul"),
    "a word is one word, however often it is read",
  )
})

test("a search with too many bytes or terms is refused, with the limit", () => {
  const atMost = "é".repeat(queryBytesMax / 2)
  assert.ok("query" in parseQuery(atMost))
  assert.deepEqual(parseQuery(`${atMost}!`), { problem: "must have at most 512 bytes, it has 513" })
  assert.ok("query" in parseQuery("a ".repeat(queryTermsMax)))
  assert.ok("query" in parseQuery("a - ** ".repeat(queryTermsMax)), "what says nothing is no term")
  assert.deepEqual(parseQuery("a ".repeat(queryTermsMax + 1)), {
    problem: "must have at most 16 terms, it has 17",
  })
})

test("every text parses as a search, and every term has something to find", (t) => {
  const chance = createChance(seedOf(t))
  const pieces = [
    '"',
    "*",
    "-",
    ":",
    " ",
    "\t",
    "actor",
    "metadata.",
    "email:",
    "a",
    "É",
    "9",
    "_",
    "\u0301",
    "…",
    "😀",
    "(",
    "\\",
    "^",
  ]
  for (let round = 0; round < 20_000; round++) {
    const search = Array.from({ length: chance.below(30) }, () => chance.pick(pieces)).join("")
    const parsed = parseQuery(search)
    if ("problem" in parsed) continue
    for (const term of parsed.query.terms) {
      const holds =
        term.kind === "field" ||
        (term.words.length > 0 && term.words.every((word) => wordsOf(word).join(" ") === word))
      assert.ok(holds, JSON.stringify(search))
    }
  }
})
