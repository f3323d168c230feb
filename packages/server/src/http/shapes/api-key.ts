import { Type } from "./type.ts"
import type {
  ApiKey as WireApiKey,
  ApiKeyList as WireApiKeyList,
  CreatedApiKey as WireCreatedApiKey,
  MadeByKey as WireMadeByKey,
  NewApiKey as WireNewApiKey,
  RevokeQuery as WireRevokeQuery,
} from "@tallystick/client/wire"
import { shapeOf } from "./check.ts"
import { KeyId, Label, ProjectId, WorkspaceId } from "./id.ts"
import { NextCursor } from "./list.ts"
import { open, scopes } from "./enumeration.ts"
import { exampleMaker, Maker } from "./maker.ts"
import { Member } from "./member.ts"
import { Time } from "./time.ts"
import { sample } from "./sample.ts"

/** A hundred years, so that every expiry is a date. */
const lifeSecondsMax = 3_153_600_000

export const NewApiKey = shapeOf<WireNewApiKey>()(
  Type.Refine(
    Type.Object(
      {
        name: Label,
        scopes: Type.Array(Type.Enum(scopes), {
          minItems: 1,
          maxItems: scopes.length,
          uniqueItems: true,
        }),
        projectIds: Type.Optional(
          Type.Array(ProjectId, { minItems: 1, maxItems: 1000, uniqueItems: true }),
        ),
        expiresInSeconds: Type.Optional(Type.Integer({ minimum: 60, maximum: lifeSecondsMax })),
      },
      { title: "NewApiKey", additionalProperties: false },
    ),
    (key) => key.projectIds === undefined || !key.scopes.includes("admin"),
    () => "must not have the scope admin together with projectIds",
  ),
  { name: "billing", scopes: ["write"], expiresInSeconds: 7_776_000 },
)

const fields = {
  keyId: KeyId,
  workspaceId: WorkspaceId,
  name: Type.String(),
  scopes: Type.Array(open(scopes)),
  projectIds: Type.Optional(Type.Array(Type.String())),
  createdAt: Time,
  createdBy: Maker,
  expiresAt: Type.Optional(Time),
  revokedAt: Type.Optional(Time),
  lastUsedAt: Type.Optional(Time),
  lastUsedFrom: Type.Optional(Type.String()),
}

const exampleKey: WireApiKey = {
  keyId: sample.id,
  workspaceId: "acme",
  name: "billing",
  scopes: ["write"],
  createdAt: sample.time,
  createdBy: exampleMaker,
}

const ApiKey = shapeOf<WireApiKey>()(Type.Object(fields, { title: "ApiKey" }), exampleKey)

export const CreatedApiKey = shapeOf<WireCreatedApiKey>()(
  Type.Object(
    { key: Type.String({ docs: { pattern: "^tsk_[0-9A-Za-z]{13}_[0-9A-Za-z]{49}$" } }), ...fields },
    { title: "CreatedApiKey" },
  ),
  { key: sample.secret("k"), ...exampleKey },
)

export const ApiKeyList = shapeOf<WireApiKeyList>()(
  Type.Object({ apiKeys: Type.Array(ApiKey), nextCursor: NextCursor }, { title: "ApiKeyList" }),
  { apiKeys: [exampleKey], nextCursor: null },
)

export const RevokeQuery = shapeOf<WireRevokeQuery>()(
  Type.Object({ cascade: Type.Boolean({ default: false }) }),
)

export const MadeByKey = shapeOf<WireMadeByKey>()(
  Type.Object(
    { revoked: Type.Boolean(), apiKeys: Type.Array(ApiKey), members: Type.Array(Member) },
    { title: "MadeByKey" },
  ),
  { revoked: true, apiKeys: [exampleKey], members: [] },
)
