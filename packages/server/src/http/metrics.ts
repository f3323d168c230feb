// The metrics of the service, for Prometheus. No label names a workspace: there may be thousands.

import { Counter, Gauge, Histogram, Registry } from "@prometheus-io/client"
import type { Clock } from "../clock.ts"
import type { AuditSummary } from "../followers/auditor.ts"
import type { DatabaseState } from "../store/store.ts"
import { followers, type FollowerMetrics } from "../followers/health.ts"
import { createDurations } from "./request-durations.ts"
import { describeProcess } from "./process-metrics.ts"

export interface Metrics extends FollowerMetrics {
  /** A request failed for a reason that its caller did not cause. */
  readonly failure: () => void
  readonly request: (route: string, method: string, status: number, durationMs: number) => void
  readonly commit: (entries: number, durationMs: number) => void
  readonly entry: (lane: string) => void
  readonly replay: () => void
  /** A chain has grown to this sequence. */
  readonly advanced: (workspace: string, sequence: number) => void
  readonly failedLogin: () => void
  /** Entries were given out in an export of this format. */
  readonly exported: (format: string, entries: number) => void
  /** The contents of a workspace that had passed their time were destroyed. */
  readonly expired: (result: { readonly entries: number; readonly held: number }) => void
  readonly expiryFailed: () => void
  /** An erasure is done, of so many entries. */
  readonly erased: (entries: number) => void
  readonly erasureFailed: () => void
  readonly text: () => Promise<string>
  /** A sweep of the archiver over all workspaces has ended. */
  readonly archived: (state: {
    readonly segments: number
    readonly bytes: number
    readonly overdueMs: number
  }) => void
  readonly archiveFailure: () => void
  /** The durations of the last commits in milliseconds, ascending. */
  readonly lastCommits: () => readonly number[]
  /** Entries that each follower has not taken yet, of the workspace where they are most. */
  readonly lags: () => readonly { readonly follower: string; readonly entries: number }[]
}

const requestSeconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
const commitSeconds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1]
const entriesPerCommit = [1, 2, 5, 10, 25, 50, 100, 250, 500, 1000, 2500]
const lagSeconds = [0.1, 0.25, 0.5, 0.75, 1, 1.25, 1.5, 2, 5, 10, 60]

/** Their 99th percentile is that of ten. */
const lastCommitsMax = 1000

/** Values that are read at each scrape. */
export interface Gauges {
  readonly version: string
  readonly clock: Clock
  readonly queued: () => number
  /** Of the folder with the data, or of the database that has it instead. */
  readonly storage: DiskGauges | DatabaseGauges
}

interface DiskGauges {
  readonly kind: "disk"
  readonly freeBytes: () => Promise<number>
  readonly reserveBytes: number
}

interface DatabaseGauges {
  readonly kind: "database"
  /** Undefined: it does not answer, or takes no writes. */
  readonly state: () => Promise<DatabaseState | undefined>
}

export function createMetrics(gauges: Gauges): Metrics {
  const registry = new Registry()
  const durations = createDurations(
    "tallystick_request_duration_seconds",
    "Time from a request's headers to the end of its answer",
    requestSeconds,
  )
  describeService(registry, gauges)
  describeProcess(registry, gauges.clock)
  const failures = new Counter({
    name: "tallystick_failures_total",
    help: "Requests that failed unexpectedly: a bug, or storage; the log has the first of each minute",
    registers: [registry],
  })
  const { commit, lastCommits, entry, replay, failedLogin } = countWrites(registry)
  const audited = countAudit(registry, gauges.clock)
  const exports = new Counter({
    name: "tallystick_exported_entries_total",
    help: "Entries that exports have given out",
    labelNames: ["format"],
    registers: [registry],
  })
  // So that each is there before its first export.
  for (const format of ["jsonl", "csv", "parquet"]) exports.inc({ format }, 0)
  const following = countFollowing(registry, gauges.clock, audited.left)
  return {
    failure: () => failures.inc(),
    request: durations.observe,
    commit,
    entry,
    replay,
    ...following,
    audited: audited.audited,
    integrityFailure: audited.integrityFailure,
    failedLogin,
    ...countExpiry(registry),
    ...countErasures(registry),
    packed: countPacking(registry),
    exported: (format, entries) => exports.inc({ format }, entries),
    ...countArchiving(registry),
    text: async () => (await registry.metrics()) + durations.text(),
    lastCommits,
  }
}

