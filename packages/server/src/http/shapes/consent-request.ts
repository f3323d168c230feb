import { Type } from "./type.ts"
import type {
  Consent as WireConsent,
  ConsentAnswer as WireConsentAnswer,
  ConsentLookup as WireConsentLookup,
  ConsentMetadata,
  ConsentsPage as WireConsentsPage,
  Subject as WireSubject,
} from "@tallystick/client/wire"
import { shapeOf } from "./check.ts"
import { extensible, RelatedReceiptIds } from "./event.ts"
import { exampleEntry } from "./entry.ts"
import { Label, ProjectId, ReceiptId, WorkspaceId } from "./id.ts"
import { examplePage, pageFields } from "./page.ts"
import { PolicyVersion } from "./policy-version.ts"
import { exampleReceipt, Receipt } from "./receipt.ts"
import { sample } from "./sample.ts"

const NonEmpty = Type.String({ minLength: 1 })
const Taken = Type.Never({ rule: "must not be given: the consent itself says it" })

const Metadata = shapeOf<ConsentMetadata>()(
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

const Subject = shapeOf<WireSubject>()(
  Type.Object({ id: NonEmpty, email: NonEmpty }, { additionalProperties: false }),
)

export const Consent = shapeOf<WireConsent>()(
  Type.Object(
    {
      workspaceId: WorkspaceId,
      subject: Subject,
      mode: Type.Enum(["explicit", "implicit"]),
      policyVersion: PolicyVersion,
      surface: NonEmpty,
      projectId: Type.Optional(ProjectId),
      metadata: Type.Optional(Metadata),
    },
    { title: "Consent", additionalProperties: false },
  ),
  {
    workspaceId: "acme",
    subject: { id: "usr_1", email: sample.email },
    mode: "explicit",
    policyVersion: 3,
    surface: "sign-up form",
  },
)

export const ConsentAnswer = shapeOf<WireConsentAnswer>()(
  Type.Object({ receipt: Receipt }, { title: "ConsentAnswer" }),
  {
    receipt: { ...exampleReceipt, lane: "policy", policyVersion: 3 },
  },
)

export const ConsentLookup = shapeOf<WireConsentLookup>()(
  Type.Object(
    {
      subject: NonEmpty,
      reason: Label,
      cursor: Type.Optional(Type.Integer({ minimum: 0 })),
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100 })),
    },
    { title: "ConsentLookup", additionalProperties: false },
  ),
  { subject: "usr_1", reason: "request for access, ticket 4711" },
)

export const ConsentsPage = shapeOf<WireConsentsPage>()(
  Type.Object(
    {
      ...pageFields,
      workspaceId: Type.String(),
      subject: Type.String(),
      lookupReceiptId: ReceiptId,
    },
    { title: "ConsentsPage" },
  ),
  {
    ...examplePage,
    events: [
      {
        ...exampleEntry,
        kind: "consent",
        action: "policy.consent.record",
        lane: "policy",
        actor: { id: "usr_1", type: "subject", email: sample.email },
        target: { id: "core:3", type: "policy", name: "Policy version 3" },
        metadata: { mode: "explicit", policyVersion: 3, surface: "sign-up form" },
        policyVersion: 3,
      },
    ],
    workspaceId: "acme",
    subject: "usr_1",
    lookupReceiptId: sample.receipt,
  },
)
