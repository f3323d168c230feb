// One entry of the explorer: proven in the browser, shared, marked; and the history of one thing.

import assert from "node:assert/strict"
import { writeEvent, writeMany } from "../service.ts"
import {
  alterAnswers,
  expectAccessible,
  expectFits,
  expectNarrow,
  storedSecret,
} from "./browser.ts"
import {
  recomputed,
  scene,
  service,
  test,
  untilSigned,
  viewer,
  workspace,
  writeInvoices,
} from "./scene.ts"

scene(async () => {
  await writeInvoices(60)
  await untilSigned()
})

test("entry: it is opened and left by keyboard, and proven here", async (open) => {
  const page = await open("events?query=invoice", viewer)
  await recomputed(page, /All 60/)
  await page.keyboard.press("j")
  await page.keyboard.press("j")
  await page.keyboard.press("Enter")
  const drawer = page.getByRole("complementary", { name: "Entry" })
  await drawer.getByText("Verified").waitFor()
  const sequence = Number(/events\/(\d+)/.exec(page.url())?.[1])
  await drawer.getByRole("link", { name: `#${sequence - 1}` }).waitFor()
  await drawer.locator(".join .intact").waitFor()
  assert.equal(await drawer.locator("del").textContent(), "free")
  assert.equal(await drawer.locator("ins").textContent(), "paid")
  await expectAccessible(page)
  await page.keyboard.press("]")
  await page.waitForURL((url) => url.pathname.endsWith(`/${sequence - 1}`))
  await drawer.getByText(`#${sequence - 1}, on disk`).waitFor()
  assert.equal(await page.title(), `Events · ${sequence - 1} · ${workspace.id} · Tallystick`)
  await drawer.getByText(/Canonical bytes/).click()
  await drawer.locator("pre").getByText('"action":').waitFor()
  await page.keyboard.press("Escape")
  await drawer.waitFor({ state: "detached" })
  assert.equal(
    await page.evaluate("document.activeElement.closest('tr')?.dataset.sequence"),
    String(sequence - 1),
    "the keyboard returns to the row",
  )
  assert.equal(await page.title(), `Events · ${workspace.id} · Tallystick`)
  const receipt = (await viewer.get(`${workspace.path}/events?limit=1&cursor=${sequence}`)).json<{
    events: { receipt: string; id: string; sequence: number }[]
  }>().events[0]
  assert.ok(receipt !== undefined)
  for (const name of [receipt.receipt, receipt.id]) {
    await page.keyboard.press("/")
    await page.keyboard.type(name)
    await page.keyboard.press("Enter")
    await drawer.getByText(`#${receipt.sequence}, on disk`).waitFor()
    await page.waitForURL((url) => url.pathname.endsWith(`/${receipt.sequence}`))
    await page.getByRole("button", { name: "Close" }).click()
  }
})

test("entry: a row that was altered on its way is marked as broken, and the others verify", async (open) => {
  const page = await open("about:blank", viewer)
  await alterAnswers(page, "**/v1/**/events?**", (text) =>
    text.replace('"action":"auth.password.changed"', '"action":"auth.password.kept"'),
  )
  await page.goto(`${service.url}/ui/events`)
  await recomputed(page, "1 of 60 rows on this page is broken")
  assert.equal(await page.locator("tr .notch.broken").count(), 1)
  await page.locator("tr.broken a").click()
  const drawer = page.getByRole("complementary", { name: "Entry" })
  await drawer.getByText("this is not what").waitFor()
  await expectAccessible(page)
  await page.unrouteAll({ behavior: "wait" })
})

