// What the tests of pages begin with: a browser, and a service with a workspace. A test file is a
// process of its own, so it has one of each.

import { after, before } from "node:test"
import type { Browser, Page } from "playwright-core"
import { expectChain } from "../chain.ts"
import {
  eventually,
  makeWorkspace,
  startService,
  type Service,
  type Workspace,
} from "../service.ts"
import type { Person } from "../people.ts"
import { noBrowser, openBrowser, signInto, watch, type Watched } from "./browser.ts"

/** Why there is no scene, for `skip`; false if there is one. */
export const skip = noBrowser

// They are there from the beginning of `prepare` on.
export let browser: Browser
export let service: Service
export let workspace: Workspace

/** Opens them before the tests of a file, and prepares what these need; closes them after. */
export function scene(
  prepare: () => Promise<void>,
  options: Parameters<typeof startService>[0] = {},
): void {
  before(async () => {
    if (skip !== false) return
    browser = await openBrowser()
    service = await startService(options)
    workspace = await makeWorkspace(service)
    await prepare()
  })
  after(async () => {
    if (skip !== false) return
    await browser.close()
    await expectChain(service.root, workspace.id)
    await service[Symbol.asyncDispose]()
  })
}

/** Until a checkpoint covers every entry of the workspace. */
export async function untilSigned(): Promise<void> {
  await eventually("a checkpoint", async () => {
    const { text } = await service.root.get(`${workspace.path}/integrity`)
    return text.includes('"pending":0') ? true : undefined
  })
}

/** A page of the dashboard, opened by somebody who signs in first. */
export async function openIn(watched: Watched, person: Person, path: string): Promise<Page> {
  await signInto(watched, service.url, person)
  await watched.page.goto(`${service.url}/ui/${path}`)
  return watched.page
}

/** The same in a new tab. */
export async function openAs(
  person: Person,
  path: string,
  refused: readonly number[] = [],
): Promise<Watched> {
  const watched = await watch(browser, { origin: service.url, refused })
  await openIn(watched, person, path)
  return watched
}

/** Waits until the explorer says this of the entries that the browser recomputed. */
export function recomputed(page: Page, text: string | RegExp): Promise<void> {
  return page.locator(".recomputed").getByText(text).waitFor()
}
