// The pages in Firefox, if one is installed: over plain HTTP on this machine, where its rules for
// cookies differ from Chromium's, and from a file.

import assert from "node:assert/strict"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, before, test } from "node:test"
import { pathToFileURL } from "node:url"
import { expectChain } from "../chain.ts"
import { join as joinWorkspace } from "../people.ts"
import {
  eventFor,
  eventually,
  make,
  makeWorkspace,
  startService,
  writeMany,
  type Service,
} from "../service.ts"
import { noFirefox, openFirefox, type Firefox } from "./firefox.ts"

const skip = noFirefox

let firefox: Firefox
let service: Service
let workspace: Awaited<ReturnType<typeof makeWorkspace>>
let receipt: string

before(async () => {
  if (skip !== false) return
  firefox = await openFirefox()
  service = await startService()
  workspace = await makeWorkspace(service)
  const open = { receipts: "public", activityLinks: true }
  await service.root.patch(`${workspace.path}/projects/core`, open)
  await writeMany(workspace, 20, { changes: () => ({ userVisible: true }) })
  const written = await workspace.writer.write(eventFor(workspace.id))
  receipt = written.json<{ receipt: string }>().receipt
  await eventually("a checkpoint", async () => {
    const { text } = await workspace.reader.get(`${workspace.path}/receipts/${receipt}`)
    return text.includes('"integrity":"verified"')
  })
})

after(async () => {
  if (skip !== false) return
  await firefox[Symbol.asyncDispose]()
  await expectChain(service.root, workspace.id)
  await service[Symbol.asyncDispose]()
})

test(
  "Firefox: somebody signs in over plain HTTP, sees new rows come, and checks the chain",
  { skip },
  async () => {
    const { email, password } = await joinWorkspace(
      service,
      workspace.path,
      "viewer",
      "viewer@example.com",
    )
    await firefox.open(`${service.url}/ui/events?workspace=${workspace.id}&range=all`)
    await firefox.until("document.querySelector('form [name=password]')")
    await firefox.until(`(() => {
      document.querySelector("[name=email]").value = ${JSON.stringify(email)}
      document.querySelector("[name=password]").value = ${JSON.stringify(password)}
      document.querySelector("form button").click()
      return true
    })()`)
    await firefox.see("All 21 rows on this page recomputed")
    await workspace.writer.write(eventFor(workspace.id))
    await firefox.see("1 new, show")
    // The cookie is sent with the next page, too.
    await firefox.open(`${service.url}/ui/chain?workspace=${workspace.id}&verify=all`)
    await firefox.see("read, hashed and linked again in this browser")
    assert.deepEqual(firefox.errors, [])
  },
)

test("Firefox: a receipt and a person's activity are recomputed", { skip }, async () => {
  await firefox.open(`${service.url}/r/${workspace.id}/${receipt}`)
  await firefox.see("Consistent, key not confirmed")
  const { actor } = eventFor(workspace.id)
  const { activityUrl } = await make<{ activityUrl: string }>(
    workspace.reader,
    `${workspace.path}/activity/token`,
    { projectId: "core", subject: actor.id },
  )
  await firefox.open(activityUrl)
  await firefox.see("Every entry below was recomputed")
  assert.deepEqual(firefox.errors, [])
})

test("Firefox: the verifier checks a receipt, served and from a file", { skip }, async () => {
  const { text } = await workspace.reader.get(`${workspace.path}/receipts/${receipt}`)
  const folder = await mkdtemp(join(tmpdir(), "tallystick-firefox-verifier-"))
  try {
    const saved = join(folder, "verify.html")
    await writeFile(saved, (await service.client().get("/verify.html")).bytes)
    for (const address of [`${service.url}/verify`, pathToFileURL(saved).href]) {
      await firefox.open(address)
      for (const [name, content, says] of [
        ["receipt.json", text, "Consistent, not confirmed"],
        ["altered.json", text.replaceAll('"usr_1"', '"usr_2"'), "This receipt is not genuine"],
      ] as const) {
        await firefox.until(`(() => {
          const given = new DataTransfer()
          given.items.add(new File([${JSON.stringify(content)}], "${name}"))
          const input = document.querySelector("input[type=file]")
          input.files = given.files
          input.dispatchEvent(new Event("change", { bubbles: true }))
          return true
        })()`)
        await firefox.until(
          `document.querySelector('[aria-label="${name}"] .verdict')?.textContent.includes("${says}")`,
        )
      }
    }
    assert.deepEqual(firefox.errors, [])
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
})
