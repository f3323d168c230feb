// A person's request for what is known about them, and the contents of a pack.

import assert from "node:assert/strict"
import { test } from "node:test"
import { join, type Person } from "../people.ts"
import { eventually, make, writeEvent, writeMany } from "../service.ts"
import { expectAccessible, expectNarrow, secretIn, watch } from "./browser.ts"
import { browser, openAs, scene, service, skip, workspace } from "./scene.ts"

const hostile = "\u202E<img src=x onerror=alert(1)>"

let admin: Person
let viewer: Person

scene(async () => {
  admin = await join(service, workspace.path, "admin", "admin@example.com")
  viewer = await join(service, workspace.path, "viewer", "viewer@example.com")
  await writeMany(workspace, 30, {
    changes: (place) => ({ action: place % 3 === 0 ? "auth.session.created" : "invoice.paid" }),
  })
})

const opened = (path: string, person = admin, refused: readonly number[] = []) =>
  openAs(person, path, refused)

test("a pack's title opens what it holds, its links, and how it is checked", { skip }, async () => {
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
  await using watched = await opened("packs")
  const { page } = watched
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
  const link = await eventually("the link", async () => (await secretIn(page)) || undefined)
  await page.getByRole("button", { name: "I stored it" }).click()
  await page.getByRole("row", { name: /for the auditor/ }).waitFor()
  assert.ok(!(await page.content()).includes(String(link.split("#t=")[1])))
  assert.equal(await page.getByText("of another").count(), 0)
  await page.getByRole("link", { name: /^#\d/ }).first().click()
  await page.getByRole("heading", { name: "evidence.pack.create" }).waitFor()
  await page.goBack()
  await page.getByText("for the auditor").waitFor()
  await expectNarrow(page)
  await watched.expectQuiet()

  await using seen = await opened(`packs/${packId}`, viewer)
  await seen.page.getByText("An admin of this workspace sees who has a link").waitFor()
  await seen.page.getByText("All 20 rows on this page recomputed").waitFor()
  await seen.expectQuiet()
  await using lost = await opened(`packs/pack_${"0".repeat(36)}`, viewer, [404])
  await lost.page.getByRole("alert").getByText("not_found").waitFor()
  await lost.expectQuiet()
})

test(
  "a person: found by e-mail, then history, consents, link and pack, without typing the id",
  { skip },
  async () => {
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
    await using watched = await opened("people", viewer)
    const { page } = watched
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
    const link = await eventually("the link", async () => (await secretIn(page)) || undefined)
    await page.getByRole("button", { name: "I stored it" }).click()

    await page.getByRole("link", { name: "Next: Evidence pack" }).click()
    await page.getByRole("button", { name: "Make the pack" }).click()
    await page.getByRole("heading", { level: 1, name: "What is known of usr_77" }).waitFor()
    await page.getByText("All 3 rows on this page recomputed").waitFor()
    await watched.expectQuiet()

    await using theirs = await watch(browser, { origin: service.url })
    await theirs.page.goto(link)
    await theirs.page.getByText("<img src=x onerror=alert(1)> about you").waitFor()
    await theirs.page.getByText("U+202E").waitFor()
    await theirs.page.getByText("You signed in").waitFor()
    assert.equal(await theirs.page.locator(".entry, li.wood").count(), 2)
    assert.ok(!(await theirs.page.content()).includes("hr.review.written"))
    await theirs.expectQuiet()
  },
)

test("a person is found by a name that is the id of somebody busy", { skip }, async () => {
  for (const id of ["usr_90", "usr_91"])
    await writeEvent(workspace, { target: { id, type: "user", name: "Mira" } })
  await writeMany(workspace, 110, {
    changes: () => ({ target: { id: "mira", type: "user", name: "M." } }),
  })
  await writeMany(workspace, 110, {
    changes: () => ({ target: { id: "usr_92", type: "user", name: "Mira" } }),
  })
  await using watched = await opened("people/Mira")
  const { page } = watched
  await page.getByText("These have that name").waitFor()
  const ids = await page.locator(".called code").allTextContents()
  assert.deepEqual(ids.toSorted(), ["usr_90", "usr_91", "usr_92"])
  await watched.expectQuiet()
})

test(
  "what has an id with others is found below them, and counted without them",
  { skip },
  async () => {
    const invoice = { id: "17", type: "invoice", name: "Invoice 17" }
    await writeEvent(workspace, { target: { id: "17", type: "user", name: "Seventeen" } })
    await writeMany(workspace, 110, {
      changes: () => ({ actor: { id: "usr_1", type: "user" }, target: invoice }),
    })
    await using watched = await opened("things/user/17")
    const { page } = watched
    await page.getByRole("heading", { level: 1, name: "Seventeen" }).waitFor()
    await page.locator(".more").getByText("1 of 1").waitFor()
    await watched.expectQuiet()
  },
)

test(
  "a history that is not read to its end says how many entries there are at most",
  { skip },
  async () => {
    const eighteen = { id: "18", type: "user", name: "Eighteen" }
    await writeMany(workspace, 3, { changes: () => ({ target: { ...eighteen, type: "invoice" } }) })
    await writeMany(workspace, 110, { changes: () => ({ target: eighteen }) })
    await using watched = await opened("things/user/18")
    const { page } = watched
    await page.locator(".more").getByText("100 of 113 or fewer").waitFor()
    assert.equal(await page.locator("table.entries").getAttribute("aria-rowcount"), "-1")
    await page.keyboard.press("End")
    await page.locator(".more").getByText("110 of 110", { exact: true }).waitFor()
    assert.equal(await page.locator("table.entries").getAttribute("aria-rowcount"), "111")
    await watched.expectQuiet()
  },
)

test("a history counts once what somebody did to themselves", { skip }, async () => {
  const noor = { id: "usr_80", type: "user", name: "Noor" }
  await writeEvent(workspace, { action: "auth.password.changed", actor: noor, target: noor })
  await writeEvent(workspace, { action: "auth.login.succeeded", actor: noor })
  await writeEvent(workspace, { action: "crm.note.added", target: noor })
  await using watched = await opened("people/usr_80")
  const { page } = watched
  await page.locator("table.entries tr[data-sequence]").nth(2).waitFor()
  await page.locator(".more").getByText("3 of 3").waitFor()
  await page.getByRole("link", { name: "As target" }).click()
  await page.locator(".more").getByText("2 of 2").waitFor()
  await watched.expectQuiet()
})

test("the overview says who looked up a person's consents", { skip }, async () => {
  const { reader, path } = workspace
  const answer = await reader.post(`${path}/consents/lookup`, {
    subject: "usr_78",
    reason: "a request",
  })
  assert.equal(answer.status, 200)
  await using watched = await opened("overview")
  const reads = watched.page.locator(".reads")
  await reads.getByText("looked up a person's consents").first().waitFor()
  await watched.expectQuiet()
})
