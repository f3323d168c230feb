// The pages for old entries: erasure, holds, retention, archive.

import assert from "node:assert/strict"
import { join } from "node:path"
import { after } from "node:test"
import {
  clockAhead,
  makeWorkspace,
  startService,
  writeEvent,
  writeMany,
  type Workspace,
} from "../service.ts"
import {
  expectAccessible,
  expectFits,
  expectNarrow,
  holdAnswer,
  temporaryFolder,
} from "./browser.ts"
import { admin, scene, service, test, viewer, workspace } from "./scene.ts"

const hostile = "\u202E<img src=x onerror=alert(1)>"

let folder: Awaited<ReturnType<typeof temporaryFolder>> | undefined

scene(
  async () => void (await writeMany(workspace, 12)),
  async () => {
    folder = await temporaryFolder()
    const data = join(folder.path, "data")
    const { writer, reader, ...made } = await oldWorkspace(data)
    const service = await startService({ data })
    // The same keys, at the service that runs now.
    const clients = { writer: service.client(writer.bearer), reader: service.client(reader.bearer) }
    return { service, workspace: { ...made, ...clients } }
  },
)

after(() => folder?.[Symbol.asyncDispose]())

/** A workspace with entries that were recorded long ago. */
async function oldWorkspace(data: string): Promise<Workspace> {
  await using then = await startService({ data, environment: clockAhead(-400) })
  const made = await makeWorkspace(then)
  await writeMany(made, 30, {
    changes: (place) => ({ action: place % 3 === 0 ? "job.rollup.completed" : "invoice.paid" }),
  })
  assert.equal(await then.end(), 0)
  return made
}

test("an erasure is counted first, confirmed by the person's id, and seen to be done", async (open) => {
  const grace = { id: "usr_grace", type: "user", email: "grace@example.com", name: "Grace" }
  const { receipt } = await writeEvent(workspace, { actor: grace })
  const pack = { title: "For the auditor", receiptIds: [receipt] }
  await service.root.post(`${workspace.path}/evidence-packs`, pack)
  const page = await open(`people/${grace.id}`, admin, { refused: ["ERR_FAILED"] })
  await page.getByRole("heading", { name: "Grace" }).waitFor()
  await page.evaluate("document.querySelector('a[href*=lifetime]').click()")
  await page.getByRole("link", { name: "Erasures" }).click()
  await page.getByText("Nothing was ever erased here.").waitFor()
  const ask = async (person: string): Promise<void> => {
    await page.getByLabel("Person", { exact: true }).fill(person)
    await page.getByLabel("Reason").fill("Article 17")
    await page.getByLabel("Reference").fill(hostile)
    await page.getByRole("button", { name: "Show what would be destroyed" }).click()
  }
  await ask("usr_nobody")
  await page.getByRole("heading", { name: "There is nothing to erase" }).waitFor()
  await page.getByLabel("Reason").fill("Another")
  await page
    .getByRole("heading", { name: "There is nothing to erase" })
    .waitFor({ state: "detached" })
  // A lost count leaves no doubt: nothing was asked to be destroyed.
  await page.route("**/erasures", (route) => route.abort(), { times: 1 })
  await ask(grace.id)
  await page.getByText("The service did not answer.", { exact: true }).waitFor()
  await page.getByRole("button", { name: "Show what would be destroyed" }).click()
  await page.getByRole("heading", { name: /^\d sealed fields in 1 entry$/ }).waitFor()
  await page.getByText("Packs that had it").waitFor()
  await expectAccessible(page)
  await page.getByRole("button", { name: "Erase it…" }).click()
  const dialog = page.getByRole("dialog")
  await dialog.getByLabel("The person's id").fill("usr_9")
  await dialog.getByRole("button", { name: "Erase for ever" }).click()
  await dialog.getByText("This is not the id of that person").waitFor()
  await expectAccessible(page)
  const list = async () =>
    (await service.root.get(`${workspace.path}/erasures`)).json<{ erasures: object[] }>().erasures
  assert.deepEqual(await list(), [])
  await dialog.getByLabel("The person's id").fill(grace.id)
  await dialog.getByRole("button", { name: "Erase for ever" }).click()
  await dialog.waitFor({ state: "detached" })
  await page.getByRole("row", { name: /usr_grace \d fields of 1 entry done/ }).waitFor()
  await page.getByRole("button", { name: /Copies/ }).click()
  await page.getByRole("dialog").getByText("Nobody can recall it").waitFor()
  await page.keyboard.press("Escape")
  await expectNarrow(page)
  await page.getByRole("link", { name: /^What proves it/ }).click()
  await page.getByRole("row", { name: /privacy.erasure.complete/ }).waitFor()
  await page.getByText(/^All \d rows on this page recomputed/).waitFor()
  for (const _ of ["erasures", "retention", "person"]) await page.goBack()
  await page.getByRole("heading", { name: grace.id }).waitFor()
  await page.getByText("The one row on this page recomputed").waitFor()
  await page.getByRole("heading", { name: grace.id }).waitFor()

  const explorer = await open("events?range=all&query=actor%3Ausr_grace", admin)
  await explorer.getByText("Erased: personal data destroyed").waitFor({ state: "attached" })
  await explorer
    .getByRole("row", { name: /usr_grace/ })
    .getByRole("link")
    .first()
    .click()
  await explorer.getByText("An erasure has destroyed personal data").waitFor()
  await explorer.getByText("Verified").first().waitFor()
  assert.doesNotMatch(await explorer.content(), /grace@example/)
  await expectAccessible(explorer)
})

