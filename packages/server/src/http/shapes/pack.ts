import { Type } from "./type.ts"
import type {
  NewPack as WireNewPack,
  Pack as WirePack,
  PackDownload as WirePackDownload,
  PackList as WirePackList,
} from "@tallystick/client/wire"
import { shapeOf } from "./check.ts"
import { EntryFilter } from "./entry-filter.ts"
import { Hash, Label, PackId, ProjectId, ReceiptId, WorkspaceId } from "./id.ts"
import { NextCursor } from "./list.ts"
import { sample } from "./sample.ts"
import { Time } from "./time.ts"

export function newPackOf(receiptsMax: number) {
  return shapeOf<WireNewPack>()(
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

const examplePack: WirePack = {
  packId: sample.pack,
  workspaceId: "acme",
  title: "Invoices of January",
  receiptCount: 1,
  projectIds: ["core"],
  packHash: sample.hash,
  sequence: 7,
  createdAt: sample.time,
}

export const Pack = shapeOf<WirePack>()(
  Type.Object(
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
    { title: "Pack" },
  ),
  examplePack,
)

export const PackList = shapeOf<WirePackList>()(
  Type.Object({ packs: Type.Array(Pack), nextCursor: NextCursor }, { title: "PackList" }),
  {
    packs: [examplePack],
    nextCursor: null,
  },
)

export const DownloadQuery = Type.Object({ format: Type.Enum(["zip", "json"], { default: "zip" }) })

export const PackDownload = shapeOf<WirePackDownload>()(
  Type.Object(
    {
      manifest: Type.Record(Type.String(), Hash),
      files: Type.Record(Type.String(), Type.String()),
    },
    { title: "PackDownload" },
  ),
  { manifest: { "README.txt": sample.hash }, files: { "README.txt": "RXZpZGVuY2U=" } },
)
