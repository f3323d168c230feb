// A real browser for the tests of pages, and pages that are watched while they are used.

import assert from "node:assert/strict"
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { chmod, mkdtemp, rename, rm } from "node:fs/promises"
import { arch, platform, tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { brotliDecompressSync } from "node:zlib"
import axe from "axe-core"
import { npmWith } from "../outside/npm.ts"
import type { Person } from "../people.ts"
import {
  chromium,
  type Browser,
  type BrowserContextOptions,
  type Download,
  type Locator,
  type Page,
  type Route,
} from "playwright-core"

/** Browsers that were installed by hand or by the system. */
const installed = [
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
  "/opt/google/chrome/chrome",
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
  "/Applications/Chromium.app/Contents/MacOS/Chromium",
]

/** The browser sends no requests of its own, and a container offers no sandbox. */
const flags = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
]

const system = installed.find((path) => existsSync(path))

/** The browser that npm has, with its libraries and fonts; or why there is none. */
const packaged =
  system !== undefined
    ? undefined
    : platform() === "linux" && arch() === "x64"
      ? npmWith("chromium", { "@sparticuz/chromium": "153.0.0" })
      : "no Chromium or Chrome is installed here, and the packaged one is for Linux on x64"

/** Why there is none, for `skip`; false if there is one. */
export const noBrowser = typeof packaged === "string" ? packaged : false

export async function openBrowser(): Promise<Browser> {
  if (system !== undefined) return chromium.launch({ executablePath: system, args: flags })
  assert.ok(typeof packaged === "object")
  const { program, env } = await unpacked(join(packaged.modules, "@sparticuz/chromium/bin"))
  return chromium.launch({ executablePath: program, args: flags, env })
}

/** Unpacks it once for all tests. */
async function unpacked(folder: string): Promise<{ program: string; env: Record<string, string> }> {
  const place = join(folder, "unpacked")
  const program = join(place, "chromium")
  if (!existsSync(program)) {
    for (const name of ["al2023.tar", "fonts.tar"])
      untar(brotliDecompressSync(readFileSync(join(folder, `${name}.br`))), place)
    // A page without any font crashes, and the package looks for its fonts elsewhere.
    writeFileSync(
      join(place, "fonts.conf"),
      `<fontconfig><dir>${place}/fonts</dir><dir>/usr/share/fonts</dir><cachedir>${place}/cache</cachedir><alias><family>monospace</family><prefer><family>DejaVu Sans Mono</family></prefer></alias></fontconfig>`,
    )
    // Renamed last, so an interrupted or unfinished copy is never used.
    const written = `${program}-${process.pid}`
    writeFileSync(written, brotliDecompressSync(readFileSync(join(folder, "chromium.br"))))
    await chmod(written, 0o755)
    await rename(written, program)
  }
  const env = { LD_LIBRARY_PATH: join(place, "lib"), FONTCONFIG_PATH: place }
  // Node types a variable that is not set as undefined; none of these is.
  return { program, env: { ...(process.env as Record<string, string>), ...env } }
}

/** As much of tar as those two archives use: files and folders with short names. */
function untar(archive: Buffer, place: string): void {
  const text = (at: number, length: number): string =>
    archive.toString("latin1", at, at + length).replace(/\0.*$/s, "")
  for (let at = 0; at + 512 <= archive.length && archive[at] !== 0;) {
    const name = text(at, 100)
    const size = Number.parseInt(text(at + 124, 12), 8) || 0
    if (text(at + 156, 1) === "0" || text(at + 156, 1) === "") {
      mkdirSync(dirname(join(place, name)), { recursive: true })
      writeFileSync(join(place, name), archive.subarray(at + 512, at + 512 + size))
    }
    at += 512 + Math.ceil(size / 512) * 512
  }
}

/** A service that rechecks everything soon after it was written, so that a chain is green. */
export const auditedSoon = {
  TALLYSTICK_LIMIT_AUDIT_ENTRIES_PER_SECOND: "100000",
  TALLYSTICK_LIMIT_AUDIT_ROUND_EVERY_MS: "500",
}

// A page that is watched ------------------------------------------------------------------------------

export interface Watched extends AsyncDisposable {
  readonly page: Page
  /** Where the page may send requests: the service, or nowhere if it was opened from a file. */
  expectQuiet(): Promise<void>
}

export interface Watching extends BrowserContextOptions {
  /** The only origins that may be asked. */
  readonly origin?: string | readonly string[]
  /** Expected refusals, which the browser reports as errors: their status, or what it says. */
  readonly refused?: readonly (number | string)[]
}

/** Checks every request, error and refusal of a page against what is allowed. */
export async function watch(browser: Browser, options: Watching = {}): Promise<Watched> {
  const { origin = [], refused = [], ...settings } = options
  const origins = [origin].flat()
  const context = await browser.newContext({
    timezoneId: "Europe/Madrid",
    locale: "en-GB",
    viewport: { width: 1440, height: 900 },
    // During a transition a colour has another contrast.
    reducedMotion: "reduce",
    ...settings,
  })
  await context.addInitScript(
    "window.reports = []; addEventListener('securitypolicyviolation', (e) => reports.push(e.violatedDirective + ' ' + e.blockedURI))",
  )
  const page = await context.newPage()
  const asked: string[] = []
  const faults: string[] = []
  page.on("request", (request) => asked.push(request.url()))
  page.on("pageerror", (error) => faults.push(error.message))
  page.on("console", (message) => {
    const isExpected = refused.some((each) =>
      message.text().includes(typeof each === "number" ? `status of ${each}` : each),
    )
    if (message.type() === "error" && !isExpected) faults.push(message.text())
  })
  return {
    page,
    async expectQuiet() {
      const reports = await page.evaluate("window.reports")
      assert.deepEqual(reports, [], "what the policy of the page refused")
      assert.deepEqual(faults, [], "errors of the page")
      const elsewhere = asked.filter(
        (url) => !/^(?:blob|data|file):/.test(url) && !origins.includes(new URL(url).origin),
      )
      assert.deepEqual(elsewhere, [], "requests to somewhere else")
    },
    async [Symbol.asyncDispose]() {
      // Pages that ask again and again may have an answer under way.
      if (!page.isClosed()) await page.unrouteAll({ behavior: "ignoreErrors" })
      await context.close()
    },
  }
}

