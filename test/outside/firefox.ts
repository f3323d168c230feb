// Firefox without a window, driven by WebDriver BiDi, which it speaks by itself.

import { spawn } from "node:child_process"
import { existsSync } from "node:fs"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { setTimeout as sleep } from "node:timers/promises"
import { join } from "node:path"

const program = [
  "/usr/bin/firefox-esr",
  "/usr/bin/firefox",
  "/Applications/Firefox.app/Contents/MacOS/firefox",
].find((path) => existsSync(path))

/** Why there is none, for `skip`; false if there is one. */
export const noFirefox = program === undefined ? "no Firefox is installed here" : false

export interface Firefox extends AsyncDisposable {
  /** What pages have reported as errors so far. */
  readonly errors: readonly string[]
  open(address: string): Promise<void>
  /** Waits until the page shows a text. */
  see(text: string): Promise<void>
  /** Waits until an expression is true in the page. */
  until(expression: string): Promise<void>
}

/** What Firefox sends: an answer, or an event. */
interface Sent {
  readonly id?: number
  readonly result?: object
  readonly error?: string
  readonly message?: string
  readonly method?: string
  readonly params?: { readonly level: string; readonly text: string | null }
}

type Ask = (method: string, params: object) => Promise<object>

const patienceMs = 30_000

export async function openFirefox(): Promise<Firefox> {
  const profile = await mkdtemp(join(tmpdir(), "tallystick-firefox-"))
  const { address, end } = await startFirefox(profile)
  const errors: string[] = []
  const ask = await connect(`${address}/session`, errors)
  await ask("session.new", { capabilities: {} })
  await ask("session.subscribe", { events: ["log.entryAdded"] })
  // As the protocol has it, also below.
  const tree = (await ask("browsingContext.getTree", {})) as {
    readonly contexts: readonly { readonly context: string }[]
  }
  const context = tree.contexts[0]?.context
  const valueOf = async (expression: string): Promise<unknown> => {
    const target = { context }
    const asked = { expression, target, awaitPromise: true }
    const answer = (await ask("script.evaluate", asked)) as { result?: { value?: unknown } }
    return answer.result?.value
  }
  const until = async (expression: string): Promise<void> => {
    const endMs = performance.now() + patienceMs
    while ((await valueOf(`Boolean(${expression})`)) !== true) {
      if (performance.now() > endMs)
        throw new Error(
          `${expression} does not come about; the page says: ${String(await valueOf("document.body.innerText"))}`,
        )
      await sleep(50)
    }
  }
  return {
    errors,
    until,
    see: (text) => until(`document.body.innerText.includes(${JSON.stringify(text)})`),
    open: async (url) =>
      void (await ask("browsingContext.navigate", { context, url, wait: "complete" })),
    async [Symbol.asyncDispose]() {
      await end()
      await rm(profile, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}

async function startFirefox(profile: string) {
  const flags = ["--headless", "--no-remote", "--profile", profile, "--remote-debugging-port", "0"]
  const child = spawn(program ?? "firefox", flags, { stdio: ["ignore", "ignore", "pipe"] })
  const ended = new Promise((resolve) => child.once("exit", resolve))
  let said = ""
  const address = await new Promise<string>((resolve, reject) => {
    child.stderr.on("data", (chunk: Buffer) => {
      said += chunk.toString()
      const [found] = /ws:\/\/\S+/.exec(said) ?? []
      if (found !== undefined) resolve(found)
    })
    child.once("exit", () => reject(new Error(`Firefox ended before it listened: ${said}`)))
  })
  const end = async (): Promise<void> => {
    child.kill("SIGKILL")
    await ended
  }
  return { address, end }
}

async function connect(address: string, errors: string[]): Promise<Ask> {
  const socket = new WebSocket(address)
  const waiting = new Map<number | undefined, PromiseWithResolvers<object>>()
  socket.addEventListener("message", ({ data }) => {
    const sent = JSON.parse(String(data)) as Sent
    if (sent.method === "log.entryAdded" && sent.params?.level === "error")
      errors.push(String(sent.params.text))
    if (sent.error === undefined) waiting.get(sent.id)?.resolve(sent.result ?? {})
    else waiting.get(sent.id)?.reject(new Error(`${sent.error}: ${sent.message}`))
  })
  await new Promise((resolve, reject) => {
    socket.addEventListener("open", resolve)
    socket.addEventListener("error", () => reject(new Error("Firefox cannot be reached")))
  })
  let asked = 0
  return (method, params) => {
    const answered = Promise.withResolvers<object>()
    waiting.set(++asked, answered)
    socket.send(JSON.stringify({ id: asked, method, params }))
    return answered.promise
  }
}
