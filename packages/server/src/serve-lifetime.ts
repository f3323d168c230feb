// Wires what happens to contents as they grow old: erasure, expiry, holds and the archive.

import type { Log } from "./log.ts"
import type { Config } from "./config.ts"
import type { Metrics } from "./http/metrics.ts"
import type { Service } from "./http/service.ts"
import { removeFromArchive } from "./lifetime/archive-segments.ts"
import {
  startArchiver,
  type Archiver,
  type ArchiverParts,
  type ArchiverReport,
} from "./lifetime/archiver.ts"
import type { DueQuestion } from "./lifetime/due-entries.ts"
import { eraseAgain } from "./lifetime/erase-again.ts"
import { startErasing, type Erasing } from "./lifetime/erasing.ts"
import type { ErasureParts } from "./lifetime/erasure-survey.ts"
import { createErasures } from "./lifetime/erasures.ts"
import { createExpiry, startExpiry, type ExpiryParts } from "./lifetime/expiry.ts"
import { createHolds } from "./lifetime/holds.ts"
import { createPreviews } from "./lifetime/retention-preview.ts"
import { erasuresPath, openErasuresFile, readErasures } from "./store/erasures-file.ts"
import type { Store } from "./store/store.ts"
import type { FilingBeside } from "./threads/filing-thread.ts"
import type { AdminParts } from "./workspace/admin-entries.ts"

/** Retention and holds. */
export function createLifetime(
  parts: AdminParts & Pick<Service, "pace">,
  store: Store,
  filing: FilingBeside,
  { metrics, log }: Pick<ErasingParts, "metrics" | "log">,
): Pick<Service, "holds" | "expiry" | "expiryFailed" | "previews"> {
  const due = (question: DueQuestion) => filing.due(question)
  const { journal } = store
  return {
    holds: createHolds({ ...parts, journal }),
    expiry: createExpiry({ ...parts, store, due, ...destroyingIn(filing, parts) }),
    expiryFailed(workspace, error) {
      metrics.expiryFailed()
      log.error({ workspace, err: error }, "contents could not be expired; tried again later")
    },
    previews: createPreviews({ ...parts, journal, due, secret: parts.keyring.secret }),
  }
}

type MadeHere = keyof ReturnType<typeof destroyingIn> | "erasuresFile" | "holdsOn" | "erased"

interface ErasingParts extends Omit<ErasureParts, MadeHere> {
  readonly store: Store
  readonly workspaces: Pick<Service["workspaces"], "get">
  readonly holds: Service["holds"]
  readonly filing: FilingBeside
  readonly log: Log
  readonly metrics: Metrics
}

/**
 * If the data is a copy from before an erasure, destroys the erased content again before anything
 * is served.
 */
export async function beginErasing(
  { heads }: Config,
  { filing, log, metrics, holds, ...parts }: ErasingParts,
  readOnly: string | undefined,
): Promise<Pick<Service, "erasures"> & { readonly erasing: Erasing }> {
  const path = erasuresPath(heads)
  const blocks = readErasures(path)
  const { content } = filing
  const erasures = createErasures({
    ...parts,
    ...destroyingIn(filing, parts),
    erasuresFile: openErasuresFile(path),
    holdsOn: (...asked) => holds.among(...asked),
    erased: metrics.erased,
  })
  await eraseAgain({ ...parts, erasures, path, blocks, readOnly })
  const erasing = startErasing({
    ...parts,
    erasures,
    grown: parts.store.grown,
    isOurs: async (workspace) => readOnly === undefined && (await content.isOurs(workspace)),
    failed(workspace, error) {
      metrics.erasureFailed()
      log.error({ workspace, err: error }, "an erasure failed; it is tried again")
    },
  })
  return { erasures, erasing }
}

export function expireDaily(
  { expiry, expiryFailed, store, clock, limits, halted, metrics }: Service,
  newestMs: number | undefined,
  log: Log,
): ReturnType<typeof startExpiry> {
  const { registry } = store
  const doubted = (aheadMs: number) =>
    log.warn(
      { hours: Math.round(aheadMs / 3_600_000) },
      "the clock has moved ahead since it was last seen, or since the newest entry, so nothing expires for 20 hours: if it is wrong, set it right",
    )
  return startExpiry(
    { expiry, registry, clock, everyMs: limits.expiryEveryMs, newestMs, isOff: halted },
    { ran: metrics.expired, doubted, failed: expiryFailed },
  )
}

export function archive(
  parts: ArchiverParts,
  { metrics, health: { broken } }: Pick<Service, "metrics" | "health">,
  { content }: FilingBeside,
  log: Log,
  archives: boolean,
): Archiver | undefined {
  if (!archives) return undefined
  const report = (said: ArchiverReport): void => {
    if (said.kind === "swept") metrics.archived(said.state)
    else if (said.kind === "archived")
      log.info({ workspace: said.workspace, entries: said.entries }, "archived entries")
    else {
      metrics.archiveFailure()
      log.error({ workspace: said.workspace, err: said.error }, "entries could not be archived")
    }
  }
  return startArchiver(parts, {
    isOurs: (workspace) => content.isOurs(workspace),
    isHalted: (workspace) => broken.has(workspace),
    report,
  })
}

/** The places where contents are destroyed: the database, the archive and the search. */
function destroyingIn(
  filing: FilingBeside,
  parts: AdminParts,
): Pick<ExpiryParts, "content" | "forget" | "removeFromArchive"> {
  const { archiving, content } = filing
  return {
    content,
    forget: (...asked) => filing.forget(...asked),
    removeFromArchive: (...asked) => removeFromArchive({ ...parts, archiving }, ...asked),
  }
}
