// The chain page: what the service reports, and what the browser recomputes, for a log that is
// genuine, altered, cut short, or another one.

import assert from "node:assert/strict"
import { rename, rm } from "node:fs/promises"
import type { Page, Route } from "playwright-core"
import { expectChain } from "../chain.ts"
import { startProgram } from "../crash/programs.ts"
import { join } from "../people.ts"
import { tallystick } from "../program.ts"
import { eventually, makeWorkspace, writeMany, type Service } from "../service.ts"
import {
  alterAnswers,
  auditedSoon,
  expectAccessible,
  expectFits,
  giveTime,
  holdAnswer,
  savedBy,
  signInto,
  tabTo,
  watch,
} from "./browser.ts"
import { browser, scene, service, test, untilSigned, viewer, workspace } from "./scene.ts"

/** More than the browser asks for at once. */
const entries = 4300

scene(
  async () => {
    await writeMany(workspace, entries)
    await untilSigned()
  },
  { environment: auditedSoon },
)

async function size(): Promise<number> {
  return (await service.root.get(`${workspace.path}/integrity`)).json<{ size: number }>().size
}

function shown(number: number): string {
  return `#${number.toLocaleString("en-GB")}`
}

/** Changes bytes of the log on their way to the browser. */
async function altered(page: Page, path: RegExp, change: (bytes: Buffer) => Buffer) {
  await page.context().route(path, async (route: Route) => {
    const answer = await route.fetch()
    await route.fulfill({ response: answer, body: change(await answer.body()) })
  })
}

for (const width of [1440, 390])
  test(`chain: everything is recomputed in the browser, and a key is trusted, ${width} px wide`, async (open) => {
    const viewport = { width, height: 900 }
    const page = await open("chain", viewer, { viewport })
    await page.getByRole("heading", { name: /^Chain/ }).waitFor()
    const all = await size()
    await tabTo(page, /Verify everything/)
    await page.keyboard.press("Enter")
    await page.getByRole("heading", { name: `#1 to ${shown(all)} hold` }).waitFor()
    await page.getByText("you have not confirmed it").waitFor()
    await page.getByRole("button", { name: "I compared it: trust it" }).click()
    await page.getByText("you trust it").waitFor()
    await page.getByRole("button", { name: "Verify everything" }).click()
    await page.getByText("A key that you trust has signed it").waitFor()
    assert.equal(
      await page.locator(".cells .verified").count(),
      await page.locator(".cells li").count(),
    )
    await expectAccessible(page)
    await expectFits(page)
  })

test("chain: a cell shows its last links, and a range is proven by the tree", async (open) => {
  const page = await open("chain", viewer)
  await page.getByRole("link", { name: /^Entries 129 to 256:/ }).click()
  await page.getByRole("heading", { name: "#129 – #256" }).waitFor()
  assert.equal(await page.locator(".cell .linked").count(), 3)
  assert.equal(await page.locator(".cell .ends.unequal").count(), 0)
  await page.getByText("Verify a range").click()
  await page.getByLabel("From entry").fill("250")
  await page.getByLabel("To entry").fill("300")
  await page.getByRole("button", { name: "Verify it" }).click()
  await page.getByRole("heading", { name: "#250 to #300 hold" }).waitFor()
  await page.getByText("51 entries were read").waitFor()
  await page.goBack()
  await page.getByRole("heading", { name: "#129 – #256" }).waitFor({ state: "detached" })
})

