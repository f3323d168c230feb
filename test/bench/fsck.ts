// Runs one pass of fsck over a data folder, in a process of its own, and measures its memory.
//
//   node test/bench/fsck.ts <folder> <pass>   → one line of JSON

import { readFileSync } from "node:fs"
import { availableParallelism } from "node:os"
import { fsck, passes } from "../../packages/server/src/operator/fsck/fsck.ts"

export interface FsckMeasured {
  readonly perSecond: number
  /** At the first hundred thousand entries, where the pass reports its progress. */
  readonly earlyMb: number | undefined
  readonly mostMb: number
}

const [data = "", asked] = process.argv.slice(2)
const pass = passes.find((one) => one === asked)
if (pass === undefined) throw new Error("name a folder and a pass")

let earlyMb: number | undefined
const { faults, timings } = await fsck({
  data,
  heads: `${data}.heads`,
  workspaces: undefined,
  checkpoints: [],
  passes: [pass],
  threads: availableParallelism(),
  progress(_, __, done) {
    if (done >= 100_000) earlyMb ??= process.memoryUsage.rss() / 2 ** 20
  },
})
if (faults.length > 0)
  throw new Error(`fsck found fault with what the service wrote: ${JSON.stringify(faults)}`)
const { entries = 0, ms = 0 } = timings[0] ?? {}
const measured: FsckMeasured = {
  perSecond: entries / (ms / 1000),
  earlyMb,
  // What `resourceUsage` tells includes the program that started this one.
  mostMb: Number(/VmHWM:\s+(\d+)/.exec(readFileSync("/proc/self/status", "utf8"))?.[1]) / 1024,
}
process.stdout.write(`${JSON.stringify(measured)}\n`)
