// Memory, processor and event loop of the process. The names are those of the Prometheus client for
// Node, so that existing dashboards show them.

import { readdir, readFile } from "node:fs/promises"
import { monitorEventLoopDelay } from "node:perf_hooks"
import type { Clock } from "../clock.ts"
import type { Instruments } from "./instruments.ts"

/** The sampling interval of that client. Each measured delay includes it. */
const lookEveryMs = 10

export function describeProcess(instruments: Instruments, clock: Clock): void {
  countProcessorTime(instruments)
  const gauge: AddGauge = (name, help, value) =>
    instruments.add("gauge", name, help, async (write) => write(await value()))
  const startedAt = clock.now() / 1000 - process.uptime()
  const since = "When the process started, in seconds since 1970"
  gauge("process_start_time_seconds", since, () => startedAt)
  const memory = (name: string, help: string, part: keyof NodeJS.MemoryUsage): void =>
    gauge(name, help, () => process.memoryUsage()[part])
  const rss = (): number => process.memoryUsage.rss()
  gauge("process_resident_memory_bytes", "Resident memory of the process", rss)
  memory("nodejs_heap_size_total_bytes", "Heap of the main thread, all of it", "heapTotal")
  memory("nodejs_heap_size_used_bytes", "Heap of the main thread that is used", "heapUsed")
  const external = "Memory outside the heap that objects of the main thread hold"
  memory("nodejs_external_memory_bytes", external, "external")
  if (process.platform === "linux") {
    gauge("process_open_fds", "Open file descriptors, connections among them", openDescriptors)
    gauge("process_max_fds", "File descriptors that may be open", openFilesMax)
  }
  describeDelays(gauge, clock)
}

type AddGauge = (name: string, help: string, value: () => number | Promise<number>) => void

function countProcessorTime({ add }: Instruments): void {
  const counter = (name: string, kind: string, microseconds: (used: NodeJS.CpuUsage) => number) =>
    add("counter", name, `Processor time ${kind}, in all threads`, (write) =>
      write(microseconds(process.cpuUsage()) / 1e6),
    )
  const [ofProgram, ofSystem] = ["of the program itself", "of the system for the program"]
  counter("process_cpu_user_seconds_total", ofProgram, ({ user }) => user)
  counter("process_cpu_system_seconds_total", ofSystem, ({ system }) => system)
  counter("process_cpu_seconds_total", "of both kinds", ({ user, system }) => user + system)
}

/** The delay of the main thread's event loop. Each scrape starts a new measurement. */
function describeDelays(gauge: AddGauge, clock: Clock): void {
  const delays = monitorEventLoopDelay({ resolution: lookEveryMs })
  delays.enable()
  const measured = {
    min: () => delays.min,
    max: () => delays.max,
    mean: () => delays.mean,
    stddev: () => delays.stddev,
    p50: () => delays.percentile(50),
    p90: () => delays.percentile(90),
    p99: () => delays.percentile(99),
  }
  for (const [name, nanoseconds] of Object.entries(measured)) {
    const help = `Delay of the main thread's event loop since the scrape before: ${name}`
    gauge(`nodejs_eventloop_lag_${name}_seconds`, help, () =>
      delays.count === 0 ? 0 : nanoseconds() / 1e9,
    )
  }
  // The registry collects in this order, so the other gauges have been read already.
  gauge(
    "nodejs_eventloop_lag_seconds",
    "How long the main thread's event loop took to its next turn, at the scrape",
    async () => {
      delays.reset()
      const askedMs = clock.elapsed()
      await new Promise((resolve) => setImmediate(resolve))
      return (clock.elapsed() - askedMs) / 1000
    },
  )
}

async function openDescriptors(): Promise<number> {
  // Reading the folder opens one more descriptor.
  return (await readdir("/proc/self/fd")).length - 1
}

/** How many files and connections the process may have open; infinite where that is unknown. */
export async function openFilesMax(): Promise<number> {
  if (process.platform !== "linux") return Number.POSITIVE_INFINITY
  const [, soft] = /^Max open files +(\d+)/m.exec(await readFile("/proc/self/limits", "utf8")) ?? []
  return soft === undefined ? Number.POSITIVE_INFINITY : Number(soft)
}
