import { Type } from "./type.ts"
import type * as wire from "@tallystick/client/wire"
import { answerOf, queryOf, shapeOf } from "./wire-shape.ts"
import { KeyId, Label, ProjectId, WorkspaceId } from "./id.ts"
import { listOf } from "./list.ts"
import { open, scopes } from "./enumeration.ts"
import { exampleMaker, Maker, Member } from "./member.ts"
import { Time } from "./time.ts"
import { sample } from "./sample.ts"

/** A hundred years, so that every expiry is a date. */
const lifeSecondsMax = 3_153_600_000

export const NewApiKey = shapeOf<wire.NewApiKey>()(
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

const exampleKey: wire.ApiKey = {
  keyId: sample.id,
  workspaceId: "acme",
  name: "billing",
  scopes: ["write"],
  createdAt: sample.time,
  createdBy: exampleMaker,
}

const ApiKey = answerOf<wire.ApiKey>()("ApiKey", fields, exampleKey)

export const CreatedApiKey = answerOf<wire.CreatedApiKey>()(
  "CreatedApiKey",
  { key: Type.String({ docs: { pattern: "^tsk_[0-9A-Za-z]{13}_[0-9A-Za-z]{49}$" } }), ...fields },
  { key: sample.secret("k"), ...exampleKey },
)

export const ApiKeyList = listOf<wire.ApiKeyList>()("ApiKeyList", "apiKeys", ApiKey)

export const RevokeQuery = queryOf<wire.RevokeQuery>()({
  cascade: Type.Boolean({
    default: false,
    docs: { description: "Also end the keys and members that it made, directly or indirectly." },
  }),
})

export const MadeByKey = answerOf<wire.MadeByKey>()(
  "MadeByKey",
  { revoked: Type.Boolean(), apiKeys: Type.Array(ApiKey), members: Type.Array(Member) },
  { revoked: true, apiKeys: [exampleKey], members: [] },
)
