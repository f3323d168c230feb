// <tallystick-activity>, embedded in a page of another origin that allows next to nothing.

import assert from "node:assert/strict"
import { readFileSync } from "node:fs"
import { createServer, type Server } from "node:http"
import { join } from "node:path"
import { after } from "node:test"
import type { Page } from "playwright-core"
import { alterAnswers, expectAccessible, holdAnswer } from "./browser.ts"
import {
  nobody,
  own,
  scene,
  service,
  test,
  untilSigned,
  workspace,
  writeOwnActivity,
} from "./scene.ts"

let product: Server | undefined
let origin: string
/** What the product's own script does. */
let script = ""
/** What its server answers to its page. */
let minted: { readonly token: string } | undefined

scene(async () => {
  await writeOwnActivity()
  await untilSigned()
  const server = createServer(({ url }, response) => {
    if (url === "/activity-token") return void response.end(JSON.stringify(minted))
    if (url === "/example")
      return void response.setHeader("content-type", "text/html").end(example())
    // Its own scripts and those of the service; no style that stands in the page.
    const policy = `default-src 'none'; script-src 'self' ${service.url}; connect-src ${service.url}; style-src 'self'; img-src data:; base-uri 'none'`
    const [type, body] =
      url === "/product.js"
        ? ["text/javascript", script]
        : url === "/product.css"
          ? ["text/css", "tallystick-activity { --paper: rgb(1 2 3); --ink: rgb(250 250 250) }"]
          : ["text/html", frame(url === "/styled")]
    response.writeHead(200, { "content-type": type, "content-security-policy": policy }).end(body)
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const address = server.address()
  product = server
  origin = `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`
})

after(() => product?.close())

function frame(isStyled: boolean): string {
  return `<!doctype html>
<html lang="en"><head><title>Product</title><link rel="icon" href="data:,">
${isStyled ? `<link rel="stylesheet" href="/product.css">` : ""}
<script type="module" src="/product.js"></script>
<script type="module" src="${service.url}/tallystick-activity.js"></script></head>
<body><main><h1>Your account</h1><tallystick-activity workspace="${workspace.id}"></tallystick-activity></main></body></html>`
}

/** Of the package, with the addresses of this test. */
function example(): string {
  const path = join(import.meta.dirname, "../../packages/web/example/index.html")
  return readFileSync(path, "utf8")
    .replace("https://ledger.example.com", service.url)
    .replace('"acme"', `"${workspace.id}"`)
    .replace("<head>", '<head><link rel="icon" href="data:,">')
}

async function tokenOf(subject: string): Promise<{ token: string; tokenId: string }> {
  const reply = await workspace.reader.post(`${workspace.path}/activity/token`, {
    projectId: "core",
    subject,
  })
  assert.equal(reply.status, 201, reply.text)
  return reply.json()
}

/** Sets the property, perhaps before the element's script has loaded. */
const giving = (token: string): string =>
  `document.querySelector("tallystick-activity").token = ${JSON.stringify(token)}`

/** A token lives for a minute at least, so that the tests say it in place of the service. */
const expired = {
  status: 401,
  headers: { "access-control-allow-origin": "*" },
  json: { error: "token_expired", detail: "the token has expired" },
}

const sum = (page: Page) => page.locator("tallystick-activity .sum")

test("in another product: each entry is recomputed, by keyboard, without a change to its content policy", async (open) => {
  script = giving((await tokenOf(own.id)).token)
  const page = await open(origin, nobody, { origin: [origin, service.url] })
  await sum(page).getByText("Every entry below was recomputed").waitFor()
  assert.equal(await page.locator("tallystick-activity .days li").count(), 50)
  await page.getByText("You signed in").first().waitFor()
  await page.getByText("<b>invoice 59</b>").first().waitFor()
  await expectAccessible(page)

  await page.getByRole("searchbox", { name: "Search your activity" }).focus()
  await page.keyboard.press("Tab")
  await page.keyboard.press("Enter")
  const details = page.locator("tallystick-activity .proof:not([hidden])")
  await details.getByText("this is what was recorded").waitFor()
  assert.equal(
    await page.getByRole("button", { expanded: true }).textContent(),
    "Receipt of invoice.document.viewed",
  )
  assert.equal(await details.getByText("Verify it").getAttribute("href"), `${service.url}/verify`)
  await expectAccessible(page)
  await page.getByRole("button", { name: "Show older" }).press("Enter")
  await page.getByText("60 of 60").waitFor()
  await page.getByRole("searchbox").fill("zebra")
  await page.locator(".empty").getByText("Nothing matches “zebra”").waitFor()
  assert.match(String(await page.getByRole("status").textContent()), /^Nothing matches/)
  await page.getByRole("button", { name: "Show everything" }).press("Enter")
  await page.getByText("50 of 60").waitFor()
  await page.setViewportSize({ width: 390, height: 844 })
  assert.equal(await page.evaluate("document.documentElement.scrollWidth"), 390)
  await expectAccessible(page)
})

test("the example of the package shows a person's entries", async (open) => {
  minted = await tokenOf(own.id)
  const page = await open(`${origin}/example`, nobody, { origin: [origin, service.url] })
  await sum(page).getByText("Every entry below was recomputed").waitFor()
  await expectAccessible(page)
})

test("its look, words and language are the product's, and it has its own theme", async (open) => {
  const phrases = ["auth.session.created", "invoice.document.viewed"].map((action) => ({
    action,
    text: "<b>Sagt das Projekt</b>",
  }))
  await service.root.patch(`${workspace.path}/projects/core`, { phrases })
  const { token } = await tokenOf(own.id)
  script = `const activity = document.querySelector("tallystick-activity")
  activity.lang = "no language"
  activity.token = ""
  activity.setAttribute("theme", "dark")
  activity.phrases = {
    intact: "Alle Einträge wurden hier nachgerechnet",
    today: "Heute",
    shown: "{count} von {total}",
    sealed: "Beleg",
    recorded: "Aufgezeichnet",
    actions: { "auth.session.created": ["Du hast dich angemeldet", "Jemand hat sich angemeldet"] },
  }
  ${giving(token)}`
  const page = await open(`${origin}/styled`, nobody, { origin: [origin, service.url] })
  const set = (properties: string) =>
    page.evaluate(`Object.assign(document.querySelector("tallystick-activity"), ${properties})`)
  await sum(page).getByText("Alle Einträge wurden hier nachgerechnet").waitFor()
  await page.getByText("50 von 60").waitFor()
  await page.getByText("Heute").waitFor()
  await set('{ lang: "de_DE" }')
  await page.getByText("Du hast dich angemeldet").first().waitFor()
  // The product's words come before those of the project.
  assert.equal(await page.getByText("<b>Sagt das Projekt</b>").count(), 25)
  await page
    .getByText(new Intl.DateTimeFormat("de", { month: "long", timeZone: "Europe/Madrid" }).format())
    .waitFor()
  const beleg = page.getByRole("button", { name: "Beleg of invoice" })
  await beleg.first().click()
  await page.locator(".facts").getByText("Aufgezeichnet").waitFor()
  const styleOf = (selector: string, name: string) =>
    page.evaluate(
      `{ const { shadowRoot } = document.querySelector("tallystick-activity")
         const place = ${JSON.stringify(selector)}
         getComputedStyle(place === ":host" ? shadowRoot.host : shadowRoot.querySelector(place)).getPropertyValue(${JSON.stringify(name)}) }`,
    )
  assert.equal(await styleOf(":host", "background-color"), "rgb(1, 2, 3)")
  assert.equal(await styleOf(":host", "color-scheme"), "dark")
  // A part has a name for the style sheets of the product.
  assert.equal(await page.locator('[part="entry sealed"]').count(), 50)
  for (const [dir, side] of [
    ["ltr", "left"],
    ["rtl", "right"],
  ] as const) {
    await set(`{ dir: "${dir}" }`)
    assert.equal(await styleOf("li .notch", side), "0px", dir)
  }
  // As frameworks do that pass nothing.
  await set("{ phrases: undefined, address: undefined }")
  await page.getByText("Today").waitFor()
  await page.getByText("50 of 60").waitFor()
  await service.root.patch(`${workspace.path}/projects/core`, { phrases: [] })
})

test("an entry that was altered on its way is marked, and one without a proof is not called recomputed", async (open) => {
  script = giving((await tokenOf(own.id)).token)
  const page = await open("about:blank", nobody, { origin: [origin, service.url] })
  let alter: (text: string) => string = (text) =>
    text.replace("auth.session.created", "auth.session.ended")
  await alterAnswers(page, "**/v1/**", (text) => alter(text))
  await page.goto(origin)
  await sum(page).getByText("Not what was recorded: 1 of the 50 entries below").waitFor()
  assert.equal(await page.locator(".show.broken").count(), 1)
  assert.equal(await page.locator('[part="entry broken"]').count(), 1)
  alter = (text) => {
    const { events, ...rest } = JSON.parse(text)
    delete events[0].proof
    return JSON.stringify({ events, ...rest })
  }
  await page.reload()
  await sum(page).getByText("Shown without a proof: 1 of the 50 entries below").waitFor()
  await expectAccessible(page)
})

test("without the program that verifies, nothing is shown; with it, everything", async (open) => {
  script = giving((await tokenOf(own.id)).token)
  const page = await open("about:blank", nobody, { origin: [origin, service.url], refused: [404] })
  await page.route("**/assets/prove-page-*", (route) => route.fulfill({ status: 404 }))
  await page.goto(origin)
  await page.getByRole("heading", { name: "No connection" }).waitFor()
  await page.getByText("The program that verifies entries could not be loaded").waitFor()
  assert.equal(await page.locator("tallystick-activity li").count(), 0)
  await expectAccessible(page)
  await page.unroute("**/assets/prove-page-*")
  await page.getByRole("button", { name: "Try again" }).click()
  await sum(page).getByText("Every entry below was recomputed").waitFor()
})

test("an event asks for a new token when one expires, and the reading continues", async (open) => {
  const [first, second] = [await tokenOf(own.id), await tokenOf(own.id)]
  script = `const activity = document.querySelector("tallystick-activity")
  window.expired = 0
  document.addEventListener("token-expired", ({ target }) => {
    window.expired++
    if (window.next) target.token = window.next
  })
  ${giving(first.token)}`
  const page = await open(origin, nobody, { origin: [origin, service.url], refused: [401] })
  await page.getByText("50 of 60").waitFor()
  await page.route("**/v1/**", async (route) => {
    const { authorization } = await route.request().allHeaders()
    if (authorization !== `Bearer ${first.token}`) return route.continue()
    return route.fulfill(expired)
  })
  await page.getByRole("button", { name: "Show older" }).click()
  await page.getByRole("heading", { name: "This did not work" }).waitFor()
  assert.equal(await page.evaluate("window.expired"), 1)
  assert.equal(await page.locator("tallystick-activity li").count(), 50)
  await page.evaluate(`window.next = ${JSON.stringify(second.token)}`)
  await page.getByRole("button", { name: "Try again" }).click()
  await page.getByText("60 of 60").waitFor()
  assert.equal(await page.evaluate("window.expired"), 2)
  await page.evaluate("window.next = undefined")
  await page.reload()
  await page.getByRole("heading", { name: "Your access has expired" }).waitFor()
  await expectAccessible(page)
  await page.evaluate(giving(second.token))
  await page.getByText("50 of 60").waitFor()
})

test("nothing that one token showed stays under another", async (open) => {
  const ada = await tokenOf(own.id)
  const other = await tokenOf("usr_nobody")
  script = giving(ada.token)
  const page = await open(origin, nobody, { origin: [origin, service.url], refused: [401] })
  await page.getByText("50 of 60").waitFor()
  await page.evaluate(giving(other.token))
  await page.locator(".empty").getByText("Nothing recorded for you yet.").waitFor()
  assert.equal(await page.locator("tallystick-activity li").count(), 0)
  await page.evaluate(giving(ada.token))
  await page.getByText("50 of 60").waitFor()
  await service.root.delete(`${workspace.path}/tokens/${ada.tokenId}`)
  await page.evaluate(giving("nonsense"))
  await page.getByRole("heading", { name: "Nothing to show" }).waitFor()
  assert.equal(await page.locator("tallystick-activity li").count(), 0)
  await page.evaluate(giving(ada.token))
  await page.getByRole("heading", { name: "Your access has expired" }).waitFor()
})

test("an answer for one token is not shown under another", async (open) => {
  const [ada, other] = [await tokenOf(own.id), await tokenOf("usr_nobody")]
  script = giving(ada.token)
  const page = await open("about:blank", nobody, { origin: [origin, service.url] })
  const release = await holdAnswer(page, "**/v1/**", () => page.goto(origin))
  await page.evaluate(giving(other.token))
  await page.locator(".empty").getByText("Nothing recorded for you yet.").waitFor()
  await release()
  assert.equal(await page.locator("tallystick-activity li").count(), 0)
})

test("nothing stays when the token is taken away after it has expired", async (open) => {
  script = giving((await tokenOf(own.id)).token)
  const page = await open(origin, nobody, { origin: [origin, service.url], refused: [401] })
  await page.getByText("50 of 60").waitFor()
  await page.route("**/v1/**", (route) => route.fulfill(expired))
  await page.getByRole("button", { name: "Show older" }).click()
  await page.getByRole("heading", { name: "This did not work" }).waitFor()
  await page.evaluate('document.querySelector("tallystick-activity").token = undefined')
  assert.equal(await page.locator("tallystick-activity li").count(), 0)
})
