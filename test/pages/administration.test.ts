// Keys, links, people, packs, policies, consents and settings: each done from start to end.

import assert from "node:assert/strict"
import { readFile } from "node:fs/promises"
import { verifyPack } from "@tallystick/proof"
import type { Route } from "playwright-core"
import { goodPassword, join, setUpFirst } from "../people.ts"
import { expectChain } from "../chain.ts"
import { eventFor, eventually, make, makeWorkspace, writeMany } from "../service.ts"
import {
  alterAnswers,
  expectAccessible,
  expectFits,
  expectNarrow,
  giveTime,
  holdAnswer,
  secretIn,
  storedSecret,
} from "./browser.ts"
import { admin, scene, service, test, viewer, workspace } from "./scene.ts"

const hostile = "\u202E<img src=x onerror=alert(1)>"

scene(async () => {
  await writeMany(workspace, 30, {
    changes: (place) => ({ action: place % 3 === 0 ? "auth.session.created" : "invoice.paid" }),
  })
})

test("a key is made, shown once, used, and revoked", async (open) => {
  const page = await open("access", admin)
  await page.getByRole("button", { name: "New key" }).click()
  await page.getByLabel("Name").fill(hostile)
  await page.getByLabel("Only these projects").fill("core")
  await expectAccessible(page)
  await page.getByRole("button", { name: "Make the key" }).click()
  const key = await storedSecret(page)
  assert.match(key, /^tsk_/)
  await page.getByRole("button", { name: /^Revoke ⟨U\+202E⟩/ }).waitFor()
  assert.ok(!(await page.content()).includes(key), "it is nowhere any more")
  const writer = service.client(key)
  const written = await writer.write(eventFor(workspace.id))
  assert.equal(written.status, 202, written.text)
  await page.reload()
  await page.getByText("just now").first().waitFor()

  await page.getByRole("link", { name: /^What it wrote.*img/ }).click()
  await page.getByText("The one row on this page recomputed").waitFor()
  await page.getByRole("button", { name: /^Remove key:/ }).waitFor()
  await page.goBack()
  await page
    .getByRole("row", { name: /img/ })
    .getByRole("button", { name: /Revoke/ })
    .click()
  await page.getByRole("button", { name: "Revoke it" }).click()
  await page.getByRole("row", { name: /img/ }).getByText("revoked").waitFor()
  assert.doesNotMatch(await page.content(), /\u202E/)
  assert.equal((await writer.write(eventFor(workspace.id))).status, 401)
  await expectAccessible(page)
})

test("a leaked key is found in a long list by its text", async (open) => {
  const keys = await Promise.all(
    Array.from({ length: 60 }, (_, at) =>
      make(service.root, `${workspace.path}/api-keys`, { name: `worker ${at}`, scopes: ["write"] }),
    ),
  )
  const page = await open("access", admin)
  await page.getByRole("button", { name: "Show older" }).waitFor()
  await page.getByLabel("Search this list").fill(keys[0].key)
  await page.getByText(/^1 of \d+$/).waitFor()
  assert.equal(await page.locator(".list tbody tr").count(), 1)
  await page.getByRole("row", { name: "worker 0 " }).waitFor()
  await page.getByLabel("Search this list").fill("nothing such")
  await page.getByText("Nothing found.").waitFor()
  await expectNarrow(page)
})

