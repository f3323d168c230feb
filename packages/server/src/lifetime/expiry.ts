// Destroys expired contents, once a day and on request. A run first records what it will destroy,
// with the documents that explain the missing contents, then destroys, then records that it has. An
// interrupted run continues from its own entries.

import { addRange, formatDestroyed, lengthOfRanges, type SequenceRange } from "@tallystick/proof"
import { dayMs, isoTime, pause, type Clock } from "../clock.ts"
import { isArchiveAway, LedgerError } from "../error.ts"
import { createOneAtATime } from "../runtime/one-at-a-time.ts"
import { every } from "../store/all-documents.ts"
import type { ContentKeeperBeside } from "../store/content-keeper.ts"
import { destroyedBodies, destroyedChanges, notDestroyed } from "../store/destroyed.ts"
import type { ExpiryRun, RetentionRule, Workspace } from "../store/documents.ts"
import { epochsOf } from "../store/epochs.ts"
import { grownRun, readState, stateChange, type RetentionState } from "../store/retention-state.ts"
import type { Store } from "../store/store.ts"
import { recordPlanned, type Act, type AdminParts } from "../workspace/admin-entries.ts"
import type { Principal } from "../workspace/permissions.ts"
import type { DueEntries, DueQuestion } from "./due-entries.ts"
import { destroyContent, type DestroyingParts } from "./content-destruction.ts"
import { activeHolds } from "./holds.ts"

export interface ExpiryParts
  extends Pick<AdminParts, "registry" | "ledger" | "clock">, Omit<DestroyingParts, "journal"> {
  readonly store: Pick<Store, "index" | "journal">
  readonly content: ContentKeeperBeside
  readonly due: (question: DueQuestion) => Promise<DueEntries>
}

export interface ExpiryResult {
  /** Entries whose contents were destroyed. */
  readonly entries: number
  /** Expired entries that a hold protects. */
  readonly held: number
  /** Another request has begun the run. */
  readonly isShared?: true
}

export interface Expiry {
  /**
   * Destroys expired contents. If a run is under way, waits for its end. Undefined if another
   * process does it.
   */
  run(by: Principal, workspace: Workspace): Promise<ExpiryResult | undefined>
  /** Destroys what an interrupted run has recorded, and nothing else. */
  finish(workspace: Workspace): Promise<void>
}

const service = { kind: "instance" } as const

export function createExpiry(parts: ExpiryParts): Expiry {
  const inTurn = createOneAtATime()
  const running = new Map<string, Promise<ExpiryResult | undefined>>()
  const run = (by: Principal, workspace: Workspace) =>
    inTurn(workspace.id, async () => {
      if (!(await parts.content.isOurs(workspace.id))) return undefined
      await finish(parts, workspace)
      const found = { entries: 0, held: 0 }
      try {
        await recordDue(parts, by, workspace, found)
        if (found.entries > 0) await finish(parts, workspace)
      } catch (error) {
        throw found.entries > 0 && saysNothingWas(error) ? cutShort(error) : error
      }
      return found
    })
  return {
    async run(by, workspace) {
      // Requests under the same rules share a run, because each run reads all entries.
      const key = `${workspace.id} ${workspace.version}`
      const before = running.get(key)
      if (before !== undefined) {
        const done = await before
        return done && { ...done, isShared: true }
      }
      const ended = run(by, workspace).finally(() => running.delete(key))
      running.set(key, ended)
      return ended
    },
    finish: (workspace) =>
      inTurn(workspace.id, async () => {
        if (await parts.content.isOurs(workspace.id)) await finish(parts, workspace)
      }),
  }
}

/** Most refusals say that nothing was recorded; that the archive is away does not. */
function saysNothingWas(error: unknown): error is LedgerError {
  return error instanceof LedgerError && !isArchiveAway(error)
}

function cutShort(cause: LedgerError): LedgerError {
  const detail = "a part of what is due was recorded, and the rest could not be; ask again"
  return new LedgerError("ledger_unavailable", detail, { cause })
}