test("chain: every part that is altered on its way is named, and is not green", async (open) => {
  const [first, second] = [/records\?after=0&/, /records\?after=4096&/]
  const broken: readonly (readonly [string, RegExp, (bytes: Buffer) => Buffer, RegExp])[] = [
    // Each record takes 118 bytes; its link begins at the 54th.
    ["a link", first, (bytes) => flipped(bytes, 118 * 266 + 60), /^Does not hold at #267$/],
    ["a body's hash", first, (bytes) => flipped(bytes, 118 * 4 + 100), /^Does not hold at #6$/],
    ["the last record", second, (bytes) => flipped(bytes, bytes.length - 1), /^Does not hold/],
    ["records that are cut", first, (bytes) => bytes.subarray(0, -1), /^Does not hold at #4,096$/],
    [
      "records of the wrong place",
      second,
      (bytes) => Buffer.concat([bytes.subarray(118), bytes.subarray(0, 118)]),
      /^Does not hold at #4,097$/,
    ],
    [
      "the checkpoint",
      /epochs\/1\/checkpoint$/,
      (bytes) =>
        Buffer.from(
          bytes
            .toString()
            .replace(/^(.*\n)(\d+)/, (_, origin, count) => `${origin}${Number(count) - 1}`),
        ),
      /^Does not hold/,
    ],
  ]
  const page = await open("about:blank", viewer)
  for (const [what, path, change, says] of broken) {
    await altered(page, path, change)
    await page.goto(`${service.url}/ui/chain?verify=all`)
    const heading = page.locator(".check-result h2")
    await heading.waitFor()
    assert.match((await heading.textContent()) ?? "", says, what)
    assert.equal(await page.locator(".check-result .seal.intact").count(), 0, what)
    await page.locator(".claim h1").getByText("Chain broken").waitFor()
    await page.locator(".chain-status").getByText("broken").waitFor()
    await page.locator(".cells .broken").waitFor()
    await page.context().unroute(path)
  }
})

function flipped(bytes: Buffer, at: number): Buffer {
  const copy = Buffer.from(bytes)
  copy.writeUInt8(copy.readUInt8(at) ^ 1, at)
  return copy
}

test("chain: what cannot be read is not checked, and a check can be cancelled", async (open) => {
  const page = await open("about:blank", viewer, { refused: [503] })
  await page.context().route(/records\?after=4096&/, (route) => route.fulfill({ status: 503 }))
  await page.goto(`${service.url}/ui/chain?verify=all`)
  await page.getByRole("heading", { name: "Not checked" }).waitFor()
  await page.context().unroute(/records\?after=4096&/)
  let release = (): void => {}
  const held = new Promise<void>((resolve) => (release = resolve))
  await page.context().route(/records\?after=4096&/, async (route) => {
    await held
    await route.continue().catch(() => {})
  })
  await page.getByRole("button", { name: "Verify everything" }).click()
  await page.getByRole("button", { name: "Cancel" }).click()
  await page.getByText("Nothing is said of what was not checked").waitFor()
  release()
})

test("chain: what this browser found broken stays so until it was read again", async (open) => {
  const page = await open("about:blank", viewer)
  await altered(page, /records\?after=0&/, (bytes) => flipped(bytes, 118 * 266 + 60))
  await page.goto(`${service.url}/ui/chain?verify=all`)
  await page.locator(".claim").getByText("Found in this browser").waitFor()
  await page.getByRole("heading", { name: /^#\d+ – #\d+$/ }).waitFor()
  await expectAccessible(page)
  await page.getByRole("link", { name: "Overview" }).click()
  await page.getByRole("heading", { name: "Chain broken" }).waitFor()
  await page.getByText("Nothing else does.").waitFor()
  await page.locator(".links").getByText("#267").waitFor()
  await page.getByRole("link", { name: "What this means" }).click()
  await page.context().unroute(/records\?after=0&/)
  await page.getByText("Verify a range").click()
  const verify = async (from: string, to: string): Promise<void> => {
    await page.getByLabel("From entry").fill(from)
    await page.getByLabel("To entry").fill(to)
    await page.getByRole("button", { name: "Verify it" }).click()
    await page.getByRole("heading", { name: `#${from} to #${to} hold` }).waitFor()
  }
  await verify("1", "200")
  await page.getByRole("heading", { name: "Chain broken" }).waitFor()
  await verify("200", "300")
  await page.getByRole("heading", { name: /Chain intact to/ }).waitFor()
})

test("chain: a check in this browser grows old like one of the service", async (open) => {
  const page = await open("about:blank", viewer)
  await alterAnswers(page, "**/integrity", (text) =>
    text.replace(/"checked":\[[^\]]*\]/, '"checked":[]'),
  )
  await page.goto(`${service.url}/ui/chain`)
  await page.getByRole("heading", { name: /^Sealed to/ }).waitFor()
  await page.getByRole("button", { name: "Verify everything" }).click()
  await page.getByRole("heading", { name: /Chain intact to/ }).waitFor()
  await page.getByRole("link", { name: /^Entries 129 to 256: verified/ }).click()
  await page.getByText(/in this browser$/).waitFor()
  for (const days of [6, 8]) {
    await page.clock.setFixedTime(Date.now() + days * 86_400_000)
    await Promise.all([
      page.waitForResponse("**/integrity"),
      page.evaluate("document.dispatchEvent(new Event('visibilitychange'))"),
    ])
    await giveTime(page)
    const title = days < 7 ? /Chain intact to/ : /^Sealed to/
    await page.getByRole("heading", { name: title }).waitFor()
  }
})

test("chain: a checkpoint that was kept is compared with the log", async (open) => {
  const kept = (await service.root.get(`${workspace.path}/tlog/checkpoint`)).text
  await writeMany(workspace, 5)
  const other = await makeWorkspace(service)
  await writeMany(other, 3)
  const foreign = await eventually("a checkpoint of another log", async () => {
    const reply = await service.root.get(`${other.path}/tlog/checkpoint`)
    return reply.status === 200 ? reply.text : undefined
  })
  const page = await open("chain", viewer)
  await page.getByText("Compare with a checkpoint that you kept").click()
  const compare = async (text: string, says: string): Promise<void> => {
    await page.getByLabel("Checkpoint").fill(text)
    await page.getByRole("button", { name: "Compare", exact: true }).click()
    await page.getByRole("heading", { name: says }).waitFor()
  }
  await compare(kept, "The same log")
  await compare(kept.replace(/\d/, "9"), "Not a checkpoint of this log")
  await compare(foreign, "Not a checkpoint of this log")
  await expectAccessible(page)
  // The log that is served is shorter than the one that was signed for.
  await eventually("a newer checkpoint", async () => {
    const { text } = await service.root.get(`${workspace.path}/tlog/checkpoint`)
    return text === kept ? undefined : true
  })
  const newest = (await service.root.get(`${workspace.path}/tlog/checkpoint`)).text
  await altered(page, /epochs\/1\/checkpoint$/, () => Buffer.from(kept))
  await compare(newest, "Your checkpoint covers more")
  await expectChain(service.root, other.id)
})

test("chain: a check that was cancelled before it began does not begin", async (open) => {
  const page = await open("chain", viewer)
  const release = await holdAnswer(page, "**/tlog/epochs", () =>
    page.getByRole("button", { name: "Verify everything" }).click(),
  )
  await page.getByRole("button", { name: "Cancel" }).click()
  await release()
  await giveTime(page, 1000)
  await page.getByText("Cancelled. Nothing is said").waitFor()
})

test("chain: the cell that was chosen last is shown", async (open) => {
  const page = await open("chain", viewer)
  const release = await holdAnswer(page, /events\?.*cursor=257(?:&|$)/, () =>
    page.getByRole("link", { name: /^Entries 129 to 256:/ }).click(),
  )
  await page.getByRole("link", { name: /^Entries 257 to 384:/ }).click()
  await page.getByRole("heading", { name: "#257 – #384" }).waitFor()
  await release()
  await giveTime(page, 1000)
  assert.equal(await page.getByRole("heading", { name: "#129 – #256" }).count(), 0)
})

test("chain: a checkpoint of a former epoch is compared without its key", async () => {
  await using before = await startProgram()
  const { data } = before
  const { id, path, writer } = await makeWorkspace(before)
  const reader = await join(before, path, "viewer", "viewer@example.com")
  const signed = async (log: Service, entries: number) => {
    await writeMany({ id, writer: log.client(writer.bearer) }, entries)
    await untilSigned(log.root, path)
    return (await log.root.get(`${path}/tlog/checkpoint`)).text
  }
  const kept = await signed(before, 5)
  const copy = `${data}-copy`
  assert.equal((await tallystick(["backup", copy], { TALLYSTICK_DATA: data })).code, 0)
  const lost = await signed(before, 3)
  assert.equal(await before.end(), 0)
  await rm(data, { recursive: true })
  await rename(copy, data)
  assert.equal((await tallystick(["resume"], { TALLYSTICK_DATA: data })).code, 0)

  await using after = await startProgram({ data })
  await signed(after, 2)
  await using watched = await watch(browser, { origin: after.url })
  const { page } = watched
  await signInto(page, after.url, reader)
  await page.goto(`${after.url}/ui/chain?workspace=${id}`)
  await page.getByText("Compare with a checkpoint that you kept").click()
  for (const [text, says] of [
    [kept, "The same log"],
    [lost, "Your checkpoint covers more"],
  ] as const) {
    await page.getByLabel("Checkpoint").fill(text)
    await page.getByRole("button", { name: "Compare", exact: true }).click()
    await page.getByRole("heading", { name: says }).waitFor()
  }
  // Each epoch has a key of its own.
  await page.getByRole("columnheader", { name: "Epoch" }).waitFor()
  for (const left of [2, 1]) {
    const buttons = page.getByRole("button", { name: "I compared it: trust it" })
    assert.equal(await buttons.count(), left)
    await buttons.last().click()
    await page
      .getByText("you trust it")
      .nth(2 - left)
      .waitFor()
  }
  await expectAccessible(page)
  await page.setViewportSize({ width: 390, height: 844 })
  await expectFits(page)
  await expectChain(after.root, id)
  await watched.expectQuiet()
})

test("chain: a checkpoint is saved, or the page says why not", async (open) => {
  const page = await open("chain", viewer, { refused: [503] })
  await page.route("**/tlog/checkpoint", (route) => route.fulfill({ status: 503, json: {} }))
  const button = page.getByRole("button", { name: "Save this checkpoint" })
  await button.click()
  const refusal = page.getByRole("alert").getByText("status 503")
  await refusal.waitFor()
  await page.unroute("**/tlog/checkpoint")
  const saved = await savedBy(button)
  assert.equal(saved.suggestedFilename(), `${workspace.id}.checkpoint`)
  await refusal.waitFor({ state: "detached" })
})
