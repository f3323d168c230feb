// What the service counts, for Prometheus. No label names a workspace: there may be thousands.

import { Counter, Gauge, Histogram, Registry } from "@prometheus-io/client"

export interface Metrics {
  readonly request: (route: string, method: string, status: number, durationMs: number) => void
  readonly commit: (entries: number, durationMs: number) => void
  readonly entry: (lane: string) => void
  readonly replay: () => void
  /** A chain has grown to this sequence; the followers have taken it to this one. */
  readonly advanced: (workspace: string, sequence: number) => void
  readonly followed: (workspace: string, sequence: number) => void
  readonly signed: (lagMs: number) => void
  readonly integrityFailure: () => void
  readonly failedLogin: () => void
  readonly text: () => Promise<string>
}

const requestSeconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
const commitSeconds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1]
const entriesPerCommit = [1, 2, 5, 10, 25, 50, 100, 250, 500, 1000, 2500]
const lagSeconds = [0.1, 0.25, 0.5, 0.75, 1, 1.25, 1.5, 2, 5, 10, 60]

/** `queued` is asked when the metrics are. */
export function createMetrics(version: string, queued: () => number): Metrics {
  const registry = new Registry()
  const registers = [registry]
  const requests = new Histogram({
    name: "tallystick_request_duration_seconds",
    help: "Time from a request's headers to the end of its answer",
    labelNames: ["route", "method", "status"],
    buckets: requestSeconds,
    registers,
  })
  const commits = new Histogram({
    name: "tallystick_commit_duration_seconds",
    help: "Time of a group commit, its fsync included",
    buckets: commitSeconds,
    registers,
  })
  const sizes = new Histogram({
    name: "tallystick_commit_entries",
    help: "Entries that shared a commit",
    buckets: entriesPerCommit,
    registers,
  })
  const entries = new Counter({ name: "tallystick_entries_total", help: "Entries recorded, by lane", labelNames: ["lane"], registers })
  const replays = new Counter({ name: "tallystick_replays_total", help: "Writes answered with the receipt of an earlier one", registers })
  const seen = new Map<string, ReturnType<typeof requests.labels>>()
  const behind = new Map<string, { head: number; followed: number }>()
  const track = (workspace: string): { head: number; followed: number } => {
    const known = behind.get(workspace) ?? { head: 0, followed: 0 }
    behind.set(workspace, known)
    return known
  }
  new Gauge({
    name: "tallystick_follower_lag_entries",
    help: "Entries that followers have not taken yet, of the workspace where they are most",
    registers,
    collect() {
      let most = 0
      for (const { head, followed } of behind.values()) most = Math.max(most, head - followed)
      this.set(most)
    },
  })
  const checkpoints = new Histogram({
    name: "tallystick_checkpoint_lag_seconds",
    help: "How long the oldest entry under a new checkpoint had waited for it",
    buckets: lagSeconds,
    registers,
  })
  const failures = new Counter({ name: "tallystick_integrity_failures_total", help: "Chains found not to hold together", registers })
  const failedLogins = new Counter({
    name: "tallystick_failed_logins_total",
    help: "Passwords and set-up tokens that were wrong",
    registers,
  })
  new Gauge({
    name: "tallystick_queued_entries",
    help: "Entries that wait for a commit",
    registers,
    collect() {
      this.set(queued())
    },
  })
  new Gauge({ name: "tallystick_build_info", help: "1, with the version", labelNames: ["version"], registers }).set({ version }, 1)
  new Gauge({
    name: "process_resident_memory_bytes",
    help: "Resident memory of the process",
    registers,
    collect() {
      this.set(process.memoryUsage.rss())
    },
  })
  return {
    request(route, method, status, durationMs) {
      // Finding a labelled series costs more than counting in it, so each is found once.
      const name = `${method} ${status} ${route}`
      let series = seen.get(name)
      if (series === undefined) seen.set(name, (series = requests.labels(route, method, String(status))))
      series.observe(durationMs / 1000)
    },
    commit(count, durationMs) {
      commits.observe(durationMs / 1000)
      sizes.observe(count)
    },
    entry: (lane) => entries.inc({ lane }),
    replay: () => replays.inc(),
    advanced(workspace, sequence) {
      track(workspace).head = sequence
    },
    followed(workspace, sequence) {
      const known = track(workspace)
      known.followed = sequence
      // Whoever is caught up needs no memory.
      if (known.followed >= known.head) behind.delete(workspace)
    },
    signed: (lagMs) => checkpoints.observe(lagMs / 1000),
    integrityFailure: () => failures.inc(),
    failedLogin: () => failedLogins.inc(),
    text: () => registry.metrics(),
  }
}
