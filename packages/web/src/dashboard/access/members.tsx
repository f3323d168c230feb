import type { InvitedMember, Member, MemberList } from "@tallystick/client/wire"
import { confirm, openSecretForm } from "../../parts/dialog.tsx"
import { Choice, Field, textIn } from "../../parts/form.tsx"
import { Menu } from "../../parts/menu.tsx"
import { Secret } from "../../parts/secret.tsx"
import { Below, type Column } from "../../parts/table.tsx"
import { Text, Unseen } from "../../parts/text.tsx"
import { Time } from "../../parts/time.tsx"
import type { Desk } from "../desk.ts"
import { listedTable } from "../listed-table.tsx"
import { Made } from "./made.tsx"

const roles: readonly (readonly [value: string, text: string])[] = [
  ["viewer", "viewer: reads everything, makes packs and links"],
  ["admin", "admin: also projects, policies, keys, people, settings"],
]

export function membersPart(desk: Desk): Node {
  const list = listedTable(desk, {
    path: ["members"],
    itemsOf: ({ members }: MemberList) => members,
    columns: (reload) => columns(desk, reload),
    textOf: ({ name = "", email, role }) => `${name} ${email} ${role}`,
    empty: "Nobody signs in to this workspace yet.",
    add: { name: "Invite somebody", open: (reload) => openInvitation(desk, reload) },
  })
  return <section class="top">{list.node}</section>
}

function columns(desk: Desk, changed: () => void): readonly Column<Member>[] {
  return [
    {
      name: "Person",
      isPlain: true,
      draw: ({ name, email }) => (
        <>
          <Text of={name ?? email} in="b" />
          {name !== undefined && name !== email && <Below of={email} />}
        </>
      ),
    },
    { name: "Role", draw: ({ role }) => role },
    { name: "Invited", draw: ({ createdAt, createdBy }) => <Made at={createdAt} by={createdBy} /> },
    {
      name: "Joined",
      draw: ({ joinedAt }) =>
        joinedAt === undefined ? (
          <span class="attention">not yet</span>
        ) : (
          <Time at={joinedAt} form="date" />
        ),
    },
    {
      name: "Change",
      isEnd: true,
      draw: (member) => <MemberMenu desk={desk} member={member} changed={changed} />,
    },
  ]
}

interface MemberMenuProps {
  readonly desk: Desk
  readonly member: Member
  readonly changed: () => void
}

function MemberMenu({ desk, member, changed }: MemberMenuProps) {
  const { id, email, role } = member
  const other = role === "admin" ? "viewer" : "admin"
  return (
    <Menu
      id={`member-${id}`}
      label={
        <>
          Change
          <Unseen of={email} />
        </>
      }
    >
      <button type="button" onClick={() => changeRole(desk, member, other, changed)}>
        Make {other}
      </button>
      <button type="button" onClick={() => openNewLink(desk, member)}>
        {member.joinedAt === undefined ? "New invitation link" : "Link for a new password"}
      </button>
      <button type="button" class="apart" onClick={() => remove(desk, member, changed)}>
        Remove from this workspace
      </button>
    </Menu>
  )
}

function changeRole(desk: Desk, { id, email }: Member, role: string, changed: () => void): void {
  confirm({
    title: `Make ${role}?`,
    says: (
      <>
        <Text of={email} /> may then do what {role === "admin" ? "an admin" : "a viewer"} may, at
        once.
      </>
    ),
    action: `Make ${role}`,
    act: () => desk.send("PATCH", ["members", id], { role }),
    done: changed,
  })
}

function remove(desk: Desk, { id, email }: Member, changed: () => void): void {
  confirm({
    title: "Remove this person?",
    says: (
      <>
        <Text of={email} /> cannot enter this workspace any more, and links that they made end. What
        the ledger recorded of them stays.
      </>
    ),
    action: "Remove them",
    act: () => desk.send("DELETE", ["members", id]),
    done: changed,
  })
}

/** Replaces a lost invitation, or a lost password. */
function openNewLink(desk: Desk, { id, email }: Member): void {
  openSecretForm({
    title: "A new link",
    action: "Make the link",
    submit: () => desk.send<InvitedMember>("POST", ["members", id, "setup"]),
    secret: setupLink,
    children: (
      <p class="soft">
        With it <Text of={email} /> chooses a password. A link that was made before ends.
      </p>
    ),
  })
}

function openInvitation(desk: Desk, made: () => void): void {
  openSecretForm({
    title: "Invite somebody",
    action: "Invite",
    submit: (values) =>
      desk.send<InvitedMember>("POST", ["members"], {
        email: textIn(values, "email"),
        role: textIn(values, "role"),
        name: textIn(values, "name"),
      }),
    done: made,
    secret: setupLink,
    children: (
      <>
        <Field name="email" label="E-mail" type="email" />
        <Field name="name" label="Name" optional />
        <Choice name="role" label="Role" options={roles} />
      </>
    ),
  })
}

function setupLink({ member, setupUrl }: InvitedMember, stored: () => void): Node {
  return (
    <Secret secret={setupUrl} label="Copy link" stored={stored}>
      <p>
        Hand this link to <Text of={member.email} />, by a way that only they read. It works once,
        for a day. Nothing is sent by e-mail.
      </p>
    </Secret>
  )
}