function describeService(registry: Registry, { version, queued, storage }: Gauges): void {
  const registers = [registry]
  new Gauge({
    name: "tallystick_build_info",
    help: "1, with the versions of the service and of its runtime",
    labelNames: ["version", "node"],
    registers,
  }).set({ version, node: process.versions.node }, 1)
  new Gauge({
    name: "tallystick_queued_entries",
    help: "Entries that wait for a commit",
    registers,
    collect() {
      this.set(queued())
    },
  })
  if (storage.kind === "disk") describeDisk(registers, storage)
  else describeDatabase(registers, storage)
}

function describeDisk(registers: Registry[], { freeBytes, reserveBytes }: DiskGauges): void {
  new Gauge({
    name: "tallystick_disk_free_bytes",
    help: "Left on the disk that holds the data, for the service's user",
    registers,
    async collect() {
      this.set(await freeBytes())
    },
  })
  new Gauge({
    name: "tallystick_disk_reserve_bytes",
    help: "Writes are refused when less than this is left on the disk",
    registers,
  }).set(reserveBytes)
}

function describeDatabase(registers: Registry[], { state }: DatabaseGauges): void {
  new Gauge({
    name: "tallystick_database_up",
    help: "1 if the database answers and takes writes, else 0",
    registers,
    async collect() {
      this.set((await state()) === undefined ? 0 : 1)
    },
  })
  new Gauge({
    name: "tallystick_database_synchronous_standbys",
    help: "Standbys that a commit waits for; NaN if the database does not answer, or its role may not see them",
    registers,
    async collect() {
      this.set((await state())?.synchronousStandbys ?? Number.NaN)
    },
  })
  new Gauge({
    name: "tallystick_database_unreachable_nodes",
    help: "Nodes of a cluster whose workspaces cannot be written to; NaN if that is not known",
    registers,
    async collect() {
      this.set((await state())?.unreachableNodes ?? Number.NaN)
    },
  })
}

function countWrites(
  registry: Registry,
): Pick<Metrics, "commit" | "lastCommits" | "entry" | "replay" | "failedLogin"> {
  const registers = [registry]
  const commits = new Histogram({
    name: "tallystick_commit_duration_seconds",
    help: "Time until a workspace's group of entries is durable, with its wait for the commit before",
    buckets: commitSeconds,
    registers,
  })
  const sizes = new Histogram({
    name: "tallystick_commit_entries",
    help: "Entries of a workspace that were committed together",
    buckets: entriesPerCommit,
    registers,
  })
  const entries = new Counter({
    name: "tallystick_entries_total",
    help: "Entries that clients wrote, by lane",
    labelNames: ["lane"],
    registers,
  })
  const replays = new Counter({
    name: "tallystick_replays_total",
    help: "Writes answered with the receipt of an earlier one",
    registers,
  })
  const failedLogins = new Counter({
    name: "tallystick_failed_logins_total",
    help: "Passwords and set-up tokens that were wrong",
    registers,
  })
  const last: number[] = []
  let committed = 0
  return {
    lastCommits: () => last.toSorted((one, other) => one - other),
    commit(count, durationMs) {
      last[committed++ % lastCommitsMax] = durationMs
      commits.observe(durationMs / 1000)
      sizes.observe(count)
    },
    entry: (lane) => entries.inc({ lane }),
    replay: () => replays.inc(),
    failedLogin: () => failedLogins.inc(),
  }
}