test("a dialog is left with its page, but no secret before it is stored", async (open) => {
  const page = await open("packs", admin)
  await page.getByRole("link", { name: "Access" }).click()
  await page.getByRole("button", { name: "New key" }).click()
  await page.getByLabel("Name").fill("left")
  await page.goBack()
  await page.getByRole("heading", { name: "Evidence packs" }).waitFor()
  assert.equal(await page.getByRole("dialog").count(), 0)

  await page.goForward()
  await page.getByRole("button", { name: "New key" }).click()
  await page.getByLabel("Name").fill("held")
  const release = await holdAnswer(page, "**/api-keys", () =>
    page.getByRole("button", { name: "Make the key" }).click(),
  )
  await page.goBack()
  await release()
  const key = await secretIn(page)
  await page.keyboard.press("Escape")
  await page.getByText("Store it first").waitFor()
  await page.getByRole("button", { name: "Close" }).click()
  await page.goBack()
  await page.getByRole("button", { name: "I stored it" }).and(page.locator(":focus")).waitFor()
  assert.equal(await secretIn(page), key)
  assert.equal(new URL(page.url()).pathname, "/ui/access")
  await expectAccessible(page)
  // The browser itself asks before another document.
  const asked = page.waitForEvent("dialog")
  await page.evaluate("setTimeout(() => location.reload())")
  const question = await asked
  assert.equal(question.type(), "beforeunload")
  await question.dismiss()
  await page.getByRole("button", { name: "I stored it" }).click()
  await page.getByRole("row", { name: /held/ }).waitFor()
  assert.equal(await page.getByRole("dialog").count(), 0)
  await page.goBack()
  await page.getByRole("heading", { name: "Evidence packs" }).waitFor()
})

test("a dialog stays until its key is made, and shows it", async (open) => {
  const page = await open("access", admin, { refused: [400] })
  const dialog = page.getByRole("dialog")
  await page.getByRole("button", { name: "New key" }).click()
  await page.getByLabel("Name").and(page.locator(":focus")).waitFor()
  await page.keyboard.type("awaited")
  const release = await holdAnswer(page, "**/api-keys", () =>
    page.getByRole("button", { name: "Make the key" }).click(),
  )
  for (const name of ["Cancel", "Close"])
    await dialog.getByRole("button", { name }).click({ force: true })
  for (let times = 0; times < 3; times++) await page.keyboard.press("Escape")
  await release()
  const key = await secretIn(page)
  await page.getByRole("button", { name: "Copy key" }).and(page.locator(":focus")).waitFor()
  for (let times = 0; times < 3; times++) await page.keyboard.press("Escape")
  assert.equal(await secretIn(page), key)
  await page.getByRole("button", { name: "I stored it" }).click()
  assert.equal(await dialog.count(), 0)
  // What was refused can be left.
  await page.getByRole("button", { name: "New key" }).click()
  await page.getByLabel("Name").fill("refused")
  for (const scope of await dialog.getByRole("checkbox").all()) await scope.uncheck()
  await page.getByRole("button", { name: "Make the key" }).click()
  await dialog.getByRole("alert").getByText("invalid_field").waitFor()
  await page.getByRole("button", { name: "Make the key" }).and(page.locator(":focus")).waitFor()
  await dialog.getByRole("button", { name: "Cancel" }).click()
  assert.equal(await dialog.count(), 0)
})

test("a link in a dialog leads out of it", async (open) => {
  const page = await open("access?tab=tokens", admin)
  await service.root.patch(`${workspace.path}/projects/core`, { activityLinks: false })
  await page.getByRole("button", { name: /activity/ }).click()
  await page.getByRole("dialog").getByRole("link", { name: "Settings" }).click()
  await page.getByRole("heading", { name: "Settings" }).waitFor()
  assert.equal(await page.getByRole("dialog").count(), 0)
})

test("a member is invited, accepts, and is removed", async (open) => {
  const page = await open("access?tab=members", admin)
  await page.getByRole("button", { name: "Invite somebody" }).click()
  await page.getByLabel("E-mail").fill("not an address")
  await page.getByLabel("E-mail").fill("noor@example.com")
  await page.getByRole("button", { name: "Invite", exact: true }).click()
  const link = await storedSecret(page)
  await page.getByText("not yet").waitFor()
  // Without a name, the address is their name.
  await page.getByRole("cell", { name: "noor@example.com", exact: true }).waitFor()

  const other = await open(link)
  await other.getByLabel("Password").fill(goodPassword)
  await other.getByRole("button", { name: "Set up and sign in" }).click()
  await other.getByRole("button", { name: `Workspace ${workspace.id}` }).waitFor()

  await page.reload()
  await page.getByRole("button", { name: "Change noor@example.com" }).click()
  await page.getByRole("button", { name: "Make admin" }).click()
  await page.getByRole("dialog").getByRole("button", { name: "Make admin" }).click()
  await page.getByRole("row", { name: /noor/ }).getByText("admin", { exact: true }).waitFor()
  await page.getByRole("button", { name: "Change noor@example.com" }).click()
  await page.getByRole("button", { name: "Remove from this workspace" }).click()
  await page.getByRole("button", { name: "Remove them" }).click()
  await page.getByRole("row", { name: /noor/ }).waitFor({ state: "detached" })
  await expectAccessible(page)
})

