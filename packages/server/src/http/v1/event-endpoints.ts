// Writing events: one, or a batch of them.

import type { AuditEvent, BatchItem } from "@tallystick/client/wire"
import type { JsonObject } from "@tallystick/proof"
import {
  receiptJson,
  justRecorded,
  type Context,
  type OpenedEntry,
  type Party,
} from "../../store/opened-entry.ts"
import { LedgerError, sentences, statusOf, usualError } from "../../error.ts"
import type { RecordOutcome, Draft } from "../../ledger/ledger.ts"
import type { Document, Workspace } from "../../store/documents.ts"
import { mayTouch, type Principal } from "../../workspace/permissions.ts"
import type { Answer, Call } from "../endpoint.ts"
import { problemJson } from "../errors.ts"
import {
  endpoint,
  permit,
  permitProject,
  permitWriting,
  type Service,
  type ServiceEndpoint,
} from "../service.ts"
import { readBatch } from "../batch-body.ts"
import { checkOf } from "../shapes/check.ts"
import { batchEnvelopeOf, batchOf, BatchAnswer, BatchHeaders, checkItem } from "../shapes/batch.ts"
import { Event, WriteHeaders } from "../shapes/event.ts"
import { Receipt } from "../shapes/receipt.ts"

export function eventEndpoints(service: Service): readonly ServiceEndpoint[] {
  const { limits } = service
  const envelope = batchEnvelopeOf(limits.batchEventsMax)
  const batchRules = {
    limits,
    itemBytesMax: limits.eventBytesMax,
    itemsMax: limits.batchEventsMax,
    objectsMax: limits.batchObjectsMax,
    check: checkOf(envelope),
  }
  return [
    endpoint({
      route: "POST /v1/events",
      operation: "writeEvent",
      summary: "Write an event",
      description:
        "Records one event and returns its receipt. A 202 means that the entry is linked into the chain and on disk. A retry with the same Idempotency-Key returns the first receipt.",
      access: { action: "write" },
      headers: WriteHeaders,
      body: Event,
      answers: { 202: Receipt },
      async handle(call) {
        const key = call.headers["idempotency-key"]
        const { workspace, project } = await admit(service, call.caller, call.body, key)
        const said = saidOf(call, call.body, key, project?.value.policyVersion)
        const recorded = the((await service.ledger.record(workspace, [said], [], call.pace))[0])
        if (call.pace.isUp()) await call.pace.next()
        return receiptAnswer(service, call.caller, recorded)
      },
    }),
    endpoint({
      route: "POST /v1/events/batch",
      operation: "writeBatch",
      summary: "Write up to 1,000 events",
      description:
        "Records each event separately, under its member `idempotencyKey`. The results have the order of the events, and each is a receipt or a problem.",
      access: { action: "write" },
      headers: BatchHeaders,
      body: envelope,
      readInPieces: (bytes, pace) => readBatch(bytes, batchRules, pace),
      documentedBody: batchOf(limits.batchEventsMax),
      bodyBytesMax: limits.batchBytesMax,
      // Each event of a batch may be nested as deeply as a single event.
      bodyDepthAround: 2,
      answers: { 202: BatchAnswer },
      async handle(call) {
        const results: string[] = []
        const admitted = new Map<string, Gathered>()
        let count = 0
        for (const value of call.body.events) {
          if (call.pace.isUp()) await call.pace.next()
          const place = count++
          try {
            const event = checkItem(value, place)
            const { workspaceId, projectId, idempotencyKey } = event
            const known = admitted.get(workspaceId)
            const { projects, places, drafts } = known?.projects.has(projectId)
              ? known
              : await admitItem(service, call.caller, event, admitted)
            drafts.push(saidOf(call, event, idempotencyKey, projects.get(projectId)))
            places.push(place)
          } catch (error) {
            results[place] = problemOf(error)
          }
        }
        // All at once, so that groups of several workspaces share a commit.
        const writings = await Promise.allSettled(
          admitted.values().map(async ({ workspace, places, drafts }) => {
            const outcomes = await service.ledger.record(workspace, drafts, [], call.pace)
            let at = 0
            for (const place of places) {
              if (call.pace.isUp()) await call.pace.next()
              results[place] = resultJson(service, call.caller, the(outcomes[at++]))
            }
          }),
        )
        const failures = writings
          .filter((one) => one.status === "rejected")
          .map(({ reason }): unknown => reason)
        if (failures.length > 0)
          throw refusalOfAll(
            failures,
            results.some((result) => result.startsWith('{"receipt"')),
          )
        return { status: 202, body: batchAnswer(results) }
      },
    }),
  ]
}

