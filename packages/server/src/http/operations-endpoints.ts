// Endpoints for operators and their machines: health, readiness, metrics, limits.

import type * as wire from "@tallystick/client/wire"
import { LedgerError } from "../error.ts"
import { ok, type Answer } from "./endpoint.ts"
import { endpoint, type Service, type ServiceEndpoint } from "./service.ts"
import { Health, Limits, Readiness, ReadinessQuery, shownLimits } from "./shapes/operations.ts"
import { PlainText } from "./shapes/path.ts"
import { definedOf } from "@tallystick/proof"

/** Anyone may ask. */
const access = { action: "open", anonymous: true } as const
/** No rate limit applies. */
const unmetered = { ...access, unmetered: true } as const

type Check = NonNullable<wire.Readiness["checks"]>[number]

export function opsEndpoints(service: Service): readonly ServiceEndpoint[] {
  return [
    endpoint({
      route: "GET /healthz",
      operation: "getHealth",
      summary: "Check that the process runs",
      description: "Answers 200 while the process runs. Checks nothing else.",
      access: unmetered,
      answers: { 200: Health },
      handle: () => ok({ status: "ok" }),
    }),
    endpoint({
      route: "GET /readyz",
      operation: "getReadiness",
      summary: "Check that the ledger can append",
      description:
        "200 if the ledger can append, else 503 with the reason. `?verbose` lists every check.",
      access: unmetered,
      query: ReadinessQuery,
      answers: { 200: Readiness, 503: Readiness },
      handle: ({ query: { verbose } }) => readiness(service, verbose === "" || verbose === "true"),
    }),
    endpoint({
      route: "GET /metrics",
      operation: "getMetrics",
      summary: "Get the metrics",
      description: "The metrics of the service, in the text format of Prometheus.",
      access: unmetered,
      answers: { 200: PlainText },
      answerType: "text/plain; version=0.0.4; charset=utf-8",
      handle: async () => ok(await service.metrics.text()),
    }),
    endpoint({
      route: "GET /v1/limits",
      operation: "getLimits",
      summary: "Get the limits",
      description: "The current limits that apply to requests.",
      access,
      answers: { 200: Limits },
      handle: () => ok(shownLimits(service.limits)),
    }),
  ]
}

async function readiness(service: Service, verbose: boolean): Promise<Answer> {
  const checks = [writableCheck(service), await storageCheck(service), queueCheck(service)]
  const failed = checks.find(({ ok }) => !ok)
  // A broken chain concerns one workspace. Writers to the others must not be refused because of it.
  checks.push(chainsCheck(service), auditCheck(service))
  const body = {
    ready: failed === undefined,
    ...definedOf({ reason: failed?.detail }),
    ...(verbose && { checks }),
  }
  return failed === undefined ? ok(body) : { status: 503, body, headers: { "retry-after": "1" } }
}

function writableCheck({ halted }: Service): Check {
  const reason = halted()
  return { name: "writable", ok: reason === undefined, ...(reason && { detail: reason.detail }) }
}

async function storageCheck({ store, clock, limits }: Service): Promise<Check> {
  const failed = (detail: string): Check => ({ name: "storage", ok: false, detail })
  const { readyWithinMs } = limits
  try {
    const late = clock.sleep(readyWithinMs).then(() => "late" as const)
    const state = await Promise.race([store.ready(), late])
    if (state === "late")
      return failed(`the storage has not answered for ${readyWithinMs} milliseconds`)
    return { name: "storage", ok: true, ...(state && { detail: state.detail }) }
  } catch (error) {
    return failed(error instanceof LedgerError ? error.detail : "the storage does not answer")
  }
}

function chainsCheck({ health }: Service): Check {
  const broken = health.broken.size
  const detail = `workspaces whose chain fails its integrity check: ${broken}`
  return { name: "chains", ok: broken === 0, ...(broken > 0 && { detail }) }
}

function auditCheck({ health, clock }: Service): Check {
  const summary = health.audit()
  if (summary === undefined) return { name: "auditor", ok: true, detail: "it has not begun yet" }
  const { round, entries, sinceMs, failed, unread } = summary
  const seconds = Math.max(0, Math.round((clock.now() - sinceMs) / 1000))
  const detail =
    `round ${round}, ${entries} entries verified again in it, all others at most ${seconds} s ago; ` +
    `workspaces with a broken entry: ${failed}; workspaces that could not be read: ${unread}`
  return { name: "auditor", ok: failed === 0 && unread === 0, detail }
}

function queueCheck({ ledger, limits }: Service): Check {
  const waiting = ledger.admission.entries
  const ok = waiting < limits.queuedEventsMax
  return { name: "queue", ok, detail: `${waiting} of ${limits.queuedEventsMax} events wait` }
}