test("a person's activity is opened by a link, which is listed and revoked", async (open) => {
  await service.root.patch(`${workspace.path}/projects/core`, { activityLinks: true })
  const page = await open("access?tab=tokens", admin, { refused: [401] })
  await page.getByRole("button", { name: "Link to a person's activity" }).click()
  const dialog = page.getByRole("dialog")
  await dialog.getByText("every text in its metadata").waitFor()
  await dialog.getByText("Names of others are withheld").waitFor()
  await page.getByRole("textbox", { name: "Person" }).fill("usr_1")
  await page.getByLabel("Note").fill(hostile)
  await page.getByRole("button", { name: "Make the link" }).click()
  const link = await storedSecret(page)
  await page.getByText("activity of").waitFor()
  await expectAccessible(page)
  await page.getByRole("button", { name: /^Revoke/ }).click()
  await page.getByRole("button", { name: "Revoke it" }).click()
  await page.getByText("revoked").waitFor()
  await page.goto(link)
  await page.getByRole("heading", { name: "This link was withdrawn" }).waitFor()
})

test("a dialog that waits for the service is opened once, and not over another page", async (open) => {
  const page = await open("access?tab=tokens", admin)
  const button = page.getByRole("button", { name: "Link to a person's activity" })
  const ask = () => holdAnswer(page, "**/projects?*", () => button.click())
  const release = await ask()
  await page.locator("button[aria-busy=true]").waitFor()
  await button.click()
  await release()
  await page.getByRole("dialog").waitFor()
  assert.equal(await page.locator("dialog[open]").count(), 1)
  await page.keyboard.press("Escape")
  const releaseLate = await ask()
  await page.getByRole("link", { name: "Packs", exact: true }).click()
  await releaseLate()
  assert.equal(await page.locator("dialog[open]").count(), 0)
})

test("an answer that was lost leaves it open whether a key was made, and the list shows it", async (open) => {
  const page = await open("access", admin, { refused: [503] })
  let answer: Parameters<Route["fulfill"]>[0] = {
    status: 503,
    json: {
      error: "ledger_unavailable",
      detail: "it is unknown; repeat it with the same Idempotency-Key",
    },
  }
  await page.route("**/api-keys", async (route) => {
    await route.fetch()
    await route.fulfill(answer)
  })
  await page.getByRole("button", { name: "New key" }).click()
  await page.getByLabel("Name").fill("made, but not shown")
  await page.getByRole("button", { name: "Make the key" }).click()
  await page.getByText("It is unknown: look whether it was done before you repeat it.").waitFor()
  // Without an error of the console, which a cut connection has.
  answer = { body: "{" }
  await page.getByRole("button", { name: "Make the key" }).click()
  await page.getByText("The answer was cut off: look whether it was done").waitFor()
  assert.equal(await page.getByLabel("Name").inputValue(), "made, but not shown")
  await page.unroute("**/api-keys")
  await page.getByRole("button", { name: "Cancel" }).click()
  await page
    .getByRole("row", { name: /made, but not shown/ })
    .nth(1)
    .waitFor()
})

