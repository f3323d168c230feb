// What the auditor knows of all workspaces together: which round it is in, what it has found, and
// how far it has come in each, as it is kept.

import type { Clock } from "../clock.ts"
import { every } from "../store/all-documents.ts"
import type { Audit, Document, Finding, Index, Registry, Tree } from "../store/store.ts"
import { recheckEntry, type RecheckParts } from "./recheck-entry.ts"
import { isOfTree, reached, type Walk } from "./walk-chain.ts"

export type Round = Pick<Audit, "round" | "startedMs" | "sinceMs">

/**
 * A workspace that is being re-verified, what is kept of that, and how many of its entries are
 * counted.
 */
export interface WorkspaceAudit {
  readonly walk: Walk
  kept: Audit | undefined
  entries: number
}

export interface RoundsParts extends RecheckParts {
  readonly index: Pick<Index, "audit" | "putAudit" | "tiles" | "checkpoint">
  readonly registry: Registry
  readonly clock: Clock
}

export interface Rounds {
  readonly round: Round
  readonly isComplete: boolean
  /** Entries that were re-verified in this round. */
  entries: number
  readonly findings: ReadonlyMap<string, Finding>
  /**
   * The workspaces whose turn comes in this round, none twice; undefined when there is none: then
   * the round is complete.
   */
  next(): Promise<Document<"workspace"> | undefined>
  beginNext(): Promise<void>
  /** How far this round had come in a workspace; "over" when nothing is left to do there. */
  positionOf(workspace: string): Promise<Audit | "over" | undefined>
  /** False when another process has come further. */
  keep(walked: WorkspaceAudit): Promise<boolean>
  /**
   * It counts at once, and is kept when this resolves. `counted`: entries of the workspace that
   * were re-verified, if it was its turn.
   */
  note(finding: Finding, counted: number | undefined): Promise<void>
}

export const emptyTree: Tree = { size: 0, hashes: [] }

/**
 * As far as it had come. What was found before is looked at again at once: nobody may build upon it
 * because of a restart.
 */
export async function resumeRounds(parts: RoundsParts): Promise<Rounds> {
  const { index, registry } = parts
  const findings = new Map<string, Finding>()
  const kept: (Audit | undefined)[] = []
  for await (const document of every(registry, "workspace", undefined)) {
    const audit = await index.audit(document.id)
    const finding = audit?.finding && (await lookAgain(parts, document, audit.finding))
    if (finding !== undefined) findings.set(document.id, finding)
    // What was mended is re-verified.
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
        const next: IteratorResult<Document<"workspace">, undefined> = await rest.next()
        if (next.done === true) rounds.isComplete = true
        return next.value
      } catch (error) {
        // A list that broke off begins anew; what is over is passed by.
        rest = all()
        throw error
      }
    },
    async beginNext() {
      const { round: number, startedMs } = rounds.round
      // Before the first round nothing was re-verified, so everything is as old as it is.
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
      }
      return index.putAudit(walk.workspace, walked.kept)
    },
    async note(finding: Finding, counted: number | undefined) {
      const { workspace } = finding
      state.findings.set(workspace, finding)
      // Another process may have come further meanwhile; what was found is kept all the same.
      for (let isKept = false; !isKept;) {
        const kept = await index.audit(workspace)
        const entries = counted ?? (kept?.round === rounds.round.round ? kept.entries : 0)
        const place = {
          version: (kept?.version ?? 0) + 1,
          entries,
          isDone: true,
          epoch: 1,
          tree: emptyTree,
        }
        isKept = await index.putAudit(workspace, { ...rounds.round, ...place, finding })
      }
    },
  }
  return rounds
}

function isOver(audit: Audit | undefined, round: number): boolean {
  return audit?.round === round && audit.isDone
}

async function lookAgain(
  parts: RecheckParts,
  document: Document<"workspace">,
  finding: Finding,
): Promise<Finding | undefined> {
  // Of a tree that was signed differently no single entry can tell that it was put right.
  const detail = isOfTree(finding.detail)
    ? finding.detail
    : await recheckEntry(parts, document, finding.sequence)
  return detail === undefined ? undefined : { ...finding, detail }
}

/** When the first of all workspaces was made. */
async function oldestMs(registry: Registry, clock: Clock): Promise<number> {
  let oldest = clock.now()
  for await (const { value } of every(registry, "workspace", undefined))
    oldest = Math.min(oldest, Date.parse(value.createdAt) || oldest)
  return oldest
}
