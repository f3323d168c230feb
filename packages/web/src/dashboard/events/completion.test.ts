import assert from "node:assert/strict"
import test from "node:test"
import { queryFields } from "@tallystick/client/grammar"
import type { ListedEntry } from "@tallystick/client/wire"
import { createActorNames } from "./actor-names.ts"
import {
  fieldSuggestions,
  isCounted,
  knownValues,
  typedIn,
  valueSuggestions,
} from "./completion.ts"

test("a word is parsed into a dash, a field and the beginning of a value", () => {
  assert.deepEqual(typedIn("-actor:us"), { minus: "-", field: "actor", value: "us" })
  assert.deepEqual(typedIn('target:"Invoice 4'), { minus: "", field: "target", value: "Invoice 4" })
  assert.deepEqual(typedIn("act"), { minus: "", field: undefined, value: "act" })
})

test("every field of the grammar is suggested", () => {
  const texts = fieldSuggestions(typedIn("")).map(({ text }) => text)
  for (const field of queryFields) assert.ok(texts.includes(`${field}:`), field)
  assert.deepEqual(
    fieldSuggestions(typedIn("-ac")).map(({ text }) => text),
    ["-action:", "-actor:"],
  )
})

test("values that begin with the typed text come before those that contain it, with their counts", () => {
  const values = [
    { value: "ci bot", count: 1200 },
    { value: "usr_1", count: 7 },
    { value: "robot", count: 3 },
  ]
  const shown = (word: string) =>
    valueSuggestions(typedIn(word), values).map(({ text, beside }) => [text, beside])
  assert.deepEqual(shown("-actor:bot"), [
    ['-actor:"ci bot"', "1,200"],
    ["-actor:robot", "3"],
  ])
  assert.deepEqual(shown("actor:US"), [["actor:usr_1", "7"]])
  const names = createActorNames()
  names.learn(
    [{ name: "Nora", email: "n@example.com" }, { email: "noor@example.com" }].map((who, at) => ({
      sequence: 2 - at,
      occurredAt: "",
      entry: { actor: { id: ["usr_9", "USR_1"][at], ...who } } as unknown as ListedEntry, // enough of one
      state: "sealed",
    })),
  )
  const named = (word: string) =>
    valueSuggestions(typedIn(word), values, names).map(({ text, beside }) => [text, beside])
  assert.deepEqual(
    named("actor:noo"),
    [["actor:usr_1", "noor@example.com · 7"]],
    "found by what rows call it",
  )
  assert.deepEqual(named("actor:Nora"), [["actor:usr_9", "Nora"]], "its count is not known")
  assert.deepEqual(named("actor:usr"), [["actor:usr_1", "noor@example.com · 7"]])
  assert.deepEqual(named("target:noo"), [], "names are those of actors")
  assert.deepEqual(
    knownValues(typedIn("lane:s"))?.map(({ text }) => text),
    ["lane:security"],
  )
  assert.equal(knownValues(typedIn("actor:")), undefined)
  assert.deepEqual(
    ["actor", "metadata.order", "receipt", "id", "constructor", "metadata."].map(isCounted),
    [true, true, false, false, false, false],
  )
})