test("a pack is made of a search, downloaded, verified, and shared", async (open) => {
  const page = await open("packs?new=1&range=all&query=action:auth.session.created", viewer)
  await page.getByLabel("Title").fill(hostile)
  await page.getByText("10 entries now").waitFor()
  await expectAccessible(page)
  await page.getByRole("button", { name: "Make the pack" }).click()
  await page.getByRole("row", { name: /img/ }).waitFor()
  await page.reload()
  const download = page.getByRole("link", { name: /^Download/ })
  await download.waitFor()
  assert.equal(await page.locator("dialog[open]").count(), 0)
  let downloads = 0
  page.on("download", () => downloads++)
  const [saved] = await Promise.all([page.waitForEvent("download"), download.dblclick()])
  await giveTime(page)
  assert.equal(downloads, 1)
  const bytes = await readFile(await saved.path())
  const checked = verifyPack(bytes)
  assert.equal(checked.verdict, "unconfirmed")
  await page.getByRole("button", { name: /^Link/ }).click()
  await page.getByRole("button", { name: "Make the link" }).click()
  const link = await storedSecret(page)
  await expectAccessible(page)
  await page.goto(link)
  await page.getByRole("heading", { name: "Evidence pack" }).waitFor()
})

test("a policy is written, compared with the one before, published, and made public", async (open) => {
  const page = await open("policies", admin)
  const publish = async (version: number, text: string): Promise<void> => {
    await page.getByRole("button", { name: "New version" }).click()
    const section = page.getByRole("group").first()
    await section.getByLabel("Id").fill("scope")
    await section.getByLabel("Title").fill("What we keep")
    await section.getByLabel("Text").fill(text)
    await page.getByRole("button", { name: "What changes" }).click()
    await page.locator(".policy-difference ins").first().waitFor()
    await expectAccessible(page)
    await page.getByRole("button", { name: `Publish version ${version}` }).click()
    await page.getByRole("row", { name: new RegExp(`^${version} `) }).waitFor()
  }
  await publish(1, `We keep names. ${hostile}`)
  await publish(2, "We keep names and dates.")
  await page.getByText("They are private").waitFor()
  await page.getByRole("button", { name: "Make them public" }).click()
  await page.getByRole("dialog").getByRole("button", { name: "Make them public" }).click()
  await page.getByText("Anyone may read them").waitFor()
  const anonymous = await service.client().get(`${workspace.path}/published-policy/2`)
  assert.equal(anonymous.status, 200)
  await page.getByRole("link", { name: "What is new in version 2" }).click()
  await page.getByRole("heading", { name: "Policy, version 2" }).waitFor()
  await page.locator("ins").first().waitFor()
})

/** Returns when it was recorded. */
async function sendConsent(path: string, body: object): Promise<string> {
  const key = { "idempotency-key": crypto.randomUUID() }
  const said = { workspaceId: workspace.id, ...body }
  const reply = await workspace.writer.post(path, said, key)
  assert.equal(reply.status, 202, reply.text)
  return reply.json().receipt.timestamp
}

test("consents are counted, and a look-up of one person is recorded before it is shown", async (open) => {
  for (const [at, mode] of ["explicit", "explicit", "implicit"].entries())
    await sendConsent("/v1/consents", {
      subject: { id: `person_${at}`, email: "p@example.com" },
      mode,
      policyVersion: 1,
      surface: hostile,
    })
  const page = await open("consents", viewer)
  await page.getByRole("row", { name: "1 3 0" }).waitFor()
  await page.getByRole("row", { name: "explicit 2" }).waitFor()
  await page.getByLabel("Person").fill("person_1")
  await page.getByLabel("Reason").fill("asked by themselves")
  await page.getByRole("button", { name: "Look up" }).click()
  await page.getByRole("heading", { name: "person_1 agrees to version 1" }).waitFor()
  await page.getByRole("link", { name: "Last 30 days" }).click()
  await page
    .getByRole("link", { name: "Last 30 days", exact: true })
    .and(page.locator("[aria-current]"))
    .waitFor()
  await page.getByRole("row", { name: "1 3 0" }).waitFor()
  await page.getByRole("heading", { name: "person_1 agrees to version 1" }).waitFor()
  await page.getByLabel("Person").fill("p@example.com")
  await page.getByRole("button", { name: "Look up" }).click()
  await page.getByText("This looks like an e-mail address").waitFor()
  await page.getByText("This look-up is recorded").waitFor()
  const { text } = await service.root.get(
    `${workspace.path}/events?projectId=system&query=action:policy.consent.lookup`,
  )
  assert.match(text, /person_1/)
  await expectAccessible(page)
})

