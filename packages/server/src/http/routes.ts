// Every endpoint of the service.

import type { Service, ServiceEndpoint } from "./service.ts"
import { docsEndpoints } from "./docs.ts"
import { opsEndpoints } from "./operations-endpoints.ts"
import { apiKeyEndpoints } from "./v1/api-key-endpoints.ts"
import { consentEndpoints } from "./v1/consent-endpoints.ts"
import { consentStateEndpoints } from "./v1/consent-state-endpoints.ts"
import { countEndpoints } from "./v1/count-endpoints.ts"
import { eventEndpoints } from "./v1/event-endpoints.ts"
import { feedEndpoints } from "./v1/feed-endpoints.ts"
import { erasureEndpoints } from "./v1/erasure-endpoints.ts"
import { exportEndpoints } from "./v1/export-endpoints.ts"
import { holdEndpoints } from "./v1/hold-endpoints.ts"
import { integrityEndpoints } from "./v1/integrity-endpoints.ts"
import { memberEndpoints } from "./v1/member-endpoints.ts"
import { packEndpoints } from "./v1/pack-endpoints.ts"
import { policyEndpoints } from "./v1/policy-endpoints.ts"
import { projectEndpoints } from "./v1/project-endpoints.ts"
import { queryEndpoints } from "./v1/query-endpoints.ts"
import { receiptEndpoints } from "./v1/receipt-endpoints.ts"
import { retentionEndpoints } from "./v1/retention-endpoints.ts"
import { sessionEndpoints } from "./v1/session-endpoints.ts"
import { systemEndpoints } from "./v1/system-endpoints.ts"
import { tlogEndpoints } from "./v1/tlog-endpoints.ts"
import { tokenEndpoints } from "./v1/token-endpoints.ts"
import { workspaceEndpoints } from "./v1/workspace-endpoints.ts"

export function routes(service: Service, version: string): readonly ServiceEndpoint[] {
  const described = [
    ...eventEndpoints(service), //     POST /v1/events, /v1/events/batch
    ...consentEndpoints(service), //   POST /v1/consents, /v1/consents/withdrawals
    ...consentStateEndpoints(service), // POST …/consents/lookup; GET …/consents, …/consents/summary
    ...queryEndpoints(service), //     GET …/events, …/activity
    ...countEndpoints(service), //     GET …/events/timeline, …/values
    ...feedEndpoints(service), //      GET …/events/feed
    ...receiptEndpoints(service), //   GET …/receipts/{receiptId}, …/proof
    ...tlogEndpoints(service), //      GET …/tlog/checkpoint, log.vkey, keys, tile/…; POST …/tlog/keys
    ...integrityEndpoints(service), // GET …/integrity
    ...workspaceEndpoints(service), // POST, GET /v1/workspaces; GET, PATCH …/{workspaceId}
    ...exportEndpoints(service), //    POST …/exports; GET …/events/export
    ...projectEndpoints(service), //   POST, GET …/projects; GET, PATCH …/{projectId}
    ...policyEndpoints(service), //    POST, GET …/published-policy; GET …/{version}
    ...apiKeyEndpoints(service), //    POST, GET …/api-keys; DELETE …/{keyId}
    ...packEndpoints(service), //      POST, GET …/evidence-packs; GET …/{packId}, …/download
    ...erasureEndpoints(service), //   POST, GET …/erasures; GET …/{erasureId}
    ...tokenEndpoints(service), //     POST …/token of a receipt, policy, pack, activity; GET …/tokens; DELETE …/{tokenId}
    ...memberEndpoints(service), //    POST, GET …/members; POST, PATCH, DELETE …/{memberId}; POST …/{memberId}/setup
    ...sessionEndpoints(service), //   POST /v1/setup; POST, GET, DELETE /v1/session; POST /v1/session/password
    ...holdEndpoints(service), //      POST, GET …/holds; GET, DELETE …/{holdId}
    ...retentionEndpoints(service), // POST …/retention/preview, …/run; GET …/segments
    ...systemEndpoints(service), //    GET /v1/system
    ...opsEndpoints(service), //       GET /healthz, /readyz, /metrics, /v1/limits
  ]
  return [...described, ...docsEndpoints(described, version)] // GET /openapi.json, /docs
}
