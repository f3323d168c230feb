// `npm run pictures`: the pictures of the documentation, of a service with a week of entries.

import assert from "node:assert/strict"
import { mkdirSync } from "node:fs"
import { join } from "node:path"
import type { ChainState } from "@tallystick/client/wire"
import type { Browser } from "playwright-core"
import { setUpFirst } from "../people.ts"
import { eventually, make, makeKey, startService, writeMany } from "../service.ts"
import { auditedSoon, giveTime, noBrowser, openBrowser, signInto, watch } from "./browser.ts"
import { createChance } from "../chance.ts"

const folder = join(import.meta.dirname, "../../docs/pictures")
const week = 7 * 86_400_000
const count = 4000

const actors = [
  { id: "usr_12", type: "user", email: "finance@example.com" },
  { id: "usr_91", type: "user", email: "support@example.com" },
  { id: "ci-deployer", type: "service" },
  { id: "billing-api", type: "service" },
  { id: "scheduler", type: "service" },
]
const happenings = [
  [
    "auth.password.changed",
    "user",
    "usr_91",
    {
      before: { hash: "bcrypt", mfa: false },
      after: { hash: "argon2id", mfa: true },
      ticket: "SUP-2291",
    },
  ],
  ["auth.session.created", "session", "ses_7Qk2", { method: "passkey" }],
  ["invoice.payment.received", "invoice", "inv_0077", { amount: 1299.5, currency: "EUR" }],
  ["document.file.shared", "document", "Q3 forecast.xlsx", { with: "auditor@example.com" }],
  ["policy.version.published", "policy", "privacy-7", {}],
  ["deploy.release.finished", "release", "web 2026.46.3", { commit: "9f2c41aa" }],
  ["job.rollup.completed", "job", "rollup", { rows: 81_204 }],
  ["job.rollup.completed", "job", "rollup", { rows: 80_911 }],
] as const

assert.equal(noBrowser, false, "no browser is installed")
await using service = await startService({ environment: auditedSoon })
await make(service.root, "/v1/workspaces", { id: "acme" })
const writer = await makeKey(service, "acme", { name: "billing-api", scopes: ["write"] })
await makeKey(service, "acme", { name: "auditor", scopes: ["read"], expiresInSeconds: 7_776_000 })
const person = await setUpFirst(service)
await writeWeek()
const newest = await eventually("everything to be signed and read again", async () => {
  const state = await service.root.get("/v1/workspaces/acme/integrity")
  const { pending, size, checked } = state.json<ChainState>()
  return pending === 0 && checked.some(({ to }) => to === size) ? size : undefined
})
const changed = await eventually("a change of a password to be found", async () => {
  const found = await service.root.get(
    "/v1/workspaces/acme/events?query=action:auth.password.changed&limit=1",
  )
  if (found.status !== 200) return undefined
  return found.json<{ events: { receipt: string; sequence: number }[] }>().events[0]
})
mkdirSync(folder, { recursive: true })
const browser = await openBrowser()
try {
  await picture(browser, "events", `ui/events/${changed.sequence}`, "in this browser")
  await picture(browser, "overview", "ui", "Nothing does", { colorScheme: "dark" })
  await picture(
    browser,
    "chain",
    `ui/chain?verify=all&from=${newest - 8}&to=${newest}`,
    "entries were read",
  )
  await picture(browser, "thing", "ui/things/user/usr_12", "recomputed")
  await picture(browser, "receipt", `r/acme/${changed.receipt}`, "Signature")
  await picture(browser, "access", "ui/access", "billing-api")
} finally {
  await browser.close()
}

/** Busy by day, and quiet by night. */
async function writeWeek(): Promise<void> {
  const begin = Date.now() - week
  const { below } = createChance(7)
  const random = (): number => below(2 ** 32) / 2 ** 32
  const times = Array.from({ length: count }, () => {
    const day = Math.floor(random() * 7) * 86_400_000
    const hour = 8 + 10 * ((random() + random()) / 2)
    return Math.min(begin + day + hour * 3_600_000, Date.now())
  }).toSorted((one, other) => one - other)
  const changes = (place: number): object => {
    const [action, type, name, metadata] =
      happenings[Math.floor(random() ** 0.8 * happenings.length)] ?? happenings[0]
    return {
      projectId: random() < 0.7 ? "core" : "warehouse",
      action,
      occurredAt: new Date(times[place] ?? begin).toISOString(),
      actor: actors[Math.floor(random() ** 1.5 * actors.length)],
      target: { id: name, type },
      metadata,
    }
  }
  await writeMany({ id: "acme", writer }, count, { changes, atOnce: 1000 })
}

async function picture(
  browser: Browser,
  name: string,
  path: string,
  /** What stands there when it is whole. */
  text: string,
  look: { readonly colorScheme?: "dark" } = {},
): Promise<void> {
  const viewport = { width: 1440, height: 900 }
  await using watched = await watch(browser, { origin: service.url, viewport, ...look })
  const { page } = watched
  await signInto(page, service.url, person)
  const url = new URL(path, `${service.url}/`)
  if (path.startsWith("ui")) url.searchParams.set("workspace", "acme")
  await page.goto(url.href)
  await page.getByText(text).first().waitFor()
  await page.locator("main[aria-busy=true]").waitFor({ state: "detached" })
  // Filters and links come after what they belong to.
  await giveTime(page, 1000)
  await page.screenshot({ path: join(folder, `${name}.png`) })
  process.stdout.write(`docs/pictures/${name}.png\n`)
}
