// One example of each thing that the description names, as it could really be; the compiler holds them against the types, and a test against the shapes.

import type {
  ActivityPage,
  Actor,
  ApiKey,
  AuditEvent,
  Consent,
  CreatedActivityToken,
  CreatedEvidenceToken,
  CreatedPolicyToken,
  CreatedReceiptToken,
  Entry,
  EntryProof,
  EventsPage,
  Limits,
  ListedEntry,
  LogKeyRotated,
  Epochs,
  LogKeys,
  Member,
  NewActivityToken,
  MadeByKey,
  NewApiKey,
  NewPack,
  NewPolicy,
  NewWorkspace,
  Pack,
  PackDownload,
  Policy,
  PolicyVersion,
  Project,
  Provenance,
  Receipt,
  ReceiptAnswer,
  Session,
  Target,
  Token,
  Workspace,
} from "@tallystick/client/wire"
import { defaultLimits } from "../limits.ts"

const base = "https://ledger.example.com"
const time = "2026-01-31T09:30:00.250Z"
const later = "2026-02-07T09:30:00.250Z"
const receiptId = "rcp_01KB8JQ5T9QKX4M3W2P7N6V5B4C3D2F1G0HJ"
const packId = "pack_01KB8JQ5T9QKX4M3W2P7N6V5B4C3D2F1G0HJ"
const hash = "8f434346648f6b96df89dda901c5176b10a6d83961dd3c1ac88b59b2dc327aa4"
const previousHash = "2c624232cc7dcd7a0d3b5b0e1b7d9ad1f5a3b6f3f7b2e6b1a5d2c8a1c4d7e9f0"
const vkey = "ledger.example.com/ledgers/2c624232+3f1a9c52+ARpc6dM1X0M4WQvY3Hc2m0h1pE8gqJb8Xl0bQ2mJ9T1c"
const id = "4cVx0Zp3QmT7a"

/** The form of a secret, with nothing in it that could open anything. */
const secretOf = (letter: string): string => `ts${letter}_${id}_${"0".repeat(49)}`

const actor: Actor = { id: "usr_1", type: "user", email: "ada@example.com" }
const target: Target = { id: "inv_9", type: "invoice", name: "Invoice 9" }
const provenance: Provenance = { environment: "production", requestId: "req-4711", keyId: id }

const event: AuditEvent = {
  workspaceId: "acme",
  projectId: "core",
  action: "billing.invoice.approve",
  actor,
  target,
  occurredAt: "2026-01-31T09:30:00Z",
  source: "api",
  metadata: { amount: 1299.5, currency: "EUR" },
  userVisible: true,
}

const receipt: Receipt = {
  accepted: true,
  eventId: "evt_01KB8JQ5T9QKX4M3W2P7N6V5B4C3D2F1G0HJ",
  receipt: receiptId,
  eventHash: hash,
  previousHash,
  timestamp: time,
  actor,
  target,
  lane: "operations",
  storageClass: "hot",
  verificationUrl: `${base}/v1/workspaces/acme/receipts/${receiptId}`,
  queued: true,
  receivedAt: time,
  provenance,
}

const entry: Entry = {
  id: receipt.eventId,
  sequence: 4,
  kind: "event",
  workspaceId: "acme",
  projectId: "core",
  action: event.action,
  actor,
  target,
  occurredAt: event.occurredAt,
  source: "api",
  metadata: { amount: 1299.5, currency: "EUR" },
  userVisible: true,
  hash,
  previousHash,
  receipt: receiptId,
  lane: "operations",
  storageTier: "hot",
  integrity: "verified",
  timestamp: time,
  receivedAt: time,
  provenance,
}

const proof: EntryProof = {
  record: "QUxSMQ==",
  body: '{"action":"billing.invoice.approve","v":1}',
  bodySalt: "000102030405060708090a0b0c0d0e0f",
  vkey,
  tlogProof: null,
}
const page: EventsPage = { events: [entry satisfies ListedEntry], returned: 1, total: 1, nextCursor: 4, hasMore: false, verified: true }
const activity: ActivityPage = { ...page, workspaceId: "acme", projectId: "core", subject: "usr_1", query: null, policyVersion: 3 }
const answer: ReceiptAnswer = { receipt: { ...receipt, queued: false }, entry, verified: true, proof, disclosures: [] }
const consent: Consent = {
  workspaceId: "acme",
  subject: { id: "usr_1", email: "ada@example.com" },
  mode: "explicit",
  policyVersion: 3,
  surface: "sign-up form",
}

