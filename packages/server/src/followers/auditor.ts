// Verifies everything that is stored again and again, at a bounded rate: bit rot and edits behind
// the service's back are found before somebody asks for the entry. A round takes every workspace,
// the newest first, from its first entry to the last one at that time: record, body, disclosures
// and the signed tree.

import { assert } from "@tallystick/proof"
import type { Clock } from "../clock.ts"
import { detailOf } from "../error.ts"
import type { Limits } from "../limits.ts"
import { singleFlight } from "../runtime/single-flight.ts"
import type { Heads } from "../store/heads.ts"
import type { Workspace } from "../store/documents.ts"
import type { Audit, Finding } from "../store/index-state.ts"
import type { Leases } from "../store/store.ts"
import {
  emptyTree,
  resumeRounds,
  type Round,
  type Rounds,
  type RoundsParts,
  type WorkspaceAudit,
} from "./audit-rounds.ts"
import { IntegrityError } from "./checkpointer.ts"
import { recheckEntry } from "./recheck-entry.ts"
import { isOfTree, openWalk, reached, walkOn, type Walk } from "./walk-chain.ts"

export interface AuditSummary {
  readonly round: number
  /** Entries verified in this round. */
  readonly entries: number
  /** Entries verified since the start. */
  readonly verified: number
  /** Known broken entries, counting the first of each workspace. */
  readonly failed: number
  /** Workspaces that this round could not read to their end. */
  readonly unread: number
  /** Entries that this round has not verified yet were verified at this time or later. */
  readonly sinceMs: number
  /** Entries left in the workspace that is being verified. */
  readonly left: number
}

export interface Auditor {
  /** When the next step is due, in elapsed milliseconds. */
  dueMs(): number
  /** Verifies for some milliseconds. Never rejects. */
  step(): Promise<void>
  /** Verifies one entry that a reader found broken. The report alone is not believed. */
  look(workspace: string, sequence: number): Promise<void>
  /** Stores the position. */
  save(): Promise<void>
}

export interface AuditorParts extends RoundsParts {
  readonly leases: Leases
  readonly heads: Pick<Heads, "get">
  readonly limits: Pick<Limits, "auditEntriesPerSecond" | "auditRoundEveryMs">
}

export interface AuditListener {
  /** A chain is broken. Called once per workspace. */
  readonly found: (finding: Finding) => void
  /** Another error stopped a step. The auditor continues by itself. */
  readonly failed: (workspace: string, detail: string) => void
  readonly summarise: (summary: AuditSummary) => void
}

/** A step covers a fifth of a second: a millisecond or two of work. */
const stepsPerSecond = 5
/** An upper bound, because the auditor shares its thread. */
const entriesPerStepMax = 1000
/** Reading and storing a position costs as much as this many entries. */
const entriesPerWorkspace = 5
/** How often the position is stored. After a crash, the work since then is repeated. */
const saveEveryMs = 10_000
const summariseEveryMs = 1000
/** The pause after a failed read. */
const retryAfterMs = 1000

