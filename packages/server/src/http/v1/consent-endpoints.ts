import { consentDraft, subjectType } from "../../ledger/consent.ts"
import type { JsonObject } from "@tallystick/proof"
import { LedgerError } from "../../error.ts"
import { recordConsentLookup } from "../../workspace/consent-lookups.ts"
import { changeable, endpoint, type Service, type ServiceEndpoint } from "../service.ts"
import { Consent, ConsentAnswer, ConsentLookup, ConsentsPage } from "../shapes/consent-request.ts"
import { WriteHeaders } from "../shapes/event.ts"
import { WorkspaceParams } from "../shapes/path.ts"
import { usualProject } from "../shapes/policy.ts"
import { permitWrite, receiptAnswer, sender } from "./event-endpoints.ts"
import { pageJson, wantedOf } from "./query-endpoints.ts"

export function consentEndpoints(service: Service): readonly ServiceEndpoint[] {
  return [
    endpoint({
      method: "POST",
      path: "/v1/workspaces/{workspaceId}/consents/lookup",
      operation: "lookUpConsents",
      tag: "Reading",
      summary: "Look up a person's consents",
      description:
        "The consents of exactly this person, newest first. The ledger records who looked up whom, and why, before it answers.",
      access: { action: "read" },
      params: WorkspaceParams,
      body: ConsentLookup,
      answers: { 200: ConsentsPage },
      async handle({ caller, params: { workspaceId }, body, incoming: { signal } }) {
        const { subject, reason, cursor = 0, limit = 50 } = body
        const workspace = await changeable(service, workspaceId)
        const asked = { subject, reason }
        const lookupReceiptId = await recordConsentLookup(service, caller, workspace, asked)
        const wanted = {
          ...wantedOf(caller, everyConsent),
          subject: { id: subject, types: [subjectType] },
        }
        const page = await service.queries.page(
          workspace,
          { wanted, storage: "all", cursor, limit, isProven: false, signal },
          service.clock.now(),
        )
        return { status: 200, body: pageJson(page, { workspaceId, subject, lookupReceiptId }) }
      },
    }),
    endpoint({
      method: "POST",
      path: "/v1/consents",
      operation: "recordConsent",
      tag: "Writing",
      summary: "Record a consent",
      description:
        "Records that a person agreed to a version of a policy, as an entry that the person can see in their activity.",
      access: { action: "write" },
      headers: WriteHeaders,
      body: Consent,
      answers: { 202: ConsentAnswer },
      async handle({ body, caller, context, headers, receivedAtMs, pace }) {
        const { workspaceId, projectId = usualProject, metadata = {}, ...consent } = body
        permitWrite(service, caller, workspaceId, projectId)
        const workspace = await service.workspaces.get(workspaceId)
        const idempotency = { route: "/v1/consents", key: headers["idempotency-key"] } as const
        // Before the project is created: a refused request must not create one.
        if (workspace.value.requirePublishedPolicy) {
          const newest =
            (await service.projects.find(workspaceId, projectId))?.value.policyVersion ?? 0
          // A consent from before this rule may be repeated.
          if (
            consent.policyVersion > newest &&
            !(await service.ledger.knows(workspace, idempotency))
          )
            throw unpublished(newest)
        }
        await service.projects.ensure(caller, workspace, projectId, idempotency)
        const said = {
          // The strict parser returns nothing but JSON.
          ...consentDraft(
            { ...consent, projectId, metadata: metadata as JsonObject },
            receivedAtMs,
          ),
          ...sender(caller, context),
          idempotency,
        } as const
        const [recorded] = await service.ledger.record(workspace, [said], [], pace)
        if (recorded === undefined)
          throw new Error("the ledger answers for everything that it was given")
        if (pace.isUp()) await pace.next()
        return receiptAnswer(service, caller, recorded, (receipt) => `{"receipt":${receipt}}`)
      },
    }),
  ]
}

const everyConsent = {
  projectId: "all",
  query: "kind:consent",
  includeArchive: true,
  includeSystem: false,
}

/** Versions have no gaps, so all up to the newest are published. */
function unpublished(newest: number): LedgerError {
  const which = newest === 0 ? "none is published yet" : `the newest is ${newest}`
  return new LedgerError(
    "invalid_field",
    `policyVersion must be a published version of the project's policy: ${which}`,
  )
}