/**
 * The error for a batch if writing to some of its workspaces has failed. A refusal states that
 * nothing was recorded, so it is returned only if every failure is a refusal and no workspace has
 * recorded an entry.
 */
function refusalOfAll(failures: readonly unknown[], hasRecorded: boolean): unknown {
  const unknown = failures.find(
    (error) => !(error instanceof LedgerError) || error.code === "ledger_unavailable",
  )
  if (unknown !== undefined || !hasRecorded) return unknown ?? failures[0]
  return new LedgerError(
    "ledger_unavailable",
    "some events of this batch were recorded and some were not; repeat the same request",
  )
}

/** The events of a batch for one workspace. Most batches have one workspace. */
interface Gathered {
  readonly workspace: Workspace
  /** The projects that the caller may write to, with the newest policy version of each. */
  readonly projects: Map<string, number | undefined>
  readonly drafts: Draft[]
  /** The place of each draft in the batch. */
  readonly places: number[]
}

type WriteCall = Pick<Call<Principal | undefined>, "caller" | "context" | "receivedAtMs">

/** Admits an event of a project that is new to the batch, and returns the group of its workspace. */
async function admitItem(
  service: Service,
  caller: Principal | undefined,
  event: BatchItem,
  admitted: Map<string, Gathered>,
): Promise<Gathered> {
  const { workspaceId, projectId, idempotencyKey } = event
  const before = admitted.get(workspaceId)
  // It is not recorded, so it creates no project.
  if (before?.drafts.some(({ idempotency }) => idempotency?.key === idempotencyKey)) {
    permitWrite(service, caller, workspaceId, projectId)
    return before
  }
  const { workspace, project } = await admit(service, caller, event, idempotencyKey)
  const group = before ?? { workspace, projects: new Map(), drafts: [], places: [] }
  admitted.set(workspaceId, group)
  if (project !== undefined) group.projects.set(projectId, project.value.policyVersion)
  return group
}

/** Throws if the caller may not write to this project, whether it exists or not. */
export function permitWrite(
  service: Service,
  caller: Principal | undefined,
  workspaceId: string,
  projectId: string,
): asserts caller is Principal {
  permit(caller, "write", workspaceId)
  permitProject(caller, projectId)
  permitWriting(service, workspaceId)
}

/** The destination of a write. */
interface Admitted {
  readonly workspace: Workspace
  /** Undefined if the key is used already, so that nothing will be recorded. */
  readonly project: Document<"project"> | undefined
}

/** The workspace and the project of a write. Throws if the caller may not write there. */
async function admit(
  service: Service,
  caller: Principal | undefined,
  { workspaceId, projectId }: Pick<AuditEvent, "workspaceId" | "projectId">,
  key: string,
): Promise<Admitted> {
  permitWrite(service, caller, workspaceId, projectId)
  const workspace = await service.workspaces.get(workspaceId)
  return {
    workspace,
    project: await service.projects.ensure(caller, workspace, projectId, {
      route: "/v1/events",
      key,
    }),
  }
}

/**
 * `newestPolicy` is the newest policy version of the project when the request arrived. It does not
 * count when two requests are compared, so a repeated write is a replay also after a publication.
 */