const newWorkspace: NewWorkspace = { id: "acme", name: "Acme", hotDays: 30 }
const workspace: Workspace = {
  id: "acme",
  name: "Acme",
  createdAt: time,
  ledgerId: previousHash,
  origin: "ledger.example.com/ledgers/2c624232",
  policyVisibility: "private",
  projects: "open",
  transparency: "private",
  hotDays: 30,
  requirePublishedPolicy: false,
  personalKeys: [],
  laneRules: [{ prefix: "billing", lane: "data" }],
  projectsMax: 1000,
}
const project: Project = { id: "core", workspaceId: "acme", createdAt: time, receipts: "private", activityLinks: true }
const newApiKey: NewApiKey = { name: "billing", scopes: ["write"], expiresInSeconds: 7_776_000 }
const apiKey: ApiKey = { keyId: id, workspaceId: "acme", name: "billing", scopes: ["write"], createdAt: time }

const newPolicy: NewPolicy = { sections: [{ id: "purpose", title: "Purpose", body: "We record who approves an invoice." }] }
const version: PolicyVersion = {
  id: "pol_01KB8JQ5T9QKX4M3W2P7N6V5B4C3D2F1G0HJ",
  workspaceId: "acme",
  projectId: "core",
  version: 3,
  publishedAt: time,
  sectionHash: hash,
}
const policy: Policy = { ...version, sections: newPolicy.sections }

const newPack: NewPack = { title: "Invoices of January", receiptIds: [receiptId] }
const pack: Pack = {
  packId,
  workspaceId: "acme",
  title: newPack.title,
  receiptCount: 1,
  projectIds: ["core"],
  packHash: hash,
  createdAt: time,
}
const download: PackDownload = { manifest: { "README.txt": hash }, files: { "README.txt": "RXZpZGVuY2U=" } }

const newActivityToken: NewActivityToken = { projectId: "core", subject: "usr_1", expiresInSeconds: 3600 }
const ofToken = { tokenId: id, workspaceId: "acme", createdAt: time, expiresAt: later }
const packUrl = `${base}/v1/workspaces/acme/evidence-packs/${packId}/download`
const tokens = {
  receipt: {
    token: secretOf("r"),
    ...ofToken,
    type: "receipt",
    receipt: receiptId,
    apiUrl: `${base}/v1/workspaces/acme/receipts/${receiptId}`,
    verificationUrl: `${base}/r/acme/${receiptId}#t=…`,
  } satisfies CreatedReceiptToken,
  policy: {
    token: secretOf("p"),
    ...ofToken,
    type: "policy",
    projectId: "core",
    apiUrl: `${base}/v1/workspaces/acme/published-policy/latest`,
    policyUrl: `${base}/p/acme/latest#t=…`,
  } satisfies CreatedPolicyToken,
  evidence: {
    token: secretOf("e"),
    ...ofToken,
    type: "evidence",
    packId,
    receiptCount: 1,
    apiUrl: packUrl,
    downloadUrl: packUrl,
    pageUrl: `${base}/e/acme/${packId}#t=…`,
  } satisfies CreatedEvidenceToken,
  activity: {
    token: secretOf("a"),
    ...ofToken,
    type: "activity",
    projectId: "core",
    subject: { id: "usr_1", types: ["user"] },
    apiUrl: `${base}/v1/workspaces/acme/activity`,
    activityUrl: `${base}/a/acme#t=…`,
  } satisfies CreatedActivityToken,
}
const token: Token = { ...ofToken, type: "receipt", receipt: receiptId, state: "live", mintedBy: { type: "api_key", id } }

