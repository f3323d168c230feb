import { Type } from "./type.ts"
import type {
  InvitedMember as WireInvitedMember,
  Member as WireMember,
  MemberChange as WireMemberChange,
  MemberList as WireMemberList,
  NewMember as WireNewMember,
} from "@tallystick/client/wire"
import { shapeOf } from "./check.ts"
import { open, roles } from "./enumeration.ts"
import { Label, MemberId, WorkspaceId } from "./id.ts"
import { NextCursor } from "./list.ts"
import { exampleMaker, Maker } from "./maker.ts"
import { Time } from "./time.ts"
import { sample } from "./sample.ts"

/** No full grammar of addresses: only its owner can show that an address is real. */
export const Email = Type.String({
  minLength: 3,
  maxLength: 254,
  pattern: "^[^\\s@\\p{Cc}\\p{Cf}]+@[^\\s@\\p{Cc}\\p{Cf}]+$",
  rule: "must be an e-mail address of 3 to 254 characters",
  // Spelled out, because other languages do not know these classes of characters.
  docs: { pattern: "^[^\\s@]+@[^\\s@]+$", examples: ["ada@example.com"] },
})

export const NewMember = shapeOf<WireNewMember>()(
  Type.Object(
    { email: Email, name: Type.Optional(Label), role: Type.Enum(roles) },
    { title: "NewMember", additionalProperties: false },
  ),
  { email: sample.email, role: "viewer" },
)

/** A request whose path says everything. */
export const Nothing = Type.Object({}, { additionalProperties: false })

export const MemberChange = shapeOf<WireMemberChange>()(
  Type.Object({ role: Type.Enum(roles) }, { title: "MemberChange", additionalProperties: false }),
  { role: "admin" },
)

const exampleMember: WireMember = {
  id: sample.id,
  workspaceId: "acme",
  email: sample.email,
  role: "viewer",
  createdAt: sample.time,
  createdBy: exampleMaker,
}

export const Member = shapeOf<WireMember>()(
  Type.Object(
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
    { title: "Member" },
  ),
  exampleMember,
)

export const InvitedMember = shapeOf<WireInvitedMember>()(
  Type.Object({ member: Member, setupUrl: Type.String() }, { title: "InvitedMember" }),
  { member: exampleMember, setupUrl: `${sample.url}/ui/setup#t=${sample.secret("x")}` },
)

export const MemberList = shapeOf<WireMemberList>()(
  Type.Object({ members: Type.Array(Member), nextCursor: NextCursor }, { title: "MemberList" }),
  { members: [exampleMember], nextCursor: null },
)
