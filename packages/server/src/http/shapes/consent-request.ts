import { Type } from "./type.ts"
import type * as wire from "@tallystick/client/wire"
import { answerOf, queryOf, requestOf, shapeOf } from "./wire-shape.ts"
import { extensible, NonEmpty, RelatedReceiptIds } from "./event.ts"
import { exampleEntry } from "./entry.ts"
import { Hash, Label, ProjectId, ReceiptId, WorkspaceId } from "./id.ts"
import { examplePage, pageFields } from "./page.ts"
import { exampleSections, ofProject, PolicySection, PolicyVersion } from "./policy.ts"
import { exampleReceipt, Receipt } from "./receipt.ts"
import { sample } from "./sample.ts"
import { Time } from "./time.ts"

const Taken = Type.Never({ rule: "must not be given: the consent itself says it" })

const Metadata = shapeOf<wire.ConsentMetadata>()(
  Type.Object(
    {
      mode: Type.Optional(Taken),
      surface: Type.Optional(Taken),
      policyVersion: Type.Optional(Taken),
      relatedReceiptIds: Type.Optional(RelatedReceiptIds),
    },
    extensible,
  ),
)

const Subject = shapeOf<wire.Subject>()(
  Type.Object({ id: NonEmpty, email: NonEmpty }, { additionalProperties: false }),
)

export const Consent = requestOf<wire.Consent>()(
  "Consent",
  {
    workspaceId: WorkspaceId,
    subject: Subject,
    mode: Type.Enum(["explicit", "implicit"]),
    policyVersion: PolicyVersion,
    surface: NonEmpty,
    projectId: Type.Optional(ProjectId),
    metadata: Type.Optional(Metadata),
  },
  {
    workspaceId: "acme",
    subject: { id: "usr_1", email: sample.email },
    mode: "explicit",
    policyVersion: 3,
    surface: "sign-up form",
  },
)

export const ConsentWithdrawal = requestOf<wire.ConsentWithdrawal>()(
  "ConsentWithdrawal",
  {
    workspaceId: WorkspaceId,
    subject: Type.Object(
      { id: NonEmpty, email: Type.Optional(NonEmpty) },
      { additionalProperties: false },
    ),
    policyVersion: Type.Optional(PolicyVersion),
    surface: NonEmpty,
    projectId: Type.Optional(ProjectId),
    metadata: Type.Optional(Metadata),
  },
  { workspaceId: "acme", subject: { id: "usr_1" }, surface: "account settings" },
)

export const ConsentAnswer = answerOf<wire.ConsentAnswer>()(
  "ConsentAnswer",
  { receipt: Receipt },
  {
    receipt: { ...exampleReceipt, lane: "policy", policyVersion: 3 },
  },
)

export const ConsentLookup = requestOf<wire.ConsentLookup>()(
  "ConsentLookup",
  {
    subject: NonEmpty,
    reason: Label,
    cursor: Type.Optional(Type.Integer({ minimum: 0 })),
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100 })),
  },
  { subject: "usr_1", reason: "request for access, ticket 4711" },
)

const exampleConsent = {
  ...exampleEntry,
  kind: "consent",
  action: "policy.consent.record",
  lane: "policy",
  actor: { id: "usr_1", type: "subject", email: sample.email },
  target: { id: "core:3", type: "policy", name: "Policy version 3" },
  metadata: { mode: "explicit", policyVersion: 3, surface: "sign-up form" },
  policyVersion: 3,
}

export const ConsentsPage = answerOf<wire.ConsentsPage>()(
  "ConsentsPage",
  {
    ...pageFields,
    workspaceId: Type.String(),
    subject: Type.String(),
    lookupReceiptId: ReceiptId,
  },
  {
    ...examplePage,
    events: [exampleConsent],
    workspaceId: "acme",
    subject: "usr_1",
    lookupReceiptId: sample.receipt,
  },
)

export const ConsentStateQuery = queryOf<wire.ConsentStateQuery>()({
  subject: Type.String({
    ...NonEmpty,
    docs: { description: "The id of the person, exactly as in the consents." },
  }),
  projectId: ofProject,
  at: Type.Optional(Time),
  reason: Type.Optional(Label),
})

export const ConsentState = answerOf<wire.ConsentState>()(
  "ConsentState",
  {
    workspaceId: Type.String(),
    projectId: Type.String(),
    subject: Type.String(),
    at: Time,
    state: Type.Enum(["given", "withdrawn", "none"]),
    policyVersion: Type.Optional(PolicyVersion),
    mode: Type.Optional(Type.String()),
    surface: Type.Optional(Type.String()),
    receipt: Type.Optional(ReceiptId),
    since: Type.Optional(Time),
    publishedAt: Type.Optional(Time),
    sectionHash: Type.Optional(Hash),
    sections: Type.Optional(Type.Array(PolicySection)),
    lookupReceiptId: ReceiptId,
    ...pageFields,
  },
  {
    ...examplePage,
    workspaceId: "acme",
    projectId: "core",
    subject: "usr_1",
    at: "2026-02-01T00:00:00Z",
    state: "given",
    policyVersion: 3,
    mode: "explicit",
    surface: "sign-up form",
    receipt: exampleEntry.receipt,
    since: exampleEntry.timestamp,
    publishedAt: sample.time,
    sectionHash: sample.hash,
    sections: exampleSections,
    events: [exampleConsent],
    lookupReceiptId: sample.receipt,
  },
)

export const ConsentSummaryQuery = queryOf<wire.ConsentSummaryQuery>()({
  projectId: ofProject,
  from: Type.Optional(Time),
  to: Type.Optional(Time),
})

const counts = { given: Type.Integer({ minimum: 0 }), withdrawn: Type.Integer({ minimum: 0 }) }

export const ConsentSummary = answerOf<wire.ConsentSummary>()(
  "ConsentSummary",
  {
    workspaceId: Type.String(),
    projectId: Type.String(),
    ...counts,
    versions: Type.Array(
      Type.Object({ policyVersion: Type.Union([PolicyVersion, Type.Null()]), ...counts }),
    ),
    modes: Type.Array(Type.Object({ mode: Type.String(), given: counts.given })),
    surfaces: Type.Array(Type.Object({ surface: Type.String(), ...counts })),
    days: Type.Array(Type.Object({ day: Type.String(), ...counts })),
  },
  {
    workspaceId: "acme",
    projectId: "core",
    given: 12,
    withdrawn: 1,
    versions: [
      { policyVersion: 3, given: 12, withdrawn: 0 },
      { policyVersion: null, given: 0, withdrawn: 1 },
    ],
    modes: [{ mode: "explicit", given: 12 }],
    surfaces: [
      { surface: "sign-up form", given: 12, withdrawn: 0 },
      { surface: "account settings", given: 0, withdrawn: 1 },
    ],
    days: [{ day: "2026-01-31", given: 12, withdrawn: 1 }],
  },
)
