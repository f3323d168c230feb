import { Type } from "./type.ts"
import type * as wire from "@tallystick/client/wire"
import { answerOf, requestOf } from "./wire-shape.ts"
import { open, roles } from "./enumeration.ts"
import { Label, MemberId, WorkspaceId } from "./id.ts"
import { listOf } from "./list.ts"
import { Time } from "./time.ts"
import { sample } from "./sample.ts"

export const exampleMaker = { type: "member", id: sample.id, email: sample.email } as const

export const Maker = answerOf<wire.Maker>()(
  "Maker",
  {
    type: open(["instance", "api_key", "member"]),
    id: Type.Optional(Type.String()),
    name: Type.Optional(Type.String()),
    email: Type.Optional(Type.String()),
  },
  exampleMaker,
)

/** Not the full grammar of addresses: only a mail to its owner can show that an address is real. */
export const Email = Type.String({
  minLength: 3,
  maxLength: 254,
  pattern: "^[^\\s@\\p{Cc}\\p{Cf}]+@[^\\s@\\p{Cc}\\p{Cf}]+$",
  rule: "must be an e-mail address of 3 to 254 characters",
  // Spelled out, because other languages do not know these classes of characters.
  docs: { pattern: "^[^\\s@]+@[^\\s@]+$", examples: ["ada@example.com"] },
})

export const NewMember = requestOf<wire.NewMember>()(
  "NewMember",
  { email: Email, name: Type.Optional(Label), role: Type.Enum(roles) },
  { email: sample.email, role: "viewer" },
)

/** The body of a request that needs only its path. */
export const Nothing = Type.Object({}, { additionalProperties: false })

export const MemberChange = requestOf<wire.MemberChange>()(
  "MemberChange",
  { role: Type.Enum(roles) },
  { role: "admin" },
)

const exampleMember: wire.Member = {
  id: sample.id,
  workspaceId: "acme",
  email: sample.email,
  role: "viewer",
  createdAt: sample.time,
  createdBy: exampleMaker,
}

export const Member = answerOf<wire.Member>()(
  "Member",
  {
    id: MemberId,
    workspaceId: WorkspaceId,
    email: Type.String(),
    name: Type.Optional(Type.String()),
    role: open(roles),
    createdAt: Time,
    createdBy: Maker,
    joinedAt: Type.Optional(Time),
  },
  exampleMember,
)

export const InvitedMember = answerOf<wire.InvitedMember>()(
  "InvitedMember",
  { member: Member, setupUrl: Type.String() },
  { member: exampleMember, setupUrl: `${sample.url}/ui/setup#t=${sample.secret("x")}` },
)

export const MemberList = listOf<wire.MemberList>()("MemberList", "members", Member)
