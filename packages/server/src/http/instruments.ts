// The counters, gauges and histograms of the service, and their help texts, as text for Prometheus
// (its text format, version 0.0.4).

const help = {
  tallystick_request_duration_seconds: "Time from a request's headers to the end of its answer",
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

/** Writes a sample: the labels as `labelsOf` makes them, and the part of a histogram. */
type Write = (value: number, labels?: string, part?: string) => void
/** Writes the samples of a metric, at each scrape. */
export type Read = (write: Write) => void | Promise<void>

export type Instruments = ReturnType<typeof createInstruments>

export function createInstruments() {
  const texts: (() => Promise<string>)[] = []

  function add(type: string, name: string, about: string, read: Read): void {
    texts.push(async () => {
      const lines = [`# HELP ${name} ${about}`, `# TYPE ${name} ${type}`]
      await read((value, labels = "", part = "") => {
        lines.push(`${name}${part}${labels === "" ? "" : `{${labels}}`} ${numberText(value)}`)
      })
      return lines.join("\n")
    })
  }

  /** The function that it returns makes a series of values, each of which is in a bucket. */
  function histogramBy(name: Name, bounds: readonly number[]) {
    const all: Series[] = []
    add("histogram", name, help[name], (write) => {
      for (const series of all) writeSeries(write, bounds, series)
    })
    return (labels: string): ((value: number) => void) => {
      const series = { labels, counts: Array.from({ length: bounds.length + 1 }, () => 0), sum: 0 }
      all.push(series)
      return (value) => {
        let bucket = 0
        while (bucket < bounds.length && value > (bounds[bucket] ?? Infinity)) bucket++
        series.counts[bucket] = (series.counts[bucket] ?? 0) + 1
        series.sum += value
      }
    }
  }

  return {
    add,
    /** Counts events, or what each of them has. */
    counting: (name: Name): ((more?: number) => void) => {
      let count = 0
      add("counter", name, help[name], (write) => write(count))
      return (more = 1) => void (count += more)
    },
    /** The same for each value of a label. These values are there from the beginning. */
    countingBy: (name: Name, label: string, known: readonly string[] = []) => {
      const counts = new Map(known.map((value) => [value, 0]))
      add("counter", name, help[name], (write) => {
        for (const [value, count] of counts) write(count, labelsOf({ [label]: value }))
      })
      return (value: string, more = 1) => void counts.set(value, (counts.get(value) ?? 0) + more)
    },
    gauge: (name: Name, read: Read) => add("gauge", name, help[name], read),
    /** A gauge with the value that it was set to. */
    kept: (name: Name): ((value: number) => void) => {
      let last = 0
      add("gauge", name, help[name], (write) => write(last))
      return (value) => void (last = value)
    },
    histogram: (name: Name, bounds: readonly number[]) => histogramBy(name, bounds)(""),
    histogramBy,
    /** All metrics are read at the same time. */
    text: async () => `${(await Promise.all(texts.map((read) => read()))).join("\n")}\n`,
  }
}

interface Series {
  readonly labels: string
  /** Counts by bucket, not cumulative. The last one counts values above all buckets. */
  readonly counts: number[]
  sum: number
}

function writeSeries(
  write: Write,
  bounds: readonly number[],
  { labels, counts, sum }: Series,
): void {
  let count = 0
  for (const [place, some] of counts.entries()) {
    count += some
    const bound = `le="${bounds[place] ?? "+Inf"}"`
    write(count, labels === "" ? bound : `${bound},${labels}`, "_bucket")
  }
  write(sum, labels, "_sum")
  write(count, labels, "_count")
}

export function labelsOf(labels: Readonly<Record<string, string>>): string {
  const escaped = (text: string): string =>
    text.replaceAll(/[\\"\n]/g, (one) => (one === "\n" ? "\\n" : `\\${one}`))
  return Object.entries(labels)
    .map(([name, value]) => `${name}="${escaped(value)}"`)
    .join(",")
}

function numberText(value: number): string {
  return Number.isFinite(value) ? String(value) : value > 0 ? "+Inf" : value < 0 ? "-Inf" : "NaN"
}