test("a withdrawn consent is shown as given at an earlier time, with its text and a pack", async (open) => {
  const subject = { id: "grace", email: "grace@example.com" }
  const send = (path: string, body: object) =>
    sendConsent(path, { projectId: "agreed", subject, ...body })
  const given = { mode: "explicit", policyVersion: 1, surface: "sign-up form" }
  await send("/v1/consents", given)
  const sections = [{ id: "use", title: "Use", body: `We keep names. ${hostile}` }]
  const policy = { projectId: "agreed", sections }
  assert.equal((await service.root.post(`${workspace.path}/published-policy`, policy)).status, 201)
  const before = await send("/v1/consents", given)
  // A minute is as fine as the page asks: the time before is the whole minute of a later one.
  await send("/v1/consents/withdrawals", { surface: "account settings" })
  const page = await open("consents/agreed", viewer)
  await page.getByText("2 given, 1 withdrawn").waitFor()
  await page.getByRole("row", { name: "all 0 1" }).waitFor()
  await page.getByLabel("Person").fill("grace")
  await page.getByLabel("Reason").fill("request SUP-1")
  await page.getByRole("button", { name: "Look up" }).click()
  await page.getByRole("heading", { name: "grace has withdrawn" }).waitFor()
  await page.getByText("The text of version 1").click()
  await page.getByText("We keep names.").waitFor()
  assert.equal(await page.getByRole("row", { name: /agreed 1 explicit sign-up form/ }).count(), 2)
  await page.getByRole("row", { name: /withdrew all account settings/ }).waitFor()
  await expectAccessible(page)
  await page
    .getByLabel("At")
    .fill(`${new Date(Date.parse(before) - 864e5).toISOString().slice(0, 16)}`)
  await page.getByRole("button", { name: "Look up" }).click()
  await page.getByRole("heading", { name: "By then, no consent of grace" }).waitFor()
  await page.getByLabel("At").fill("")
  await page.getByRole("button", { name: "Look up" }).click()
  await page.getByRole("button", { name: "Evidence pack of it" }).click()
  await page.getByRole("heading", { name: "Consents of grace" }).waitFor()
  await page.getByText("4 entries").first().waitFor()
})

test("settings and projects are changed, and an invalid rule is named", async (open) => {
  const page = await open("settings", admin)
  await page.getByRole("button", { name: "New project" }).click()
  await page.getByLabel("Id").fill("website")
  await page.getByLabel("People may be given links").check()
  await page.getByLabel("Actions in plain words").fill("plan.renewed")
  await page.getByRole("button", { name: "Make it" }).click()
  await page.getByRole("alert").getByText("is no phrase").waitFor()
  await page.getByLabel("Actions in plain words").fill("plan.renewed  Renewed the plan\n\n")
  await page.getByRole("button", { name: "Make it" }).click()
  await page
    .getByRole("row", { name: /website/ })
    .getByText("allowed")
    .waitFor()
  const { phrases } = (await service.root.get(`${workspace.path}/projects/website`)).json()
  assert.deepEqual(phrases, [{ action: "plan.renewed", text: "Renewed the plan" }])
  await page.getByLabel("Lanes").fill("billing.refund nowhere")
  await page.getByRole("button", { name: "Save" }).click()
  await page.getByRole("alert").getByText("is no rule").waitFor()
  await page.getByLabel("Lanes").fill("billing.refund security")
  await page.getByRole("button", { name: "Save" }).click()
  await page.getByRole("status").getByText("The settings are saved").waitFor()
  const { laneRules } = (await service.root.get(workspace.path)).json<{ laneRules: unknown }>()
  assert.deepEqual(laneRules, [{ prefix: "billing.refund", lane: "security" }])
  await expectAccessible(page)
})

