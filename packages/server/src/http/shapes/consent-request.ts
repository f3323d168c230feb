import { Type } from "./type.ts"
import type {
  Consent as WireConsent,
  ConsentAnswer as WireConsentAnswer,
  ConsentMetadata,
  Subject as WireSubject,
} from "@tallystick/client/wire"
import { shapeOf } from "./check.ts"
import { extensible, RelatedReceiptIds } from "./event.ts"
import { ProjectId, WorkspaceId } from "./id.ts"
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
