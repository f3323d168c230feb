// People who sign in here.

import type { InvitedMember, Member, MemberList } from "@tallystick/client/wire"
import type { Refusal } from "../../ask.ts"
import { Button } from "../../parts/button.tsx"
import { confirm } from "../../parts/confirm.tsx"
import { openDialog } from "../../parts/dialog.tsx"
import { Choice, Field, Form, orRefusal, textIn } from "../../parts/form.tsx"
import { Menu } from "../../parts/menu.tsx"
import { elementOf } from "../../parts/page.tsx"
import type { PagedList } from "../../parts/paged-list.tsx"
import { Secret, showSecret } from "../../parts/secret.tsx"
import { Below, type Column } from "../../parts/table.tsx"
import { Text } from "../../parts/text.tsx"
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
    empty: "Nobody signs in to this workspace yet.",
  })
  return (
    <section class="top">
      <p class="actions">
        <Button kind="main" onClick={() => openInvitation(desk, list)}>
          Invite somebody
        </Button>
      </p>
      {list.node}
    </section>
  )
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
          <span class="unseen">
            {" "}
            <Text of={email} />
          </span>
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
    act: () => orRefusal(desk.send("PATCH", ["members", id], { role }), changed),
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
    act: () => orRefusal(desk.send("DELETE", ["members", id]), changed),
  })
}

/** Replaces a lost invitation, or a lost password. */
function openNewLink(desk: Desk, { id, email }: Member): void {
  openDialog("A new link", (close) => {
    const place = elementOf(<div />)
    const submit = (): Promise<Refusal | undefined> =>
      orRefusal(desk.send<InvitedMember>("POST", ["members", id, "setup"]), (made) =>
        showSecret(place, <SetupLink of={made} close={close} />),
      )
    place.append(
      <Form action="Make the link" submit={submit} cancel={close}>
        <p class="soft">
          With it <Text of={email} /> chooses a password. A link that was made before ends.
        </p>
      </Form>,
    )
    return place
  })
}

function openInvitation(desk: Desk, list: PagedList): void {
  openDialog("Invite somebody", (close) => {
    const place = elementOf(<div />)
    const submit = (values: FormData): Promise<Refusal | undefined> => {
      const name = textIn(values, "name")
      const asked = desk.send<InvitedMember>("POST", ["members"], {
        email: textIn(values, "email"),
        role: textIn(values, "role"),
        ...(name !== undefined && { name }),
      })
      return orRefusal(asked, (made) => {
        list.reload()
        showSecret(place, <SetupLink of={made} close={close} />)
      })
    }
    place.append(
      <Form action="Invite" submit={submit} cancel={close}>
        <Field name="email" label="E-mail" type="email" />
        <Field name="name" label="Name" optional />
        <Choice name="role" label="Role" options={roles} />
      </Form>,
    )
    return place
  })
}

interface SetupLinkProps {
  readonly of: InvitedMember
  readonly close: () => void
}

function SetupLink({ of: { member, setupUrl }, close }: SetupLinkProps) {
  return (
    <Secret secret={setupUrl} label="Copy link" stored={close}>
      <p>
        Hand this link to <Text of={member.email} />, by a way that only they read. It works once,
        for a day. Nothing is sent by e-mail.
      </p>
    </Secret>
  )
}
