// Reading consents: of one person, which is recorded as a look-up, and counts of all.

import type * as wire from "@tallystick/client/wire"
import { definedOf } from "@tallystick/proof"
import { isoTime } from "../../clock.ts"
import { LedgerError } from "../../error.ts"
import { consentAction, subjectType, withdrawalAction } from "../../ledger/consent.ts"
import type { Reader } from "../../query/build-page.ts"
import { readConsents, type ConsentState } from "../../query/consent-state.ts"
import type { EntryPage } from "../../query/entry-queries.ts"
import { instantOf } from "../../store/instant.ts"
import type { Counting, Wanted } from "../../store/search/search.ts"
import type { Workspace } from "../../store/documents.ts"
import { recordConsentLookup } from "../../workspace/recorded-reads.ts"
import type { Principal } from "../../workspace/permissions.ts"
import { ok } from "../endpoint.ts"
import {
  changeable,
  endpoint,
  permitProject,
  type Service,
  type ServiceEndpoint,
} from "../service.ts"
import {
  ConsentLookup,
  ConsentsPage,
  ConsentState as ConsentStateShape,
  ConsentStateQuery,
  ConsentSummary,
  ConsentSummaryQuery,
} from "../shapes/consent-request.ts"
import { heldFor } from "./hold-endpoints.ts"
import { pageJson, wantedOf } from "./query-endpoints.ts"

export function consentStateEndpoints(service: Service): readonly ServiceEndpoint[] {
  return [
    endpoint({
      route: "POST /v1/workspaces/{workspaceId}/consents/lookup",
      operation: "lookUpConsents",
      summary: "Look up a person's consents",
      description:
        "The consents and withdrawals of exactly this person, newest first. Before it answers, the ledger records who looked up whom, and why.",
      access: { action: "read" },
      body: ConsentLookup,
      answers: { 200: ConsentsPage },
      async handle({ caller, params: { workspaceId }, body, incoming: { signal } }) {
        const { subject, reason, cursor = 0, limit = 50 } = body
        const workspace = await changeable(service, workspaceId)
        const wanted = consentsOf(caller, subject, "all")
        const page = await service.queries.page(workspace, {
          wanted,
          storage: "all",
          cursor,
          limit,
          isProven: false,
          isHeld: heldFor(service, caller, workspaceId),
          signal,
        })
        // A look-up that reads nothing, because there are too many, is none.
        const lookup = { subject, reason }
        const lookupReceiptId = await recordConsentLookup(service, caller, workspace, lookup)
        return ok(pageJson(page, { workspaceId, subject, lookupReceiptId }))
      },
    }),
    endpoint({
      route: "GET /v1/workspaces/{workspaceId}/consents",
      operation: "getConsentState",
      summary: "Get the state of a person's consent",
      description:
        "Whether a person's consent is valid, or was valid at a time, with the text that they agreed to, if it was published, and the entries that prove it, oldest first. Before it answers, the ledger records who looked up whom.",
      access: { action: "read", isRecorded: true },
      query: ConsentStateQuery,
      answers: { 200: ConsentStateShape },
      async handle({ caller, params: { workspaceId }, query, incoming: { signal } }) {
        permitProject(caller, query.projectId)
        const workspace = await changeable(service, workspaceId)
        const { subject, projectId, at, reason } = query
        const nowMs = service.clock.now()
        const askedMs = at === undefined ? undefined : instantOf(at)?.ms
        const isPast = askedMs !== undefined && askedMs < nowMs
        // Without a time, the newest entries and texts count, whatever the clock says.
        const atMs = isPast ? askedMs : Infinity
        const wanted = {
          ...consentsOf(caller, subject, projectId),
          ...(isPast && { lastSequence: await service.queries.lastAt(workspace, atMs) }),
        }
        const isHeld = heldFor(service, caller, workspaceId)
        const reader = { wanted, isProven: false, isHeld, signal }
        const { page, state } = await stateOf(service, workspace, reader)
        const text = await textOf(service, workspaceId, projectId, state.consent, atMs)
        const lookup = { subject, reason }
        const about = { projectId, ...definedOf({ at }) }
        const lookupReceiptId = await recordConsentLookup(service, caller, workspace, lookup, about)
        const shown = {
          workspaceId,
          projectId,
          subject,
          at: isPast && at !== undefined ? at : isoTime(nowMs),
          ...shownState(state),
          ...text,
          lookupReceiptId,
        }
        return ok(pageJson({ ...page, events: page.events.toReversed() }, shown))
      },
    }),
    endpoint({
      route: "GET /v1/workspaces/{workspaceId}/consents/summary",
      operation: "getConsentSummary",
      summary: "Count consents",
      description:
        "Exact counts of the consents that were given and withdrawn in a project, by version, mode, surface, and day of UTC. The answer names nobody, so the request is not recorded.",
      refuses: ["overloaded"],
      access: { action: "read" },
      query: ConsentSummaryQuery,
      answers: { 200: ConsentSummary },
      async handle({ caller, params: { workspaceId }, query, incoming: { signal } }) {
        const { projectId, from, to } = query
        permitProject(caller, projectId)
        const workspace = await service.workspaces.get(workspaceId)
        // All counts are of the same entries.
        const head = await service.store.journal.head(workspaceId)
        const times = definedOf({ from, to })
        const countOf = countsOf(service, workspace, signal, (action) => ({
          ...wantedConsents(caller, projectId, `action:${action}`, times),
          lastSequence: head?.sequence ?? 0,
        }))
        return ok(await summaryOf(workspaceId, projectId, service.limits.countedValuesMax, countOf))
      },
    }),
  ]
}

