import { Type } from "./type.ts"
import type * as wire from "@tallystick/client/wire"
import { answerOf, shapeOf } from "./wire-shape.ts"
import { EntryFilter } from "./page.ts"
import { Hash, Label, PackId, ProjectId, ReceiptId, WorkspaceId } from "./id.ts"
import { listOf } from "./list.ts"
import { sample } from "./sample.ts"
import { Time } from "./time.ts"

export function newPackOf(receiptsMax: number) {
  return shapeOf<wire.NewPack>()(
    Type.Refine(
      Type.Object(
        {
          title: Label,
          projectId: Type.Optional(ProjectId),
          receiptIds: Type.Optional(
            Type.Array(ReceiptId, { minItems: 1, maxItems: receiptsMax, uniqueItems: true }),
          ),
          filter: Type.Optional(EntryFilter),
          consents: Type.Optional(
            Type.Object(
              { subject: Type.String({ minLength: 1 }), projectId: Type.Optional(ProjectId) },
              { additionalProperties: false },
            ),
          ),
        },
        { title: "NewPack", additionalProperties: false },
      ),
      ({ receiptIds, filter, consents }) =>
        [receiptIds, filter, consents].filter((each) => each !== undefined).length === 1,
      () => "must have either receiptIds or filter or consents",
    ),
    { title: "Invoices of January", receiptIds: [sample.receipt] },
  )
}

export const Pack = answerOf<wire.Pack>()(
  "Pack",
  {
    packId: PackId,
    workspaceId: WorkspaceId,
    title: Type.String(),
    receiptCount: Type.Integer({ minimum: 1 }),
    projectIds: Type.Array(Type.String()),
    packHash: Hash,
    sequence: Type.Optional(Type.Integer({ minimum: 1 })),
    createdAt: Time,
  },
  {
    packId: sample.pack,
    workspaceId: "acme",
    title: "Invoices of January",
    receiptCount: 1,
    projectIds: ["core"],
    packHash: sample.hash,
    sequence: 7,
    createdAt: sample.time,
  },
)

export const PackList = listOf<wire.PackList>()("PackList", "packs", Pack)

export const DownloadQuery = Type.Object({
  format: Type.Enum(["zip", "json"], {
    default: "zip",
    docs: { description: "`json` has the files in base64." },
  }),
})

export const PackDownload = answerOf<wire.PackDownload>()(
  "PackDownload",
  {
    manifest: Type.Record(Type.String(), Hash),
    files: Type.Record(Type.String(), Type.String()),
  },
  { manifest: { "README.txt": sample.hash }, files: { "README.txt": "RXZpZGVuY2U=" } },
)
