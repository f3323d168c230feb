// The verifier, served and saved as one file, in a real browser: genuine, altered and truncated
// evidence of every kind.

import assert from "node:assert/strict"
import { readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { after } from "node:test"
import { pathToFileURL } from "node:url"
import { readZip } from "@tallystick/proof"
import type { Page } from "playwright-core"
import { tallystick, type Ended } from "../program.ts"
import { eventFor, eventually, settingsOf, writeMany } from "../service.ts"
import {
  expectAccessible,
  expectNarrow,
  savedBy,
  tabTo,
  temporaryFolder,
  watch,
} from "./browser.ts"
import { browser, scene, service, test, workspace } from "./scene.ts"

let folder: Awaited<ReturnType<typeof temporaryFolder>> | undefined
let vkey: string

const inFolder = (name: string): string => join(folder?.path ?? "", name)

scene(async () => {
  folder = await temporaryFolder()
  const { path, reader } = workspace
  const [first] = await writeMany(workspace, 40, { changes: (place) => ({ metadata: { place } }) })
  const written = await workspace.writer.write(
    eventFor(workspace.id, { metadata: { amount: 12.5 } }),
  )
  const { receipt } = written.json<{ receipt: string }>()
  const answer = await eventually("a checkpoint", async () => {
    const { text } = await reader.get(`${path}/receipts/${receipt}`)
    return text.includes('"integrity":"verified"') ? text : undefined
  })
  const made = await reader.post(`${path}/evidence-packs`, { title: "Q3", filter: {} })
  const { packId } = made.json<{ packId: string }>()
  const { bytes: pack } = await reader.get(`${path}/evidence-packs/${packId}/download`)
  const { text: proof } = await reader.get(`${path}/receipts/${first?.receipt}/proof`)
  vkey = (await reader.get(`${path}/tlog/log.vkey`)).text.trim()
  const { text: lines } = await reader.get(`${path}/events/export?include=proof`)
  const altered = Buffer.from(pack)
  altered.write("12.6", altered.indexOf("12.5"))
  await Promise.all([
    writeFile(inFolder("receipt.json"), answer),
    writeFile(inFolder("altered.json"), answer.replaceAll("12.5", "12.6")),
    writeFile(inFolder("truncated.json"), answer.slice(0, -300)),
    writeFile(inFolder("first.tlog-proof"), proof),
    writeFile(inFolder("entries.jsonl"), lines),
    writeFile(inFolder("truncated.jsonl"), lines.slice(0, -300)),
    writeFile(inFolder("pack.zip"), pack),
    writeFile(inFolder("altered.zip"), altered),
    writeFile(inFolder("truncated.zip"), pack.subarray(0, -1)),
    writeFile(inFolder("nothing.txt"), "hello"),
  ])
  const exporting = ["export", workspace.id, inFolder("export")]
  const exported = await tallystick(exporting, settingsOf(service))
  assert.equal(exported.code, 0, exported.errors)
})

after(() => folder?.[Symbol.asyncDispose]())

async function give(page: Page, ...names: readonly string[]): Promise<void> {
  await page
    .locator("input[type=file]")
    .first()
    .setInputFiles(names.map((name) => inFolder(name)))
}

/** What the command says of a file. */
function verify(name: string, ...options: readonly string[]): Promise<Ended> {
  return tallystick(["verify", name, ...options, "--key", vkey], {}, { cwd: inFolder("") })
}

/** The verdict on a file. */
async function said(page: Page, name: string): Promise<string> {
  const place = page.locator(`section.result[aria-label="${name}"]`)
  await place.locator(".verdict").waitFor()
  return String(await place.locator(".verdict").textContent())
}

async function trust(page: Page): Promise<void> {
  await page.getByLabel("Add a key").fill(vkey)
  await page.getByRole("button", { name: "Trust this key", exact: true }).click()
  await page.locator(".keys code bdi").getByText(vkey).waitFor()
}

/** The same evidence, wherever the verifier was opened. */
async function expectVerdicts(page: Page): Promise<void> {
  const names = ["receipt.json", "pack.zip", "entries.jsonl", "first.tlog-proof"]
  await give(page, ...names)
  for (const name of names.slice(0, -1))
    assert.match(await said(page, name), /^Consistent, not confirmed/, name)
  assert.match(await said(page, "first.tlog-proof"), /^Cannot be checked/, "it names no key")
  await trust(page)
  for (const name of names) {
    const place = page.locator(`section.result[aria-label="${name}"]`)
    await place.getByText(/^This (receipt|proof|pack|list) is genuine/).waitFor()
  }

  await give(page, "altered.json", "truncated.json", "altered.zip", "truncated.zip", "nothing.txt")
  await give(page, "truncated.jsonl")
  assert.match(await said(page, "altered.json"), /This receipt is not genuine.*proof\.body/)
  await page.locator('[aria-label="altered.json"] .difference').getByText("Expected").waitFor()
  assert.match(await said(page, "truncated.json"), /^Not readable/)
  assert.match(await said(page, "truncated.jsonl"), /Its last line is missing/)
  assert.match(await said(page, "altered.zip"), /This pack is not genuine/)
  assert.match(await said(page, "truncated.zip"), /This pack is not genuine.*cut short/)
  assert.match(await said(page, "nothing.txt"), /^Not readable.*It is not a receipt/)
}

test("the served verifier finds altered and truncated evidence, with the result of tallystick verify", async (open) => {
  const page = await open("/verify")
  await expectAccessible(page)
  await expectVerdicts(page)
  await expectAccessible(page)

  const saved = await savedBy(
    page.locator('[aria-label="altered.json"]').getByText("Result as JSON"),
  )
  const verified = await verify("altered.json", "--json")
  assert.deepEqual(
    JSON.parse(await readFile(await saved.path(), "utf8")),
    JSON.parse(verified.output),
  )

  await page.locator('[aria-label="altered.json"]').getByText("Remove").click()
  assert.equal(await page.locator('[aria-label="altered.json"]').count(), 0)
})

test("the verifier that a pack carries does the same from a file, its own pack among them, without a network", async () => {
  await using watched = await watch(browser, { offline: true })
  const { page } = watched
  const files = readZip(new Uint8Array(await readFile(inFolder("pack.zip"))))
  await writeFile(inFolder("verify.html"), files?.get("verify.html") ?? assert.fail())
  await page.addInitScript(`{
    const make = URL.createObjectURL
    window.made = 0
    URL.createObjectURL = (blob) => (window.made++, make.call(URL, blob))
  }`)
  await page.goto(pathToFileURL(inFolder("verify.html")).href)
  await expectVerdicts(page)
  assert.equal(await page.evaluate("made"), 1, "every check uses one copy of the program")
  await expectAccessible(page)
  // Its content policy blocks every request.
  const refused = await page.evaluate(
    `fetch(${JSON.stringify(service.url)}).then(() => "asked", () => "refused")`,
  )
  assert.equal(refused, "refused")
  const reports = await page.evaluate("window.reports.splice(0)")
  assert.ok(
    JSON.stringify(reports).includes("connect-src"),
    "the policy refused it, and not the network alone",
  )
})

test("a folder is checked as an export, and one changed byte of it is found", async (open) => {
  const page = await open("/verify")
  await trust(page)
  const giveFolder = () => page.locator("input[webkitdirectory]").setInputFiles(inFolder("export"))
  await giveFolder()
  assert.match(await said(page, "export/"), /This export is genuine.*recomputed here/)
  await page.getByText("Remove export/").click()
  const bodies = inFolder("export/bodies/000.jsonl")
  await writeFile(bodies, (await readFile(bodies, "utf8")).replace("12.5", "12.6"))
  await giveFolder()
  assert.match(
    await said(page, "export/"),
    /This export is not genuine.*Content does not hold, in bodies\/000\.jsonl, entry #\d+/,
  )
})

test("a long check says how far it is, and can be cancelled", async (open) => {
  const page = await open("about:blank")
  // A page of the same entry again and again, each of which is a signature to verify.
  const { entry, proof, disclosures } = JSON.parse(await readFile(inFolder("receipt.json"), "utf8"))
  const events = Array.from({ length: 4000 }, () => ({ ...entry, proof, disclosures }))
  await writeFile(inFolder("long.json"), JSON.stringify({ events }))
  await page.goto(`${service.url}/verify`)
  await give(page, "long.json")
  await page.locator("progress").waitFor()
  await page.getByText(/Checking, .* hashed/).waitFor()
  await tabTo(page, /^Cancel long\.json/)
  await page.keyboard.press("Enter")
  assert.equal(await page.locator("section.result").count(), 0)
})

test("an invalid key is refused beside the field, and a dropped file is accepted", async (open) => {
  const page = await open("/verify")
  await page.getByLabel("Add a key").fill("nonsense")
  await page.keyboard.press("Enter")
  await page.getByText(/This is not the key of a log/).waitFor()
  const content = JSON.stringify(await readFile(inFolder("receipt.json"), "utf8"))
  await page.evaluate(`{
  const dropped = new DataTransfer()
  dropped.items.add(new File([${content}], "dropped.json"))
  document.querySelector(".drop").dispatchEvent(new DragEvent("drop", { dataTransfer: dropped, bubbles: true, cancelable: true }))
}`)
  assert.match(await said(page, "dropped.json"), /^Consistent/)
  for (const summary of await page.locator("summary").all()) await summary.click()
  await expectNarrow(page)
})

test("a folder that cannot be read says so, beside what was dropped with it", async (open) => {
  const page = await open("/verify")
  // As a browser gives a folder that it may not read.
  await page.evaluate(`{
  const reader = { readEntries: (_, fail) => fail(new DOMException("denied", "NotReadableError")) }
  const folder = { isDirectory: true, name: "locked", createReader: () => reader }
  DataTransferItem.prototype.webkitGetAsEntry = function () {
    return this.type === "text/plain" ? folder : null
  }
  const dropped = new DataTransfer()
  dropped.items.add(new File([], "locked", { type: "text/plain" }))
  dropped.items.add(new File(["{}"], "other.json", { type: "application/json" }))
  document.querySelector(".drop").dispatchEvent(new DragEvent("drop", { dataTransfer: dropped, bubbles: true, cancelable: true }))
}`)
  assert.match(await said(page, "other.json"), /^Not readable/)
  assert.match(await said(page, "locked/"), /^Not readable.*could not be read/)
})

test("a file name is shown without invisible characters", async (open) => {
  const page = await open("/verify")
  await page
    .locator("input[type=file]")
    .first()
    .setInputFiles({ name: "\u202Egnp.json", mimeType: "text/plain", buffer: Buffer.from("hello") })
  assert.match(await said(page, "⟨U+202E⟩gnp.json"), /^Not readable/)
  await page.getByRole("button", { name: "Remove ⟨U+202E⟩gnp.json" }).waitFor()
  assert.doesNotMatch(await page.content(), /\u202E/)
})

test("nothing unchecked is called consistent, recorded or genuine", async (open) => {
  const page = await open("about:blank")
  const answer = JSON.parse(await readFile(inFolder("receipt.json"), "utf8"))
  const { proof, ...bare } = answer
  const earlier = { ...bare.entry, sequence: bare.entry.sequence - 1 }
  const changed = JSON.stringify(bare).replaceAll("usr_1", "usr_2")
  const unsealed = { ...answer, proof: { ...proof, tlogProof: null } }
  await page.goto(`${service.url}/verify`)
  await trust(page)
  for (const [name, content, title, word, reason] of [
    ["empty.json", '{"receipt":{},"entry":[]}', "Cannot be checked", "not checked", "no proof"],
    ["bare.json", changed, "Cannot be checked", "not checked", "no proof"],
    [
      "page.json",
      JSON.stringify({ events: [bare.entry, earlier] }),
      "Cannot be checked",
      "not checked",
      "no proof",
    ],
    [
      "unsealed.json",
      JSON.stringify(unsealed),
      "Not yet sealed",
      "not confirmed",
      "no signed checkpoint",
    ],
  ] as const) {
    await writeFile(inFolder(name), content)
    await give(page, name)
    assert.match(await said(page, name), new RegExp(`^${title}`), name)
    const place = page.locator(`section.result[aria-label="${name}"]`)
    await place.locator(".verdict .seal.neutral").waitFor()
    const { code, output } = await verify(name)
    assert.equal(code, 2, name)
    assert.match(output, new RegExp(`: ${word}\n {2}[^\n]*${reason}`), name)
    for (const text of [output, String(await place.textContent())])
      assert.doesNotMatch(text, /consistent|it was recorded|is genuine|: genuine/i, name)
  }
  await expectAccessible(page)
})

test("a receipt and a pack are shown as who did what to whom and when, by names and by their place", async (open) => {
  const page = await open("about:blank")
  const { entry } = JSON.parse(await readFile(inFolder("receipt.json"), "utf8"))
  const number = `#${entry.sequence}`
  await page.goto(`${service.url}/verify`)
  await give(page, "receipt.json", "pack.zip")
  await said(page, "receipt.json")
  const place = page.locator('section.result[aria-label="receipt.json"]')
  const what = await place.locator(".what dd").allTextContents()
  assert.deepEqual(what.slice(0, 3), [
    "usr_1 ada@example.com",
    "billing.invoice.approve",
    "inv_9 Invoice 9",
  ])
  assert.match(String(await place.locator(".clock").textContent()), /client clock differs by \d+ d/)
  const [terms, values] = await Promise.all(
    ["dt", "dd"].map((name) => place.locator(`.facts ${name}`).allTextContents()),
  )
  const shown = Object.fromEntries((terms ?? []).map((term, at) => [term, values?.[at]]))
  assert.match(String(shown["Occurred"]), /31 Jan(?:uary)? 2026/)
  assert.ok(shown["Recorded"] !== undefined)
  assert.deepEqual(
    [shown["Metadata amount"], shown["Entry"], shown["Receipt"], shown["Place in the log"]],
    ["12.5", number, entry.receipt, undefined],
  )

  await said(page, "pack.zip")
  const row = page.locator(".packed tr").filter({ hasText: number })
  const cells = await row.locator("td").allTextContents()
  assert.deepEqual(
    [cells[0], cells[2], cells[4]],
    [number, "usr_1 ada@example.com", "inv_9 Invoice 9"],
  )
  await expectAccessible(page)
  await expectNarrow(page)
})
