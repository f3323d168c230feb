// Loaded into a service before its program: measures how long its main thread works without hearing who else is there, in processor
// time, so that a busy machine changes nothing. SIGUSR2 has it say the longest stretch since the last time.

import { isMainThread } from "node:worker_threads"

if (isMainThread) {
  let longestMs = 0
  let began = process.threadCpuUsage()
  const turn = () => {
    const { user, system } = process.threadCpuUsage(began)
    longestMs = Math.max(longestMs, (user + system) / 1000)
    began = process.threadCpuUsage()
    setTimeout(turn, 0).unref()
  }
  turn()
  process.on("SIGUSR2", () => {
    process.stderr.write(`${JSON.stringify({ level: 30, longestMs })}\n`)
    longestMs = 0
  })
}
