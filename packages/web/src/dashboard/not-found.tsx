import { Notice } from "../parts/refused.tsx"
import { Text } from "../parts/text.tsx"
import { Verdict } from "../parts/verdict.tsx"
import type { OpenView } from "./desk.ts"
import { linkTo } from "./place.ts"

export const openNotFound: OpenView = (desk) => ({
  title: "Not found",
  node: (
    <Notice title="There is no such page">
      <a href={desk.link(["overview"])}>Go to the overview</a>
    </Notice>
  ),
})

export const openForbidden: OpenView = ({ workspace, session }) => ({
  title: "Not yours",
  node: (
    <section class="top">
      <Verdict tone="neutral" title="You do not belong to this workspace">
        <p>
          If <Text of={workspace} /> exists, one of its admins can invite{" "}
          <Text of={session.member.email} /> under Access, Members.
        </p>
        <p>
          <a href={linkTo("", ["workspaces"])}>Your workspaces</a>
        </p>
      </Verdict>
    </section>
  ),
})

export function NotAdmin() {
  return (
    <Notice title="For admins of this workspace" isPart>
      An admin sees and changes this, and can make you one under Access, Members.
    </Notice>
  )
}