function saidOf(
  { caller, context, receivedAtMs }: WriteCall,
  event: AuditEvent,
  key: string,
  newestPolicy: number | undefined,
): Draft {
  const { actor, target, metadata = {}, userVisible = false } = event
  const named = metadata["policyVersion"]
  const policyVersion =
    typeof named === "number" && Number.isSafeInteger(named) && named >= 1 ? named : newestPolicy
  const { keyId, context: kept } = sender(caller, context)
  // A literal for speed, because every event passes here.
  return {
    kind: "event",
    projectId: event.projectId,
    action: event.action,
    // The strict parser returns nothing but JSON.
    actor: actor as Party,
    target: target as Party,
    occurredAt: event.occurredAt,
    source: event.source,
    userVisible,
    metadata: metadata as JsonObject,
    policyVersion,
    keyId,
    context: kept,
    receivedAtMs,
    idempotency: { route: "/v1/events", key },
  }
}

/** The key and the context of a write. */
export function sender(
  caller: Principal | undefined,
  context: Context,
): Pick<Draft, "keyId" | "context"> {
  let any = false
  for (const _ in context) any = true
  return {
    keyId: caller?.kind === "api-key" ? caller.id : undefined,
    context: any ? context : undefined,
  }
}

/**
 * The answer with the receipt of a new or a replayed write. `wrap` adds the text around the
 * receipt.
 */
export function receiptAnswer(
  service: Service,
  caller: Principal | undefined,
  recorded: RecordOutcome,
  wrap: (receipt: string) => string = (json) => json,
): Answer {
  const body = wrap(receiptOf(service, caller, recorded))
  return recorded.kind === "replayed"
    ? { status: 202, body, headers: { "idempotency-replayed": "true" } }
    : { status: 202, body }
}

function receiptOf(
  { metrics, publicUrl }: Service,
  caller: Principal | undefined,
  recorded: RecordOutcome,
): string {
  if (recorded.kind === "reused") throw reusedKey(caller, recorded.original, publicUrl)
  if (recorded.kind === "gone") throw recordedAndGone(recorded)
  if (recorded.kind === "replayed") metrics.replay()
  else metrics.entry(recorded.opened.content.lane)
  return receiptJson(recorded.opened, justRecorded, publicUrl)
}

function resultJson(
  service: Service,
  caller: Principal | undefined,
  recorded: RecordOutcome,
): string {
  try {
    return `{"receipt":${receiptOf(service, caller, recorded)}${recorded.kind === "replayed" ? ',"replayed":true' : ""}}`
  } catch (error) {
    return problemOf(error)
  }
}

/**
 * In bytes, and not as a text: a text of this length would be copied to join it with its brackets,
 * and again with the headers.
 */
function batchAnswer(results: readonly string[]): Buffer {
  return Buffer.concat([
    Buffer.from('{"results":['),
    Buffer.from(results.join(",")),
    Buffer.from("]}"),
  ])
}

/** Contains the receipt of the original if the caller may write to its project. */
function reusedKey(
  caller: Principal | undefined,
  original: OpenedEntry,
  publicUrl: string,
): LedgerError {
  if (caller === undefined || !mayTouch(caller, original.content.projectId))
    return usualError("idempotency_key_reused")
  const detail = `${sentences.idempotency_key_reused}; its receipt is ${original.content.receipt}`
  return new LedgerError("idempotency_key_reused", detail, {
    receipt: receiptJson(original, justRecorded, publicUrl),
  })
}

/** The requests cannot be compared any more, so only the entry's sequence is revealed. */
function recordedAndGone({ sequence }: RecordOutcome & { readonly kind: "gone" }): LedgerError {
  return new LedgerError(
    "content_gone",
    `this Idempotency-Key belongs to entry ${sequence}, whose content was destroyed since; nothing was recorded now`,
  )
}

/**
 * A refusal of one event is its result in the batch. An error that is our fault fails the whole
 * batch.
 */
function problemOf(error: unknown): string {
  if (!(error instanceof LedgerError) || statusOf[error.code] >= 500) throw error
  return problemJson(error)
}

function the<T>(value: T | undefined): T {
  if (value === undefined) throw new Error("the ledger returns an outcome for every draft")
  return value
}
