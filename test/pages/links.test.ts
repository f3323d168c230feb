// The pages that a link opens: one person's activity, an evidence pack, a policy.

import assert from "node:assert/strict"
import { tallystick } from "../program.ts"
import { make } from "../service.ts"
import {
  alterAnswers,
  expectAccessible,
  expectNarrow,
  holdAnswer,
  savedBy,
  tabTo,
} from "./browser.ts"
import {
  admin,
  nobody,
  own,
  scene,
  service,
  test,
  untilSigned,
  workspace,
  writeOwnActivity,
} from "./scene.ts"

scene(async () => {
  await writeOwnActivity()
  await untilSigned()
})

function made<Answer>(path: string, body: object, by = workspace.reader): Promise<Answer> {
  return make<Answer>(by, `${workspace.path}/${path}`, body)
}

/** A new link for the person. */
async function ownActivity(): Promise<string> {
  const { activityUrl } = await made<{ activityUrl: string }>("activity/token", {
    projectId: "core",
    subject: own.id,
  })
  return activityUrl
}

/** A pack of everything, with a link to it. */
async function linkedPack(title: string): Promise<{ packId: string; pageUrl: string }> {
  const { packId } = await made<{ packId: string }>("evidence-packs", { title, filter: {} })
  const { pageUrl } = await made<{ pageUrl: string }>(`evidence-packs/${packId}/token`, {})
  return { packId, pageUrl }
}

test("activity: a person sees their own entries, each recomputed, finds one, and opens its proof by keyboard", async (open) => {
  const page = await open(await ownActivity())
  await page.locator(".sum").getByText("Every entry below was recomputed").waitFor()
  assert.equal(page.url(), `${service.url}/a/${workspace.id}`)
  assert.equal(await page.locator(".days li").count(), 50)
  await page.getByText("50 of 60").waitFor()
  await page.getByText("You signed in").first().waitFor()
  await page.getByText("by support_7").first().waitFor()
  await page.getByText("⟨U+202E⟩<b>invoice 59</b>").first().waitFor()
  await expectAccessible(page)
  await page.getByRole("button", { name: "Show older" }).click()
  await page.locator(".sum").getByText("Every entry below was recomputed").waitFor()

  await page.getByLabel("Search your activity").fill("support_7")
  await page.getByText("30 of 30").waitFor()
  await tabTo(page, /Receipt of invoice\.document\.viewed/)
  await page.keyboard.press("Enter")
  await page.locator(".proof:not([hidden])").getByText("this is what was recorded").waitFor()
  await expectAccessible(page)
  await page.getByLabel("Search your activity").fill("zebra")
  await page.locator(".empty").getByText("Nothing matches “zebra”").waitFor()
  await page.getByRole("button", { name: "Show everything" }).click()
  await page.getByText("50 of 60").waitFor()
  await expectNarrow(page)
})

test("activity: an entry that was altered on its way is marked as broken, and the others verify", async (open) => {
  const page = await open("about:blank")
  await alterAnswers(page, "**/v1/**", (text) =>
    text.replace("auth.session.created", "auth.session.ended"),
  )
  await page.goto(await ownActivity())
  await page.locator(".sum").getByText("Not what was recorded: 1 of the 50 entries below").waitFor()
  assert.equal(await page.locator(".show.broken").count(), 1)
  assert.equal(await page.locator(".notch.broken").count(), 1)
})

test("activity: older entries of another search do not follow", async (open) => {
  const page = await open(await ownActivity())
  await page.getByText("50 of 60").waitFor()
  const release = await holdAnswer(page, /query=support_7/, () =>
    page.getByLabel("Search your activity").fill("support_7"),
  )
  await page.getByRole("button", { name: "Show older" }).click()
  await page.getByText(/of 30$/).waitFor()
  await release()
  assert.equal(await page.locator(".days li").count(), 30)
  assert.equal(await page.locator(".days").getByText("You signed in").count(), 0)
})

test("activity: an entry without its proof is not called recomputed", async (open) => {
  const page = await open("about:blank")
  await alterAnswers(page, "**/v1/**", (text) => {
    const { events, ...rest } = JSON.parse(text) as { events: { proof?: object }[] }
    delete events[0]?.proof
    return JSON.stringify({ ...rest, events })
  })
  await page.goto(await ownActivity())
  await page
    .locator(".sum.attention")
    .getByText("Shown without a proof: 1 of the 50 entries below")
    .waitFor()
  await page.getByRole("button", { name: /^Not proven/ }).click()
  await page.getByText("nothing was recomputed").waitFor()
  await expectAccessible(page)
})