test("an entry whose whole content was erased keeps its place and its proof", async (open) => {
  const ada = { id: "usr_ada", type: "user", email: "ada@example.com" }
  const { receipt } = await writeEvent(workspace, { actor: ada, action: "diary.page.written" })
  const asked = { subject: { id: ada.id }, reason: "Article 17", scope: "entries" }
  assert.equal((await service.root.post(`${workspace.path}/erasures`, asked)).status, 202)
  const page = await open(`events/${receipt}`, admin)
  const drawer = page.getByRole("complementary", { name: "Entry" })
  await drawer.getByRole("heading", { name: "Content erased" }).waitFor()
  await drawer.getByText("An erasure has destroyed what this entry said").waitFor()
  await drawer.getByText("Verified", { exact: false }).first().waitFor()
  assert.doesNotMatch(await page.content(), /usr_ada|diary/)
  await expectAccessible(page)
})

test("a hold is placed and released, and rules are counted, ticked and saved, and expire what is old", async (open) => {
  const page = await open("lifetime/holds", admin)
  await page.getByText("Nothing is held").waitFor()
  await page.getByRole("button", { name: "Place a hold" }).click()
  const dialog = page.getByRole("dialog")
  await dialog.getByLabel("Name").fill(`Case 7 ${hostile}`)
  await dialog.getByLabel("Reason").fill("Lawsuit")
  await expectAccessible(page)
  await dialog.getByLabel("It covers").selectOption("search")
  await dialog.getByLabel("Search").fill("action:job.*")
  await dialog.getByRole("button", { name: "Place it" }).click()
  await page.getByRole("row", { name: /Case 7.*action:job/ }).waitFor()
  assert.doesNotMatch(await page.content(), /\u202E/)
  await expectNarrow(page)

  await page.getByRole("link", { name: "Retention" }).click()
  await page.getByRole("button", { name: "Rule", exact: true }).click()
  await page.getByLabel("Days").fill("365")
  await page.getByLabel("Lane").selectOption("operations")
  await page.getByRole("button", { name: "Count what they would destroy" }).click()
  await page.getByRole("heading", { name: "Nothing expires by these rules today" }).waitFor()
  await page.getByText(/10 more are old enough, and held/).waitFor()
  await page.getByLabel("Lane").selectOption("")
  await page.getByRole("heading", { name: "Nothing expires" }).waitFor({ state: "detached" })
  await page.getByRole("button", { name: "Count what they would destroy" }).click()
  await page.getByRole("heading", { name: /^20 entries lose their contents/ }).waitFor()
  await expectAccessible(page)
  await page.getByRole("button", { name: "Save the rules" }).click()
  await page.getByText("Tick the box to confirm that these contents are destroyed").waitFor()
  await page.getByLabel("The contents of 20 entries may be destroyed for ever").check()
  await page.getByRole("button", { name: "Save the rules" }).click()
  await page.locator("main").getByText("The rules are saved").waitFor()
  const { retention } = (await service.root.get(workspace.path)).json<{ retention: object }>()
  assert.deepEqual(retention, [{ days: 365 }])
  const run = (await service.root.post(`${workspace.path}/retention/run`, {})).json()
  assert.partialDeepStrictEqual(run, { entries: 20, held: 10 })

  const explorer = await open("events?range=all", admin)
  await explorer.getByText("Content expired").first().waitFor()
  await explorer.getByText("Held: it neither expires").first().waitFor({ state: "attached" })
  await explorer.getByText("Content expired").first().click()
  await explorer.getByText("A retention rule has destroyed what this entry said").waitFor()
  await expectAccessible(explorer)

  await page.goto(`${service.url}/ui/lifetime/holds`)
  await page.getByRole("button", { name: /^Release/ }).click()
  await dialog.getByLabel("Reason").fill("The case is closed")
  await dialog.getByRole("button", { name: "Release it" }).click()
  await page.getByRole("row", { name: /Case 7.*released.*The case is closed/ }).waitFor()
})

test("rules that change while they are counted are not those that are saved, and counted ones are not left without a question", async (open) => {
  const page = await open("lifetime/retention", admin)
  await page.getByRole("button", { name: "Rule", exact: true }).click()
  await page.getByLabel("Days").last().fill("3650")
  const release = await holdAnswer(page, "**/retention/preview", () =>
    page.getByRole("button", { name: "Count what they would destroy" }).click(),
  )
  await page.getByLabel("Days").last().fill("365")
  await release()
  assert.equal(await page.getByRole("button", { name: "Save the rules" }).count(), 0)
  await page.getByRole("button", { name: "Count what they would destroy" }).click()
  await page.getByRole("button", { name: "Save the rules" }).waitFor()
  await page.getByRole("link", { name: "Holds" }).click()
  await page.getByRole("button", { name: "Leave", exact: true }).click()
  await page.getByRole("button", { name: "Place a hold" }).waitFor()
})

test("the archive's page says what is old enough for it, also to a viewer", async (open) => {
  const page = await open("lifetime/archive", viewer)
  await page.getByText("Nothing lies in the archive yet").waitFor()
  await page.getByText(/recorded more than 90 days ago/).waitFor()
  await page.getByText("none yet").waitFor()
  await expectAccessible(page)
  await expectNarrow(page)
})

test("a member who is no admin is told so", async (open) => {
  const page = await open("lifetime", viewer)
  await page.getByText("For admins of this workspace").waitFor()
  await expectFits(page)
  await expectAccessible(page)
})
