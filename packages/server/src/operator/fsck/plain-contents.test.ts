import assert from "node:assert/strict"
import test from "node:test"
import {
  bodyHash,
  canonicalize,
  digest,
  disclosure,
  parseCanonical,
  type Json,
} from "@tallystick/proof"
import { storedBy } from "../../ledger/test-entries.ts"
import { checkContents } from "../../store/check-entry.ts"
import type { Stored } from "../../store/entries.ts"
import { PlainContents } from "./plain-contents.ts"
import { createChance, seedOf, type Chance } from "../../../../../test/chance.ts"

const salt = new Uint8Array(16).fill(7)

/** An entry with this body, in which `_sd` lists the digests of what is sealed beside it. */
function entryOf(body: Record<string, Json>, disclosures: readonly string[] = []): Stored {
  const whole = { v: 1, workspaceId: "acme", projectId: "core", receipt: "rcp_1", ...body }
  return withText(canonicalize(whole), disclosures)
}

function withText(text: string, disclosures: readonly string[] = []): Stored {
  const body = Buffer.from(text)
  return {
    workspace: "acme",
    sequence: 1,
    record: bodyHash(salt, body),
    receipt: "rcp_1",
    idem: undefined,
    bodySalt: salt,
    body,
    disclosures: disclosures.join("~"),
  }
}

function assertAgree(entry: Stored, what: string): boolean {
  const isGood = new PlainContents().areGood(entry)
  if (isGood) {
    const checked = checkContents(entry)
    if (typeof checked !== "object") assert.fail(`${what}: ${checked}`)
    assert.notEqual(checked["projectId"], "system")
  }
  return isGood
}

test("nothing is good that checkContents finds fault with, and ordinary entries are", (t) => {
  const chance = createChance(seedOf(t))
  let good = 0
  for (let at = 1; at <= 4_000; at++) {
    const entry = storedBy(chance, at)
    if (assertAgree(entry, `entry ${at}`)) good++
    for (let time = 0; time < 5; time++)
      assertAgree(changedBy(chance, entry), `entry ${at}, change ${time}`)
  }
  assert.ok(good > 300, `${good} of 4000 were read at all`)
})

/** The entry with a byte of its body, or of what is sealed, changed, left out or put in. */
function changedBy(chance: Chance, entry: Stored): Stored {
  const { body, disclosures } = entry
  const bytes = Array.from('"{}[],:0129.-eE\\_ AZaz~sdtrue\n\u0000é')
  const change = (text: string): string => {
    const characters = Array.from(text)
    const [from, count] = [chance.below(characters.length + 1), chance.below(2)]
    characters.splice(from, count, ...(chance.below(3) === 0 ? [] : [chance.pick(bytes)]))
    return characters.join("")
  }
  if (body === undefined) return entry
  const isBody = disclosures === "" || chance.below(2) === 0
  if (isBody) return { ...entry, body: Buffer.from(change(Buffer.from(body).toString())) }
  const parts = disclosures.split("~")
  const picked = chance.below(parts.length)
  const part = parts[picked] ?? ""
  const sealed = Buffer.from(change(Buffer.from(part, "base64url").toString()))
  parts[picked] = chance.below(2) === 0 ? sealed.toString("base64url") : change(part)
  // A body that lists the changed text's digest, so that its form alone is at fault.
  const fits = Buffer.from(body).toString().replace(digest(part), digest(parts[picked]))
  const value = parseCanonical(fits)
  const refitted = value === undefined ? fits : canonicalize(value)
  return { ...entry, body: Buffer.from(refitted), disclosures: parts.join("~") }
}

const hidden = disclosure(salt, "email", "ada@example.com")
const cases: readonly (readonly [string, Stored, boolean])[] = [
  ["a plain body", entryOf({ action: "a.b", metadata: { a: [1, -2.5, 1e21, true, null] } }), true],
  ["what is sealed", entryOf({ actor: { _sd: [digest(hidden)] } }, [hidden]), true],
  ["text that is not ASCII", entryOf({ action: "Grüße 漢字 😀" }), true],
  ["bytes that are no text", damaged(entryOf({ action: "Grüße" })), false],
  ["another version", entryOf({ v: 2 }), false],
  ["another workspace", entryOf({ workspaceId: "other" }), false],
  ["another receipt", entryOf({ receipt: "rcp_2" }), false],
  ["a key that it is not filed under", entryOf({ idem: "key" }), false],
  ["a key that it does not say", { ...entryOf({}), idem: "key" }, false],
  ["an act of the service", entryOf({ projectId: "system" }), false],
  ["white space", withText('{"v": 1}'), false],
  ["members out of order", withText(reordered(entryOf({ action: "a", actor: "b" }))), false],
  ["a member twice", withText(doubled(entryOf({ action: "a" }))), false],
  ...["-0", "01", "1.0", "1e2", "1E21", "+1", ".5", "0x1", "Infinity", "NaN", "", "nul"].map(
    (text): readonly [string, Stored, boolean] => [
      `the number ${text}`,
      withText(textOf(entryOf({ metadata: { a: 7 } })).replace(":7", `:${text}`)),
      false,
    ],
  ),
  ["what is sealed and gone", entryOf({ actor: { _sd: [digest(hidden)] } }), false],
  ["what is sealed for another", entryOf({ actor: { _sd: [digest("x")] } }, [hidden]), false],
  ["what is sealed nowhere", entryOf({}, [hidden]), false],
  [
    "a digest twice",
    entryOf({ actor: { _sd: [digest(hidden), digest(hidden)] } }, [hidden]),
    false,
  ],
  [
    "a disclosure twice",
    entryOf({ actor: { _sd: [digest(hidden), digest("x")] } }, [hidden, hidden]),
    false,
  ],
  [
    "a sealed member that stands in clear as well",
    entryOf({ actor: { _sd: [digest(hidden)], email: "eve@example.com" } }, [hidden]),
    false,
  ],
  ["no digests", entryOf({ actor: { _sd: [] } }), false],
  ["digests in an array", entryOf({ actor: [{ _sd: [digest(hidden)] }] }, [hidden]), false],
  ["another hash", entryOf({ _sd_alg: "sha-512" }), false],
  ["a reserved name", entryOf({ metadata: { "...": 1 } }), false],
  ...["other", "context"].map((name): readonly [string, Stored, boolean] => {
    const sealed = disclosure(salt, name, name === "other" ? "a" : { ip: 1 })
    const owner = name === "other" ? { actor: { _sd: [digest(sealed)] } } : {}
    const body = name === "other" ? owner : { _sd: [digest(sealed)] }
    return [`a sealed ${name} of another form`, entryOf(body, [sealed]), false]
  }),
]

for (const [what, entry, isGood] of cases)
  test(`${isGood ? "good" : "left to checkContents"}: ${what}`, () => {
    assert.equal(assertAgree(entry, what), isGood)
  })

function textOf({ body }: Stored): string {
  return Buffer.from(body ?? []).toString()
}

function damaged(entry: Stored): Stored {
  const bytes = Buffer.from(textOf(entry), "latin1")
  return { ...entry, body: Buffer.from(bytes.toString("latin1").replaceAll("Ã", "\xff"), "latin1") }
}

function reordered(entry: Stored): string {
  return textOf(entry).replace('"action":"a","actor":"b"', '"actor":"b","action":"a"')
}

function doubled(entry: Stored): string {
  return textOf(entry).replace('"action":"a"', '"action":"a","action":"a"')
}
