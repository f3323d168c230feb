// All workspaces that the member may see; an admin of the instance makes new ones here.

import type { NewWorkspace, Workspace, WorkspaceList } from "@tallystick/client/wire"
import { askJson } from "../../ask.ts"
import { Field, Form, textIn } from "../../parts/form.tsx"
import type { Column } from "../../parts/table.tsx"
import { Text } from "../../parts/text.tsx"
import { Time } from "../../parts/time.tsx"
import { root } from "../../place.ts"
import type { Desk, OpenView } from "../desk.ts"
import { pagedTable } from "../listed-table.tsx"
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
            listOfAll(desk)
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
        {member.instanceAdmin && <NewOne desk={desk} />}
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

function listOfAll({ inSession }: Desk): Node {
  const url = new URL("v1/workspaces", root)
  return pagedTable({
    url: url.href,
    load: (cursor) =>
      inSession(() => askJson<WorkspaceList>(new URL(`?${searchOf({ cursor })}`, url))),
    itemsOf: ({ workspaces }) => workspaces,
    columns: () => columns,
    empty: "There is none yet.",
  }).node
}

function NewOne({ desk }: { readonly desk: Desk }) {
  const submit = (values: FormData) => {
    const name = textIn(values, "name")
    const body: NewWorkspace = {
      id: textIn(values, "id") ?? "",
      ...(name !== undefined && { name }),
    }
    const url = new URL("v1/workspaces", root)
    return desk.inSession(() => askJson<Workspace>(url, { method: "POST", body }))
  }
  // Reloads the dashboard, so that its menu has the new workspace.
  const open = ({ id }: Workspace): void => location.assign(linkTo(id, ["events"]))
  return (
    <section>
      <h2>New workspace</h2>
      <Form action="Create it" submit={submit} done={open}>
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
