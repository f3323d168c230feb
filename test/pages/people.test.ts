// A person's request for what is known about them, and the contents of a pack.

import assert from "node:assert/strict"
import { make, writeEvent, writeMany } from "../service.ts"
import { expectAccessible, expectNarrow, holdAnswer, storedSecret } from "./browser.ts"
import { admin, scene, service, test, viewer, workspace } from "./scene.ts"

const hostile = "\u202E<img src=x onerror=alert(1)>"

scene(async () => {
  await writeMany(workspace, 30, {
    changes: (place) => ({ action: place % 3 === 0 ? "auth.session.created" : "invoice.paid" }),
  })
})

test("a pack's title opens what it holds, its links, and how it is checked", async (open) => {
  const { reader, path } = workspace
  const { packId } = await make(reader, `${path}/evidence-packs`, {
    title: hostile,
    filter: { query: "action:invoice.paid" },
  })
  const other = await make(reader, `${path}/evidence-packs`, {
    title: "Another",
    filter: { query: "action:auth.session.created" },
  })
  await make(reader, `${path}/evidence-packs/${other.packId}/token`, { note: "of another" })
  const page = await open("packs", admin)
  await page.getByRole("link", { name: /img/, exact: false }).first().click()
  await page.getByRole("heading", { level: 1, name: /img/ }).waitFor()
  await page.locator(".recomputed").getByText("All 20 rows on this page recomputed").waitFor()
  assert.equal(await page.locator("table.entries").getByText("auth.session.created").count(), 0)
  await page.getByText("Nobody was given a link to it").waitFor()
  await page.getByText("How it is checked").click()
  await page.getByText(`tallystick verify ${packId}.zip`).waitFor()
  await expectAccessible(page)
  await page.getByRole("button", { name: /^Link/ }).click()
  await page.getByLabel("Note").fill("for the auditor")
  await page.getByRole("button", { name: "Make the link" }).click()
  const link = await storedSecret(page)
  await page.getByRole("row", { name: /for the auditor/ }).waitFor()
  assert.ok(!(await page.content()).includes(String(link.split("#t=")[1])))
  assert.equal(await page.getByText("of another").count(), 0)
  await page.getByRole("link", { name: /^#\d/ }).first().click()
  await page.getByRole("heading", { name: "evidence.pack.create" }).waitFor()
  await page.goBack()
  await page.getByText("for the auditor").waitFor()
  await expectNarrow(page)

  const seen = await open(`packs/${packId}`, viewer)
  await seen.getByText("An admin of this workspace sees who has a link").waitFor()
  await seen.getByText("All 20 rows on this page recomputed").waitFor()
  const lost = await open(`packs/pack_${"0".repeat(36)}`, viewer, { refused: [404] })
  await lost.getByRole("heading", { name: "There is no such pack" }).waitFor()
})

test("a person: found by e-mail, then history, consents, link and pack, without typing the id", async (open) => {
  await service.root.patch(`${workspace.path}/projects/core`, {
    activityLinks: true,
    phrases: [{ action: "crm.note.added", text: `Wrote ${hostile} about you` }],
  })
  const ines = { id: "usr_77", type: "employee", email: "ines@example.com", name: "Ines" }
  for (const changes of [
    { action: "crm.note.added", target: ines, userVisible: true, metadata: { text: "a call" } },
    { action: "auth.login.succeeded", actor: ines, userVisible: true },
    { action: "hr.review.written", target: ines },
  ])
    await writeEvent(workspace, changes)
  const page = await open("people", viewer)
  await page.getByLabel("Person").fill("INES@example.com")
  await page.getByRole("button", { name: "Look" }).click()
  await page.getByRole("link", { name: "Ines" }).click()
  await page.getByRole("heading", { level: 1, name: "Ines" }).waitFor()
  const rows = page.locator("table.entries tr[data-sequence]")
  await page.getByText("All 3 rows on this page recomputed").waitFor()
  await page.getByRole("link", { name: "As actor" }).click()
  await page.getByText("The one row on this page recomputed").waitFor()
  assert.match((await rows.first().textContent()) ?? "", /auth\.login\.succeeded/)
  await expectAccessible(page)

  await page.getByRole("link", { name: "Next: Consents" }).click()
  await page.getByLabel("Reason").fill("request SUP-2291")
  await page.getByRole("button", { name: "Look up" }).click()
  await page.getByRole("heading", { name: "No consent of usr_77" }).waitFor()
  await page.getByText("This look-up is recorded").waitFor()
  await expectAccessible(page)

  await page.getByRole("link", { name: "Next: Link for them" }).click()
  await page.getByRole("button", { name: "Make a link" }).click()
  assert.equal(await page.getByLabel("Note").inputValue(), "request SUP-2291")
  await expectAccessible(page)
  await page.getByRole("button", { name: "Make the link" }).click()
  const link = await storedSecret(page)

  await page.getByRole("link", { name: "Next: Evidence pack" }).click()
  await page.getByRole("button", { name: "Make the pack" }).click()
  await page.getByRole("heading", { level: 1, name: "What is known of usr_77" }).waitFor()
  await page.getByText("All 3 rows on this page recomputed").waitFor()

  const theirs = await open(link)
  await theirs.getByText("<img src=x onerror=alert(1)> about you").waitFor()
  await theirs.getByText("U+202E").waitFor()
  await theirs.getByText("You signed in").waitFor()
  assert.equal(await theirs.locator(".entry, li.wood").count(), 2)
  assert.ok(!(await theirs.content()).includes("hr.review.written"))
})

test("a person is found by a name that is the id of somebody busy", async (open) => {
  for (const id of ["usr_90", "usr_91"])
    await writeEvent(workspace, { target: { id, type: "user", name: "Mira" } })
  await writeMany(workspace, 110, {
    changes: () => ({ target: { id: "mira", type: "user", name: "M." } }),
  })
  await writeMany(workspace, 110, {
    changes: () => ({ target: { id: "usr_92", type: "user", name: "Mira" } }),
  })
  const page = await open("people/Mira", admin)
  await page.getByText("These have that name").waitFor()
  const ids = await page.locator(".called code").allTextContents()
  assert.deepEqual(ids.toSorted(), ["usr_90", "usr_91", "usr_92"])
})

test("what has an id with others is found below them, and counted without them", async (open) => {
  const invoice = { id: "17", type: "invoice", name: "Invoice 17" }
  await writeEvent(workspace, { target: { id: "17", type: "user", name: "Seventeen" } })
  await writeMany(workspace, 110, {
    changes: () => ({ actor: { id: "usr_1", type: "user" }, target: invoice }),
  })
  const page = await open("things/user/17", admin)
  await page.getByRole("heading", { level: 1, name: "Seventeen" }).waitFor()
  await page.locator(".more").getByText("1 of 1").waitFor()
})

test("a history that is not read to its end says how many entries there are at most, and Back returns to its place", async (open) => {
  const eighteen = { id: "18", type: "user", name: "Eighteen" }
  await writeMany(workspace, 3, { changes: () => ({ target: { ...eighteen, type: "invoice" } }) })
  await writeMany(workspace, 110, { changes: () => ({ target: eighteen }) })
  const page = await open("things/user/18", admin)
  await page.locator(".more").getByText("100 of 113 or fewer").waitFor()
  assert.equal(await page.locator("table.entries").getAttribute("aria-rowcount"), "-1")
  await page.keyboard.press("End")
  await page.locator(".more").getByText("110 of 110", { exact: true }).waitFor()
  assert.equal(await page.locator("table.entries").getAttribute("aria-rowcount"), "111")

  await page.keyboard.press("End")
  await page.waitForFunction("scrollY > 1000")
  const left = await page.evaluate(
    "[scrollY, document.querySelector('tr[data-sequence]:nth-last-child(3) a').click()][0]",
  )
  await page.waitForURL("**/events/*")
  await page.goBack()
  await page.locator(".more").getByText("110 of 110", { exact: true }).waitFor()
  // A line about a checkpoint may have come above.
  const top = Number(await page.evaluate("scrollY"))
  assert.ok(Math.abs(top - Number(left)) < 100, `${top} px, and it was left at ${String(left)}`)
})

test("a history counts once what somebody did to themselves", async (open) => {
  const noor = { id: "usr_80", type: "user", name: "Noor" }
  await writeEvent(workspace, { action: "auth.password.changed", actor: noor, target: noor })
  await writeEvent(workspace, { action: "auth.login.succeeded", actor: noor })
  await writeEvent(workspace, { action: "crm.note.added", target: noor })
  const page = await open("people/usr_80", admin)
  await page.locator("table.entries tr[data-sequence]").nth(2).waitFor()
  await page.locator(".more").getByText("3 of 3").waitFor()
  await page.getByRole("link", { name: "As target" }).click()
  await page.locator(".more").getByText("2 of 2").waitFor()
})

test("the overview says who looked up a person's consents", async (open) => {
  const { reader, path } = workspace
  const answer = await reader.post(`${path}/consents/lookup`, {
    subject: "usr_78",
    reason: "a request",
  })
  assert.equal(answer.status, 200)
  const page = await open("overview", admin)
  const reads = page.locator(".reads")
  await reads.getByText("looked up a person's consents").first().waitFor()
})

test("a pack that is made meanwhile does not lead its reader away", async (open) => {
  const page = await open("people/usr_1?step=pack", admin)
  const release = await holdAnswer(page, "**/evidence-packs", () =>
    page.getByRole("button", { name: "Make the pack" }).click(),
  )
  await page.getByRole("link", { name: "History" }).click()
  await release()
  assert.match(page.url(), /people/)
  await page.getByRole("link", { name: "Evidence pack" }).first().click()
  await page.getByRole("link", { name: "The pack is made" }).click()
  await page.getByRole("heading", { level: 1, name: "What is known of usr_1" }).waitFor()
  await page.goto(`${service.url}/ui/people/usr_1?step=pack`)
  await page.getByRole("link", { name: "Next: Erase them" }).click()
  assert.equal(await page.getByLabel("Person", { exact: true }).inputValue(), "usr_1")
})
