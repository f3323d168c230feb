// The dashboard's frame: the way in, workspaces, going from page to page, and the overview.

import assert from "node:assert/strict"
import type { Page } from "playwright-core"
import { expectChain } from "../chain.ts"
import { firstToken, goodPassword, join, setUpFirst, signIn } from "../people.ts"
import { makeWorkspace, startService, writeMany } from "../service.ts"
import {
  alterAnswers,
  auditedSoon,
  expectAccessible,
  expectFits,
  giveTime,
  holdAnswer,
  signInto,
  tabTo,
  watch,
} from "./browser.ts"
import {
  admin,
  browser,
  nobody,
  scene,
  service,
  test,
  untilSigned,
  viewer,
  workspace,
} from "./scene.ts"

const email = "first@example.com"

scene(
  async () => {
    await writeMany(workspace, 60, {
      changes: (place) => ({
        action: place % 2 === 0 ? "auth.session.created" : "invoice.document.viewed",
        actor: { id: "usr_1", type: "user", name: "\u202E<b>Ada</b>" },
        occurredAt: new Date().toISOString(),
      }),
    })
  },
  { environment: auditedSoon },
)

test("first run: the printed link makes the first admin, who names a workspace, with the keyboard alone", async () => {
  await using fresh = await startService()
  await using watched = await watch(browser, { origin: fresh.url })
  const { page } = watched
  await firstToken(fresh)
  const [link = ""] = /\S+\/ui\/setup\?first#t=\S+/.exec(fresh.output()) ?? []
  await page.goto(link)
  await page.getByRole("heading", { name: "Set up your account" }).waitFor()
  assert.ok(!page.url().includes("tsx_"), "the token is taken out of the address")
  await expectAccessible(page)
  await page.keyboard.type(email)
  await page.keyboard.press("Tab")
  await page.keyboard.type("Ada")
  await page.keyboard.press("Tab")
  await page.keyboard.type(goodPassword)
  await page.keyboard.press("Enter")

  await page.getByRole("heading", { name: "Workspaces" }).waitFor()
  await expectAccessible(page)
  await tabTo(page, /./)
  await page.getByLabel("Id").focus()
  await page.keyboard.type("acme")
  await page.keyboard.press("Enter")
  await page.waitForURL(/workspace=acme/)
  await page.getByRole("button", { name: "Workspace acme" }).waitFor()
  await expectChain(fresh.root, "acme")
  await expectChain(fresh.root, "instance")
  await watched.expectQuiet()
})

test("a set-up link works once, and one without its token says so", async (open) => {
  const page = await open("setup", nobody, { refused: [401] })
  await page.getByRole("heading", { name: "This link is not whole" }).waitFor()
  await page.goto(`${service.url}/ui/setup#t=tsx_0000000000000_${"0".repeat(49)}`)
  await page.getByLabel("Password").fill(goodPassword)
  await page.getByRole("button", { name: "Set up and sign in" }).click()
  await page.getByRole("alert").getByText("unauthorized").waitFor()
})

test("signing in: a wrong password is refused in place, and the page that was wanted opens then", async (open) => {
  const page = await open("workspaces", nobody, { refused: [401] })
  await page.getByRole("heading", { name: "Sign in" }).waitFor()
  await expectAccessible(page)
  await page.getByLabel("E-mail").fill(viewer.email)
  await page.getByLabel("Password").fill("not this one at all")
  await page.keyboard.press("Enter")
  await page.getByRole("alert").getByText("login_failed").waitFor()
  await page.getByLabel("Password").fill(viewer.password)
  await page.keyboard.press("Enter")
  await page.getByRole("heading", { name: "Workspaces" }).waitFor()
  await signOut(page)
  await page.goto(`${service.url}/ui`)
  await page.getByRole("heading", { name: "Sign in" }).waitFor()
})

