import assert from "node:assert/strict"
import test from "node:test"
import { hiddenCharacters } from "./hidden-characters.ts"

const textOf = (text: string): string =>
  hiddenCharacters(text)
    .map((part) => part.text)
    .join("")

test("what is not seen, or turns the line round, is shown by its number", () => {
  for (const [text, shown] of [
    ["", ""],
    ["plain, ä, 日本, 👍", "plain, ä, 日本, 👍"],
    ["invoice\u202Efdp.exe", "invoice⟨U+202E⟩fdp.exe"],
    ["a\u200Bb\u2066c\u2069", "a⟨U+200B⟩b⟨U+2066⟩c⟨U+2069⟩"],
    ["\u0000\u001b[2J\n", "⟨U+0000⟩⟨U+001B⟩[2J⟨U+000A⟩"],
    ["\u{E0041}", "⟨U+E0041⟩"],
    ["<b>&amp;", "<b>&amp;"],
  ] as const)
    assert.equal(textOf(text), shown)
})

test("nothing of a text is lost, and only numbers are marked", () => {
  const parts = hiddenCharacters("a\u202Eb\u202E")
  assert.deepEqual(
    parts.map(({ isHidden }) => isHidden),
    [false, true, false, true],
  )
})
