// Every endpoint of the service.

import { endpoint, type Service, type ServiceEndpoint } from "./service.ts"
import { openApi } from "./openapi.ts"
import { opsEndpoints } from "./ops.ts"
import { OpenApiDocument } from "./shapes/operations.ts"
import { apiKeyEndpoints } from "./v1/api-keys.ts"
import { consentEndpoints } from "./v1/consents.ts"
import { eventEndpoints } from "./v1/events.ts"
import { projectEndpoints } from "./v1/projects.ts"
import { receiptEndpoints } from "./v1/receipts.ts"
import { tlogEndpoints } from "./v1/tlog.ts"
import { workspaceEndpoints } from "./v1/workspaces.ts"

export function routes(service: Service, version: string): readonly ServiceEndpoint[] {
  const described = [
    ...eventEndpoints(service), //     POST /v1/events, /v1/events/batch
    ...consentEndpoints(service), //   POST /v1/consents
    ...receiptEndpoints(service), //   GET …/receipts/{receiptId}, …/proof
    ...tlogEndpoints(service), //      GET …/tlog/checkpoint, log.vkey, keys, tile/…
    ...workspaceEndpoints(service), // POST, GET /v1/workspaces; GET, PATCH …/{workspaceId}
    ...projectEndpoints(service), //   POST, GET …/projects; GET, PATCH …/{projectId}
    ...apiKeyEndpoints(service), //    POST, GET …/api-keys; DELETE …/{keyId}
    ...opsEndpoints(service), //       GET /healthz, /readyz, /metrics, /v1/limits
  ]
  return [...described, openApiEndpoint(described, version)]
}

function openApiEndpoint(described: readonly ServiceEndpoint[], version: string): ServiceEndpoint {
  const info = { title: "Tallystick", version, description: "An audit ledger: append-only, hash-chained, verifiable without us." }
  let document = ""
  const itself = endpoint({
    method: "GET",
    path: "/openapi.json",
    summary: "This description",
    access: { action: "read", anonymous: true },
    answers: { 200: OpenApiDocument },
    handle: () => ({ status: 200, body: document }),
  })
  document = JSON.stringify(openApi([...described, itself], { info, anonymous: (access) => access.anonymous === true }))
  return itself
}
