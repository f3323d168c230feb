// The counters, gauges and histograms of the service, and their help texts.

import { Counter, Gauge, Histogram, type Registry } from "@prometheus-io/client"

const help = {
  tallystick_failures_total:
    "Requests that failed unexpectedly: a bug, or storage; the log has the first of each minute",
  tallystick_exported_entries_total: "Entries that exports have given out",
  tallystick_build_info: "1, with the versions of the service and of its runtime",
  tallystick_queued_entries: "Entries that wait for a commit",
  tallystick_disk_free_bytes: "Free space for the service's user on the disk with the data",
  tallystick_disk_reserve_bytes: "Writes are refused when less than this is left on the disk",
  tallystick_database_up: "1 if the database answers and takes writes, else 0",
  tallystick_database_synchronous_standbys:
    "Standbys that a commit waits for; NaN if the database does not answer, or its role may not see them",
  tallystick_database_unreachable_nodes:
    "Nodes of a cluster whose workspaces cannot be written to; NaN if that is not known",
  tallystick_commit_duration_seconds:
    "Time until a workspace's group of entries is durable, with its wait for the commit before",
  tallystick_commit_entries: "Entries of a workspace that were committed together",
  tallystick_entries_total: "Entries that clients wrote, by lane",
  tallystick_replays_total: "Writes answered with the receipt of an earlier one",
  tallystick_failed_logins_total: "Passwords and set-up tokens that were wrong",
  tallystick_expiry_runs_total: "Workspaces that were checked for expired contents",
  tallystick_expiry_failures_total:
    "Workspaces whose check for expired contents failed; it is tried again within the hour",
  tallystick_expired_bodies_total: "Entries whose contents expired and were destroyed",
  tallystick_expiry_held_total: "Expired entries whose contents a run kept because of a hold",
  tallystick_erasures_total: "Erasures of persons that were carried out",
  tallystick_erased_entries_total: "Entries that lost sealed fields or their content to an erasure",
  tallystick_erasure_failures_total:
    "Attempts to carry out an erasure that failed; it is tried again within seconds",
  tallystick_follower_lag_entries:
    "Entries that a follower has not taken yet, of the workspace where they are most; of the auditor, in the workspace whose turn it is",
  tallystick_checkpoint_lag_seconds:
    "How long the oldest entry under a new checkpoint had waited for it",
  tallystick_checkpoint_age_seconds:
    "For how long an entry has been waiting for the checkpoint that covers it; 0 when all are covered",
  tallystick_packed_entries_total: "Entries whose bodies were packed into frames",
  tallystick_packed_bytes_total: "Bytes of the frames that were packed",
  tallystick_archive_segments: "Archive segments of the workspaces that this server follows",
  tallystick_archive_bytes: "Bytes of these segments",
  tallystick_archive_overdue_seconds:
    "For how long the oldest packed entry has been due that is not archived yet; 0 if none is",
  tallystick_archive_failures_total: "Failed attempts to archive; the log has the reasons",
  tallystick_integrity_failures_total: "Chains that failed their integrity check",
  tallystick_audit_verified_entries_total: "Entries that were re-verified",
  tallystick_audit_failed_entries: "Broken entries: the first one of each workspace that has any",
  tallystick_audit_unread_workspaces:
    "Workspaces that could not be read completely in the current round of re-verifying",
  tallystick_audit_round: "Which round of re-verifying all entries this is",
  tallystick_audit_round_entries: "Entries that were re-verified in the present round",
  tallystick_audit_unverified_age_seconds:
    "How long ago, at most, the entries that were not re-verified in the present round were last verified",
} as const

type Name = keyof typeof help

export type Instruments = ReturnType<typeof createInstruments>

export function createInstruments(registry: Registry) {
  const registers = [registry]
  return {
    counter: (name: Name, ...labelNames: string[]) =>
      new Counter({ name, help: help[name], labelNames, registers }),
    /** Counts events, or what each of them has. */
    counting: (name: Name): ((more?: number) => void) => {
      const counter = new Counter({ name, help: help[name], registers })
      return (more = 1) => counter.inc(more)
    },
    /** `collect` is called at each scrape. */
    gauge: (
      name: Name,
      collect: (gauge: Gauge<string>) => void | Promise<void> = () => {},
      ...labelNames: string[]
    ) =>
      new Gauge({
        name,
        help: help[name],
        labelNames,
        registers,
        collect() {
          return collect(this)
        },
      }),
    histogram: (name: Name, buckets: number[]) =>
      new Histogram({ name, help: help[name], buckets, registers }),
  }
}