/** Adds to `found` what it records. */
async function recordDue(
  parts: ExpiryParts,
  by: Principal,
  asked: Workspace,
  found: { -readonly [Name in keyof ExpiryResult]: number },
): Promise<void> {
  const { registry, ledger, clock, store, due } = parts
  const { id } = asked
  const runId = ledger.makeId("exp", clock.now())
  for (let after = 0, isEnd = false; !isEnd;) {
    const state = await readState(registry, id)
    const { run } = state.value
    if (isOpen(run) && run.id !== runId) {
      // Another process has begun it meanwhile, and may have died.
      await finish(parts, asked)
      continue
    }
    // A change of the rules changes the state, so these are not older than the state.
    const workspace = await registry.get("workspace", id, id, true)
    const rules = workspace?.value.retention ?? []
    if (workspace === undefined || rules.length === 0) break
    const upTo = await coveredUpTo(store, workspace)
    const holds = await activeHolds(registry, id)
    const dueNow = await due({ workspace: id, rules, holds, after, upTo, nowMs: clock.now() })
    const recorded = await record(parts, { by, workspace, runId, rules, state }, dueNow.ranges)
    // A hold was placed or the rules were changed meanwhile: these entries are checked again.
    if (recorded === undefined) continue
    found.entries += lengthOfRanges(recorded)
    found.held += dueNow.held
    after = dueNow.last
    isEnd = dueNow.isEnd
  }
}

interface Recording {
  readonly by: Principal
  readonly workspace: Workspace
  readonly runId: string
  readonly rules: readonly RetentionRule[]
  readonly state: RetentionState
}

/** The contents to destroy; undefined if holds or rules have changed since they were found. */
async function record(
  parts: ExpiryParts,
  { by, workspace, runId, rules, state }: Recording,
  ranges: DueEntries["ranges"],
): Promise<readonly SequenceRange[] | undefined> {
  const { registry } = parts
  let recorded: readonly SequenceRange[] | undefined
  await recordPlanned(parts, workspace, async () => {
    recorded = undefined
    const now = await readState(registry, workspace.id)
    if (now.version !== state.version) return undefined
    // Another process may have recorded and destroyed some of it since it was read.
    const left = await Promise.all(ranges.map((own) => notDestroyed(registry, workspace.id, own)))
    recorded = inOrder(left)
    if (recorded.length === 0) return undefined
    const acts = left.flatMap((own, at): readonly Act[] =>
      own.length === 0 ? [] : [expireAct(by, runId, rules[at], own)],
    )
    const run = grownRun(state.value.run, runId, recorded)
    const destroyed = { why: "expired", bodies: recorded, fields: [] } as const
    const changes = await destroyedChanges(registry, workspace.id, destroyed, runId)
    return { acts, changes: [...changes, stateChange(now, { ...now.value, run })] }
  })
  return recorded
}

function isOpen(run: ExpiryRun | undefined): run is ExpiryRun {
  return run !== undefined && run.doneAt === undefined
}

/** Finishes the last run, if it was interrupted or has just destroyed its last content. */
async function finish(parts: ExpiryParts, workspace: Workspace): Promise<void> {
  const { registry } = parts
  for (;;) {
    const { run } = (await readState(registry, workspace.id)).value
    if (!isOpen(run)) return
    await finishRun(parts, workspace, run)
  }
}

/** If another process records more of it meanwhile, it is not done yet. */
async function finishRun(parts: ExpiryParts, workspace: Workspace, run: ExpiryRun): Promise<void> {
  const { registry, store } = parts
  const { id } = workspace
  const bodies = await destroyedBodies(registry, id, run, run.id)
  await destroyContent({ ...parts, journal: store.journal }, id, [
    { why: "expired", bodies, fields: [] },
  ])
  await recordPlanned(parts, workspace, async (nowMs) => {
    const state = await readState(registry, id)
    const now = state.value.run
    if (!isOpen(now) || now.id !== run.id || now.entries !== run.entries) return undefined
    return {
      by: service,
      action: "retention.body.expired",
      kind: "retention",
      target: { id: run.id, type: "expiry" },
      metadata: { entries: run.entries },
      changes: [stateChange(state, { ...state.value, run: { ...run, doneAt: isoTime(nowMs) } })],
    }
  })
}

function expireAct(
  by: Principal,
  runId: string,
  rule: RetentionRule | undefined,
  bodies: readonly SequenceRange[],
): Act {
  return {
    by,
    action: "retention.body.expire",
    kind: "retention",
    target: { id: runId, type: "expiry" },
    metadata: {
      rule: { ...rule },
      entries: lengthOfRanges(bodies),
      ...formatDestroyed({ bodies, fields: [] }),
    },
  }
}