function countExpiry(registry: Registry): Pick<Metrics, "expired" | "expiryFailed"> {
  const registers = [registry]
  const runs = new Counter({
    name: "tallystick_expiry_runs_total",
    help: "Workspaces that were looked through for contents that have passed their time",
    registers,
  })
  const failures = new Counter({
    name: "tallystick_expiry_failures_total",
    help: "Workspaces where that failed; it is tried again within the hour",
    registers,
  })
  const bodies = new Counter({
    name: "tallystick_expired_bodies_total",
    help: "Entries whose contents were destroyed because their time was over",
    registers,
  })
  const held = new Counter({
    name: "tallystick_expiry_held_total",
    help: "Entries that a run found past their time, and left because of a hold",
    registers,
  })
  return {
    expired(result) {
      runs.inc()
      bodies.inc(result.entries)
      held.inc(result.held)
    },
    expiryFailed: () => failures.inc(),
  }
}

function countErasures(registry: Registry): Pick<Metrics, "erased" | "erasureFailed"> {
  const registers = [registry]
  const done = new Counter({
    name: "tallystick_erasures_total",
    help: "Erasures of persons that were carried out",
    registers,
  })
  const entries = new Counter({
    name: "tallystick_erased_entries_total",
    help: "Entries that lost sealed fields or their content to an erasure",
    registers,
  })
  const failures = new Counter({
    name: "tallystick_erasure_failures_total",
    help: "Attempts to carry out an erasure that failed; it is tried again within seconds",
    registers,
  })
  return {
    erased(count) {
      done.inc()
      entries.inc(count)
    },
    erasureFailed: () => failures.inc(),
  }
}

function countFollowing(
  registry: Registry,
  clock: Clock,
  auditorLeft: () => number,
): Pick<Metrics, "advanced" | "followed" | "signed" | "covered" | "left" | "lags"> {
  const registers = [registry]
  const behind = new Map(
    followers.map((follower) => [follower, new Map<string, { end: number; taken: number }>()]),
  )
  /** Workspaces with entries that no checkpoint covers: from which to which, and since when. */
  const uncovered = new Map<string, { first: number; last: number; sinceMs: number }>()
  const lags: Metrics["lags"] = () => [
    { follower: "auditor", entries: auditorLeft() },
    ...[...behind].map(([follower, workspaces]) => {
      let entries = 0
      for (const { end, taken } of workspaces.values()) entries = Math.max(entries, end - taken)
      return { follower, entries }
    }),
  ]
  new Gauge({
    name: "tallystick_follower_lag_entries",
    help: "Entries that a follower has not taken yet, of the workspace where they are most; of the auditor, in the workspace whose turn it is",
    labelNames: ["follower"],
    registers,
    collect() {
      for (const { follower, entries } of lags()) this.set({ follower }, entries)
    },
  })
  const checkpoints = new Histogram({
    name: "tallystick_checkpoint_lag_seconds",
    help: "How long the oldest entry under a new checkpoint had waited for it",
    buckets: lagSeconds,
    registers,
  })
  new Gauge({
    name: "tallystick_checkpoint_age_seconds",
    help: "For how long an entry has been waiting for the checkpoint that covers it; 0 when all are covered",
    registers,
    collect() {
      let most = 0
      for (const { sinceMs } of uncovered.values()) most = Math.max(most, clock.elapsed() - sinceMs)
      this.set(most / 1000)
    },
  })
  return {
    lags,
    advanced(workspace, sequence) {
      for (const workspaces of behind.values()) {
        const known = workspaces.get(workspace)
        // Unknown before the first report: assume that the follower was up to date.
        if (known === undefined) workspaces.set(workspace, { end: sequence, taken: sequence - 1 })
        else known.end = sequence
      }
      const waiting = uncovered.get(workspace)
      if (waiting === undefined)
        uncovered.set(workspace, { first: sequence, last: sequence, sinceMs: clock.elapsed() })
      else waiting.last = sequence
    },
    followed(follower, workspace, taken, end) {
      const workspaces = behind.get(follower)
      const known = Math.max(end, workspaces?.get(workspace)?.end ?? 0)
      // A follower that is up to date needs no record.
      if (taken >= known) workspaces?.delete(workspace)
      else workspaces?.set(workspace, { end: known, taken })
    },
    left(which, workspace) {
      for (const follower of which) behind.get(follower)?.delete(workspace)
      if (which.includes("checkpointer")) uncovered.delete(workspace)
    },
    signed: (lagMs) => checkpoints.observe(lagMs / 1000),
    covered(workspace, sequence) {
      const waiting = uncovered.get(workspace)
      if (waiting === undefined || sequence < waiting.first) return
      // The entries that it does not cover are newer than those that it covers.
      if (waiting.last <= sequence) uncovered.delete(workspace)
      else uncovered.set(workspace, { ...waiting, first: sequence + 1, sinceMs: clock.elapsed() })
    },
  }
}

