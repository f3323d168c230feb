import { Type } from "./type.ts"
import type * as wire from "@tallystick/client/wire"
import { answerOf, requestOf } from "./wire-shape.ts"
import { open, roles } from "./enumeration.ts"
import { Label, MemberId, WorkspaceId } from "./id.ts"
import { Email } from "./member.ts"
import { sample } from "./sample.ts"

const passwordMax = 256

/** Long enough to need no rules about characters, and short enough to be hashed quickly. */
const NewPassword = Type.String({
  minLength: 12,
  maxLength: passwordMax,
  rule: `must be 12 to ${passwordMax} characters`,
})

/** A password to check. It has no rules, because a rule would help an attacker to guess. */
const Given = Type.String({ minLength: 1, maxLength: passwordMax })

export const Setup = requestOf<wire.Setup>()(
  "Setup",
  {
    token: Type.String({ minLength: 1, maxLength: 200 }),
    email: Type.Optional(Email),
    name: Type.Optional(Label),
    password: NewPassword,
  },
  { token: sample.secret("x"), password: sample.password },
)

export const Login = requestOf<wire.Login>()(
  "Login",
  { email: Type.String({ minLength: 1, maxLength: 254 }), password: Given },
  { email: sample.email, password: sample.password },
)

export const PasswordChange = requestOf<wire.PasswordChange>()(
  "PasswordChange",
  { old: Given, new: NewPassword },
  { old: sample.password, new: "a longer horse than before" },
)

const Account = answerOf<wire.Account>()("Account", {
  id: MemberId,
  email: Type.String(),
  name: Type.Optional(Type.String()),
  instanceAdmin: Type.Boolean(),
})

export const Session = answerOf<wire.Session>()(
  "Session",
  {
    member: Account,
    workspaces: Type.Array(Type.Object({ id: WorkspaceId, role: open(roles) })),
  },
  {
    member: { id: sample.id, email: sample.email, instanceAdmin: false },
    workspaces: [{ id: "acme", role: "viewer" }],
  },
)
