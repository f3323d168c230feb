// Handles what the followers report: counts it and logs it. A broken chain is also recorded, in the
// ledger of the workspace `instance`.

import type { Log } from "../log.ts"
import { systemClock, type Clock } from "../clock.ts"
import type { FilingReport } from "./filing.ts"
import type { PackerReport } from "./packer.ts"
import type { AuditSummary } from "./auditor.ts"
import type { Sighting } from "./watching.ts"
import type { Checkpoint } from "../store/index-state.ts"

export interface IntegrityFailure {
  readonly workspace: string
  /** The fault, as a sentence. */
  readonly detail: string
  /** The first broken entry, and when it was found, if an auditor found it. */
  readonly sequence?: number | undefined
  readonly foundMs?: number | undefined
}

export interface FollowerMetrics {
  /** A follower has taken a chain to this sequence; it ended at `end` then. */
  readonly followed: (
    follower: (typeof followers)[number],
    workspace: string,
    sequence: number,
    end: number,
  ) => void
  readonly signed: (lagMs: number) => void
  /** Checkpoints cover a workspace's entries up to this one. */
  readonly covered: (workspace: string, sequence: number) => void
  /** Another server's follower takes the entries of this workspace. */
  readonly left: (follower: (typeof followers)[number], workspace: string) => void
  readonly audited: (summary: AuditSummary) => void
  readonly integrityFailure: () => void
  /** The bodies of some entries were packed into this many bytes. */
  readonly packed: (entries: number, bytes: number) => void
}

export const followers = ["checkpointer", "filing"] as const

export interface Fault {
  /** The first broken entry; 1 if no single entry is known. */
  readonly sequence: number
  /** The fault, as a sentence. */
  readonly detail: string
  readonly foundMs: number
}

export interface Health {
  /** Workspaces with a broken chain. */
  readonly broken: ReadonlyMap<string, Fault>
  /** The auditor's progress. Undefined until it reports. */
  audit(): AuditSummary | undefined
  readonly see: (sighting: Sighting) => void
  /** From now on failures are recorded, and so are those that were reported before. */
  readonly recordWith: (record: Recording) => void
  readonly close: () => void
}

type Recording = (seen: IntegrityFailure) => Promise<void>

const recordAgainAfterMs = 5000

export function createHealth(
  metrics: FollowerMetrics,
  log: Log,
  signed: (checkpoint: Checkpoint) => void,
): Health {
  const broken = new Map<string, Fault>()
  const recorder = createRecorder(log)
  let audit: AuditSummary | undefined

  function breaks({
    workspace,
    detail,
    from,
    finding,
  }: Sighting & { readonly kind: "broken" }): void {
    // The auditor and the checkpointer may both find it.
    if (broken.has(workspace)) return
    broken.set(workspace, {
      sequence: from,
      detail,
      foundMs: finding?.foundMs ?? systemClock.now(),
    })
    metrics.integrityFailure()
    log.error(
      { workspace, detail },
      "the chain fails its integrity check; this workspace is not written to or signed any more",
    )
    recorder.add({ workspace, detail, sequence: finding?.sequence, foundMs: finding?.foundMs })
  }

  return {
    broken,
    audit: () => audit,
    recordWith: recorder.recordWith,
    close: recorder.close,
    see(sighting) {
      switch (sighting.kind) {
        case "followed":
          metrics.followed("checkpointer", sighting.workspace, sighting.position, sighting.end)
          break
        case "signed":
          signed(sighting.checkpoint)
          metrics.signed(sighting.lagMs)
          break
        case "covered":
          metrics.covered(sighting.workspace, sighting.sequence)
          break
        case "left":
          metrics.left("checkpointer", sighting.workspace)
          break
        case "audited":
          audit = sighting.summary
          metrics.audited(audit)
          break
        case "failed":
          log.error(
            { workspace: sighting.workspace, detail: sighting.detail },
            "following failed; it is tried again",
          )
          break
        case "overtaken":
          log.info(
            { workspace: sighting.workspace, detail: sighting.detail },
            "another server follows this workspace",
          )
          break
        case "broken":
          breaks(sighting)
      }
    },
  }
}

/** The auditor checks a workspace again at most this often. */
const lookAgainAfterMs = 10_000

/** Reports broken entries to the auditor: once for a workspace, however often readers meet them. */
export function createSuspicions(
  { elapsed }: Pick<Clock, "elapsed">,
  isKnown: (workspace: string) => boolean,
  report: (workspace: string, sequence: number) => void,
): (workspace: string, sequence: number) => void {
  const reportedMs = new Map<string, number>()
  return (workspace, sequence) => {
    const nowMs = elapsed()
    if (isKnown(workspace) || nowMs - (reportedMs.get(workspace) ?? -Infinity) < lookAgainAfterMs)
      return
    reportedMs.set(workspace, nowMs)
    report(workspace, sequence)
  }
}

/** Records failures, and retries those that could not be recorded. */
function createRecorder(log: Log) {
  const unrecorded = new Set<IntegrityFailure>()
  let record: Recording | undefined
  let isRecording = false
  let isClosed = false

  async function recordAll(how: Recording): Promise<void> {
    isRecording = true
    while (unrecorded.size > 0 && !isClosed) {
      for (const seen of unrecorded) {
        try {
          await how(seen)
          unrecorded.delete(seen)
        } catch (error) {
          log.error(
            { workspace: seen.workspace, err: error },
            "a broken chain could not be recorded; it is tried again",
          )
        }
      }
      if (unrecorded.size > 0) await systemClock.sleep(recordAgainAfterMs)
    }
    isRecording = false
  }

  const goOn = (): void => {
    if (record !== undefined && !isRecording) void recordAll(record)
  }
  return {
    add: (seen: IntegrityFailure): void => {
      unrecorded.add(seen)
      goOn()
    },
    recordWith: (how: Recording): void => {
      record = how
      goOn()
    },
    close: (): void => {
      isClosed = true
    },
  }
}

/** How often the log reports the rebuilding of a search, and for how many entries at least. */
const progressEveryMs = 5000
const anewEntriesMin = 65_536

/** Handles the reports of the filing program. */
export function reportsOf(
  metrics: FollowerMetrics,
  log: Log,
): (report: FilingReport | PackerReport) => void {
  let saidMs = -Infinity
  return (report) => {
    if (report.kind === "packed") return metrics.packed(report.entries, report.bytes)
    if (report.kind === "not packed") {
      log.error({ detail: report.detail }, "bodies cannot be packed; it is tried again in a second")
      return
    }
    if (report.kind === "failed") {
      log.error(
        { detail: report.detail },
        "a segment of the search cannot be made; it is tried again in a second",
      )
      return
    }
    if (report.kind === "left") return metrics.left("filing", report.workspace)
    for (const [workspace, position, end] of report.positions) {
      metrics.followed("filing", workspace, position, end)
      const nowMs = systemClock.elapsed()
      if (end - position < anewEntriesMin || nowMs - saidMs < progressEveryMs) continue
      saidMs = nowMs
      log.info({ workspace, position, end }, "the search of a workspace is being made again")
    }
  }
}
