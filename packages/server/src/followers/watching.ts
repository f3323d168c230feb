// Keeps the trees up to date. Workspaces with new entries are followed in turns, a
// batch at a time. A workspace is signed at most once in a while, or when a request waits for it. A
// workspace with a broken chain is reported and not followed any more; the others continue.

import type { Clock } from "../clock.ts"
import { detailOf, OvertakenError } from "../error.ts"
import type { Limits } from "../limits.ts"
import type { Checkpoint, Finding } from "../store/index-state.ts"
import type { JournalReader, Leases } from "../store/store.ts"
import type { AuditListener, AuditSummary, Auditor } from "./auditor.ts"
import { type Checkpointer, IntegrityError } from "./checkpointer.ts"
import { followOnce, type FollowStep } from "./follow.ts"
import { earliest, startLoop, turn } from "./loop.ts"
import { isOfTree } from "./walk-chain.ts"

export type Sighting =
  | ({ readonly kind: "followed"; readonly workspace: string } & FollowStep)
  /** A checkpoint was signed. Its oldest new entry had waited for `lagMs`. */
  | {
      readonly kind: "signed"
      readonly workspace: string
      readonly checkpoint: Checkpoint
      readonly lagMs: number
    }
  /** Checkpoints cover the entries up to `sequence`, whichever server signed them. */
  | { readonly kind: "covered"; readonly workspace: string; readonly sequence: number }
  /** `from`: the first broken entry; 1 if it is not known. */
  | {
      readonly kind: "broken"
      readonly workspace: string
      readonly detail: string
      readonly from: number
      readonly finding?: Finding
    }
  /** Another server follows it. */
  | { readonly kind: "left"; readonly workspace: string }
  | { readonly kind: "audited"; readonly summary: AuditSummary }
  | { readonly kind: "failed"; readonly workspace: string; readonly detail: string }
  /** Usual where servers share a database, while a workspace passes from one to another. */
  | { readonly kind: "overtaken"; readonly workspace: string; readonly detail: string }

export interface Watching {
  /** These workspaces have new entries, or may have. */
  poke(workspaces: readonly string[]): void
  /** A reader found an entry broken: the auditor verifies it now. */
  suspect(workspace: string, sequence: number): void
  /** Follows a workspace to its present end and signs it, now. */
  seal(workspace: string): Promise<Checkpoint | undefined>
  close(): Promise<void>
}

export interface WatchingParts {
  readonly journal: JournalReader
  readonly leases: Leases
  readonly checkpointer: Checkpointer
  readonly audit?: (listener: AuditListener) => Auditor
  readonly clock: Clock
  readonly limits: Limits
  readonly report: (sighting: Sighting) => void
}

/** How many entries of a workspace a stop still follows: a fraction of a second. */
const lastBlocksMax = 20

