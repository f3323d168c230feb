// Reads again, for ever and at a bounded rate, all that is kept, and holds it against the chain: what rots on a disk, or is changed behind
// the service's back, is found before somebody asks for it. A round takes every workspace, the newest first, from its first entry to where
// it ended when its turn came; the entry, its record, its body, what is sealed in it, and the tree that was signed.

import type { Clock } from "../clock.ts"
import type { Limits } from "../limits.ts"
import type { Heads } from "../store/heads.ts"
import type { Audit, Document, Finding, Index, JournalReader, Registry, Tree } from "../store/store.ts"
import { IntegrityError } from "./checkpointer.ts"
import { lookAt, type LookParts } from "./look.ts"
import { isOfTree, openWalk, reached, walkOn, type Walk } from "./walk.ts"

export interface AuditSummary {
  readonly round: number
  /** Entries that were re-verified in this round. */
  readonly entries: number
  /** Entries that were re-verified since the start. */
  readonly verified: number
  /** Entries that are known not to hold: the first of each workspace that has one. */
  readonly failed: number
  /** Workspaces that could not be read to their end, in this round. */
  readonly unread: number
  /** What has not been re-verified in this round was last known to hold at this time or later. */
  readonly sinceMs: number
  /** Of the workspace that is being re-verified: what is left of it. */
  readonly left: number
}

export interface Auditor {
  /** When the next step is due, on the clock of durations. */
  dueMs(): number
  /** Re-verifies some milliseconds' worth; never rejects. */
  step(): Promise<void>
  /** Looks at one entry out of turn: who read it found it broken, which is no reason to believe it. */
  look(workspace: string, sequence: number): Promise<void>
  /** Keeps how far it has come. */
  save(): Promise<void>
}

export interface AuditorParts extends Pick<LookParts, "isGenuine"> {
  readonly journal: JournalReader
  readonly index: Pick<Index, "audit" | "putAudit" | "tiles" | "checkpoint">
  readonly registry: Registry
  readonly heads: Pick<Heads, "get">
  readonly clock: Clock
  readonly limits: Pick<Limits, "auditEntriesPerSecond" | "auditRoundEveryMs">
}

/** Who is told. */
export interface AuditListener {
  /** A workspace does not hold together: told once. */
  readonly found: (finding: Finding) => void
  /** It could not go on for another reason; it will, by itself. */
  readonly failed: (workspace: string, detail: string) => void
  readonly summarise: (summary: AuditSummary) => void
}

/** A step is what is due after a fifth of a second: a millisecond or two of work. */
const stepsPerSecond = 5
/** However fast it is told to be, it lets others in: they share its thread. */
const entriesPerStepMax = 1000
/** A workspace costs this many entries to begin with. */
const entriesPerWorkspace = 3
/** How far it has come is kept this often; a crash repeats what was done since. */
const saveEveryMs = 10_000
const summariseEveryMs = 1000
/** A disk that failed once is asked again, and not all the time. */
const retryAfterMs = 1000
const workspacesPerRead = 1000
const newest = Number.MAX_SAFE_INTEGER
const emptyTree: Tree = { size: 0, hashes: [] }

export function createAuditor(parts: AuditorParts, { found, failed, summarise }: AuditListener): Auditor {
  const { journal, index, registry, clock, limits } = parts
  const entriesPerStep = Math.min(Math.ceil(limits.auditEntriesPerSecond / stepsPerSecond), entriesPerStepMax)
  /** Undefined before the first step. */
  let state: Audit | undefined
  let walk: Walk | undefined
  let unread = 0
  let verified = 0
  let dueMs = 0
  let savedMs = 0
  let summarisedMs = -Infinity

  return {
    dueMs: () => dueMs,
    async step() {
      const startedMs = clock.elapsed()
      try {
        await begin()
        const spent = await walkSome(entriesPerStep)
        const pauseMs = (spent * 1000) / limits.auditEntriesPerSecond
        dueMs = clock.elapsed() + (isComplete(state) ? Math.max(pauseMs, sleepMs(the(state), clock, limits)) : pauseMs)
        if (startedMs - savedMs >= saveEveryMs) await save()
      } catch (error) {
        dueMs = clock.elapsed() + retryAfterMs
        failed(walk?.workspace ?? "", `re-verifying: ${detailOf(error)}`)
      }
      if (startedMs - summarisedMs >= summariseEveryMs || isComplete(state)) tell()
    },
    async look(workspace, sequence) {
      await begin()
      const finding = await findAt(parts, workspace, sequence)
      if (finding !== undefined) await note(finding)
    },
    save,
  }

  async function begin(): Promise<void> {
    if (state === undefined) (state = await remembered(parts)).findings.forEach(found)
  }

  /** Re-verifies until the budget is spent or the round is complete; says what was spent. */
  async function walkSome(budget: number): Promise<number> {
    if (isComplete(state)) await beginRound()
    let spent = 0
    while (spent < budget) {
      if (walk === undefined) {
        walk = await nextWalk()
        spent += entriesPerWorkspace
      }
      if (walk === undefined) {
        at({ serial: 0, tree: emptyTree })
        await save()
        return spent
      }
      spent += await guarded(walk, budget - spent)
    }
    return spent
  }

  async function beginRound(): Promise<void> {
    const { round, startedMs } = the(state)
    unread = 0
    // Before the first round nothing was re-verified, so everything is as old as it is.
    const sinceMs = round === 0 ? await oldestMs(registry, clock) : startedMs
    at({ round: round + 1, startedMs: clock.now(), sinceMs, entries: 0, serial: newest, tree: emptyTree })
  }

  /** Goes on with the workspace that was being walked, or begins the next one that holds. */
  async function nextWalk(): Promise<Walk | undefined> {
    const { serial, tree, findings } = the(state)
    // A tree stands for a workspace that was begun and not finished.
    for (let before = tree.size === 0 ? serial : serial + 1; ;) {
      const [document] = await registry.list("workspace", undefined, before, 1)
      if (document === undefined) return undefined
      if (!findings.some(({ workspace }) => workspace === document.id)) {
        const next = await open(parts, document, document.serial === serial ? the(state) : undefined)
        if (!(next instanceof Error)) return next
        cannotRead(document.id, document.serial, `re-verifying: ${next.message}`)
      }
      before = document.serial
    }
  }

  function cannotRead(workspace: string, serial: number, detail: string): void {
    unread += 1
    at({ serial, tree: emptyTree })
    failed(workspace, detail)
  }

  /** Whatever is wrong with one workspace, the others have their turn. */
  async function guarded(walked: Walk, budget: number): Promise<number> {
    const { workspace, serial, end } = walked
    try {
      const { count, spent } = await walkOn(journal, walked, budget)
      verified += count
      const isDone = reached(walked) === end
      if (isDone) walk = undefined
      const tree = isDone ? emptyTree : walked.frontier.save()
      at({ serial, tree, epoch: walked.epochs[0].number, entries: the(state).entries + count })
      return spent
    } catch (error) {
      walk = undefined
      const detail = detailOf(error)
      if (error instanceof IntegrityError) {
        at({ serial, tree: emptyTree })
        await note({ workspace, sequence: reached(walked) + (isOfTree(detail) ? 0 : 1), detail, foundMs: clock.now() })
      } else {
        cannotRead(workspace, serial, `re-verifying entry ${reached(walked) + 1}: ${detail}`)
      }
      return entriesPerWorkspace
    }
  }

  async function note(finding: Finding): Promise<void> {
    // Who walks and who looks may both come upon it.
    if (the(state).findings.some(({ workspace }) => workspace === finding.workspace)) return
    at({ findings: [...the(state).findings, finding] })
    found(finding)
    tell()
    await save()
  }

  function at(change: Partial<Audit>): void {
    state = { ...the(state), ...change }
  }

  function tell(): void {
    if (state === undefined) return
    summarisedMs = clock.elapsed()
    summarise({ ...summaryOf(state), verified, unread, left: walk === undefined ? 0 : walk.end - reached(walk) })
  }

  async function save(): Promise<void> {
    savedMs = clock.elapsed()
    if (state !== undefined) await index.putAudit(state)
  }
}

