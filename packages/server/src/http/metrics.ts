// The metrics of the service, for Prometheus. No label names a workspace: there may be thousands.

import { Registry, type Gauge } from "@prometheus-io/client"
import type { Clock } from "../clock.ts"
import type { AuditSummary } from "../followers/auditor.ts"
import type { DatabaseState } from "../store/store.ts"
import { followers, type FollowerMetrics } from "../followers/health.ts"
import { singleFlight } from "../runtime/single-flight.ts"
import { createInstruments, type Instruments } from "./instruments.ts"
import { createDurations } from "./request-durations.ts"
import { describeProcess } from "./process-metrics.ts"

export type Metrics = ReturnType<typeof createMetrics>

type Follower = (typeof followers)[number]

const requestSeconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
const commitSeconds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1]
const entriesPerCommit = [1, 2, 5, 10, 25, 50, 100, 250, 500, 1000, 2500]
const lagSeconds = [0.1, 0.25, 0.5, 0.75, 1, 1.25, 1.5, 2, 5, 10, 60]

/** So ten commits are above the 99th percentile. */
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

export function createMetrics(gauges: Gauges) {
  const registry = new Registry()
  const durations = createDurations(
    "tallystick_request_duration_seconds",
    "Time from a request's headers to the end of its answer",
    requestSeconds,
  )
  const instruments = createInstruments(registry)
  const { counter, counting } = instruments
  describeService(instruments, gauges)
  describeProcess(registry, gauges.clock)
  const audited = countAudit(instruments, gauges.clock)
  const exports = counter("tallystick_exported_entries_total", "format")
  // Each format has a series before its first export.
  for (const format of ["jsonl", "csv", "parquet"]) exports.inc({ format }, 0)
  const following = countFollowing(instruments, gauges.clock, audited.left)
  return {
    /** A request failed for a reason that its caller did not cause. */
    failure: counting("tallystick_failures_total"),
    request: durations.observe,
    ...countWrites(instruments),
    ...following,
    audited: audited.audited,
    integrityFailure: counting("tallystick_integrity_failures_total"),
    ...countExpiry(instruments),
    ...countErasures(instruments),
    packed: countPacking(instruments),
    /** Entries were given out in an export of this format. */
    exported: (format: string, entries: number) => exports.inc({ format }, entries),
    ...countArchiving(instruments),
    // Anyone may ask, as often as they like, and a text takes a millisecond of the main thread.
    text: singleFlight(async () => (await registry.metrics()) + durations.text()),
  }
}

function describeService({ gauge }: Instruments, { version, queued, storage }: Gauges): void {
  gauge("tallystick_build_info", undefined, "version", "node").set(
    { version, node: process.versions.node },
    1,
  )
  gauge("tallystick_queued_entries", (it) => it.set(queued()))
  if (storage.kind === "disk") {
    gauge("tallystick_disk_free_bytes", async (it) => it.set(await storage.freeBytes()))
    gauge("tallystick_disk_reserve_bytes").set(storage.reserveBytes)
    return
  }
  const { state } = storage
  gauge("tallystick_database_up", async (it) => it.set((await state()) === undefined ? 0 : 1))
  gauge("tallystick_database_synchronous_standbys", async (it) =>
    it.set((await state())?.synchronousStandbys ?? Number.NaN),
  )
  gauge("tallystick_database_unreachable_nodes", async (it) =>
    it.set((await state())?.unreachableNodes ?? Number.NaN),
  )
}

function countWrites({ counter, counting, histogram }: Instruments) {
  const commits = histogram("tallystick_commit_duration_seconds", commitSeconds)
  const sizes = histogram("tallystick_commit_entries", entriesPerCommit)
  const entries = counter("tallystick_entries_total", "lane")
  const last: number[] = []
  let committed = 0
  return {
    /** The durations of the last commits in milliseconds, ascending. */
    lastCommits: () => last.toSorted((one, other) => one - other),
    commit: (count: number, durationMs: number) => {
      last[committed++ % lastCommitsMax] = durationMs
      commits.observe(durationMs / 1000)
      sizes.observe(count)
    },
    entry: (lane: string) => entries.inc({ lane }),
    replay: counting("tallystick_replays_total"),
    failedLogin: counting("tallystick_failed_logins_total"),
  }
}

function countExpiry({ counting }: Instruments) {
  const run = counting("tallystick_expiry_runs_total")
  const destroyed = counting("tallystick_expired_bodies_total")
  const keptByHold = counting("tallystick_expiry_held_total")
  return {
    /** The contents of a workspace that had passed their time were destroyed. */
    expired: ({ entries, held }: { readonly entries: number; readonly held: number }) => {
      run()
      destroyed(entries)
      keptByHold(held)
    },
    expiryFailed: counting("tallystick_expiry_failures_total"),
  }
}

