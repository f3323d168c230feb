// The explorer while entries are recorded: the first, new ones, very many, a lost connection; and
// exports.

import assert from "node:assert/strict"
import { readFileSync } from "node:fs"
import { expectChain } from "../chain.ts"
import { makeWorkspace, writeEvent, writeMany, type Workspace } from "../service.ts"
import { expectAccessible, holdAnswer, savedBy } from "./browser.ts"
import { admin, recomputed, scene, service, test, workspace } from "./scene.ts"

const now = () => ({ occurredAt: new Date().toISOString() })

scene(async () => {
  await writeMany(workspace, 130, { changes: now })
})

/** One in which nothing is recorded yet, of the same person. */
async function emptyWorkspace(role: string): Promise<Workspace> {
  const made = await makeWorkspace(service)
  await service.root.post(`${made.path}/members/${admin.id}`, { role })
  return made
}

test("first run: a key is made on request, and the first event cuts a notch", async (open) => {
  const empty = await emptyWorkspace("admin")
  const page = await open(`events?workspace=${empty.id}`, admin)
  await page.getByRole("heading", { name: "Nothing recorded yet" }).waitFor()
  await expectAccessible(page)
  // The key that is being made is not lost by leaving.
  const release = await holdAnswer(page, "**/api-keys", () =>
    page.getByRole("button", { name: "Make a key for it" }).click(),
  )
  await page.getByRole("link", { name: "Access" }).click()
  await release()
  const key = (await page.locator("mark", { hasText: "tsk_" }).textContent()) ?? ""
  const call = (await page.locator(".terminal pre").textContent()) ?? ""
  const body = /-d '([^']*)'$/.exec(call)?.[1] ?? ""
  assert.match(call, /Idempotency-Key: [\w-]{12,}/)
  const { status, text } = await service.client(key).write(JSON.parse(body) as object)
  assert.equal(status, 202, text)
  await page.getByRole("heading", { name: "The first notch is cut" }).waitFor()
  await page.getByText(/Recorded as #\d/).waitFor()
  await page.getByRole("link", { name: "Access" }).click()
  await page.getByText("Store it first").waitFor()
  assert.equal(await page.locator("mark").textContent(), key)
  await expectAccessible(page)
  await page.getByRole("button", { name: "I stored it" }).and(page.locator(":focus")).click()
  await page.getByRole("link", { name: "See it in the list" }).click()
  const drawer = page.getByRole("complementary", { name: "Entry" })
  await drawer.getByRole("heading", { name: "auth.session.created" }).waitFor()
  await recomputed(page, "The one row on this page recomputed")
  await expectChain(service.root, empty.id)
})

test("first run: it is looked again where somebody goes to the same page again", async (open) => {
  const fresh = await emptyWorkspace("viewer")
  const page = await open(`events?workspace=${fresh.id}`, admin)
  const again = () => page.getByRole("link", { name: "Events", exact: true }).click()
  await page.getByRole("heading", { name: "Nothing recorded yet" }).waitFor()
  await again()
  await page.getByText("Waiting for the first event").waitFor()
  await writeEvent(fresh, now())
  await page.getByRole("heading", { name: "The first notch is cut" }).waitFor()
  await again()
  await recomputed(page, "The one row on this page recomputed")
  await expectChain(service.root, fresh.id)
})

test("live: new entries wait, or come by themselves, and are recomputed", async (open) => {
  const page = await open(`events?workspace=${workspace.id}`, admin)
  await recomputed(page, /All 100/)
  await writeMany(workspace, 3, { changes: now })
  await page.getByRole("button", { name: "3 new, show" }).click()
  await page.locator(".summary b").getByText("133").waitFor()
  await recomputed(page, /All 100/)
  await page.keyboard.press("l")
  await page.locator('.live[aria-pressed="true"]').waitFor()
  const first = page.locator("tr[data-sequence]").first()
  const before = Number(await first.getAttribute("data-sequence"))
  await writeMany(workspace, 2, { changes: now })
  await page.locator(`tr[data-sequence="${before + 2}"]`).waitFor()
  // The head of the table is the first row.
  for (const [sequence, place] of [
    [before + 2, 2],
    [before, 4],
  ] as const)
    assert.equal(
      await page.locator(`tr[data-sequence="${sequence}"]`).getAttribute("aria-rowindex"),
      String(place),
    )
  await recomputed(page, "All 102 rows on this page recomputed")
  await expectAccessible(page)
  // Too many to read as they come: they are counted, and none is left out.
  await writeMany(workspace, 60, { changes: now })
  await page.getByRole("button", { name: "60 new, show" }).waitFor()
  await page.evaluate("scrollTo(0, 2000)")
  await writeMany(workspace, 1, { changes: now })
  await page.evaluate("scrollTo(0, 0)")
  await page.getByRole("button", { name: "61 new, show" }).waitFor()
})

test("live: without a stream, the page polls", async (open) => {
  const page = await open("about:blank", admin, { refused: [502] })
  await page.route("**/events/feed**", async (route) =>
    route.request().headers()["accept"] === "text/event-stream"
      ? route.fulfill({ status: 502, body: "no" })
      : route.continue(),
  )
  await page.goto(`${service.url}/ui/events?workspace=${workspace.id}`)
  await recomputed(page, /All 100/)
  await writeMany(workspace, 1, { changes: now })
  await page.getByRole("button", { name: "1 new, show" }).waitFor()
  await page.unrouteAll({ behavior: "ignoreErrors" })
})

test("live: a lost connection is shown, and no entry is missed", async (open) => {
  const page = await open("about:blank", admin, { refused: ["ERR_FAILED"] })
  await page.route("**/events/feed**", (route) => route.abort())
  await page.goto(`${service.url}/ui/events?workspace=${workspace.id}`)
  await page.getByText(/Connection lost, showing \d\d:\d\d:\d\d/).waitFor()
  await writeMany(workspace, 2, { changes: now })
  await page.unrouteAll({ behavior: "wait" })
  await page.getByRole("button", { name: "2 new, show" }).waitFor()
  await page.getByText(/Connection lost/).waitFor({ state: "detached" })
})

test("export: every entry that was found is in the file", async (open) => {
  const page = await open(`events?workspace=${workspace.id}`, admin)
  await recomputed(page, /All 100/)
  const { total } = (await admin.get(`${workspace.path}/events?limit=1`)).json<{ total: number }>()
  for (const [name, lines] of [
    // The last line says how many there are, and their hash.
    [/JSON/, total + 1],
    ["CSV", total + 1],
  ] as const) {
    await page.keyboard.press("e")
    const saved = await savedBy(page.locator("#export").getByRole("button", { name }))
    const content = readFileSync(await saved.path(), "utf8")
    assert.equal(content.trimEnd().split("\n").length, lines)
  }
  const recorded = (
    await admin.get(
      `${workspace.path}/events?projectId=system&query=action:workspace.events.export`,
    )
  ).json<{ events: { actor: { email: string }; metadata: { format: string } }[] }>().events
  assert.deepEqual(
    recorded.map(({ actor, metadata: { format } }) => [actor.email, format]),
    ["csv", "jsonl"].map((format) => [admin.email, format]),
  )
})
