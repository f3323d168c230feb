import { Type } from "./type.ts"
import type * as wire from "@tallystick/client/wire"
import type { TokenType } from "../../workspace/permissions.ts"
import { tokenLetters, tokenLives } from "../../workspace/scoped-tokens.ts"
import { answerOf, queryOf, requestOf } from "./wire-shape.ts"
import { open } from "./enumeration.ts"
import { Label, PackId, ProjectId, ReceiptId, TokenId, WorkspaceId } from "./id.ts"
import { listFields, listOf } from "./list.ts"
import { Maker } from "./member.ts"
import { PolicyVersion } from "./policy.ts"
import { PersonSubject } from "./party.ts"
import { Time } from "./time.ts"
import { sample } from "./sample.ts"

// New tokens --------------------------------------------------------------------------------------

const secondsMin = 60

function requestFields(type: TokenType) {
  const { usual, longest } = tokenLives[type]
  const life = Type.Integer({
    minimum: secondsMin,
    maximum: longest,
    docs: { description: `Absent: ${usual}.` },
  })
  return { expiresInSeconds: Type.Optional(life), note: Type.Optional(Label) }
}

const Subject = Type.Union([Type.String({ minLength: 1 }), PersonSubject], {
  rule: "must be a non-empty string, or an object with a non-empty id and optionally 1 to 20 different types",
})

export const NewReceiptToken = requestOf<wire.NewToken>()(
  "NewReceiptToken",
  requestFields("receipt"),
  { note: "for the auditor" },
)

export const NewEvidenceToken = requestOf<wire.NewToken>()(
  "NewEvidenceToken",
  requestFields("evidence"),
  { expiresInSeconds: 604_800 },
)

export const NewPolicyToken = requestOf<wire.NewPolicyToken>()(
  "NewPolicyToken",
  {
    projectId: Type.Optional(ProjectId),
    version: Type.Optional(PolicyVersion),
    ...requestFields("policy"),
  },
  { projectId: "core", version: 3 },
)

export const NewActivityToken = requestOf<wire.NewActivityToken>()(
  "NewActivityToken",
  { projectId: ProjectId, subject: Subject, ...requestFields("activity") },
  { projectId: "core", subject: "usr_1", expiresInSeconds: 3600 },
)

// Answers -----------------------------------------------------------------------------------------

const types = ["receipt", "policy", "activity", "evidence"] as const satisfies readonly TokenType[]

const fields = {
  tokenId: TokenId,
  workspaceId: WorkspaceId,
  type: open(types),
  note: Type.Optional(Type.String()),
  createdAt: Time,
  expiresAt: Time,
}

const ShownSubject = Type.Object({ id: Type.String(), types: Type.Array(Type.String()) })
const version = Type.Optional(PolicyVersion)
const page = Type.String({
  docs: {
    format: "uri",
    description: "The address of a page for people, with the token in its fragment.",
  },
})
const address = Type.String({
  docs: {
    format: "uri",
    description: "The address that a program calls with the token as its bearer.",
  },
})
const secret = (type: TokenType) =>
  Type.String({ docs: { pattern: `^ts${tokenLetters[type]}_[0-9A-Za-z]{13}_[0-9A-Za-z]{49}$` } })

const ofExample = {
  tokenId: sample.id,
  workspaceId: "acme",
  createdAt: sample.time,
  expiresAt: sample.later,
}

/** `path` is where the token is used, within the workspace. */
const createdExample = <T extends TokenType>(type: T, path: string) => ({
  token: sample.secret(tokenLetters[type]),
  ...ofExample,
  type,
  apiUrl: `${sample.url}/v1/workspaces/acme/${path}`,
})

export const CreatedReceiptToken = answerOf<wire.CreatedReceiptToken>()(
  "CreatedReceiptToken",
  {
    token: secret("receipt"),
    ...fields,
    apiUrl: address,
    receipt: ReceiptId,
    verificationUrl: page,
  },
  {
    ...createdExample("receipt", `receipts/${sample.receipt}`),
    receipt: sample.receipt,
    verificationUrl: `${sample.url}/r/acme/${sample.receipt}#t=${sample.secret("r")}`,
  },
)

export const CreatedPolicyToken = answerOf<wire.CreatedPolicyToken>()(
  "CreatedPolicyToken",
  {
    token: secret("policy"),
    ...fields,
    apiUrl: address,
    projectId: Type.String(),
    version,
    policyUrl: page,
  },
  {
    ...createdExample("policy", "published-policy/latest"),
    projectId: "core",
    policyUrl: `${sample.url}/p/acme/latest#t=${sample.secret("p")}`,
  },
)

const packPath = `evidence-packs/${sample.pack}/download`

export const CreatedEvidenceToken = answerOf<wire.CreatedEvidenceToken>()(
  "CreatedEvidenceToken",
  {
    token: secret("evidence"),
    ...fields,
    apiUrl: address,
    packId: PackId,
    receiptCount: Type.Integer({ minimum: 0 }),
    downloadUrl: address,
    pageUrl: page,
  },
  {
    ...createdExample("evidence", packPath),
    packId: sample.pack,
    receiptCount: 1,
    downloadUrl: `${sample.url}/v1/workspaces/acme/${packPath}`,
    pageUrl: `${sample.url}/e/acme/${sample.pack}#t=${sample.secret("e")}`,
  },
)

export const CreatedActivityToken = answerOf<wire.CreatedActivityToken>()(
  "CreatedActivityToken",
  {
    token: secret("activity"),
    ...fields,
    apiUrl: address,
    projectId: Type.String(),
    subject: ShownSubject,
    activityUrl: page,
  },
  {
    ...createdExample("activity", "activity"),
    projectId: "core",
    subject: { id: "usr_1", types: ["user"] },
    activityUrl: `${sample.url}/a/acme#t=${sample.secret("a")}`,
  },
)

const Token = answerOf<wire.Token>()(
  "Token",
  {
    ...fields,
    receipt: Type.Optional(ReceiptId),
    projectId: Type.Optional(Type.String()),
    version,
    packId: Type.Optional(PackId),
    subject: Type.Optional(ShownSubject),
    revokedAt: Type.Optional(Time),
    state: open(["live", "revoked", "expired"]),
    mintedBy: Maker,
    lastUsedAt: Type.Optional(Time),
  },
  {
    ...ofExample,
    type: "receipt",
    receipt: sample.receipt,
    state: "live",
    mintedBy: { type: "api_key", id: sample.id, name: "billing" },
  },
)

export const TokenListQuery = queryOf<wire.TokenListQuery>()({
  ...listFields,
  packId: Type.Optional(PackId),
})

export const TokenList = listOf<wire.TokenList>()("TokenList", "tokens", Token)
