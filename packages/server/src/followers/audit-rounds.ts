// The state of the auditor across all workspaces: its round, its findings, and its stored
// positions.

import type { Clock } from "../clock.ts"
import { isArchiveAway } from "../error.ts"
import { every } from "../store/all-documents.ts"
import type { Workspace } from "../store/documents.ts"
import type { Audit, Checked, Finding, Tree } from "../store/index-state.ts"
import type { Index, Registry } from "../store/store.ts"
import { recheckEntry, type RecheckParts } from "./recheck-entry.ts"
import { isOfTree, reached, type Walk } from "./walk-chain.ts"

export type Round = Pick<Audit, "round" | "startedMs" | "sinceMs">

/**
 * The workspace that the auditor is verifying, its stored position, and the number of entries
 * verified in this round.
 */
export interface WorkspaceAudit {
  readonly walk: Walk
  kept: Audit | undefined
  entries: number
  /** When the walk began at the first entry. */
  readonly sinceMs: number
  /** What was verified before this walk. */
  readonly before: readonly Checked[]
}

export interface RoundsParts extends RecheckParts {
  readonly index: Pick<Index, "audit" | "putAudit" | "tiles" | "checkpoint">
  readonly registry: Registry
  readonly clock: Clock
}

export interface Rounds {
  readonly round: Round
  readonly isComplete: boolean
  /** Entries verified in this round. */
  entries: number
  readonly findings: Map<string, Finding>
  /** The next workspace of this round, each once; undefined when the round is complete. */
  next(): Promise<Workspace | undefined>
  beginNext(): Promise<void>
  /** The stored position in a workspace; "over" if the workspace is complete in this round. */
  positionOf(workspace: string): Promise<Audit | "over" | undefined>
  /** False if another process is further ahead. */
  keep(walked: WorkspaceAudit): Promise<boolean>
  /** Stores a finding. `walked`: its workspace, if that was being verified. */
  store(finding: Finding, walked: WorkspaceAudit | undefined): Promise<void>
}

export const emptyTree: Tree = { size: 0, hashes: [] }

/**
 * Continues from the stored positions. Earlier findings are checked again first, so a restart does
 * not allow writes to a broken chain.
 */
export async function resumeRounds(parts: RoundsParts): Promise<Rounds> {
  const { index, registry } = parts
  const findings = new Map<string, Finding>()
  const kept: (Audit | undefined)[] = []
  for await (const document of every(registry, "workspace", undefined)) {
    const audit = await index.audit(document.id)
    const finding = audit?.finding && (await lookAgain(parts, document, audit.finding))
    if (finding !== undefined) findings.set(document.id, finding)
    // A repaired workspace is verified again.
    kept.push(
      audit?.finding !== undefined && finding === undefined ? { ...audit, isDone: false } : audit,
    )
  }
  const number = Math.max(0, ...kept.map((audit) => audit?.round ?? 0))
  const { startedMs, sinceMs } = kept.find((audit) => audit?.round === number) ?? {
    startedMs: 0,
    sinceMs: 0,
  }
  const entries = kept.reduce(
    (sum, audit) => sum + (audit?.round === number ? audit.entries : 0),
    0,
  )
  const isComplete = number === 0 || kept.every((audit) => isOver(audit, number))
  return createRounds(parts, {
    round: { round: number, startedMs, sinceMs },
    isComplete,
    entries,
    findings,
  })
}

function createRounds(
  { index, registry, clock }: RoundsParts,
  state: {
    round: Round
    isComplete: boolean
    entries: number
    readonly findings: Map<string, Finding>
  },
): Rounds {
  const all = () => every(registry, "workspace", undefined)
  let rest = all()
  const rounds = {
    ...state,
    async next() {
      try {
        const next: IteratorResult<Workspace, undefined> = await rest.next()
        if (next.done === true) rounds.isComplete = true
        return next.value
      } catch (error) {
        // After an error the list begins again, and completed workspaces are skipped.
        rest = all()
        throw error
      }
    },
    async beginNext() {
      const { round: number, startedMs } = rounds.round
      // Nothing was verified before the first round, so it reaches back to the oldest workspace.
      const sinceMs = number === 0 ? await oldestMs(registry, clock) : startedMs
      rounds.round = { round: number + 1, startedMs: clock.now(), sinceMs }
      rounds.isComplete = false
      rounds.entries = 0
      rest = all()
    },
    async positionOf(workspace: string) {
      const audit = await index.audit(workspace)
      return audit?.finding === undefined && isOver(audit, rounds.round.round) ? "over" : audit
    },
    keep(walked: WorkspaceAudit) {
      const { walk, kept, entries } = walked
      const isDone = reached(walk) === walk.end
      const tree = isDone ? emptyTree : walk.frontier.save()
      walked.kept = {
        ...rounds.round,
        version: (kept?.version ?? 0) + 1,
        entries,
        isDone,
        epoch: walk.epochs[0].number,
        tree,
        checked: checkedBy(walked),
      }
      return index.putAudit(walk.workspace, walked.kept)
    },
    async store(finding: Finding, walked: WorkspaceAudit | undefined) {
      const { workspace } = finding
      // Another process may be further ahead; store the finding nevertheless.
      for (let isKept = false; !isKept;) {
        const kept = await index.audit(workspace)
        const entries = walked?.entries ?? (kept?.round === rounds.round.round ? kept.entries : 0)
        const checked = walked === undefined ? (kept?.checked ?? []) : checkedBy(walked)
        const place = {
          version: (kept?.version ?? 0) + 1,
          entries,
          isDone: true,
          epoch: 1,
          tree: emptyTree,
          checked,
        }
        isKept = await index.putAudit(workspace, { ...rounds.round, ...place, finding })
      }
    },
  }
  return rounds
}

/** The maximum number of ranges: each walk that does not reach its end leaves one more. */
const checkedMax = 4

/** The verified ranges: this walk's entries, and after them those of earlier walks. */
function checkedBy({ walk, sinceMs, before }: WorkspaceAudit): readonly Checked[] {
  const to = reached(walk)
  const now = to === 0 ? [] : [{ to, sinceMs }]
  return [...now, ...before.filter((one) => one.to > to)].slice(0, checkedMax)
}

function isOver(audit: Audit | undefined, round: number): boolean {
  return audit?.round === round && audit.isDone
}

async function lookAgain(
  parts: RecheckParts,
  document: Workspace,
  finding: Finding,
): Promise<Finding | undefined> {
  // One entry cannot show that a wrong tree was repaired.
  const detail = isOfTree(finding.detail)
    ? finding.detail
    : await recheckEntry(parts, document, finding.sequence).catch((error: unknown) => {
        // Unread is not repaired. Otherwise no finding would hold, of other workspaces neither.
        if (isArchiveAway(error)) return finding.detail
        throw error
      })
  return detail === undefined ? undefined : { ...finding, detail }
}

/** The creation time of the oldest workspace. */
async function oldestMs(registry: Registry, clock: Clock): Promise<number> {
  let oldest = clock.now()
  for await (const { value } of every(registry, "workspace", undefined))
    oldest = Math.min(oldest, Date.parse(value.createdAt) || oldest)
  return oldest
}
