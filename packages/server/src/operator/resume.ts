// Lets a copy of a ledger, or data that is older than what was signed, take new entries. A
// workspace with exactly what was signed continues in the same epoch: it is the same history. Any
// other workspace would make a second history under the same name, so it continues in a new epoch,
// under another name, whose genesis says where it continues from.

import { assert } from "@tallystick/proof"
import { statsOf } from "./check-places.ts"
import { allWorkspaces, missingOf } from "./check-store.ts"
import { systemClock } from "../clock.ts"
import { StartError } from "../error.ts"
import type { KnownSecrets } from "./secret-files.ts"
import type { Keyring } from "../secrets/keyring.ts"
import type { Limits } from "../limits.ts"
import { offlineLedger, openOffline } from "./offline-ledger.ts"
import { lossOf, rehash, type RehashResult } from "./rehash-chain.ts"
import { epochsOf } from "../store/epochs.ts"
import { readHeads } from "../store/heads.ts"
import { openStopped, openWhole } from "../store/open-offline.ts"
import { largestHeads, openSignedHeads, placeName, type StorePlace } from "../store/open.ts"
import { closing } from "../runtime/closing.ts"
import type { Workspace } from "../store/documents.ts"
import type { Checkpoint } from "../store/index-state.ts"
import { openEpoch } from "../workspace/open-epoch.ts"
import { openKeyring } from "../workspace/stored-keyring.ts"

export interface ResumeOptions extends StorePlace {
  readonly heads: string
  /** A new epoch needs the secret for its key. */
  readonly secrets: KnownSecrets
  readonly limits: Limits
  readonly isTrial: boolean
  readonly progress: (workspace: string, done: number) => void
}

export type ResumeResult =
  | {
      readonly kind: "resumed"
      readonly workspaces: readonly ResumedWorkspace[]
      /** Signed ledgers that this data does not have. */
      readonly strangers: readonly string[]
    }
  /** The data is not a copy, and has everything that was signed of its ledgers. */
  | { readonly kind: "needless"; readonly strangers: readonly string[] }
  /** The data is inconsistent; nothing was changed. */
  | { readonly kind: "refused"; readonly reasons: readonly string[] }

export interface ResumedWorkspace {
  readonly workspace: string
  readonly entries: number
  /** Why a new epoch is needed. Undefined if the workspace continues in the same epoch. */
  readonly because: string | undefined
  /** The current epoch, and its origin. A trial makes no new origin. */
  readonly epoch: number
  readonly origin: string | undefined
}

interface ResumePlan {
  /** Undefined if the secret is unknown. */
  readonly keyring: Keyring | undefined
  readonly plans: readonly WorkspacePlan[]
  readonly isCopy: boolean
}

interface WorkspacePlan {
  readonly document: Workspace
  readonly found: RehashResult
  readonly checkpoint: Checkpoint | undefined
  readonly because: string | undefined
}

export async function resume(options: ResumeOptions): Promise<ResumeResult> {
  const { isTrial } = options
  const { plans, isCopy, keyring } = await look(options)
  const reasons = plans.flatMap(({ found }) => found.broken ?? [])
  if (reasons.length > 0) return { kind: "refused", reasons }
  const ending = plans.filter(({ because }) => because !== undefined)
  const strangers = missingOf(
    await readHeads(options.heads),
    plans.map(({ document }) => document),
  )
  // Also one that was killed after its work ends here.
  if (!isCopy && ending.length === 0) return { kind: "needless", strangers }
  const opened =
    isTrial || ending.length === 0
      ? new Map<string, string>()
      : await openEpochs(options, keyring, ending)
  // Comes last: until every workspace can continue, a service that starts must change nothing.
  if (!isTrial) await takeOffMark(options)
  return {
    kind: "resumed",
    workspaces: plans.map(({ document, found: { workspace, entries }, because }) => {
      const [{ number, origin }] = epochsOf(document)
      if (because === undefined) return { workspace, entries, because, epoch: number, origin }
      return { workspace, entries, because, epoch: number + 1, origin: opened.get(workspace) }
    }),
    strangers,
  }
}