test("an admin of the instance sees how the service runs, and others do not", async (open) => {
  const first = await setUpFirst(service)
  const page = await open("system", first)
  await page.getByRole("heading", { name: "System" }).waitFor()
  await page.getByText("at the median").waitFor()
  await page.getByText("TALLYSTICK_LIMIT_QUEUED_EVENTS_MAX").waitFor()
  assert.ok(!(await page.content()).includes(service.rootKey), "no secret is shown")
  await expectAccessible(page)
  await expectNarrow(page)
  const lost = await open("overview?workspace=nowhere", first, { refused: [404] })
  await lost.getByText("There is no such workspace").waitFor()
  await lost.goto(`${service.url}/ui`)
  await lost.locator(".chain-status").getByText(/#\d/).waitFor()
  const other = await open("system", admin)
  await other.getByRole("heading", { name: "For admins of the instance" }).waitFor()
})

for (const width of [1440, 390])
  test(`a viewer sees what they may, ${width} px wide`, async (open) => {
    const viewport = { width, height: 900 }
    const page = await open("about:blank", viewer, { viewport })
    for (const path of ["access", "packs", "policies", "consents", "people", "settings"]) {
      await page.goto(`${service.url}/ui/${path}`)
      await page.getByRole("heading", { level: 1 }).waitFor()
      if (path === "access") await page.getByText("For admins of this workspace").waitFor()
      await page.locator("[aria-busy=true]").waitFor({ state: "detached" })
      for (const name of ["New key", "New version", "New project", "Save"])
        assert.equal(await page.getByRole("button", { name, exact: true }).count(), 0, name)
      await expectFits(page)
      await expectAccessible(page)
    }
  })

test("a key that was used yesterday is not called unused", async (open) => {
  const daysAgo = (days: number): string => new Date(Date.now() - days * 86_400_000).toISOString()
  const page = await open("overview", admin)
  await alterAnswers(page, "**/api-keys?*", (text) => {
    const { apiKeys, ...rest } = JSON.parse(text) as { apiKeys: object[] }
    const used = { createdAt: daysAgo(100), lastUsedAt: daysAgo(1) }
    return JSON.stringify({ ...rest, apiKeys: apiKeys.map((key) => ({ ...key, ...used })) })
  })
  await page.reload()
  await page.locator(".attention-list").getByText("Nothing does.").waitFor()
})

test("saved settings are those that were changed, and no older ones", async (open) => {
  const page = await open("settings", admin)
  await page.getByRole("button", { name: "Save" }).waitFor()
  await service.root.patch(workspace.path, { policyVisibility: "private", hotDays: 60 })
  await page.locator("#field-name").fill("Acme")
  await page.getByRole("button", { name: "Save" }).click()
  await page.getByRole("status").getByText("The settings are saved").waitFor()
  const saved = (await service.root.get(workspace.path)).json<{ name: string; hotDays: number }>()
  assert.deepEqual([saved.name, saved.hotDays], ["Acme", 60])
})

test("a new version of a policy that is being written is not begun again, nor left without a question", async (open) => {
  const page = await open("packs", admin)
  await page.getByRole("link", { name: "Policies" }).click()
  const begin = page.getByRole("button", { name: "New version" })
  await begin.click()
  await page.getByRole("button", { name: "Section", exact: true }).click()
  await page.getByRole("button", { name: "Remove this section" }).first().click()
  const text = page.getByRole("group", { name: "Section 1" }).getByLabel("Text", { exact: true })
  // Without a word, that is work, too.
  await page.getByRole("link", { name: "Packs", exact: true }).click()
  await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click()
  await text.fill("We keep names.")
  await Promise.all([page.waitForResponse(/published-policy/), begin.click()])
  await giveTime(page)
  await page.getByRole("link", { name: "Skip to content" }).focus()
  await page.keyboard.press("Enter")
  await page.waitForURL("**#main")
  await page.goBack()
  const stay = page.getByRole("dialog").getByRole("button", { name: "Cancel" })
  for (const leave of [
    () => page.keyboard.type("gk"),
    () => page.getByRole("link", { name: "Chain", exact: true }).click(),
    () => page.goBack(),
    () => page.locator(".editor").getByRole("button", { name: "Cancel" }).click(),
  ]) {
    await leave()
    await stay.click()
    assert.equal(await text.inputValue(), "We keep names.")
    assert.equal(new URL(page.url()).pathname, "/ui/policies")
  }
  const asked = page.waitForEvent("dialog")
  await page.evaluate("setTimeout(() => location.reload())")
  const question = await asked
  assert.equal(question.type(), "beforeunload")
  await question.dismiss()
  await page.goBack()
  await page.getByRole("button", { name: "Leave", exact: true }).click()
  await page.getByRole("heading", { name: "Evidence packs" }).waitFor()
})

test("counts of consents are of the days that were chosen last", async (open) => {
  const page = await open("consents", viewer)
  const days = (name: string) => page.getByRole("link", { name, exact: true })
  const release = await holdAnswer(page, /consents\/summary\?.*from=/, () =>
    days("Last 30 days").click(),
  )
  await days("Last 12 months").click()
  await page.locator("[aria-current]").and(days("Last 12 months")).waitFor()
  await release()
  assert.equal(await days("Last 12 months").getAttribute("aria-current"), "page")
})

test("the time of a look-up is in the zone that its field names", async (open) => {
  const page = await open("consents", viewer)
  await page.getByText("In your time. Empty: now.").waitFor()
  await page.getByRole("button", { name: "All times in UTC" }).click()
  await page.getByText("In your time. Empty: now.").waitFor()
  await page.getByLabel("Person").fill("person_1")
  await page.getByLabel("At").fill("2026-01-31T09:30")
  await page.getByLabel("Reason").fill("asked by themselves")
  const [request] = await Promise.all([
    page.waitForRequest(/consents\?/),
    page.getByRole("button", { name: "Look up" }).click(),
  ])
  assert.equal(new URL(request.url()).searchParams.get("at"), "2026-01-31T08:30:59.999Z")
})

test("a new pack counts the entries of the search that stands there", async (open) => {
  const page = await open("packs", admin)
  await page.getByRole("button", { name: "New pack" }).click()
  const count = page.getByRole("dialog").getByRole("status")
  const all = await eventually("a count", async () => (await count.textContent()) || undefined)
  const search = page.getByRole("dialog").getByLabel("Search")
  await search.fill("action:invoice.paid")
  const release = await holdAnswer(page, /query=action/, () => search.press("Tab"))
  await search.fill("")
  await Promise.all([page.waitForResponse(/events\?/), search.press("Tab")])
  await release()
  assert.equal(await count.textContent(), all)
})

test("of very many projects none is missing where one is chosen, and a list keeps its pages", async (open) => {
  const { id, path } = await makeWorkspace(service)
  const names = Array.from({ length: 104 }, (_, at) => `project-${String(at).padStart(3, "0")}`)
  for (const name of names) await make(service.root, `${path}/projects`, { id: name })
  const person = await join(service, path, "admin", "many@example.com")
  const page = await open("about:blank", person)
  for (const [name, chosen] of [
    ["policies", names[3]],
    ["consents", names[103]],
  ] as const) {
    await page.goto(`${service.url}/ui/${name}/${chosen}?workspace=${id}`)
    const choice = page.getByLabel("Project", { exact: true })
    await choice.locator("option").nth(104).waitFor({ state: "attached" })
    assert.deepEqual(await choice.locator("option").allTextContents(), ["core", ...names])
    assert.equal(await choice.inputValue(), chosen)
    await choice.focus()
    await choice.selectOption("project-000")
    await page.waitForURL(`**/ui/${name}/project-000?*`)
    await choice.and(page.locator(":focus")).waitFor()
    await expectAccessible(page)
    await expectNarrow(page)
  }
  await page.goto(`${service.url}/ui/people/usr_1?step=consents&workspace=${id}`)
  await page.getByLabel("Project").locator("option").nth(104).waitFor({ state: "attached" })

  await page.goto(`${service.url}/ui/settings?workspace=${id}`)
  await page.getByRole("button", { name: "Show older" }).click()
  const row = page.getByRole("row", { name: "project-020" })
  await row.getByRole("button", { name: "Change" }).click()
  await page.getByRole("dialog").getByLabel("Name").fill("Twenty")
  await page.getByRole("dialog").getByRole("button", { name: "Save" }).click()
  await row.getByText("Twenty").waitFor()
  assert.equal(await page.locator(".list tbody tr").count(), 100)
  await expectChain(service.root, id)
})