// ---- One person.

/** What one person agreed to and withdrew. */
export function consentsOf(caller: Principal, subject: string, projectId: string): Wanted {
  return {
    ...wantedConsents(caller, projectId),
    subject: { id: subject, types: [subjectType] },
  }
}

function wantedConsents(
  caller: Principal,
  projectId: string,
  which = "",
  times: { readonly from?: string; readonly to?: string } = {},
): Wanted {
  const query = `kind:consent ${which}`
  const whole = { includeArchive: true, includeSystem: false }
  return wantedOf(caller, { projectId, query, ...times, ...whole })
}

interface Act {
  readonly isWithdrawal: boolean
  readonly policyVersion: number | undefined
  readonly entry: wire.ListedEntry
}

const actsAtOnce = 100

/** The newest entries about a consent, and the state that all of them lead to. */
async function stateOf(
  { queries, pace }: Service,
  workspace: Workspace,
  reader: Reader,
): Promise<{ readonly page: EntryPage; readonly state: ConsentState<Act> }> {
  const read = readConsents<Act>()
  let newest: EntryPage | undefined
  for (let cursor = 0; ;) {
    const page = await queries.page(workspace, {
      ...reader,
      storage: "all",
      cursor,
      limit: actsAtOnce,
    })
    newest ??= page
    for (const event of page.events) {
      if (pace.isUp()) await pace.next()
      const act = actOf(event)
      const state = act === undefined ? undefined : read.take(act)
      if (state !== undefined) return { page: newest, state }
    }
    if (!page.hasMore) return { page: newest, state: read.end() }
    cursor = page.nextCursor
  }
}

/** Undefined if the content of the entry was removed on purpose. */
function actOf(event: Uint8Array): Act | undefined {
  // `showEntry` wrote it, in the form of the wire types.
  const entry = JSON.parse(Buffer.from(event).toString("utf8")) as wire.ListedEntry
  const { integrity, action, policyVersion, sequence } = entry
  if (integrity === "broken")
    throw new LedgerError(
      "integrity_failure",
      `entry ${sequence} fails its integrity check, so the state of this consent is unknown`,
    )
  if (action !== consentAction && action !== withdrawalAction) return undefined
  return { isWithdrawal: action === withdrawalAction, policyVersion, entry }
}

