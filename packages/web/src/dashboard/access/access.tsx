// Who may come in: keys of programs, links for one thing, and people.

import type { Child } from "../../elements/jsx-runtime.ts"
import { elementOf } from "../../parts/page.tsx"
import { Verdict } from "../../parts/verdict.tsx"
import type { Desk, OpenView } from "../desk.ts"
import { keysPart } from "./keys.tsx"
import { membersPart } from "./members.tsx"
import { tokensPart } from "./tokens.tsx"
import "./access.css"

const parts = { keys: keysPart, tokens: tokensPart, members: membersPart } as const
const names: Readonly<Record<keyof typeof parts, string>> = {
  keys: "API keys",
  tokens: "Links and tokens",
  members: "Members",
}

export const openAccess: OpenView = (desk, place) => {
  const content = elementOf(<div class="access" />)
  const draw = (wanted: string | null): void => {
    const tab = isTab(wanted) ? wanted : "keys"
    content.replaceChildren(
      <h1>Access</h1>,
      <Tabs desk={desk} tab={tab} />,
      desk.isAdmin ? parts[tab](desk) : <NotAdmin />,
    )
  }
  draw(place.query.get("tab"))
  return {
    title: "Access",
    node: content,
    moved: ({ query }) => draw(query.get("tab")),
  }
}

function isTab(text: string | null): text is keyof typeof parts {
  return text !== null && Object.hasOwn(parts, text)
}

function Tabs({ desk, tab }: { readonly desk: Desk; readonly tab: keyof typeof parts }): Node {
  return (
    <nav class="tabs" aria-label="Access">
      {Object.entries(names).map(([each, name]): Child => (
        <a
          href={desk.link(["access"], { tab: each })}
          aria-current={each === tab ? "page" : undefined}
        >
          {name}
        </a>
      ))}
    </nav>
  )
}

function NotAdmin() {
  return (
    <section class="top">
      <Verdict tone="neutral" title="For admins of this workspace" isPart>
        <p>
          You may read here. Whoever is an admin sees and changes this, and can make you one under
          Access, Members.
        </p>
      </Verdict>
    </section>
  )
}
