// What the tests of pages begin with: a browser, and a service with a workspace and two members. A
// test file is a process of its own, so it has one of each.

import { after, before, test as nodeTest } from "node:test"
import type { Browser, Page } from "playwright-core"
import { expectChain } from "../chain.ts"
import { join, type Person } from "../people.ts"
import {
  makeWorkspace,
  startService,
  writeMany,
  type Service,
  type ServiceOptions,
  type Workspace,
} from "../service.ts"
import { noBrowser, openBrowser, signInto, watch, type Watched, type Watching } from "./browser.ts"
import { untilSigned as untilAllSigned } from "../until.ts"

// They are there from the beginning of `prepare` on.
export let browser: Browser
export let service: Service
export let workspace: Workspace
export let admin: Person
export let viewer: Person

interface Begun {
  readonly service: Service
  readonly workspace: Workspace
}

/** Opens them before the tests of a file, and prepares what these need; closes them after. */
export function scene(
  prepare: () => Promise<void>,
  begin: ServiceOptions | (() => Promise<Begun>) = {},
): void {
  before(async () => {
    if (noBrowser !== false) return
    browser = await openBrowser()
    if (typeof begin === "function") ({ service, workspace } = await begin())
    else {
      service = await startService(begin)
      workspace = await makeWorkspace(service)
    }
    admin = await join(service, workspace.path, "admin", "admin@example.com")
    viewer = await join(service, workspace.path, "viewer", "viewer@example.com")
    await prepare()
  })
  after(async () => {
    if (noBrowser !== false) return
    await browser.close()
    await expectChain(service.root, workspace.id)
    await service[Symbol.asyncDispose]()
  })
}

/**
 * Opens a page in a new tab, by its address or the end of it: `packs` is one of the dashboard. `as`
 * has signed in.
 */
type Open = (path: string, as?: Person, options?: Watching) => Promise<Page>

export const nobody = undefined

/** A test of pages. Each that it opens must be quiet to its end. */
export function test(name: string, steps: (open: Open) => Promise<void>): void {
  nodeTest(name, { skip: noBrowser }, async () => {
    await using tabs = new AsyncDisposableStack()
    const opened: Watched[] = []
    await steps(async (path, as, options) => {
      const watched = await watch(browser, { origin: service.url, ...options })
      opened.push(tabs.use(watched))
      const { page } = watched
      if (as !== undefined) await signInto(page, service.url, as)
      await page.goto(new URL(path, `${service.url}/ui/`).href)
      return page
    })
    for (const watched of opened) await watched.expectQuiet()
  })
}

/** Invoices that two actors looked at, one a minute. */
export async function writeInvoices(count: number, untilMs = Date.now()): Promise<void> {
  const actors = [
    { id: "usr_1", type: "user", email: "ada@example.com", name: "\u202E<b>Ada</b>" },
    { id: "ci-deployer", type: "service" },
  ]
  await writeMany(workspace, count, {
    changes: (place) => ({
      action: place % 5 === 0 ? "auth.password.changed" : "invoice.document.viewed",
      actor: actors[place % 2],
      target: { id: `inv_${place}`, type: "invoice", name: `Invoice ${place}` },
      occurredAt: new Date(untilMs - (count - place) * 60_000).toISOString(),
      metadata: { before: { plan: "free" }, after: { plan: "paid" }, ticket: "SUP-1" },
    }),
  })
}

/** Who may be given links to their activity. */
export const own = { id: "usr_1", type: "user", email: "ada@example.com" }

/** Sixty entries for that person, half of which they did themselves. */
export async function writeOwnActivity(): Promise<void> {
  await service.root.patch(`${workspace.path}/projects/core`, { activityLinks: true })
  await writeMany(workspace, 60, {
    changes: (place) => ({
      action: place % 2 === 0 ? "auth.session.created" : "invoice.document.viewed",
      actor: place % 2 === 0 ? own : { id: "support_7", type: "staff" },
      target: { id: own.id, type: "user", name: `\u202E<b>invoice ${place}</b>` },
      occurredAt: new Date().toISOString(),
      userVisible: true,
    }),
  })
}

/** Until a checkpoint covers every entry of the workspace. */
export function untilSigned(by = service.root, path = workspace.path): Promise<void> {
  return untilAllSigned(by, path)
}

/** Waits until the explorer says this of the entries that the browser recomputed. */
export function recomputed(page: Page, text: string | RegExp): Promise<void> {
  return page.locator(".recomputed").getByText(text).waitFor()
}