const member: Member = { id, workspaceId: "acme", email: "ada@example.com", role: "viewer", createdAt: time }
const session: Session = {
  member: { id, email: "ada@example.com", instanceAdmin: false },
  workspaces: [{ id: "acme", role: "viewer" }],
}
const password = "correct horse battery staple"
const setupUrl = `${base}/ui/setup#t=…`
const rotated: LogKeyRotated = { vkey, fromSize: 1042, receiptId: receipt.receipt }
const epochs: Epochs = {
  epochs: [{ epoch: 1, origin: workspace.origin, ledgerId: previousHash, genesis: '{"v":1}', earlierEntries: 0, size: null }],
}
const keys: LogKeys = { keys: [{ vkey, fromSize: 0, toSize: null }] }

function limits(): Limits {
  const { eventBytesMax, batchBytesMax, batchEventsMax, batchObjectsMax, depthMax, stringBytesMax, headersBytesMax, uriBytesMax } =
    defaultLimits
  const { headersTimeoutMs, bodyTimeoutMs, queuedEventsMax, packReceiptsMax, packBytesMax } = defaultLimits
  const { projectsMax, packDownloadsPerMinute, pageBytesMax, anonymousReadsPerMinute, failedLoginsPerMinute } = defaultLimits
  const ofBodies = { eventBytesMax, batchBytesMax, batchEventsMax, batchObjectsMax, depthMax, stringBytesMax }
  const ofRequests = { headersBytesMax, uriBytesMax, headersTimeoutMs, bodyTimeoutMs, queuedEventsMax, packReceiptsMax, packBytesMax }
  return { ...ofBodies, ...ofRequests, projectsMax, packDownloadsPerMinute, pageBytesMax, anonymousReadsPerMinute, failedLoginsPerMinute }
}

const list = <Name extends string, Item>(name: Name, item: Item) => ({ [name]: [item], nextCursor: null })

/** By the title of the shape. */
export const examples: Readonly<Record<string, object>> = {
  AuditEvent: event,
  Receipt: receipt,
  Batch: { events: [{ idempotencyKey: "invoice-9-approved", ...event }] },
  BatchAnswer: { results: [{ receipt }] },
  Consent: consent,
  ConsentAnswer: { receipt: { ...receipt, lane: "policy", policyVersion: 3 } },
  EventsPage: page,
  ActivityPage: activity,
  ReceiptAnswer: answer,
  Epochs: epochs,
  LogKeys: keys,
  LogKeyRotated: rotated,
  NewWorkspace: newWorkspace,
  WorkspaceChange: { hotDays: 30 },
  Workspace: workspace,
  WorkspaceList: list("workspaces", workspace),
  NewProject: { id: "core", activityLinks: true },
  ProjectChange: { receipts: "public" },
  Project: project,
  ProjectList: list("projects", project),
  NewPolicy: newPolicy,
  PolicyAnswer: { policy },
  PolicyList: list("policies", version),
  NewApiKey: newApiKey,
  CreatedApiKey: { key: secretOf("k"), ...apiKey },
  ApiKeyList: list("apiKeys", apiKey),
  MadeByKey: { revoked: true, apiKeys: [apiKey], members: [] } satisfies MadeByKey,
  NewPack: newPack,
  Pack: pack,
  PackList: list("packs", pack),
  PackDownload: download,
  NewExport: { entries: 4711 },
  NewReceiptToken: { note: "for the auditor" },
  NewPolicyToken: { projectId: "core", version: 3 },
  NewEvidenceToken: { expiresInSeconds: 604_800 },
  NewActivityToken: newActivityToken,
  CreatedReceiptToken: tokens.receipt,
  CreatedPolicyToken: tokens.policy,
  CreatedEvidenceToken: tokens.evidence,
  CreatedActivityToken: tokens.activity,
  TokenList: list("tokens", token),
  NewMember: { email: "ada@example.com", role: "viewer" },
  MemberChange: { role: "admin" },
  Member: member,
  InvitedMember: { member, setupUrl },
  MemberList: list("members", member),
  Setup: { token: secretOf("x"), password },
  Login: { email: "ada@example.com", password },
  PasswordChange: { old: password, new: "a longer horse than before" },
  Session: session,
  Health: { status: "ok" },
  Readiness: { ready: true },
  Limits: limits(),
}
