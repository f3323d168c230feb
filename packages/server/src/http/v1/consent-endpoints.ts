// Writing consents and their withdrawals.

import type { JsonObject } from "@tallystick/proof"
import { consentDraft, withdrawalDraft } from "../../ledger/consent.ts"
import { LedgerError } from "../../error.ts"
import type { Draft } from "../../ledger/ledger.ts"
import type { Workspace } from "../../store/documents.ts"
import type { Answer, Call } from "../endpoint.ts"
import { endpoint, type Caller, type Service, type ServiceEndpoint } from "../service.ts"
import { Consent, ConsentAnswer, ConsentWithdrawal } from "../shapes/consent-request.ts"
import { WriteHeaders } from "../shapes/event.ts"
import { usualProject } from "../shapes/policy.ts"
import { permitWrite, receiptAnswer, sender } from "./event-endpoints.ts"

export function consentEndpoints(service: Service): readonly ServiceEndpoint[] {
  return [
    endpoint({
      route: "POST /v1/consents",
      operation: "recordConsent",
      summary: "Record a consent",
      description:
        "Records that a person agreed to a version of a policy, as an entry that the person can see in their activity.",
      access: { action: "write" },
      headers: WriteHeaders,
      body: Consent,
      answers: { 202: ConsentAnswer },
      handle: (call) =>
        record(service, call, call.body, {
          route: "/v1/consents",
          refuse: (workspace, projectId, isKnown) =>
            refuseUnpublished(service, workspace, projectId, call.body.policyVersion, isKnown),
          draft: (said, receivedAtMs) => consentDraft({ ...call.body, ...said }, receivedAtMs),
        }),
    }),
    endpoint({
      route: "POST /v1/consents/withdrawals",
      operation: "withdrawConsent",
      summary: "Withdraw a consent",
      description:
        "Records that a person withdrew a consent, as an entry that the person can see in their activity. With a `policyVersion`, it withdraws the consent to that version and to all earlier ones, otherwise to every version. It is recorded even if there is no valid consent.",
      access: { action: "write" },
      headers: WriteHeaders,
      body: ConsentWithdrawal,
      answers: { 202: ConsentAnswer },
      handle: (call) =>
        record(service, call, call.body, {
          route: "/v1/consents/withdrawals",
          draft: (said, receivedAtMs) => withdrawalDraft({ ...call.body, ...said }, receivedAtMs),
        }),
    }),
  ]
}

type Writing = Pick<
  Call<Caller, unknown, unknown, { readonly "idempotency-key": string }>,
  "caller" | "context" | "headers" | "receivedAtMs" | "pace"
>

/** Fields that consents and withdrawals share. */
interface Said {
  readonly projectId: string
  readonly metadata: JsonObject
}

interface Recording {
  readonly route: "/v1/consents" | "/v1/consents/withdrawals"
  /** Throws if it must not be recorded. A retry of a recorded one is always allowed. */
  readonly refuse?: (
    workspace: Workspace,
    projectId: string,
    isKnown: () => Promise<boolean>,
  ) => Promise<void>
  readonly draft: (said: Said, receivedAtMs: number) => Draft
}

async function record(
  service: Service,
  { caller, context, headers, receivedAtMs, pace }: Writing,
  {
    workspaceId,
    projectId = usualProject,
    metadata = {},
  }: { readonly workspaceId: string; readonly projectId?: string; readonly metadata?: object },
  { route, refuse, draft }: Recording,
): Promise<Answer> {
  permitWrite(service, caller, workspaceId, projectId)
  const workspace = await service.workspaces.get(workspaceId)
  const idempotency = { route, key: headers["idempotency-key"] }
  // Before the project is created: a refused request must not create one.
  await refuse?.(workspace, projectId, () => service.ledger.knows(workspace, idempotency))
  await service.projects.ensure(caller, workspace, projectId, idempotency)
  const said = {
    // The strict parser returns nothing but JSON.
    ...draft({ projectId, metadata: metadata as JsonObject }, receivedAtMs),
    ...sender(caller, context),
    idempotency,
  }
  const [recorded] = await service.ledger.record(workspace, [said], [], pace)
  if (recorded === undefined) throw new Error("the ledger returns an outcome for every draft")
  if (pace.isUp()) await pace.next()
  return receiptAnswer(service, caller, recorded, (receipt) => `{"receipt":${receipt}}`)
}

/** Versions have no gaps, so all up to the newest are published. */
async function refuseUnpublished(
  { projects }: Pick<Service, "projects">,
  { id, value }: Workspace,
  projectId: string,
  version: number,
  isKnown: () => Promise<boolean>,
): Promise<void> {
  if (!value.requirePublishedPolicy) return
  const newest = (await projects.find(id, projectId))?.value.policyVersion ?? 0
  // A consent from before this rule may be repeated.
  if (version <= newest || (await isKnown())) return
  const which = newest === 0 ? "none is published yet" : `the newest is ${newest}`
  throw new LedgerError(
    "invalid_field",
    `policyVersion must be a published version of the project's policy: ${which}`,
  )
}
