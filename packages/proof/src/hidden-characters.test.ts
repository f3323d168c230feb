import assert from "node:assert/strict"
import test from "node:test"
import { hiddenCharacters, printable, printableJson } from "./hidden-characters.ts"

test("invisible and bidirectional characters are shown by their numbers", () => {
  for (const [text, shown] of [
    ["", ""],
    ["plain, ä, 日本, 👍", "plain, ä, 日本, 👍"],
    ["invoice\u202Efdp.exe", "invoice⟨U+202E⟩fdp.exe"],
    ["a\u200Bb\u2066c\u2069", "a⟨U+200B⟩b⟨U+2066⟩c⟨U+2069⟩"],
    ["\u0000\u001b[2J\n\u009b", "⟨U+0000⟩⟨U+001B⟩[2J⟨U+000A⟩⟨U+009B⟩"],
    ["\u{E0041}", "⟨U+E0041⟩"],
    ["<b>&amp;", "<b>&amp;"],
  ] as const)
    assert.equal(printable(text), shown)
})

test("ids that differ only in invisible characters do not look alike", () => {
  for (const number of ["3164", "FFA0", "115F", "1160", "17B4", "180B", "034F", "FE0F", "2800"]) {
    const character = String.fromCodePoint(parseInt(number, 16))
    assert.equal(printable(`usr_91${character}`), `usr_91⟨U+${number}⟩`)
  }
  assert.equal(printable("usr_91\u{E0100}"), "usr_91⟨U+E0100⟩")
  assert.equal(printable("\u2764\uFE0F"), "\u2764⟨U+FE0F⟩")
})

test("no part of a text is lost, and only numbers are marked", () => {
  const parts = hiddenCharacters("a\u202Eb\u202E")
  assert.deepEqual(
    parts.map(({ isHidden }) => isHidden),
    [false, true, false, true],
  )
})

test("JSON is printed without hidden characters, with the same value", () => {
  const value = { "\u202e": ["\u001b[2J", "\u009b2J", "\u{E0041}", "\u2028", 'ä 日本 \\ "'] }
  const text = printableJson(value)
  assert.equal(text, printable(text))
  assert.deepEqual(JSON.parse(text), value)
})