export function startWatching({
  journal,
  leases,
  checkpointer,
  audit,
  clock,
  limits,
  report,
}: WatchingParts): Watching {
  /** When a workspace is due to be signed. */
  const unsigned = new Map<string, number>()
  const signedAtMs = new Map<string, number>()
  const broken = new Set<string>()
  const auditor = audit?.({
    found(finding) {
      const { workspace, detail } = finding
      leaveAlone(workspace)
      report({
        kind: "broken",
        workspace,
        detail,
        from: isOfTree(detail) ? 1 : finding.sequence,
        finding,
      })
    },
    failed: (workspace, detail) => report({ kind: "failed", workspace, detail }),
    summarise: (summary) => report({ kind: "audited", summary }),
  })
  const failed = (workspace: string) => (error: unknown) =>
    report({
      kind: error instanceof OvertakenError ? "overtaken" : "failed",
      workspace,
      detail: detailOf(error),
    })
  const dueMs = () => Math.min(earliest(unsigned), auditor?.dueMs() ?? Infinity)
  const left = (workspace: string) => report({ kind: "left", workspace })
  const loop = startLoop({ leases, clock, step, left, dueMs, finish })

  return {
    poke: (workspaces) => loop.poke(workspaces),
    suspect(workspace, sequence) {
      if (auditor === undefined || loop.isClosing() || broken.has(workspace)) return
      loop.ask(workspace, () => auditor.look(workspace, sequence)).catch(failed(workspace))
    },
    seal: (workspace) => loop.ask(workspace, () => sealNow(workspace)),
    close: () => loop.close(),
  }

  async function step(): Promise<void> {
    for await (const workspace of loop.queue.waiting()) {
      if (loop.isClosing()) return
      await guarded(workspace, () => follow(workspace))
      await turn()
    }
    for (const [workspace, atMs] of unsigned) {
      if (loop.isClosing()) return
      if (atMs > clock.elapsed()) continue
      const isOurs = await leases.hold(workspace)
      if (isOurs === true) await guarded(workspace, () => sign(workspace))
      else unsigned.delete(workspace)
      if (isOurs === false) left(workspace)
      // It is due again once it has been followed again.
      if (isOurs === undefined) loop.queue.retry([workspace])
    }
    if (auditor !== undefined && auditor.dueMs() <= clock.elapsed()) await auditor.step()
  }

  /**
   * Signs the entries that are not signed yet. If there are too many, the next start
   * signs the rest.
   */
  async function finish(): Promise<void> {
    const endMs = clock.elapsed() + limits.lastSigningMs
    for await (const workspace of loop.queue.waiting(unsigned.keys())) {
      if (clock.elapsed() >= endMs) break
      // A ledger that is far behind continues at the next start.
      for (let blocks = 0; blocks < lastBlocksMax && loop.queue.has(workspace); blocks++)
        await guarded(workspace, () => follow(workspace))
      if (unsigned.has(workspace)) await guarded(workspace, () => sign(workspace))
    }
    await auditor?.save().catch(failed(""))
  }

  async function follow(workspace: string): Promise<FollowStep> {
    loop.queue.leave(workspace)
    const followed = await followOnce(journal, checkpointer, workspace, limits)
    if (!followed.caughtUp) loop.poke([workspace])
    if (!unsigned.has(workspace))
      unsigned.set(workspace, (signedAtMs.get(workspace) ?? -Infinity) + limits.checkpointEveryMs)
    report({ kind: "followed", workspace, ...followed })
    return followed
  }

  async function sign(workspace: string): Promise<Checkpoint | undefined> {
    const since = checkpointer.unsignedSinceMs(workspace)
    const checkpoint = await checkpointer.sign(workspace)
    unsigned.delete(workspace)
    signedAtMs.set(workspace, clock.elapsed())
    if (
      checkpoint !== undefined &&
      since !== undefined &&
      checkpoint === checkpointer.signedLast(workspace)
    ) {
      // The clock may have been set back since.
      const lagMs = Math.max(0, clock.now() - since)
      report({ kind: "signed", workspace, checkpoint, lagMs })
    }
    if (checkpoint !== undefined)
      report({ kind: "covered", workspace, sequence: await checkpointer.position(workspace) })
    return checkpoint
  }

  async function sealNow(workspace: string): Promise<Checkpoint | undefined> {
    let checkpoint: Checkpoint | undefined
    await guarded(workspace, async () => {
      let followed = await follow(workspace)
      // Later entries can wait: a busy workspace has new ones after every read.
      for (const { end } = followed; !followed.caughtUp && followed.position < end;) {
        await turn()
        followed = await follow(workspace)
      }
      checkpoint = await sign(workspace)
    })
    return checkpoint
  }

  async function guarded(workspace: string, act: () => Promise<unknown>): Promise<void> {
    if (broken.has(workspace)) return loop.queue.leave(workspace)
    try {
      await act()
    } catch (error) {
      unsigned.delete(workspace)
      if (error instanceof IntegrityError) {
        leaveAlone(workspace)
        report({ kind: "broken", workspace, detail: error.message, from: error.sequence })
        // The auditor stores the finding for other servers and later starts.
        await auditor?.look(workspace, error.sequence).catch(failed(workspace))
      } else {
        loop.queue.retry([workspace])
        failed(workspace)(error)
      }
    }
  }

  function leaveAlone(workspace: string): void {
    broken.add(workspace)
    loop.queue.leave(workspace)
    unsigned.delete(workspace)
  }
}
