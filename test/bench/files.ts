// The source files that one warm `POST /v1/events` passes, from the socket to the receipt: V8's
// coverage shows which functions ran, in the main thread and in the writer's.
//
//   node test/bench/files.ts

import { mkdtempSync, rmSync } from "node:fs"
import { Session, type Profiler } from "node:inspector"
import { tmpdir } from "node:os"
import { setTimeout as sleep } from "node:timers/promises"
import { join, relative } from "node:path"
import { fileURLToPath } from "node:url"
import { runServe } from "../../packages/server/src/cli/serve-command.ts"
import { makeWriter, rootKey } from "./programs.ts"

const root = join(import.meta.dirname, "..", "..")
const data = mkdtempSync(join(tmpdir(), "tallystick-files-"))
process.env["TALLYSTICK_LOG_LEVEL"] = "fatal"

type Ask = (method: string, parameters?: object) => Promise<unknown>
type Coverage = Profiler.TakePreciseCoverageReturnType

const threads = await openThreads()
const running = await runServe({
  environment: {
    TALLYSTICK_DATA: data,
    TALLYSTICK_PORT: "0",
    TALLYSTICK_ROOT_KEY: rootKey,
    TALLYSTICK_LOG_LEVEL: "fatal",
  },
  version: "0",
  demo: false,
  exit: (code) => process.exit(code),
})
try {
  const { workspace, key } = await makeWriter(running.url, "files")
  const post = async (name: string): Promise<void> => {
    const answer = await fetch(`${running.url}/v1/events`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${key}`,
        "idempotency-key": `files-of-a-post-${name}`,
        "content-type": "application/json",
      },
      body: JSON.stringify({
        workspaceId: workspace,
        projectId: "core",
        action: "bench.sample.write",
        actor: { id: "usr_1", type: "user", email: "someone@example.com" },
        target: { id: "sample", type: "sample" },
        occurredAt: "2026-01-01T00:00:00Z",
        source: "api",
      }),
    })
    if (answer.status !== 202) throw new Error(await answer.text())
    await answer.text()
  }
  for (let at = 0; at < 20; at++) await post(`warm-${at}`)
  // What followed is done with: a checkpoint is signed once in 0.9 s.
  await sleep(3000)
  const [main, writer] = [threads.ask("main"), threads.ask("writer")]
  await Promise.all([main("Profiler.takePreciseCoverage"), writer("Profiler.takePreciseCoverage")])
  await post("counted")
  for (const [name, ask] of [
    ["main", main],
    ["writer", writer],
  ] as const) {
    const files = filesOf((await ask("Profiler.takePreciseCoverage")) as Coverage)
    const theirs = files.filter((path) => path.includes("node_modules/"))
    process.stdout.write(
      `${name}: ${files.length - theirs.length} files of ours, ${theirs.length} of dependencies\n` +
        files.map((one) => `  ${one}\n`).join(""),
    )
  }
} finally {
  await running.close()
  rmSync(data, { recursive: true, force: true })
  process.exit()
}

function filesOf({ result }: Coverage): readonly string[] {
  return result
    .filter(({ url, functions }) => {
      const ran = functions.some(({ ranges: [range] }) => (range?.count ?? 0) > 0)
      return ran && url.startsWith("file://")
    })
    .map(({ url }) => relative(root, fileURLToPath(url)))
    .filter((path) => !path.startsWith("test/"))
    .toSorted()
}

/** Coverage of this thread, and of each that is started from now on. */
async function openThreads() {
  const session = new Session()
  session.connect()
  const asks = new Map<string, Ask>()
  const main: Ask = (method, parameters = {}) =>
    new Promise((resolve, reject) =>
      session.post(method, parameters, (error, result) =>
        error ? reject(error) : resolve(result),
      ),
    )
  asks.set("main", main)
  session.on("NodeWorker.attachedToWorker" as "inspectorNotification", (event) => {
    const { sessionId, workerInfo } = (
      event as unknown as { params: { sessionId: string; workerInfo: { url: string } } }
    ).params
    const waiting = new Map<number, (result: unknown) => void>()
    let last = 0
    const ask: Ask = (method, params = {}) =>
      new Promise((resolve) => {
        waiting.set(++last, resolve)
        const message = JSON.stringify({ id: last, method, params })
        void main("NodeWorker.sendMessageToWorker", { sessionId, message })
      })
    session.on("NodeWorker.receivedMessageFromWorker" as "inspectorNotification", (received) => {
      const { params } = received as unknown as { params: { sessionId: string; message: string } }
      if (params.sessionId !== sessionId) return
      const { id, result } = JSON.parse(params.message) as { id?: number; result?: unknown }
      if (id !== undefined) waiting.get(id)?.(result)
    })
    const name = /\/([\w-]+)\.ts$/.exec(workerInfo.url)?.[1] ?? workerInfo.url
    asks.set(name, ask)
    void ask("Profiler.enable")
    void ask("Profiler.startPreciseCoverage", { callCount: true, detailed: false })
    void ask("Runtime.runIfWaitingForDebugger")
  })
  await main("Profiler.enable")
  await main("Profiler.startPreciseCoverage", { callCount: true, detailed: false })
  await main("NodeWorker.enable", { waitForDebuggerOnStart: true })
  return {
    ask(name: string): Ask {
      const ask = asks.get(name)
      if (ask === undefined)
        throw new Error(`there is no thread ${name}, but ${[...asks.keys()].join(", ")}`)
      return ask
    },
  }
}
