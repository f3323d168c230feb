// The overview for an operator: the program, its disk, its queues, and its settings.

import type * as wire from "@tallystick/client/wire"
import { isoTime } from "../../clock.ts"
import { filesIn, freeBytesAt } from "../../runtime/folder-size.ts"
import { readLastBackup } from "../../store/last-backup.ts"
import { ok } from "../endpoint.ts"
import { endpoint, type Service, type ServiceEndpoint } from "../service.ts"
import { System } from "../shapes/operations.ts"

export function systemEndpoints(service: Service): readonly ServiceEndpoint[] {
  return [
    endpoint({
      route: "GET /v1/system",
      operation: "getSystem",
      summary: "Get the state of the service",
      description:
        "The version, the size of the data and its disk, the duration of commits, the queues, the progress of the auditor, and the settings without secrets.",
      access: { action: "preside" },
      answers: { 200: System },
      handle: async () => ok(await systemOf(service)),
    }),
  ]
}

async function systemOf(service: Service): Promise<wire.System> {
  const { program, limits, ledger, metrics, health, store } = service
  const { version, startedMs, data, settings } = program
  const lastBackup = await readLastBackup(data)
  const summary = health.audit()
  return {
    version,
    node: process.versions.node,
    startedAt: isoTime(startedMs),
    data: {
      ...(dataOf(await store.databaseBytes()) ?? (await filesOf(data, limits))),
      ...(lastBackup !== undefined && { lastBackup }),
    },
    writing: {
      queued: ledger.admission.entries,
      queuedMax: limits.queuedEventsMax,
      ...durationsOf(metrics.lastCommits()),
    },
    followers: metrics.lags(),
    // Round 0 is before the first.
    ...(summary !== undefined &&
      summary.round > 0 && {
        audit: {
          round: summary.round,
          entries: summary.entries,
          since: isoTime(summary.sinceMs),
          unread: summary.unread,
        },
      }),
    broken: [...health.broken.keys()],
    settings,
  }
}

/** We cannot see the database's disk, and free space on our own does not limit writes. */
function dataOf(databaseBytes: number | undefined): wire.System["data"] | undefined {
  if (databaseBytes === undefined) return undefined
  return { engine: "postgres", bytes: databaseBytes, files: [], reserveBytes: 0 }
}

async function filesOf(
  data: string,
  { diskReserveBytes }: Service["limits"],
): Promise<wire.System["data"]> {
  const files = await filesIn(data)
  const freeBytes = await freeBytesAt(data).catch(() => undefined)
  return {
    engine: "sqlite",
    bytes: files.reduce((sum, { bytes }) => sum + bytes, 0),
    files,
    ...(freeBytes !== undefined && { freeBytes }),
    reserveBytes: diskReserveBytes,
  }
}

function durationsOf(
  ascendingMs: readonly number[],
): Pick<wire.System["writing"], "commits" | "medianUs" | "p99Us"> {
  const commits = ascendingMs.length
  if (commits === 0) return { commits }
  const at = (share: number) =>
    Math.round((ascendingMs[Math.ceil(commits * share) - 1] ?? 0) * 1000)
  return { commits, medianUs: at(0.5), p99Us: at(0.99) }
}
