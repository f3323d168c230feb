// The page of a receipt, in a real browser: with the service's answer, with an altered one, and
// without one.

import assert from "node:assert/strict"
import { readFile } from "node:fs/promises"
import type { Page } from "playwright-core"
import { eventFor, eventually } from "../service.ts"
import {
  alterAnswers,
  expectAccessible,
  expectFits,
  expectNarrow,
  savedBy,
  tabTo,
} from "./browser.ts"
import { browser, nobody, scene, service, test, workspace } from "./scene.ts"

const hostile = "\u202Egnp.exe\u200B<img src=x onerror=alert(1)>"

let receipt: { readonly receipt: string; readonly eventHash: string }

scene(async () => {
  await service.root.patch(`${workspace.path}/projects/core`, { receipts: "public" })
  await workspace.writer.write(eventFor(workspace.id))
  const written = await workspace.writer.write(
    eventFor(workspace.id, {
      action: "auth.password.changed",
      target: { id: hostile, type: "user", name: "Bob" },
      metadata: { amount: 12.5 },
    }),
  )
  receipt = written.json()
  await sealed(receipt.receipt)
})

async function sealed(id: string): Promise<void> {
  await eventually("a checkpoint", async () =>
    (await workspace.reader.get(`${workspace.path}/receipts/${id}`)).text.includes(
      '"integrity":"verified"',
    ),
  )
}

const pageOf = (id: string): string => `${service.url}/r/${workspace.id}/${id}`
const title = (page: Page) => page.locator("main h1")
const check = (page: Page, name: string) =>
  page.locator(".checks > li").filter({ has: page.locator("b", { hasText: name }) })

test("verificationUrl leads a browser to the page: consistent, then genuine with a trusted key, by keyboard alone", async (open) => {
  const page = await open(`${workspace.path}/receipts/${receipt.receipt}`)
  assert.equal(page.url(), pageOf(receipt.receipt))
  await title(page).getByText("Consistent, key not confirmed").waitFor()
  for (const name of ["Content", "Link", "Inclusion", "Signature"])
    await check(page, name).locator(".intact").waitFor()
  await check(page, "Key").locator(".attention").waitFor()
  await expectAccessible(page)

  await tabTo(page, /how to pin/)
  await page.keyboard.press("Enter")
  const vkey = (await workspace.reader.get(`${workspace.path}/tlog/log.vkey`)).text.trim()
  await page.locator("#key-panel").getByText(vkey).waitFor()
  await expectAccessible(page)
  await tabTo(page, /trust this key/)
  await page.keyboard.press("Enter")
  await title(page).getByText("This receipt is genuine").and(page.locator(":focus")).waitFor()
  assert.match(await page.title(), /^This receipt is genuine/)
  assert.equal(await page.locator("[role=status]").first().textContent(), "This receipt is genuine")
  await expectAccessible(page)

  await page.reload()
  await title(page).getByText("This receipt is genuine").waitFor()
  await page.getByText("unpin").click()
  await title(page).getByText("Consistent, key not confirmed").waitFor()
})

test("data is shown as text only, and an invisible character by its number", async (open) => {
  const page = await open(pageOf(receipt.receipt))
  const shown = page.locator(".what dd").nth(2)
  await shown.getByText("⟨U+202E⟩").waitFor()
  assert.equal(
    (await shown.textContent())?.includes("⟨U+202E⟩gnp.exe⟨U+200B⟩<img src=x onerror=alert(1)>"),
    true,
  )
  assert.equal(await page.locator("img").count(), 0)
  assert.doesNotMatch(String(await page.locator("main").textContent()), /[\u202E\u200B]/)
})

