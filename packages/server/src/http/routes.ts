// Every endpoint of the service.

import type { Service } from "./service.ts"
import { docsEndpoints } from "./docs.ts"
import { opsEndpoints } from "./operations-endpoints.ts"
import { tagged, type TaggedEndpoint } from "./tags.ts"
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

/** The endpoints of each file, and their group in the description. */
const groups = [
  ["Writing", eventEndpoints], // POST /v1/events, /v1/events/batch
  ["Writing", consentEndpoints], // POST /v1/consents, /v1/consents/withdrawals
  ["Reading", consentStateEndpoints], // POST …/consents/lookup; GET …/consents, …/consents/summary
  ["Reading", queryEndpoints], // GET …/events, …/activity
  ["Reading", countEndpoints], // GET …/events/timeline, …/values
  ["Reading", feedEndpoints], // GET …/events/feed
  ["Receipts", receiptEndpoints], // GET …/receipts/{receiptId}, …/proof
  ["Log", tlogEndpoints], // GET …/tlog/checkpoint, log.vkey, keys, tile/…; POST …/tlog/keys
  ["Log", integrityEndpoints], // GET …/integrity
  ["Workspaces", workspaceEndpoints], // POST, GET /v1/workspaces; GET, PATCH …/{workspaceId}; POST …/exports
  ["Reading", exportEndpoints], // GET …/events/export
  ["Workspaces", projectEndpoints], // POST, GET …/projects; GET, PATCH …/{projectId}
  ["Policies", policyEndpoints], // POST, GET …/published-policy; GET …/{version}
  ["API keys", apiKeyEndpoints], // POST, GET …/api-keys; DELETE …/{keyId}
  ["Evidence packs", packEndpoints], // POST, GET …/evidence-packs; GET …/{packId}, …/download
  ["Erasures", erasureEndpoints], // POST, GET …/erasures; GET …/{erasureId}
  ["Tokens", tokenEndpoints], // POST …/token of a receipt, policy, pack, activity; GET …/tokens; DELETE …/{tokenId}
  ["Members", memberEndpoints], // POST, GET …/members; POST, PATCH, DELETE …/{memberId}; POST …/{memberId}/setup
  ["Members", sessionEndpoints], // POST /v1/setup; POST, GET, DELETE /v1/session; POST /v1/session/password
  ["Retention", holdEndpoints], // POST, GET …/holds; GET, DELETE …/{holdId}
  ["Retention", retentionEndpoints], // POST …/retention/preview, …/run; GET …/segments
  ["Service", systemEndpoints], // GET /v1/system
  ["Service", opsEndpoints], // GET /healthz, /readyz, /metrics, /v1/limits
] as const

export function routes(service: Service, version: string): readonly TaggedEndpoint[] {
  const described = groups.flatMap(([tag, made]) => tagged(tag, made(service)))
  return [...described, ...docsEndpoints(described, version)] // GET /openapi.json, /docs
}
