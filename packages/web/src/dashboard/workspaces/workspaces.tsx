// All workspaces that the member may see; an admin of the instance makes new ones here.

import type { NewWorkspace, Workspace, WorkspaceList } from "@tallystick/client/wire"
import { askJson, type Refusal } from "../../ask.ts"
import { Field, Form, orRefusal, textIn } from "../../parts/form.tsx"
import { pagedList } from "../../parts/paged-list.tsx"
import { Table, type Column } from "../../parts/table.tsx"
import { Text } from "../../parts/text.tsx"
import { Time } from "../../parts/time.tsx"
import { root } from "../../place.ts"
import type { OpenView } from "../desk.ts"
import { linkTo, searchOf } from "../place.ts"

export const openWorkspaces: OpenView = (desk) => {
  const { member, workspaces } = desk.session
  return {
    title: "Workspaces",
    node: (
      <>
        <section class="top">
          <h1>Workspaces</h1>
          <p class="lead soft">
            Each has a ledger of its own: entries, keys and people of one are never those of
            another.
          </p>
          {member.instanceAdmin ? (
            listOfAll()
          ) : (
            <ul class="names">
              {workspaces.map(({ id, role }) => (
                <li>
                  <Text of={id} in="a" href={linkTo(id, ["overview"])} />{" "}
                  <span class="quiet">{role}</span>
                </li>
              ))}
            </ul>
          )}
        </section>
        {member.instanceAdmin && <NewOne />}
      </>
    ),
  }
}

const columns: readonly Column<Workspace>[] = [
  {
    name: "Workspace",
    isPlain: true,
    draw: ({ id }) => <Text of={id} in="a" href={linkTo(id, ["overview"])} />,
  },
  { name: "Name", draw: ({ name = "" }) => <Text of={name} /> },
  { name: "Since", draw: ({ createdAt }) => <Time at={createdAt} form="date" /> },
]

function listOfAll(): Node {
  const load = async (cursor: string | undefined) => {
    const url = new URL("v1/workspaces", root)
    url.search = searchOf({ cursor }).toString()
    const told = await askJson<WorkspaceList>(url)
    if (!told.ok) return told
    const { workspaces, nextCursor } = told.value
    return { ok: true, value: { items: workspaces, nextCursor } } as const
  }
  return pagedList<Workspace>({
    url: new URL("v1/workspaces", root).href,
    load,
    empty: () => <p class="soft">There is none yet.</p>,
    draw: (items) => <Table columns={columns} items={items} />,
  }).node
}

function NewOne() {
  const submit = (values: FormData): Promise<Refusal | undefined> => {
    const name = textIn(values, "name")
    const body: NewWorkspace = {
      id: textIn(values, "id") ?? "",
      ...(name !== undefined && { name }),
    }
    const url = new URL("v1/workspaces", root)
    // Reloads the dashboard, so that its menu has the new workspace.
    return orRefusal(askJson<Workspace>(url, { method: "POST", body }), ({ id }) =>
      location.assign(linkTo(id, ["events"])),
    )
  }
  return (
    <section>
      <h2>New workspace</h2>
      <Form action="Create it" submit={submit}>
        <Field
          name="id"
          label="Id"
          isMono
          maxLength={64}
          pattern="[A-Za-z0-9][A-Za-z0-9._\-]*"
          placeholder="acme"
          hint="Letters, digits, dots and dashes. It stands in every address and never changes."
        />
        <Field name="name" label="Name" optional maxLength={200} />
      </Form>
    </section>
  )
}