function countPacking(registry: Registry): Metrics["packed"] {
  const registers = [registry]
  const entries = new Counter({
    name: "tallystick_packed_entries_total",
    help: "Entries whose bodies were packed into frames",
    registers,
  })
  const bytes = new Counter({
    name: "tallystick_packed_bytes_total",
    help: "Bytes of the frames that were packed",
    registers,
  })
  return (count, length) => {
    entries.inc(count)
    bytes.inc(length)
  }
}

function countArchiving(registry: Registry): Pick<Metrics, "archived" | "archiveFailure"> {
  const registers = [registry]
  const segments = new Gauge({
    name: "tallystick_archive_segments",
    help: "Archive segments of the workspaces that this server follows",
    registers,
  })
  const bytes = new Gauge({
    name: "tallystick_archive_bytes",
    help: "Bytes of these segments",
    registers,
  })
  const overdue = new Gauge({
    name: "tallystick_archive_overdue_seconds",
    help: "For how long the oldest packed entry has been due that is not archived yet; 0 if none is",
    registers,
  })
  const failures = new Counter({
    name: "tallystick_archive_failures_total",
    help: "Attempts to archive that failed; the log has why",
    registers,
  })
  return {
    archived(state) {
      segments.set(state.segments)
      bytes.set(state.bytes)
      overdue.set(state.overdueMs / 1000)
    },
    archiveFailure: () => failures.inc(),
  }
}

function countAudit(
  registry: Registry,
  clock: Clock,
): Pick<Metrics, "audited" | "integrityFailure"> & { readonly left: () => number } {
  const registers = [registry]
  const failures = new Counter({
    name: "tallystick_integrity_failures_total",
    help: "Chains found not to hold together",
    registers,
  })
  const verified = new Counter({
    name: "tallystick_audit_verified_entries_total",
    help: "Entries that were re-verified",
    registers,
  })
  const failed = new Gauge({
    name: "tallystick_audit_failed_entries",
    help: "Entries that are known not to hold: the first of each workspace that has one",
    registers,
  })
  const unread = new Gauge({
    name: "tallystick_audit_unread_workspaces",
    help: "Workspaces that could not be read to their end in the present round of re-verifying",
    registers,
  })
  const round = new Gauge({
    name: "tallystick_audit_round",
    help: "Which round of re-verifying all entries this is",
    registers,
  })
  const entries = new Gauge({
    name: "tallystick_audit_round_entries",
    help: "Entries that were re-verified in the present round",
    registers,
  })
  let last: AuditSummary | undefined
  new Gauge({
    name: "tallystick_audit_unverified_age_seconds",
    help: "How long ago, at most, the entries that were not re-verified in the present round were last known to hold",
    registers,
    collect() {
      this.set(last === undefined ? 0 : Math.max(0, clock.now() - last.sinceMs) / 1000)
    },
  })
  return {
    audited(summary) {
      verified.inc(summary.verified - (last?.verified ?? 0))
      failed.set(summary.failed)
      unread.set(summary.unread)
      round.set(summary.round)
      entries.set(summary.entries)
      last = summary
    },
    left: () => last?.left ?? 0,
    integrityFailure: () => failures.inc(),
  }
}