function countErasures({ counting }: Instruments) {
  const done = counting("tallystick_erasures_total")
  const lost = counting("tallystick_erased_entries_total")
  return {
    /** An erasure is done, of so many entries. */
    erased: (entries: number) => {
      done()
      lost(entries)
    },
    erasureFailed: counting("tallystick_erasure_failures_total"),
  }
}

function countFollowing(
  { gauge, histogram }: Instruments,
  clock: Clock,
  auditorLeft: () => number,
) {
  const behind = new Map(
    followers.map((follower) => [follower, new Map<string, { end: number; taken: number }>()]),
  )
  /**
   * Workspaces with entries that no checkpoint covers: the first and the last of them, and since
   * when.
   */
  const uncovered = new Map<string, { first: number; last: number; sinceMs: number }>()
  /** Entries that each follower has not taken yet, of the workspace where they are most. */
  const lags = () => [
    { follower: "auditor", entries: auditorLeft() },
    ...[...behind].map(([follower, workspaces]) => {
      let entries = 0
      for (const { end, taken } of workspaces.values()) entries = Math.max(entries, end - taken)
      return { follower, entries }
    }),
  ]
  const readLags = (it: Gauge<string>): void => {
    for (const { follower, entries } of lags()) it.set({ follower }, entries)
  }
  gauge("tallystick_follower_lag_entries", readLags, "follower")
  const checkpoints = histogram("tallystick_checkpoint_lag_seconds", lagSeconds)
  gauge("tallystick_checkpoint_age_seconds", (it) => {
    let most = 0
    for (const { sinceMs } of uncovered.values()) most = Math.max(most, clock.elapsed() - sinceMs)
    it.set(most / 1000)
  })
  return {
    lags,
    /** The chain of this workspace has grown to this sequence. */
    advanced(workspace: string, sequence: number) {
      for (const workspaces of behind.values()) {
        const known = workspaces.get(workspace)
        // There was no report yet, so assume that the follower was up to date.
        if (known === undefined) workspaces.set(workspace, { end: sequence, taken: sequence - 1 })
        else known.end = sequence
      }
      const waiting = uncovered.get(workspace)
      if (waiting === undefined)
        uncovered.set(workspace, { first: sequence, last: sequence, sinceMs: clock.elapsed() })
      else waiting.last = sequence
    },
    followed(follower: Follower, workspace: string, taken: number, end: number) {
      const workspaces = behind.get(follower)
      const known = Math.max(end, workspaces?.get(workspace)?.end ?? 0)
      // A follower that is up to date needs no record.
      if (taken >= known) workspaces?.delete(workspace)
      else workspaces?.set(workspace, { end: known, taken })
    },
    left(follower: Follower, workspace: string) {
      behind.get(follower)?.delete(workspace)
      if (follower === "checkpointer") uncovered.delete(workspace)
    },
    signed: (lagMs: number) => checkpoints.observe(lagMs / 1000),
    covered(workspace: string, sequence: number) {
      const waiting = uncovered.get(workspace)
      if (waiting === undefined || sequence < waiting.first) return
      // The entries after it are newer than those that it covers.
      if (waiting.last <= sequence) uncovered.delete(workspace)
      else uncovered.set(workspace, { ...waiting, first: sequence + 1, sinceMs: clock.elapsed() })
    },
  }
}

function countPacking({ counting }: Instruments): FollowerMetrics["packed"] {
  const packed = counting("tallystick_packed_entries_total")
  const written = counting("tallystick_packed_bytes_total")
  return (entries, bytes) => {
    packed(entries)
    written(bytes)
  }
}

function countArchiving({ counting, gauge }: Instruments) {
  const segments = gauge("tallystick_archive_segments")
  const bytes = gauge("tallystick_archive_bytes")
  const overdue = gauge("tallystick_archive_overdue_seconds")
  return {
    /** A sweep of the archiver over all workspaces has ended. */
    archived(state: {
      readonly segments: number
      readonly bytes: number
      readonly overdueMs: number
    }) {
      segments.set(state.segments)
      bytes.set(state.bytes)
      overdue.set(state.overdueMs / 1000)
    },
    archiveFailure: counting("tallystick_archive_failures_total"),
  }
}

function countAudit({ counting, gauge }: Instruments, clock: Clock) {
  const verified = counting("tallystick_audit_verified_entries_total")
  const failed = gauge("tallystick_audit_failed_entries")
  const unread = gauge("tallystick_audit_unread_workspaces")
  const round = gauge("tallystick_audit_round")
  const entries = gauge("tallystick_audit_round_entries")
  let last: AuditSummary | undefined
  gauge("tallystick_audit_unverified_age_seconds", (it) =>
    it.set(last === undefined ? 0 : Math.max(0, clock.now() - last.sinceMs) / 1000),
  )
  return {
    audited: (summary: AuditSummary) => {
      verified(summary.verified - (last?.verified ?? 0))
      failed.set(summary.failed)
      unread.set(summary.unread)
      round.set(summary.round)
      entries.set(summary.entries)
      last = summary
    },
    left: () => last?.left ?? 0,
  }
}
