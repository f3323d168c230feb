import { consentSaid } from "../../ledger/consent.ts"
import type { JsonObject } from "@tallystick/proof"
import { endpoint, type Service, type ServiceEndpoint } from "../service.ts"
import { Consent, ConsentAnswer } from "../shapes/consent.ts"
import { WriteHeaders } from "../shapes/event.ts"
import { admit, receiptAnswer, sender } from "./events.ts"

/** The project whose policy a consent is to when it names none. */
const usualProject = "core"

export function consentEndpoints(service: Service): readonly ServiceEndpoint[] {
  return [
    endpoint({
      method: "POST",
      path: "/v1/consents",
      summary: "Record a consent to a version of a policy",
      access: { action: "write" },
      headers: WriteHeaders,
      body: Consent,
      answers: { 202: ConsentAnswer },
      async handle({ body, caller, context, headers, receivedAtMs }) {
        const { workspaceId, projectId = usualProject, metadata = {}, ...consent } = body
        const workspace = await admit(service, caller, workspaceId, projectId)
        const said = {
          // What came through the strict scanner is JSON.
          ...consentSaid({ ...consent, projectId, metadata: metadata as JsonObject }, receivedAtMs),
          ...sender(caller, context),
          idempotency: { route: "/v1/consents", key: headers["idempotency-key"] },
        } as const
        const [recorded] = await service.ledger.record(workspace, [said])
        if (recorded === undefined) throw new Error("the ledger answers for everything that it was given")
        return receiptAnswer(service, caller, recorded, (receipt) => `{"receipt":${receipt}}`)
      },
    }),
  ]
}