/** Alters answers to the page on their way, as somebody between it and the service could. */
export function alterAnswers(
  page: Page,
  address: string,
  alter: (text: string) => string,
): Promise<unknown> {
  return page.route(address, async (route) => {
    const answer = await route.fetch()
    await route.fulfill({ response: answer, body: alter(await answer.text()) })
  })
}

/**
 * Does what asks for something, and holds that answer back until the returned function is called,
 * which resolves when the page has had it.
 */
export async function holdAnswer(
  page: Page,
  address: string | RegExp,
  asking: () => Promise<unknown>,
): Promise<() => Promise<void>> {
  const held = Promise.withResolvers<void>()
  const sent = Promise.withResolvers<void>()
  const hold = async (route: Route): Promise<void> => {
    const answer = await route.fetch()
    await held.promise
    await route.fulfill({ response: answer })
    sent.resolve()
  }
  await page.route(address, hold, { times: 1 })
  await Promise.all([page.waitForRequest(address), asking()])
  return async () => {
    held.resolve()
    await sent.promise
    await giveTime(page)
  }
}

/** The file that a click saves. */
export async function savedBy(button: Locator): Promise<Download> {
  const [saved] = await Promise.all([button.page().waitForEvent("download"), button.click()])
  return saved
}

/** For what must not happen, there is no condition to wait for. */
export async function giveTime(page: Page, ms = 200): Promise<void> {
  await page.evaluate(`new Promise((done) => setTimeout(done, ${ms}))`)
}

/** The rules of axe that a theme, which changes colours alone, can break. */
const ofColours = ["color-contrast", "link-in-text-block"]

/** What axe finds at the current width: everything in the light theme, colours in the dark one. */
export async function expectAccessible(page: Page): Promise<void> {
  // Half a megabyte is compiled once for a page.
  if (!(await page.evaluate("'axe' in window"))) await page.evaluate(`${axe.source}; undefined`)
  for (const [colorScheme, some] of [
    ["light", {}],
    ["dark", { runOnly: ofColours }],
  ] as const) {
    await page.emulateMedia({ colorScheme })
    const options = JSON.stringify({ resultTypes: ["violations"], ...some })
    const found = (await page.evaluate(
      `axe.run(document, ${options}).then(({ violations }) => violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html).join(' | ')))`,
    )) as string[]
    assert.deepEqual(found, [], `axe, ${colorScheme}`)
  }
}

/**
 * On the narrowest screen, which 1280 pixels are at 400 %, nothing scrolls sideways, and axe finds
 * nothing.
 */
export async function expectNarrow(page: Page): Promise<void> {
  const width = 320
  await page.setViewportSize({ width, height: 844 })
  await expectFits(page)
  await expectAccessible(page)
}

/** Nothing scrolls sideways. */
export async function expectFits(page: Page): Promise<void> {
  const [content, window] = (await page.evaluate(
    "[document.documentElement.scrollWidth, document.documentElement.clientWidth]",
  )) as [number, number]
  assert.ok(content <= window, `${content} px of content in ${window}`)
}

/** The element that has the keyboard, after as many tabs as it takes. */
export async function tabTo(page: Page, name: RegExp): Promise<void> {
  for (let tabs = 0; tabs < 60; tabs++) {
    await page.keyboard.press("Tab")
    const focused = (await page.evaluate(
      "document.activeElement?.textContent + ' ' + (document.activeElement?.getAttribute('aria-label') ?? '')",
    )) as string
    if (name.test(focused)) return
  }
  assert.fail(`the keyboard does not come to ${name}`)
}

export async function temporaryFolder(): Promise<AsyncDisposable & { readonly path: string }> {
  const path = await mkdtemp(join(tmpdir(), "tallystick-pages-"))
  return {
    path,
    [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }),
  }
}

/** Goes on with a session, as if its cookie had come from the form. */
export async function signInto(page: Page, url: string, { cookie }: Person): Promise<void> {
  const [, name = "", value = ""] = /^([^=]+)=(.*)$/.exec(cookie) ?? []
  // A browser treats this machine as secure, and takes the prefix of the name from no other.
  const secure = url.replace("http:", "https:")
  await page.context().addCookies([{ name, value, url: secure, httpOnly: true, sameSite: "Lax" }])
}

/** A secret that is shown once, and stored. */
export async function storedSecret(page: Page): Promise<string> {
  const secret = await secretIn(page)
  await page.getByRole("button", { name: "I stored it" }).click()
  return secret
}

/** A secret that is shown once. */
export async function secretIn(page: Page): Promise<string> {
  return (await page.locator(".secret-text code").textContent()) ?? ""
}
