// Loaded before each file of tests. Its last line on standard error says how long it took, and how
// much processor time, with the processes that it started and waited for. Only Linux tells that.
// A file that something keeps alive behind its tests is ended, which Node's time limit does not do:
// a test that fails may leave a service behind.

import { existsSync, readFileSync } from "node:fs"
import { after } from "node:test"
import { isMainThread } from "node:worker_threads"

const path = "/proc/self/stat"
const waitMs = Number(new URL(import.meta.url).searchParams.get("wait-ms"))

const end = () => {
  process.stderr.write("its tests are over, and something keeps it alive\n")
  process.exit(1)
}
if (isMainThread) after(() => void setTimeout(end, waitMs).unref())

if (isMainThread && existsSync(path))
  process.once("exit", () => {
    // Behind the name of the program, which may have spaces: hundredths of a second of its own and
    // of its children, each for programs and for the system.
    const ticks = readFileSync(path, "utf8").split(") ").at(-1).split(" ").slice(11, 15)
    const ofProcessor = ticks.reduce((sum, each) => sum + Number(each), 0) / 100
    const seconds = (performance.now() / 1000).toFixed(1)
    process.stderr.write(`took ${seconds} s, ${ofProcessor.toFixed(1)} s of the processor\n`)
  })
