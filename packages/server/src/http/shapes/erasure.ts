import { Type } from "./type.ts"
import type * as wire from "@tallystick/client/wire"
import { answerOf, requestOf } from "./wire-shape.ts"
import { open } from "./enumeration.ts"
import { ErasureId, Label, PackId, ReceiptId, TokenId, WorkspaceId } from "./id.ts"
import { listOf } from "./list.ts"
import { sample } from "./sample.ts"
import { PersonSubject, ShownPersonSubject } from "./party.ts"
import { Time } from "./time.ts"

const scopes = ["fields", "entries"] as const

export const NewErasure = requestOf<wire.NewErasure>()(
  "NewErasure",
  {
    subject: PersonSubject,
    reason: Label,
    reference: Type.Optional(Label),
    scope: Type.Optional(Type.Enum([...scopes])),
    dryRun: Type.Optional(Type.Boolean()),
  },
  { subject: { id: "usr_1" }, reason: "a request under Article 17", reference: "DSR-2026-17" },
)

const HandedOut = answerOf<wire.HandedOut>()(
  "HandedOut",
  {
    packs: Type.Array(PackId),
    tokens: Type.Array(TokenId),
    exports: Type.Array(ReceiptId),
    more: Type.Integer({ minimum: 0 }),
  },
  { packs: [sample.pack], tokens: [sample.id], exports: [sample.receipt], more: 0 },
)

const counts = { entries: Type.Integer({ minimum: 0 }), fields: Type.Integer({ minimum: 0 }) }
const exampleHandedOut = { packs: [sample.pack], tokens: [], exports: [], more: 0 }

export const ErasurePreview = answerOf<wire.ErasurePreview>()(
  "ErasurePreview",
  { ...counts, holds: Type.Array(Type.String()), handedOut: HandedOut },
  { entries: 12, fields: 30, holds: [], handedOut: exampleHandedOut },
)

export const Erasure = answerOf<wire.Erasure>()(
  "Erasure",
  {
    erasureId: ErasureId,
    workspaceId: WorkspaceId,
    state: open(["held", "running", "done"]),
    scope: open([...scopes]),
    reason: Type.String(),
    reference: Type.Optional(Type.String()),
    subject: Type.Optional(ShownPersonSubject),
    ...counts,
    holds: Type.Optional(Type.Array(Type.String())),
    handedOut: HandedOut,
    requestedAt: Time,
    requestedBy: Type.String(),
    doneAt: Type.Optional(Time),
  },
  {
    erasureId: sample.erasure,
    workspaceId: "acme",
    state: "done",
    scope: "fields",
    reason: "a request under Article 17",
    reference: "DSR-2026-17",
    subject: { id: "usr_1" },
    entries: 12,
    fields: 30,
    handedOut: exampleHandedOut,
    requestedAt: sample.time,
    requestedBy: sample.id,
    doneAt: sample.later,
  },
)

export const ErasureList = listOf<wire.ErasureList>()("ErasureList", "erasures", Erasure)