/** The ranges of all rules, joined where they touch. */
function inOrder(ranges: DueEntries["ranges"]): readonly SequenceRange[] {
  const all: SequenceRange[] = []
  for (const range of ranges.flat().toSorted((a, b) => a.first - b.first)) addRange(all, range)
  return all
}

/** The last entry that a signed checkpoint covers. */
async function coveredUpTo({ index }: Pick<Store, "index">, workspace: Workspace): Promise<number> {
  const [{ number, before }] = epochsOf(workspace)
  return before + ((await index.checkpoint(workspace.id, number))?.size ?? 0)
}

export interface ExpiryListener {
  readonly ran: (result: ExpiryResult) => void
  /** The clock moved ahead by more than a day, so nothing expires for hours. */
  readonly doubted: (aheadMs: number) => void
  readonly failed: (workspace: string, error: unknown) => void
}

/**
 * Runs in every workspace, after each midnight of UTC and soon after the start. What expires early is
 * lost, so a clock that moved ahead is believed only after it has run steadily for as long as it
 * moved, or for `doubtMsMax`. At a start it is compared with the newest entry.
 */
export function startExpiry(
  {
    expiry,
    registry,
    clock,
    everyMs,
    newestMs,
    isOff,
  }: {
    readonly expiry: Expiry
    readonly registry: Pick<Store["registry"], "list">
    readonly clock: Clock
    readonly everyMs: number
    /** When the newest entry was recorded before the start. */
    readonly newestMs: number | undefined
    /** Whether nothing may be written to the workspace now. */
    readonly isOff: (workspace: string) => unknown
  },
  { ran, doubted, failed }: ExpiryListener,
): { close(): Promise<void> } {
  const stop = new AbortController()
  /** For each workspace, the last day that this process has completed. */
  const days = new Map<string, number>()
  const runAll = async (isDue: boolean): Promise<void> => {
    for await (const workspace of every(registry, "workspace", undefined)) {
      const today = Math.floor(clock.now() / dayMs)
      if (stop.signal.aborted) return
      if (days.get(workspace.id) === today || isOff(workspace.id) !== undefined) continue
      try {
        const result = isDue ? await expiry.run(service, workspace) : undefined
        if (!isDue) await expiry.finish(workspace)
        if (result === undefined) continue
        days.set(workspace.id, today)
        if (result.isShared !== true) ran(result)
      } catch (error) {
        if (!stop.signal.aborted) failed(workspace.id, error)
      }
    }
  }
  const loop = (async () => {
    const isBelieved = createBelief(clock, newestMs, doubted)
    for (let isFirst = true; !stop.signal.aborted; isFirst = false) {
      // If the workspaces cannot be listed now, the next round lists them again.
      await runAll(isBelieved() && !isFirst).catch((error: unknown) => {
        if (!stop.signal.aborted) failed("", error)
      })
      await pause(clock, isFirst ? Math.min(everyMs, secondLookMs) : everyMs, stop.signal)
    }
  })()
  return {
    async close() {
      stop.abort()
      // An interrupted run continues after the next start.
      await Promise.race([loop, clock.sleep(stopWithinMs)])
    },
  }
}

/** Says at each look whether contents may expire by the clock. */
function createBelief(
  clock: Pick<Clock, "now" | "elapsed">,
  newestMs: number | undefined,
  doubted: ExpiryListener["doubted"],
): () => boolean {
  // Of the time and the monotonic clock, only the difference tells whether the clock was set.
  let believed = (newestMs ?? clock.now()) - clock.elapsed()
  let seen: number | undefined
  let seenSince = 0
  return () => {
    const elapsed = clock.elapsed()
    const set = clock.now() - elapsed
    const aheadMs = set - believed
    if (seen === undefined || Math.abs(set - seen) > adjustedMsMax) {
      seenSince = elapsed
      if (aheadMs > dayMs) doubted(aheadMs)
    }
    seen = set
    if (Math.min(aheadMs, doubtMsMax) > elapsed - seenSince + adjustedMsMax) return false
    // A clock that was behind, as that of a machine without a battery, makes no right time doubtful.
    believed = Math.max(believed, set)
    return true
  }
}

const stopWithinMs = 1000
/** A run reads all entries, and a start has other work. */
const secondLookMs = 600_000
/** A clock that is only adjusted moves by two seconds in an hour at most. */
const adjustedMsMax = 10_000
/** Less than a day: contents of a quiet ledger must expire though its service is restarted daily. */
const doubtMsMax = 20 * 3_600_000