export function createAuditor(
  parts: AuditorParts,
  { found, failed, summarise }: AuditListener,
): Auditor {
  const { leases, clock, limits } = parts
  const entriesPerStep = Math.min(
    Math.ceil(limits.auditEntriesPerSecond / stepsPerSecond),
    entriesPerStepMax,
  )
  /** Undefined before the first step. */
  let rounds: Rounds | undefined
  /** A reader's report may come during the first step. */
  const begin = singleFlight(async () => {
    if (rounds === undefined) (rounds = await resumeRounds(parts)).findings.forEach(found)
    return rounds
  })
  /** Findings to store, each with the walk that it ended. */
  const unstored = new Map<Finding, WorkspaceAudit | undefined>()
  let walking: WorkspaceAudit | undefined
  let verified = 0
  let unread = 0
  let dueMs = 0
  let savedMs = 0
  let summarisedMs = -Infinity

  return {
    dueMs: () => dueMs,
    async step() {
      const startedMs = clock.elapsed()
      try {
        const begun = await begin()
        await store(begun)
        const spent = await walkSome(begun, entriesPerStep)
        const pauseMs = (spent * 1000) / limits.auditEntriesPerSecond
        dueMs =
          clock.elapsed() +
          (begun.isComplete ? Math.max(pauseMs, sleepMs(begun.round, clock, limits)) : pauseMs)
        if (startedMs - savedMs >= saveEveryMs) await save()
      } catch (error) {
        dueMs = clock.elapsed() + retryAfterMs
        failed(walking?.walk.workspace ?? "", `re-verifying: ${detailOf(error)}`)
      }
      if (startedMs - summarisedMs >= summariseEveryMs || rounds?.isComplete === true) tell()
    },
    async look(workspace, sequence) {
      const begun = await begin()
      const finding = await findAt(parts, workspace, sequence)
      if (finding !== undefined) await note(begun, finding)
    },
    save,
  }

  /** Verifies until the budget is spent or the round is complete. Returns what was spent. */
  async function walkSome(begun: Rounds, budget: number): Promise<number> {
    if (begun.isComplete) {
      await begun.beginNext()
      unread = 0
    }
    let spent = 0
    while (spent < budget) {
      if (walking !== undefined) {
        spent += await walkGuarded(begun, walking, budget - spent)
        continue
      }
      const document = await begun.next()
      if (document === undefined) return spent
      walking = await openNext(begun, document)
      spent += entriesPerWorkspace
    }
    return spent
  }

  /** Continues or begins a workspace in this round. */
  async function openNext(begun: Rounds, document: Workspace): Promise<WorkspaceAudit | undefined> {
    const { id } = document
    if (begun.findings.has(id) || !(await leases.hold(id))) return undefined
    const kept = await begun.positionOf(id)
    if (kept === "over") return undefined
    const before = kept?.round === begun.round.round ? kept : undefined
    const walk = await open(parts, document, before)
    if (walk instanceof Error) {
      cannotRead(id, `re-verifying: ${walk.message}`)
      return undefined
    }
    const counted = before?.entries ?? 0
    const [own, ...earlier] = kept?.checked ?? []
    if (reached(walk) > 0) {
      assert(own !== undefined, "a walk that continues has verified a range")
      return { walk, kept, entries: counted, sinceMs: own.sinceMs, before: earlier }
    }
    begun.entries -= counted
    return { walk, kept, entries: 0, sinceMs: parts.clock.now(), before: kept?.checked ?? [] }
  }

  function cannotRead(workspace: string, detail: string): void {
    unread += 1
    walking = undefined
    failed(workspace, detail)
  }

  /** A fault in one workspace does not stop the others. */
  async function walkGuarded(
    begun: Rounds,
    walked: WorkspaceAudit,
    budget: number,
  ): Promise<number> {
    const { walk } = walked
    const { workspace, end } = walk
    try {
      const { count, spent } = await walkOn(parts, walk, budget)
      verified += count
      begun.entries += count
      walked.entries += count
      if (reached(walk) === end) {
        await save()
        walking = undefined
      }
      return spent
    } catch (error) {
      const detail = detailOf(error)
      if (error instanceof IntegrityError)
        await note(begun, {
          workspace,
          sequence: reached(walk) + (isOfTree(detail) ? 0 : 1),
          detail,
          foundMs: clock.now(),
        })
      else cannotRead(workspace, `re-verifying entry ${reached(walk) + 1}: ${detail}`)
      return entriesPerWorkspace
    }
  }

  /** A step and a reader's report may find the same fault: it is reported once. */
  async function note(begun: Rounds, finding: Finding): Promise<void> {
    if (begun.findings.has(finding.workspace)) return
    const own = walking?.walk.workspace === finding.workspace ? walking : undefined
    if (own !== undefined) walking = undefined
    begun.findings.set(finding.workspace, finding)
    unstored.set(finding, own)
    found(finding)
    tell()
    await store(begun)
  }

  /** If it fails, the next step continues. */
  async function store(begun: Rounds): Promise<void> {
    for (const [finding, own] of unstored) {
      await begun.store(finding, own)
      unstored.delete(finding)
    }
  }

  function tell(): void {
    if (rounds === undefined) return
    const { round, isComplete, entries, findings } = rounds
    const sinceMs = isComplete ? round.startedMs : round.sinceMs
    const left = walking === undefined ? 0 : walking.walk.end - reached(walking.walk)
    summarisedMs = clock.elapsed()
    summarise({
      round: round.round,
      entries,
      verified,
      failed: findings.size,
      unread,
      sinceMs,
      left,
    })
  }

  async function save(): Promise<void> {
    savedMs = clock.elapsed()
    // If another process has come further, leave the workspace to it.
    if (rounds !== undefined && walking !== undefined && !(await rounds.keep(walking)))
      walking = undefined
  }
}

/** The finding at a reported entry, if the entry is broken. */
async function findAt(
  parts: AuditorParts,
  workspace: string,
  sequence: number,
): Promise<Finding | undefined> {
  const document = await parts.registry.get("workspace", workspace, workspace)
  const detail = document && (await recheckEntry(parts, document, sequence))
  return detail === undefined
    ? undefined
    : { workspace, sequence, detail, foundMs: parts.clock.now() }
}

/** An error means: leave the workspace for the next round. */
async function open(
  { journal, heads }: AuditorParts,
  document: Workspace,
  before: Audit | undefined,
): Promise<Walk | Error> {
  try {
    // Read the signed head before the journal, which then has at least as many entries.
    const signed = await heads.get(document.value.origin)
    const isBegun = before !== undefined && before.tree.size > 0
    const begun = isBegun
      ? await openWalk(journal, document, signed, before.tree, before.epoch)
      : undefined
    const walk = begun ?? (await openWalk(journal, document, signed, emptyTree))
    return walk ?? new Error("it cannot be read from its beginning")
  } catch (error) {
    return new Error(detailOf(error))
  }
}

/** The time until the next round. A clock that was set back does not stop it. */
function sleepMs(
  { startedMs }: Round,
  clock: Clock,
  { auditRoundEveryMs }: AuditorParts["limits"],
): number {
  return Math.max(0, Math.min(auditRoundEveryMs, startedMs + auditRoundEveryMs - clock.now()))
}