test("activity: a person without entries, a missing token, and a revoked link", async (open) => {
  const page = await open(`/a/${workspace.id}`, nobody, { refused: [401] })
  const { activityUrl, tokenId } = await made<{ activityUrl: string; tokenId: string }>(
    "activity/token",
    { projectId: "core", subject: "usr_nobody" },
  )
  await page.getByRole("heading", { name: "Nothing to show" }).waitFor()
  // The link is opened in the same tab, where only the fragment is new.
  await page.goto(activityUrl)
  await page.locator(".empty").getByText("Nothing recorded for you yet.").waitFor()
  assert.equal(new URL(page.url()).hash, "", "the token is taken out of the address")
  await expectAccessible(page)
  await service.root.delete(`${workspace.path}/tokens/${tokenId}`)
  await page.reload()
  await page.getByRole("heading", { name: "This link was withdrawn" }).waitFor()
})

test("pack: fetched when asked for, checked at once, saved as it was made", async (open) => {
  const { packId, pageUrl } = await linkedPack("Q3 <i>")
  const downloads = async (): Promise<number> =>
    (
      await admin.get(
        `${workspace.path}/events?projectId=system&query=action:evidence.pack.download&includeArchive=true&cursor=0&limit=1`,
      )
    ).json<{ total: number }>().total
  const before = await downloads()
  const page = await open(pageUrl)
  assert.equal(page.url(), `${service.url}/e/${workspace.id}/${packId}`)
  await expectAccessible(page)
  await tabTo(page, /Fetch and check/)
  await page.keyboard.press("Enter")
  await page.getByRole("heading", { name: "Consistent, not confirmed" }).waitFor()
  const focused = page.locator(":focus")
  await page.getByRole("heading", { name: "Evidence pack" }).and(focused).waitFor()
  await page.getByRole("button", { name: /trust this key/ }).click()
  await page.getByRole("heading", { name: "This pack is genuine" }).and(focused).waitFor()
  await page.locator(".facts").getByText("Q3 <i>").waitFor()
  assert.equal(await page.locator(".packed tbody tr").count(), 60)
  await expectAccessible(page)
  const saved = await savedBy(page.getByRole("button", { name: "Save the pack" }))
  const vkey = (await workspace.reader.get(`${workspace.path}/tlog/log.vkey`)).text.trim()
  const verified = await tallystick(["verify", await saved.path(), "--key", vkey])
  assert.equal(verified.code, 0)
  assert.equal((await downloads()) - before, 1, "the ledger recorded one download")
  await expectNarrow(page)
})

test("pack: a double click on Try again fetches it once", async (open) => {
  const { pageUrl } = await linkedPack("Q3")
  const page = await open("about:blank", nobody, { refused: [503] })
  let fetched = 0
  await page.route("**/download", (route) => {
    fetched++
    return fetched === 1 ? route.fulfill({ status: 503 }) : route.continue()
  })
  await page.goto(pageUrl)
  await page.getByRole("button", { name: "Fetch and check" }).click()
  await page.getByRole("button", { name: "Try again" }).dblclick()
  await page.getByRole("heading", { name: /Consistent|genuine/ }).waitFor()
  assert.equal(fetched, 2)
})

test("policy: a version has its hash and what is new in it, and is private without a token", async (open) => {
  const sections = (years: string) => [
    {
      id: "kept",
      title: "What is kept",
      body: `Entries are kept for ${years} years.\n<script>alert(1)</script>\u200B`,
    },
    { id: "main", title: "Who sees it", body: "You do." },
    { id: "third", title: "Your rights", body: "A copy." },
  ]
  await made("published-policy", { sections: sections("seven") }, admin)
  await made("published-policy", { sections: sections("ten") }, admin)
  const { policyUrl } = await made<{ policyUrl: string }>("published-policy/token", {})
  const page = await open(`/p/${workspace.id}/latest`, nobody, { refused: [401] })
  await page.getByRole("heading", { name: "Nothing to show" }).waitFor()
  await page.goto("about:blank")
  await page.goto(policyUrl)
  await page.getByRole("heading", { name: "Policy, version 2" }).waitFor()
  await page.getByText("Its text hashes to what the server names").waitFor()
  await page.getByText("<script>alert(1)</script>⟨U+200B⟩").waitFor()
  await expectAccessible(page)
  await page.getByRole("link", { name: "Who sees it", exact: true }).click()
  assert.equal(new URL(page.url()).hash, "#section-main")
  await page.getByRole("link", { name: "Compare with version 1" }).click()
  assert.equal((await page.locator("del").textContent())?.trim(), "seven")
  assert.equal((await page.locator("ins").textContent())?.trim(), "ten")
  await expectAccessible(page)
  await alterAnswers(page, "**/published-policy/1?*", (text) => text.replace("seven", "six"))
  await page.reload()
  await page.getByText("The text of version 1 does not hash to what the server names").waitFor()
  await page.unroute("**/published-policy/1?*")
  await page.getByRole("link", { name: "Version 1", exact: true }).click()
  await page.getByRole("heading", { name: "Policy, version 1" }).waitFor()

  await alterAnswers(page, "**/v1/**", (text) => text.replace("seven", "eleven"))
  await page.reload()
  await page.getByText("Its text does not hash to what the server names").waitFor()
  await expectNarrow(page)
})