async function look({
  heads: headsPath,
  secrets: { secret, previous },
  progress,
  ...place
}: ResumeOptions): Promise<ResumePlan> {
  await using store = closing(await openStopped(place))
  // A mistyped path would open new epochs, which nobody can take back.
  if (statsOf(headsPath) === undefined)
    throw new StartError(
      `the heads file ${headsPath} does not exist: set TALLYSTICK_HEADS to the newest one of the original service; if it is lost, make an empty file of this name`,
    )
  // `store` has made sure that no service runs.
  await using whole = closing(await openWhole(place, { alone: false }))
  const { index } = whole
  const keyring =
    secret === undefined ? undefined : await openKeyring(store.registry, { secret, previous })
  const listed = await readHeads(headsPath)
  // Other servers of a database may have signed more: that is missing, too.
  const heads = await largestHeads(headsPath, place)
  const plans: WorkspacePlan[] = []
  for (const document of await allWorkspaces(store.registry)) {
    const [{ workspace, number, origin, before }] = epochsOf(document)
    const checkpoint = await index?.checkpoint(workspace, number)
    const found = await rehash(store, document, heads.get(origin), progress, checkpoint)
    if (before + ((await index?.tree(workspace, number))?.size ?? 0) > found.entries)
      throw new StartError(
        `the index in ${placeName(place)} has entries that the journal does not have; run tallystick reindex, then this again`,
      )
    const because =
      lossOf(found) ?? (store.isCopy ? doubtOf(found, listed.get(origin)?.size) : undefined)
    plans.push({
      document,
      found,
      checkpoint: found.isUnderCheckpoint ? checkpoint : undefined,
      because,
    })
  }
  return { plans, isCopy: store.isCopy, keyring }
}

/**
 * A copy may continue only from exactly what was signed last. If nobody knows what that was,
 * entries may be missing. Only the heads file can know: a copied database lists what it had itself.
 */
function doubtOf(
  { workspace, before, entries, size, againstSigned }: RehashResult,
  listed: number | undefined,
): string | undefined {
  if (listed === undefined)
    return `the heads file does not list workspace ${workspace}, so what was signed last is unknown`
  return againstSigned === "equal" && listed === size
    ? undefined
    : `workspace ${workspace} has ${entries} entries, and the heads file lists ${before + listed}, so what was signed last is unknown`
}

/**
 * Opens new epochs, and returns their origins by workspace. The heads file gets the first entry of
 * each, so that it recognises this data.
 */
async function openEpochs(
  { heads: headsPath, limits, ...place }: ResumeOptions,
  keyring: Keyring | undefined,
  ending: readonly WorkspacePlan[],
): Promise<Map<string, string>> {
  if (keyring === undefined)
    throw new StartError(
      "a new epoch needs a new key, which needs the secret that this data was made with: set TALLYSTICK_SECRET",
    )
  const opened = new Map<string, string>()
  await using store = closing(await openOffline({ ...place, limits }))
  await using heads = closing(await openSignedHeads(headsPath, { ...place, isAlone: true }))
  const ledger = offlineLedger(limits, store, keyring)
  for (const { document, found, checkpoint } of ending) {
    const { size, root, againstSigned, signed } = found
    // Data that is ahead of the heads file has lost nothing that the file lists.
    const lost = againstSigned === "ahead" ? undefined : signed
    const { origin, head } = await openEpoch(
      { registry: store.registry, ledger, clock: systemClock, keyring },
      document,
      {
        size,
        root,
        checkpoint,
        lost,
      },
    )
    assert(await heads.advance(origin, head), "a new origin has signed nothing yet")
    opened.set(document.id, origin)
  }
  return opened
}

async function takeOffMark(place: StorePlace): Promise<void> {
  await using store = closing(await openStopped(place))
  if (store.isCopy) store.takeOffMark()
}