test("entry: a link that was altered on its way cracks the stick", async (open) => {
  const page = await open("about:blank", viewer)
  await alterAnswers(page, "**/v1/**/events?**", (text) => {
    const page = JSON.parse(text) as { events: { previousHash: string }[] }
    const third = page.events[2]
    if (third !== undefined) third.previousHash = "c44e".repeat(16)
    return JSON.stringify(page)
  })
  await page.goto(`${service.url}/ui/events`)
  await page.getByText("Link broken.").waitFor()
  await page.getByText(/says the entry before it is c44e; #\d+ hashes to/).waitFor()
  assert.ok((await page.locator("tr.shifted").count()) > 5, "what lies below does not line up")
  await expectAccessible(page)
  await page.unrouteAll({ behavior: "wait" })
})

test("entry: a link for others, marks for a pack, and a search from here", async (open) => {
  const page = await open("events", viewer)
  await recomputed(page, /All 60/)
  await page.locator("tr[data-sequence] a").first().focus()
  await page.keyboard.press("x")
  await page.keyboard.press("j")
  await page.keyboard.press("x")
  await page.locator(".marks").getByText("2 marked for a pack").waitFor()
  await page.keyboard.press("c")
  await page.locator(".confirmed").getByText("The receipt id is copied").waitFor()
  await page.keyboard.press("Enter")
  const drawer = page.getByRole("complementary", { name: "Entry" })
  await drawer.getByRole("button", { name: "Unmark" }).waitFor()
  await drawer.getByRole("button", { name: "Share it…" }).click()
  await page.getByRole("button", { name: "Make the link" }).click()
  const link = await storedSecret(page)
  assert.match(link, /\/r\/[^/]+\/rcp_\w+#t=tsr_/)
  await drawer.getByRole("button", { name: "Search without action:" }).click()
  await page.waitForURL((url) => url.searchParams.get("query")?.startsWith("-action:") === true)
  await recomputed(page, /All \d+ rows/)
  await drawer.getByText("Verified").waitFor()
  await page.getByRole("link", { name: "Make evidence pack" }).click()
  await page.getByText("2 marked entries").waitFor()
  await page.goto(link)
  await page.getByRole("heading", { name: /Consistent|genuine/ }).waitFor()
})

test("entry: any value of a row or of the drawer is searched for, or left out", async (open) => {
  const page = await open("events", viewer)
  await recomputed(page, /All 60/)
  const queryIs = (query: string) =>
    page.waitForURL((url) => url.searchParams.get("query") === query)
  const rows = page.locator("tr[data-sequence]")
  assert.equal(await page.locator("td .terms").count(), 0, "no row has buttons before it is met")
  await rows.nth(3).hover()
  await page.getByRole("button", { name: "Search actor:usr_1", exact: true }).click()
  await queryIs("actor:usr_1")
  await recomputed(page, /All 30/)
  // By keyboard: the row, then its values.
  await page.keyboard.press("j")
  await page.keyboard.press("Tab")
  await page
    .getByRole("button", { name: "Search actor:usr_1" })
    .and(page.locator(":focus"))
    .waitFor()
  await page.keyboard.press("Tab")
  await page.keyboard.press("Tab")
  await page.keyboard.press("Tab")
  const without = page.getByRole("button", { name: /^Search without action:/ })
  await without.and(page.locator(":focus")).waitFor()
  await expectAccessible(page)
  await page.keyboard.press("Enter")
  await page.waitForURL((url) =>
    (url.searchParams.get("query") ?? "").startsWith("actor:usr_1 -action:"),
  )
  await recomputed(page, /All (?:6|24) rows/)
  await page.locator("tr[data-sequence] a:focus").waitFor()
  await page.keyboard.press("Enter")
  const drawer = page.getByRole("complementary", { name: "Entry" })
  await drawer.getByText("Verified").waitFor()
  await expectAccessible(page)
  await drawer.locator(".now").hover()
  await drawer.getByRole("button", { name: "Search metadata.after.plan:paid" }).click()
  await recomputed(page, /All (?:6|24) rows/)
  await drawer.getByText("Provenance").click()
  await drawer.getByRole("button", { name: /^Search without key:/ }).click()
  await page.getByRole("heading", { name: "Nothing matches" }).waitFor()
})

test("entry: the bar of marks does not cover what is reached in the drawer", async (open) => {
  for (const width of [1440, 1000, 390]) {
    const page = await open("events", viewer, { viewport: { width, height: 700 } })
    await recomputed(page, /All 60/)
    await page.locator("tr[data-sequence] a").first().click()
    const button = page.locator("#entry-mark")
    await button.waitFor()
    // At the lower edge of the window, where the bar comes to lie.
    await page.evaluate("document.querySelector('#entry-mark').scrollIntoView({ block: 'end' })")
    await button.focus()
    await page.keyboard.press("Enter")
    const bar = page.locator(".marks")
    await bar.waitFor()
    const barTop = (await bar.boundingBox())?.y ?? 0
    for (const each of [button, page.locator("#canonical > summary")]) {
      await each.focus()
      const box = await each.boundingBox()
      assert.ok(box !== null && box.y + box.height <= barTop, `${box?.y} to ${barTop} at ${width}`)
    }
    await bar.getByRole("link", { name: "Make evidence pack" }).click({ trial: true })
    await bar.getByRole("button", { name: "Clear" }).click()
  }
})

test("thing: everything that it did and that others did to it", async (open) => {
  const page = await open("events", viewer)
  await recomputed(page, /All 60/)
  await page.locator("tr[data-sequence]").first().click()
  const drawer = page.getByRole("complementary", { name: "Entry" })
  await drawer.getByTitle("Its history").first().click()
  await page.waitForURL(/\/ui\/things\/service\/ci-deployer/)
  await recomputed(page, "All 30 rows on this page recomputed")
  await page.getByRole("link", { name: "What was done to it" }).click()
  await page.getByRole("heading", { name: "Nothing recorded" }).waitFor()
  await page.getByRole("link", { name: "What it did" }).click()
  await recomputed(page, /All 30/)
  await expectAccessible(page)
  await page.locator("tr[data-sequence]").nth(2).click()
  await drawer.getByText("Verified").waitFor()
  await page.goto(`${service.url}/ui/things/user/usr_1`)
  await page.getByRole("heading", { name: "⟨U+202E⟩<b>Ada</b>" }).waitFor()
  await recomputed(page, /All 30/)
  await page.setViewportSize({ width: 640, height: 900 })
  await expectFits(page)
  await expectNarrow(page)
})

test("thing: an id of dots does not lead to another page", async (open) => {
  const things = [
    { id: "..", type: "..", name: "Parent" },
    { id: ".", type: ".", name: "Own" },
    { id: "~.", type: "~.", name: "Signed" },
  ]
  await writeMany(workspace, things.length, {
    changes: (place) => ({
      action: "dots.seen",
      actor: { id: "dotter", type: "service" },
      target: things[place],
      occurredAt: new Date().toISOString(),
    }),
  })
  const page = await open("events?query=action:dots.seen", viewer)
  await recomputed(page, /All 3/)
  for (const { id, name } of things) {
    await page.locator("tr[data-sequence]").filter({ hasText: name }).locator("a").click()
    const drawer = page.getByRole("complementary", { name: "Entry" })
    await drawer.getByRole("link", { name }).click()
    await page.getByRole("heading", { name }).waitFor()
    await page.locator("header code").getByText(`${id} · ${id}`).waitFor()
    await recomputed(page, /The one row/)
    await page.reload()
    await page.getByRole("heading", { name }).waitFor()
    await page.goBack()
    await page.getByRole("button", { name: "Close" }).click()
  }
})

test("entry: of very many fields the first are drawn, and the others when asked for", async (open) => {
  const fields = Array.from({ length: 3000 }, (_, place) => [`field_${place}`, place])
  const { receipt } = await writeEvent(workspace, { metadata: Object.fromEntries(fields) })
  const page = await open(`events/${receipt}`, viewer)
  const rows = page.locator(".metadata tbody tr")
  await page.getByText("3,000 fields").waitFor()
  assert.equal(await rows.count(), 200)
  await page.getByRole("button", { name: "Show 2,800 more fields" }).click()
  assert.equal(await rows.count(), 3000)
})