function shownState({ state, consent, withdrawal }: ConsentState<Act>) {
  const deciding = (withdrawal ?? consent)?.entry
  const mode = consent?.entry.metadata["mode"]
  const surface = deciding?.metadata["surface"]
  return definedOf({
    state,
    policyVersion: (consent ?? withdrawal)?.policyVersion,
    // These may be personal, and so may have been erased.
    mode: typeof mode === "string" ? mode : undefined,
    surface: typeof surface === "string" ? surface : undefined,
    receipt: deciding?.receipt,
    since: deciding?.timestamp,
  })
}

/** The text that a consent is about, if it was published at that time. */
async function textOf(
  { policies }: Service,
  workspaceId: string,
  projectId: string,
  consent: Act | undefined,
  atMs: number,
): Promise<Pick<wire.ConsentState, "publishedAt" | "sectionHash" | "sections">> {
  if (consent?.policyVersion === undefined) return {}
  const policy = await policies.find(workspaceId, projectId, consent.policyVersion)
  if (policy === undefined || Date.parse(policy.value.publishedAt) > atMs) return {}
  const { publishedAt, sectionHash, sections } = policy.value
  // The shape of a publication requires these members.
  return { publishedAt, sectionHash, sections } as Pick<
    wire.ConsentState,
    "publishedAt" | "sectionHash" | "sections"
  >
}

// ---- All persons.

type CountOf = (counting: Counting) => Promise<ReadonlyMap<string, wire.ConsentCount>>

/**
 * A limit for surfaces, which callers choose freely. There are fewer values of the other fields.
 */
const surfacesMax = 1000

/** Both kinds of entries, counted in the same way. */
function countsOf(
  { queries }: Service,
  workspace: Workspace,
  signal: AbortSignal,
  wantedFor: (action: string) => Wanted,
): CountOf {
  return async (counting) => {
    const counts = new Map<string, wire.ConsentCount>()
    for (const [member, action] of actions) {
      const request = { wanted: wantedFor(action), storage: "all", signal } as const
      const counted = await queries.count(workspace, request, counting)
      for (const { name, counts: found } of counted)
        counts.set(name, { ...none, ...counts.get(name), [member]: found[0] ?? 0 })
    }
    return counts
  }
}

const actions = [
  ["given", consentAction],
  ["withdrawn", withdrawalAction],
] as const
const none: wire.ConsentCount = { given: 0, withdrawn: 0 }

async function summaryOf(
  workspaceId: string,
  projectId: string,
  valuesMax: number,
  countOf: CountOf,
): Promise<wire.ConsentSummary> {
  const values = (field: string, limit = valuesMax) =>
    countOf({ kind: "values", field, limit, valuesMax })
  const byDay = await countOf({ kind: "days" })
  // The version from the target's id, which is never personal: `core:3`, or `core` for all
  // versions.
  const byTarget = await values("target")
  const byMode = await values("metadata.mode")
  const bySurface = await values("metadata.surface", surfacesMax)
  const total = (member: keyof wire.ConsentCount): number =>
    byDay.values().reduce((sum, count) => sum + count[member], 0)
  return {
    workspaceId,
    projectId,
    given: total("given"),
    withdrawn: total("withdrawn"),
    versions: [...byTarget]
      .map(([target, count]) => ({ policyVersion: versionIn(target, projectId), ...count }))
      .toSorted((a, b) => (a.policyVersion ?? Infinity) - (b.policyVersion ?? Infinity)),
    modes: [...byMode].map(([mode, { given }]) => ({ mode, given })),
    surfaces: [...bySurface].map(([surface, count]) => ({ surface, ...count })),
    days: [...byDay]
      .map(([day, count]) => ({ day, ...count }))
      .toSorted((a, b) => (a.day < b.day ? -1 : 1)),
  }
}

function versionIn(target: string, projectId: string): number | null {
  return target.length === projectId.length ? null : Number(target.slice(projectId.length + 1))
}