test("the end of a session asks for the password, and says why", async (open) => {
  const person = await join(service, workspace.path, "viewer", "brief@example.com")
  // Requests under way are refused then.
  const page = await open("/ui", person, { refused: [401, 403] })
  await page.getByRole("heading", { name: /Chain intact to #\d+/ }).waitFor()
  await service.root.delete(`${workspace.path}/members/${person.id}`)
  await page.getByRole("link", { name: /Chain intact to/ }).waitFor()
  await page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
  await page.getByText("Your session has ended").waitFor()
})

test("each request goes on after the end of a session, and a wrong password is none", async (open) => {
  const page = await open("chain", viewer, { refused: [401, 403] })
  const goOn = async (): Promise<void> => {
    await page.getByText("Your session has ended").waitFor()
    await page.getByLabel("E-mail").fill(viewer.email)
    await page.getByLabel("Password").fill(viewer.password)
    await page.keyboard.press("Enter")
  }
  const save = page.getByRole("button", { name: "Save this checkpoint" })
  await save.waitFor()
  // What is still asked for, or asked every 15 seconds for the bar, would learn first that the
  // session has ended.
  await page.waitForLoadState("networkidle")
  await page.route(/\/integrity$/, () => undefined)
  await page.context().clearCookies()
  const saved = page.waitForEvent("download")
  await save.click()
  await goOn()
  await saved

  await page.getByRole("button", { name: "Account" }).click()
  await page.getByRole("button", { name: "Change password" }).click()
  await page.getByLabel("Password until now").fill("not that one")
  await page.getByLabel("New password").fill("another good password")
  const wrong = page.getByText("The e-mail or the password is wrong")
  const change = page.getByRole("button", { name: "Change it" })
  await change.click()
  await wrong.waitFor()
  await page.context().clearCookies()
  await change.click()
  await goOn()
  await wrong.waitFor()
})

test("signing out while the service does not answer says so, and nobody is signed out", async (open) => {
  const page = await open("workspaces", viewer, { refused: [503] })
  await page.context().route(/v1\/session$/, (route) => route.fulfill({ status: 503 }))
  await page.getByRole("button", { name: "Account" }).click()
  await page.getByRole("button", { name: "Sign out" }).click()
  await page.getByRole("heading", { name: "You are still signed in" }).waitFor()
  await expectAccessible(page)
})

test("the workspace in the address is never replaced by another", async (open) => {
  const page = await open("events?workspace=instance", viewer)
  await page.getByRole("heading", { name: "You do not belong to this workspace" }).waitFor()
  assert.match(page.url(), /workspace=instance$/)
  assert.equal(await page.locator(".chain-status a").count(), 0, "nothing is said of any chain")
  await expectAccessible(page)
  await page.getByRole("link", { name: "Your workspaces" }).click()
  await page.getByRole("link", { name: workspace.id }).first().click()
  await page.getByRole("heading", { name: /Chain intact/ }).waitFor()
})

test("of an unknown workspace nothing is awaited", async (open) => {
  const page = await open("/ui?workspace=unknown", await setUpFirst(service), { refused: [404] })
  await page.getByRole("alert").waitFor()
  assert.equal(await page.locator("main").getByText("…").filter({ visible: true }).count(), 0)
  await expectAccessible(page)
})

test("menus and dialogs have what their width needs", async (open) => {
  const page = await open("packs", viewer)
  const menu = page.locator("#account")
  const shown = async (): Promise<readonly boolean[]> => {
    await page.getByRole("button", { name: "Account" }).click()
    await menu.getByRole("button", { name: "Sign out" }).waitFor()
    const seen = ["All times in UTC", "Keyboard shortcuts"].map((name) =>
      menu.getByRole("button", { name }).isVisible(),
    )
    const both = await Promise.all(seen)
    await page.keyboard.press("Escape")
    return both
  }
  assert.deepEqual(await shown(), [false, true], "on a desk")
  await page.setViewportSize({ width: 390, height: 844 })
  assert.deepEqual(await shown(), [true, false], "on a telephone")
  await page.getByRole("button", { name: "New pack" }).click()
  await page.getByRole("dialog").waitFor()
  const [content, width] = (await page.evaluate(
    "[document.querySelector('dialog').scrollWidth, document.querySelector('dialog').clientWidth]",
  )) as [number, number]
  assert.ok(content <= width, `${content} px of dialog in ${width}`)
  await page.keyboard.press("Escape")
  await page.setViewportSize({ width: 320, height: 844 })
  const name = page.getByRole("button", { name: "Workspace" }).locator("bdi")
  await name.hover()
  assert.equal(await name.getAttribute("title"), workspace.id, "what is cut off is shown whole")
})

test("a menu that lists not all workspaces says so", async () => {
  await using fresh = await startService()
  const admin = await setUpFirst(fresh)
  const { id } = await makeWorkspace(fresh)
  await using watched = await watch(browser, { origin: fresh.url })
  const { page } = watched
  await signInto(page, fresh.url, admin)
  await page.goto(`${fresh.url}/ui/packs?workspace=${id}`)
  await page.getByRole("button", { name: `Workspace ${id}` }).click()
  await page.getByRole("link", { name: "All workspaces" }).waitFor()
  assert.equal(await page.getByText("newest 100").count(), 0)
  await alterAnswers(page, "**/v1/workspaces?limit=100", (text) =>
    text.replace('"nextCursor":null', '"nextCursor":"older"'),
  )
  await page.reload()
  await page.getByRole("button", { name: `Workspace ${id}` }).click()
  await page.getByText("These are the newest 100.").waitFor()
  await expectAccessible(page)
  await expectChain(fresh.root, id)
  await watched.expectQuiet()
})

test("two tabs show one person, and a dialog does not outlive its session", async (open) => {
  const other = await join(service, workspace.path, "viewer", "other@example.com")
  const page = await open("packs", await signIn(service, viewer.email), { refused: [401] })
  await page.getByRole("button", { name: "New pack" }).click()
  const second = await page.context().newPage()
  await second.goto(`${service.url}/ui/workspaces`)
  await signOut(second)
  await page.getByRole("heading", { name: "Sign in" }).waitFor()
  assert.equal(await page.getByRole("dialog").count(), 0)
  await second.getByLabel("E-mail").fill(other.email)
  await second.getByLabel("Password").fill(other.password)
  await second.keyboard.press("Enter")
  await second.getByRole("heading", { name: /Chain intact/ }).waitFor()
  await page.getByRole("heading", { name: "Evidence packs" }).waitFor()
  await page.getByRole("button", { name: "Account" }).click()
  await page.getByText(other.email).waitFor()
})

test("a sign-out leaves no marks and no recent searches in the browser", async (open) => {
  // The feed of new entries is refused then.
  const page = await open("about:blank", await signIn(service, viewer.email), { refused: [401] })
  const second = await page.context().newPage()
  for (const tab of [page, second]) {
    await markAndSearch(tab)
    const kept = await storedIn(tab)
    assert.match(kept, /usr_1/)
    assert.match(kept, /rcp_/)
  }
  await signOut(page)
  await second.getByRole("heading", { name: "Sign in" }).waitFor()
  for (const tab of [page, second]) assert.doesNotMatch(await storedIn(tab), /usr_1|rcp_/)
})

test("marks outlast a session that ended, and no other person sees them", async (open) => {
  const other = await join(service, workspace.path, "viewer", "next@example.com")
  const page = await open("about:blank", viewer, { refused: [401] })
  await markAndSearch(page)
  for (const [person, marks] of [
    [other, 0],
    [viewer, 1],
  ] as const) {
    await page.context().clearCookies()
    await page.reload()
    await page.getByLabel("E-mail").fill(person.email)
    await page.getByLabel("Password").fill(person.password)
    await page.keyboard.press("Enter")
    await page.locator("tr[data-sequence]").first().waitFor()
    assert.equal(await page.locator(".marks").getByText("1 marked").count(), marks, person.email)
  }
  assert.doesNotMatch(await page.evaluate("JSON.stringify(localStorage)"), /usr_1/)
})

test("what was typed when a session ended is there again, for the same person alone", async (open) => {
  const other = await join(service, workspace.path, "viewer", "later@example.com")
  const page = await open("packs", viewer, { refused: [401] })
  const made = page.getByRole("link", { name: "For the auditor", exact: true })
  for (const person of [viewer, other]) {
    await page.getByRole("button", { name: "New pack" }).click()
    await page.getByLabel("Title").fill("For the auditor")
    await page.context().clearCookies()
    await page.getByRole("button", { name: "Make the pack" }).click()
    await page.getByText("Your session has ended").waitFor()
    assert.equal(await page.getByLabel("Title").count(), 0)
    for (const key of ["Tab", "Tab", "g", "o"]) await page.keyboard.press(key)
    await page.getByLabel("E-mail").fill(person.email)
    await page.getByLabel("Password").fill(person.password)
    await page.keyboard.press("Enter")
    // What was asked for is done then.
    await made.waitFor()
    assert.equal(await page.getByRole("dialog").count(), 0)
  }
  await page.getByRole("button", { name: "Account" }).click()
  await page.getByText(other.email).waitFor()
  assert.equal(await made.count(), 1)
})

async function markAndSearch(page: Page): Promise<void> {
  await page.goto(`${service.url}/ui/events`)
  await page.locator("tr[data-sequence]").first().waitFor()
  await page.keyboard.press("/")
  await page.keyboard.type("actor:usr_1")
  await page.keyboard.press("Enter")
  await page.locator("tr[data-sequence] a").first().focus()
  await page.keyboard.press("x")
  await page.locator(".marks").getByText("1 marked").waitFor()
}

/** Everything that the browser stores for the page. */
function storedIn(page: Page): Promise<string> {
  return page.evaluate("JSON.stringify([localStorage, sessionStorage])")
}

async function signOut(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Account" }).click()
  await page.getByRole("button", { name: "Sign out" }).click()
  await page.getByRole("heading", { name: "Sign in" }).waitFor()
}

test("after a lost connection, what was refused is asked again, and an older statement about a chain is not current", async (open) => {
  const page = await open("workspaces", viewer, { refused: [503, "ERR_INTERNET_DISCONNECTED"] })
  await page.locator(".chain-status .intact").waitFor()
  await page.context().setOffline(true)
  await page.getByRole("link", { name: "Packs" }).click()
  await page.getByRole("heading", { name: "No connection" }).waitFor()
  await page.context().setOffline(false)
  const packs = page.locator("main").getByText("There is none yet")
  await packs.or(page.locator("main table")).first().waitFor()
  await page.context().route(/\/integrity$/, (route) => route.fulfill({ status: 503 }))
  await page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
  await page.locator(".chain-status").getByText("Connection lost").waitFor()
  assert.equal(await page.locator(".chain-status .intact").count(), 0)
  await page.setViewportSize({ width: 320, height: 640 })
  await expectFits(page)
})

test("a chain is green only after it was read again", async () => {
  // The second round begins after an hour; the first one found nothing yet.
  await using fresh = await startService({
    environment: { TALLYSTICK_LIMIT_AUDIT_ROUND_EVERY_MS: "3600000" },
  })
  const { id, path } = await makeWorkspace(fresh)
  const person = await join(fresh, path, "viewer", "viewer@example.com")
  await using watched = await watch(browser, { origin: fresh.url })
  const { page } = watched
  await signInto(page, fresh.url, person)
  await page.goto(`${fresh.url}/ui?workspace=${id}`)
  await page.getByRole("heading", { name: /^Sealed to #\d+$/ }).waitFor()
  assert.equal(await page.locator(".line .intact, .chain-status .intact").count(), 0)
  await expectChain(fresh.root, id)
  await watched.expectQuiet()
})

test("overview: the claim, the map and the links say the same, in both themes and on a narrow screen", async (open) => {
  await untilSigned()
  for (const width of [1440, 390]) {
    const page = await open("/ui", viewer, { viewport: { width, height: 900 } })
    const title = page.getByRole("heading", { name: /Chain intact to #\d+/ })
    const claimed = /#([\d,]+)/.exec((await title.textContent()) ?? "")?.[1]
    await page.getByText(`#${claimed}`, { exact: true }).first().waitFor()
    assert.equal(await page.locator(".ends.unequal").count(), 0)
    assert.equal(await page.locator(".links .linked:not(.signed)").count(), 3)
    await page.locator(".latest").getByText("⟨U+202E⟩").first().waitFor()
    await page.locator(".tops").getByText("auth.session.created").waitFor()
    // A finger may miss the text by 8 px.
    for (const link of width === 390 ? [".chain-status a", ".linked a"] : []) {
      const { x = 0, y = 0 } = (await page.locator(link).first().boundingBox()) ?? {}
      const hit = `document.elementFromPoint(${x + 8}, ${y - 8})?.matches("${link}")`
      assert.equal(await page.evaluate(hit), true, link)
    }
    await expectFits(page)
    await expectAccessible(page)
  }
})

test("Tab begins at the top, and goes on where the reader was", async (open) => {
  const page = await open("lifetime", viewer)
  await page.getByRole("heading", { name: "Lifetime" }).waitFor()
  const focused = page.locator(":focus")
  await page.keyboard.press("Tab")
  assert.equal(await focused.textContent(), "Skip to content")
  await page.getByRole("link", { name: "Archive" }).press("Enter")
  await page.getByText("Nothing lies in the archive yet").waitFor()
  assert.equal(await focused.textContent(), "Archive")
  await page.getByRole("link", { name: "Packs" }).press("Enter")
  await page.getByRole("heading", { name: "Evidence packs" }).waitFor()
  await page.keyboard.press("Tab")
  assert.equal(await focused.textContent(), "New pack")
})

test("keys lead from page to page, a list names them, and Back works", async (open) => {
  const page = await open("workspaces", viewer)
  await page.getByRole("heading", { name: "Workspaces" }).waitFor()
  const lastOfBar = page.getByRole("link", { name: "Settings" })
  const before = await lastOfBar.boundingBox()
  await page.keyboard.press("g")
  await page.keyboard.press("o")
  await page.getByRole("heading", { name: /Chain intact/ }).waitFor()
  assert.deepEqual(await lastOfBar.boundingBox(), before, "no link moves when another is current")
  await page.getByRole("button", { name: "Account" }).click()
  await page.goBack()
  await page.getByRole("heading", { name: "Workspaces" }).waitFor()
  assert.equal(await page.locator(":popover-open").count(), 0)
  await page.keyboard.press("?")
  const list = page.getByRole("dialog", { name: "Keyboard" })
  await list.getByText("Go to Overview").waitFor()
  await expectAccessible(page)
  await list.getByLabel("Single letters do something").uncheck()
  await page.keyboard.press("Escape")
  await page.keyboard.press("g")
  await page.keyboard.press("o")
  assert.equal(await page.getByRole("heading", { name: "Workspaces" }).count(), 1)
  await page.goto(`${service.url}/ui/nothing`)
  await page.getByText("There is no such page").waitFor()
})

test("overview: what waits for a checkpoint is counted again once it is sealed, and today once it ends, but keys once an hour", async (open) => {
  const page = await open("about:blank", admin)
  let pending = 3
  let keysRead = 0
  page.on("request", (request) => void (request.url().includes("/api-keys?") && keysRead++))
  await alterAnswers(page, "**/integrity", (text) =>
    text.replace(/"pending":\d+/, `"pending":${pending}`),
  )
  await page.goto(`${service.url}/ui`)
  await page.locator(".figure").getByText("3 entries").waitFor()
  pending = 0
  await page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
  await page.locator(".figure").getByText("Everything is sealed.").waitFor()
  // The next day begins.
  await page.clock.setFixedTime(Date.now() + 86_400_000)
  await Promise.all([
    page.waitForRequest("**/events/timeline?*"),
    page.waitForRequest("**/api-keys?*"),
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))"),
  ])
  assert.equal(keysRead, 2)
})

test("overview: today is a day of the zone that the page shows", async (open) => {
  const page = await open("about:blank", viewer)
  const asked: string[] = []
  page.on("request", (request) => {
    const { pathname, searchParams } = new URL(request.url())
    if (pathname.endsWith("/events/timeline")) asked.push(searchParams.get("from") ?? "")
  })
  // In Madrid the next day has begun.
  await page.clock.setFixedTime("2026-11-12T23:30:00.000Z")
  await page.goto(`${service.url}/ui`)
  await page.locator(".figure").getByText("Everything is sealed.").waitFor()
  await Promise.all([
    page.waitForRequest("**/events/timeline?*"),
    page.getByRole("button", { name: "All times in UTC" }).click(),
  ])
  assert.deepEqual(asked, ["2026-11-12T23:00:00.000Z", "2026-11-12T00:00:00.000Z"])
})

test("what was typed to sign in again stays when a slower request is refused", async (open) => {
  const page = await open("about:blank", viewer, { refused: [401] })
  const json = { error: "unauthorized", detail: "no session" }
  const held = Promise.withResolvers<void>()
  await page.route("**/integrity", (route) => route.fulfill({ status: 401, json }))
  await page.route(/evidence-packs/, async (route) => {
    await held.promise
    await route.fulfill({ status: 401, json })
  })
  await page.goto(`${service.url}/ui/packs`)
  await page.getByLabel("E-mail").fill(viewer.email)
  const refused = page.waitForResponse(/evidence-packs/)
  held.resolve()
  await (await refused).finished()
  await giveTime(page)
  assert.equal(await page.getByLabel("E-mail").inputValue(), viewer.email)
})

test("what is not known is not called nothing", async (open) => {
  const page = await open("about:blank", viewer, { refused: [503] })
  await page.route(`**${workspace.path}/**`, (route) => route.fulfill({ status: 503, json: {} }))
  await page.goto(`${service.url}/ui/chain`)
  await page.getByText("This did not work").waitFor()
  assert.equal(await page.getByText("Nothing is signed yet").count(), 0)
  await page.goto(`${service.url}/ui/events`)
  await page.getByText("This did not work").waitFor()
  assert.equal(await page.locator(".summary").textContent(), "")
})

test("each part that is refused says why, and is tried again", async (open) => {
  const page = await open("about:blank", viewer, { refused: [503] })
  const api = new RegExp(`${workspace.path}(?:/(?!integrity)|$|\\?)`)
  const json = { error: "overloaded", detail: "too many reads wait" }
  for (const [path, refused, whole] of [
    ["", 4, /No event yet today|By the hour/],
    ["/policies", 3, /They are private/],
    ["/settings", 2, /An admin of this workspace changes/],
  ] as const) {
    await page.route(api, (route) => route.fulfill({ status: 503, json }))
    await page.goto(`${service.url}/ui${path}`)
    const said = page.getByText("Too many reads wait.")
    await said.nth(refused - 1).waitFor()
    assert.equal(await said.count(), refused, path)
    await expectAccessible(page)
    await page.unroute(api)
    for (let left = refused; left > 0; left--) {
      await page.getByRole("button", { name: "Try again" }).first().click()
      await said.nth(left - 1).waitFor({ state: "detached" })
    }
    await page.getByText(whole).or(page.getByLabel(whole)).first().waitFor()
  }
})

test("explorer: a search that is answered after the page was left begins nothing", async (open) => {
  const page = await open("about:blank", viewer)
  const asked: string[] = []
  page.on("request", (request) => asked.push(request.url()))
  const release = await holdAnswer(page, /events\?.*include=proof/, () =>
    page.goto(`${service.url}/ui/events`),
  )
  await page.getByRole("link", { name: "Packs" }).click()
  await page.getByRole("heading", { name: "Evidence packs" }).waitFor()
  await release()
  assert.deepEqual(
    asked.filter((url) => url.includes("/events/")),
    [],
  )
  assert.equal(await page.locator(".bar.working").count(), 0)
})