test("a receipt that was altered on its way is not genuine, and the page says where", async (open) => {
  const cases = [
    [
      (text: string) => text.replace("12.5", "12.6"),
      /What is shown is not what was hashed/,
      ["12.5", "12.6"],
    ],
    [
      (text: string) => text.replace('\\"amount\\":12.5', '\\"amount\\":12.6'),
      /The content is not what the record commits to/,
      [],
    ],
    [
      (text: string) => text.replace(/(index \d+\\n)./, "$1_"),
      /does not hold|not have the form of a ledger's answer/,
      [],
    ],
    [
      (text: string) => text.replace('"verified":true', '"verified":false'),
      /The server's own statement differs/,
      [],
    ],
    [(text: string) => text.slice(0, -200), /not have the form of a ledger's answer/, []],
  ] as const
  const page = await open("about:blank")
  for (const [change, sentence, values] of cases) {
    await page.unroute("**/v1/**")
    await alterAnswers(page, "**/v1/**", (text) => {
      const altered = change(text)
      assert.notEqual(altered, text, "the answer was altered")
      return altered
    })
    await page.goto(pageOf(receipt.receipt))
    await title(page).getByText("Not genuine").waitFor()
    assert.match(String(await page.locator(".verdict p").textContent()), sentence)
    for (const value of values) await page.locator(".difference").getByText(value).waitFor()
    // Checks after a failed one were not made, and are not shown as passed.
    assert.equal(await check(page, "Key").locator(".undone").count(), 1)
  }
  await expectAccessible(page)
})

test("a receipt and its proof are saved as the service sent them, and tallystick verify accepts them", async (open) => {
  const page = await open(pageOf(receipt.receipt))
  const saved = await savedBy(page.getByText("Receipt and proof"))
  assert.equal(saved.suggestedFilename(), `${receipt.receipt}.json`)
  const text = await readFile(await saved.path(), "utf8")
  const given = await service.client().get(`${workspace.path}/receipts/${receipt.receipt}`)
  assert.equal(text, given.text)
  await page.getByText("Copy as curl").click()
  await page.getByRole("button", { name: "Copied" }).waitFor()
})

test("private and unknown receipts have the same page, and a link's token opens a private one and leaves the address", async (open) => {
  const written = await workspace.writer.write(eventFor(workspace.id, { projectId: "private" }))
  const { receipt: hidden } = written.json<{ receipt: string }>()
  const page = await open("about:blank", nobody, { refused: [401] })
  const texts: unknown[] = []
  const unknown = hidden.replace(/.$/, hidden.endsWith("0") ? "1" : "0")
  for (const id of [hidden, unknown, "nonsense"]) {
    await page.goto(pageOf(id))
    await title(page).getByText("Nothing to show").waitFor()
    texts.push(await page.locator("main").textContent())
  }
  assert.equal(new Set(texts).size, 1)
  await expectAccessible(page)

  await sealed(hidden)
  const made = await workspace.reader.post(`${workspace.path}/receipts/${hidden}/token`, {})
  const { verificationUrl, tokenId } = made.json<{ verificationUrl: string; tokenId: string }>()
  await page.goto(verificationUrl)
  await title(page).getByText("Consistent").waitFor()
  assert.equal(page.url(), pageOf(hidden))
  await page.locator(".what").getByText("ada@example.com").waitFor()
  await page.reload()
  await page.locator(".what").getByText("ada@example.com").waitFor()

  await service.root.delete(`${workspace.path}/tokens/${tokenId}`)
  await page.reload()
  await title(page).getByText("This link was withdrawn").waitFor()
})

test("a receipt that no checkpoint covers yet waits for one by itself", async (open) => {
  const page = await open("about:blank")
  let answers = 0
  await alterAnswers(page, "**/v1/**", (text) =>
    answers++ === 0 ? text.replace(/"tlogProof":"[^"]*"/, '"tlogProof":null') : text,
  )
  await page.goto(pageOf(receipt.receipt))
  await title(page).getByText("Recorded, not yet sealed").waitFor()
  await title(page).getByText("Consistent, key not confirmed").waitFor()
  assert.equal(answers, 2)
})

test("an entry that no checkpoint covers after a minute is promised none, as in a former epoch", async (open) => {
  const page = await open("about:blank")
  await alterAnswers(page, "**/v1/**", (text) =>
    text.replace(/"tlogProof":"[^"]*"/, '"tlogProof":null'),
  )
  await page.clock.setFixedTime(Date.now() + 120_000)
  await page.goto(pageOf(receipt.receipt))
  await title(page).getByText("Recorded, not sealed").waitFor()
  await page.getByText("No signed checkpoint covers it", { exact: false }).first().waitFor()
  const text = String(await page.locator("main").textContent())
  assert.doesNotMatch(text, /in a moment|within a second|yet/)
  await expectAccessible(page)
})

test("without an answer the page gives a reason and a way to try again", async (open) => {
  const page = await open("about:blank", nobody, { refused: [503] })
  await page.route("**/v1/**", (route) =>
    route.fulfill({
      status: 503,
      contentType: "application/json",
      headers: { "x-request-id": "req-1" },
      body: '{"error":"overloaded","detail":"too many reads wait"}',
    }),
  )
  await page.goto(pageOf(receipt.receipt))
  await title(page).getByText("This did not work").waitFor()
  await page.locator("main").getByText("Too many reads wait.").waitFor()
  await page.locator("main").getByText("req-1").waitFor()
  await expectAccessible(page)
  await page.unroute("**/v1/**")
  await page.getByText("Try again").click()
  await title(page).getByText("Consistent, key not confirmed").waitFor()
})

test("without scripts the page shows what the server states, and how to check it", async () => {
  const context = await browser.newContext({ javaScriptEnabled: false })
  const page = await context.newPage()
  await page.goto(pageOf(receipt.receipt))
  await title(page).getByText("Recorded, as the server states").waitFor()
  const text = String(await page.locator("main").textContent())
  for (const part of [
    "auth.password.changed",
    receipt.eventHash,
    "tallystick verify",
    "⟨U+202E⟩gnp.exe",
  ])
    assert.ok(text.includes(part), part)
  assert.ok(!text.includes("ada@example.com"), "what is sealed stays so")
  await page.goto(pageOf("rcp_unknown"))
  assert.match(String(await page.locator("#page").textContent()), /needs JavaScript/)
  await context.close()
})

test("a page whose script was lost is not blank", async (open) => {
  const page = await open("about:blank", nobody, { refused: ["ERR_FAILED"] })
  await page.route("**/assets/*.js", (route) => route.abort())
  await page.goto(`${service.url}/ui`)
  await page.getByText("If nothing else appears, reload it").waitFor()
  await page.unroute("**/assets/*.js")
})

test("the time of an event is shown beside the time of its record if they differ, also in print", async (open) => {
  const recent = await workspace.writer.write(
    eventFor(workspace.id, { occurredAt: new Date().toISOString() }),
  )
  const page = await open(pageOf(receipt.receipt))
  const note = page.locator(".clock")
  await page.emulateMedia({ media: "print" })
  await note.waitFor()
  assert.match(
    String(await note.textContent()),
    /^Occurred .*31 Jan.*; client clock differs by \d+ d\.$/,
  )
  await page.goto(pageOf(recent.json<{ receipt: string }>().receipt))
  await page.locator(".what").waitFor()
  assert.equal(await note.count(), 0)
})

test("a long name of metadata wraps, and does not widen the page", async (open) => {
  const written = await workspace.writer.write(
    eventFor(workspace.id, { metadata: { ["k".repeat(250)]: "v".repeat(250) } }),
  )
  const page = await open(pageOf(written.json<{ receipt: string }>().receipt))
  await page.getByText("All that was recorded").click()
  await page.getByText(/^Metadata k{250}/).waitFor()
  await expectFits(page)
  await page.setViewportSize({ width: 390, height: 844 })
  await expectFits(page)
})

test("times are in one zone for the whole page, and narrow pages do not scroll sideways", async (open) => {
  const page = await open(pageOf(receipt.receipt))
  await page.locator(".verdict time").getByText("CET").waitFor()
  await page.getByRole("button", { name: /UTC/ }).click()
  await page.locator(".verdict time").getByText("UTC").waitFor()
  for (const text of await page.locator("time").allTextContents()) assert.match(text, /UTC$/)
  for (const summary of await page.locator("summary").all()) await summary.click()
  await expectNarrow(page)
})
