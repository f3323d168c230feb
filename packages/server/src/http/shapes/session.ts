import { Type } from "./type.ts"
import type {
  Account as WireAccount,
  Login as WireLogin,
  PasswordChange as WirePasswordChange,
  Session as WireSession,
  Setup as WireSetup,
} from "@tallystick/client/wire"
import { shapeOf } from "./check.ts"
import { open, roles } from "./enumeration.ts"
import { Label, MemberId, WorkspaceId } from "./id.ts"
import { Email } from "./member.ts"
import { sample } from "./sample.ts"

const passwordMax = 256

/**
 * Long enough that it needs no rules about its characters, and short enough to be hashed quickly.
 */
const NewPassword = Type.String({
  minLength: 12,
  maxLength: passwordMax,
  rule: `must be 12 to ${passwordMax} characters`,
})

/** A password to compare. It has no rules, because a rule would be a hint. */
const Given = Type.String({ minLength: 1, maxLength: passwordMax })

export const Setup = shapeOf<WireSetup>()(
  Type.Object(
    {
      token: Type.String({ minLength: 1, maxLength: 200 }),
      email: Type.Optional(Email),
      name: Type.Optional(Label),
      password: NewPassword,
    },
    { title: "Setup", additionalProperties: false },
  ),
  { token: sample.secret("x"), password: sample.password },
)

export const Login = shapeOf<WireLogin>()(
  Type.Object(
    { email: Type.String({ minLength: 1, maxLength: 254 }), password: Given },
    { title: "Login", additionalProperties: false },
  ),
  { email: sample.email, password: sample.password },
)

export const PasswordChange = shapeOf<WirePasswordChange>()(
  Type.Object(
    { old: Given, new: NewPassword },
    { title: "PasswordChange", additionalProperties: false },
  ),
  { old: sample.password, new: "a longer horse than before" },
)

const Account = shapeOf<WireAccount>()(
  Type.Object(
    {
      id: MemberId,
      email: Type.String(),
      name: Type.Optional(Type.String()),
      instanceAdmin: Type.Boolean(),
    },
    { title: "Account" },
  ),
)

export const Session = shapeOf<WireSession>()(
  Type.Object(
    {
      member: Account,
      workspaces: Type.Array(Type.Object({ id: WorkspaceId, role: open(roles) })),
    },
    { title: "Session" },
  ),
  {
    member: { id: sample.id, email: sample.email, instanceAdmin: false },
    workspaces: [{ id: "acme", role: "viewer" }],
  },
)