function summaryOf(state: Audit): Pick<AuditSummary, "round" | "entries" | "failed" | "sinceMs"> {
  const { round, entries, startedMs, sinceMs, findings } = state
  return { round, entries, failed: findings.length, sinceMs: isComplete(state) ? startedMs : sinceMs }
}

/** What is found where somebody says that an entry is broken. */
async function findAt(parts: AuditorParts, workspace: string, sequence: number): Promise<Finding | undefined> {
  const document = await parts.registry.get("workspace", workspace, workspace)
  const detail = document && (await lookAt(parts, document, sequence))
  return detail === undefined ? undefined : { workspace, sequence, detail, foundMs: parts.clock.now() }
}

/** How far it had come. What was found before is looked at again at once: nobody may build upon it because of a restart. */
async function remembered(parts: AuditorParts): Promise<Audit> {
  const { index, registry } = parts
  const before = await index.audit()
  if (before === undefined) return { round: 0, startedMs: 0, sinceMs: 0, entries: 0, serial: 0, tree: emptyTree, findings: [] }
  const findings: Finding[] = []
  for (const finding of before.findings) {
    const document = await registry.get("workspace", finding.workspace, finding.workspace)
    // Of a tree that was signed differently no single entry can tell that it was put right.
    const detail = document && (isOfTree(finding.detail) ? finding.detail : await lookAt(parts, document, finding.sequence))
    if (detail !== undefined) findings.push({ ...finding, detail })
  }
  return { ...before, findings }
}

/** A workspace that cannot be read is left for the next round. */
async function open({ journal, heads }: AuditorParts, document: Document<"workspace">, before: Audit | undefined): Promise<Walk | Error> {
  try {
    // What was signed is asked first: of the journal, at least as much is there then.
    const signed = heads.get(document.value.origin)
    const begun =
      before === undefined || before.tree.size === 0 ? undefined : await openWalk(journal, document, signed, before.tree, before.epoch)
    const walk = begun ?? (await openWalk(journal, document, signed, emptyTree))
    return walk ?? new Error("it cannot be read from its beginning")
  } catch (error) {
    return new Error(detailOf(error))
  }
}

/** Until the next round begins; a clock that was set does not stop it. */
function sleepMs({ startedMs }: Audit, clock: Clock, { auditRoundEveryMs }: AuditorParts["limits"]): number {
  return Math.max(0, Math.min(auditRoundEveryMs, startedMs + auditRoundEveryMs - clock.now()))
}

/** When the first of all workspaces was made. */
async function oldestMs(registry: Registry, clock: Clock): Promise<number> {
  let oldest = clock.now()
  for (let before = newest; ;) {
    const page = await registry.list("workspace", undefined, before, workspacesPerRead)
    for (const { serial, value } of page) {
      before = serial
      oldest = Math.min(oldest, Date.parse(value.createdAt) || oldest)
    }
    if (page.length === 0) return oldest
  }
}

/** Of the round that is under way. */
function isComplete(state: Audit | undefined): boolean {
  return state?.serial === 0
}

function detailOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

function the(state: Audit | undefined): Audit {
  if (state === undefined) throw new Error("the auditor has not begun")
  return state
}
