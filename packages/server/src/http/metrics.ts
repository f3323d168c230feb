// The metrics of the service, for Prometheus. No label names a workspace: there may be thousands.

import type { Clock } from "../clock.ts"
import type { AuditSummary } from "../followers/auditor.ts"
import type { DatabaseState } from "../store/store.ts"
import { followers, type FollowerMetrics } from "../followers/health.ts"
import { singleFlight } from "../runtime/single-flight.ts"
import { createInstruments, labelsOf, type Instruments, type Read } from "./instruments.ts"
import { createDurations } from "./request-durations.ts"
import { describeProcess } from "./process-metrics.ts"

export type Metrics = ReturnType<typeof createMetrics>

type Follower = (typeof followers)[number]

const commitSeconds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1]
const entriesPerCommit = [1, 2, 5, 10, 25, 50, 100, 250, 500, 1000, 2500]
const lagSeconds = [0.1, 0.25, 0.5, 0.75, 1, 1.25, 1.5, 2, 5, 10, 60]

/** Each has a series before its first export. */
const formats = ["jsonl", "csv", "parquet"]

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
  const instruments = createInstruments()
  const { counting, countingBy } = instruments
  describeService(instruments, gauges)
  describeProcess(instruments, gauges.clock)
  const audited = countAudit(instruments, gauges.clock)
  const following = countFollowing(instruments, gauges.clock, audited.left)
  return {
    /** A request failed for a reason that its caller did not cause. */
    failure: counting("tallystick_failures_total"),
    request: createDurations(instruments),
    ...countWrites(instruments),
    ...following,
    audited: audited.audited,
    integrityFailure: counting("tallystick_integrity_failures_total"),
    ...countExpiry(instruments),
    ...countErasures(instruments),
    packed: countPacking(instruments),
    /** Entries were given out in an export of this format. */
    exported: countingBy("tallystick_exported_entries_total", "format", formats),
    ...countArchiving(instruments),
    // Anyone may ask, as often as they like, and a text takes a millisecond of the main thread.
    text: singleFlight(instruments.text),
  }
}

function describeService({ gauge }: Instruments, { version, queued, storage }: Gauges): void {
  const { node } = process.versions
  gauge("tallystick_build_info", (write) => write(1, labelsOf({ version, node })))
  gauge("tallystick_queued_entries", (write) => write(queued()))
  if (storage.kind === "disk") {
    gauge("tallystick_disk_free_bytes", async (write) => write(await storage.freeBytes()))
    gauge("tallystick_disk_reserve_bytes", (write) => write(storage.reserveBytes))
    return
  }
  const { state } = storage
  gauge("tallystick_database_up", async (write) => write((await state()) === undefined ? 0 : 1))
  gauge("tallystick_database_synchronous_standbys", async (write) =>
    write((await state())?.synchronousStandbys ?? Number.NaN),
  )
  gauge("tallystick_database_unreachable_nodes", async (write) =>
    write((await state())?.unreachableNodes ?? Number.NaN),
  )
}

function countWrites({ counting, countingBy, histogram }: Instruments) {
  const commits = histogram("tallystick_commit_duration_seconds", commitSeconds)
  const sizes = histogram("tallystick_commit_entries", entriesPerCommit)
  const last: number[] = []
  let committed = 0
  return {
    /** The durations of the last commits in milliseconds, ascending. */
    lastCommits: () => last.toSorted((one, other) => one - other),
    commit: (count: number, durationMs: number) => {
      last[committed++ % lastCommitsMax] = durationMs
      commits(durationMs / 1000)
      sizes(count)
    },
    entry: countingBy("tallystick_entries_total", "lane"),
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
  const readLags: Read = (write) => {
    for (const { follower, entries } of lags()) write(entries, labelsOf({ follower }))
  }
  gauge("tallystick_follower_lag_entries", readLags)
  const checkpoints = histogram("tallystick_checkpoint_lag_seconds", lagSeconds)
  gauge("tallystick_checkpoint_age_seconds", (write) => {
    let most = 0
    for (const { sinceMs } of uncovered.values()) most = Math.max(most, clock.elapsed() - sinceMs)
    write(most / 1000)
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
    signed: (lagMs: number) => checkpoints(lagMs / 1000),
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

function countArchiving({ counting, kept }: Instruments) {
  const segments = kept("tallystick_archive_segments")
  const bytes = kept("tallystick_archive_bytes")
  const overdue = kept("tallystick_archive_overdue_seconds")
  return {
    /** A sweep of the archiver over all workspaces has ended. */
    archived(state: {
      readonly segments: number
      readonly bytes: number
      readonly overdueMs: number
    }) {
      segments(state.segments)
      bytes(state.bytes)
      overdue(state.overdueMs / 1000)
    },
    archiveFailure: counting("tallystick_archive_failures_total"),
  }
}

function countAudit({ counting, gauge, kept }: Instruments, clock: Clock) {
  const verified = counting("tallystick_audit_verified_entries_total")
  const failed = kept("tallystick_audit_failed_entries")
  const unread = kept("tallystick_audit_unread_workspaces")
  const round = kept("tallystick_audit_round")
  const entries = kept("tallystick_audit_round_entries")
  let last: AuditSummary | undefined
  gauge("tallystick_audit_unverified_age_seconds", (write) =>
    write(last === undefined ? 0 : Math.max(0, clock.now() - last.sinceMs) / 1000),
  )
  return {
    audited: (summary: AuditSummary) => {
      verified(summary.verified - (last?.verified ?? 0))
      failed(summary.failed)
      unread(summary.unread)
      round(summary.round)
      entries(summary.entries)
      last = summary
    },
    left: () => last?.left ?? 0,
  }
}
