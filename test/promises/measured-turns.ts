// The service, which also says how long a turn of its event loop has held the processor:
//
//   node test/promises/measured-turns.ts
//
// The time is the main thread's own on a processor, so a busy machine makes no turn longer. It is
// looked at every two milliseconds, so short turns may be counted as one of that length. SIGUSR2
// prints the longest turn since the one before.

import { runServe } from "../../packages/server/src/cli/serve-command.ts"

const spentMs = (): number => {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}

let longestMs = 0
let before = 0

function turn(): void {
  const now = spentMs()
  longestMs = Math.max(longestMs, now - before)
  before = now
}

await runServe({
  environment: process.env,
  version: "0.0.0",
  demo: false,
  exit: (code) => process.exit(code),
})
before = spentMs()
setInterval(turn, 2)
process.on("SIGUSR2", () => {
  turn()
  process.stdout.write(`longest turn: ${longestMs.toFixed(1)} ms\n`)
  longestMs = 0
})
