import { elementOf } from "../../elements/elements.ts"
import type { OpenView } from "../desk.ts"
import { NotAdmin } from "../not-found.tsx"
import { Tabs } from "../tabs.tsx"
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
      <Tabs
        label="Access"
        tabs={Object.entries(names)}
        href={(each) => desk.link(["access"], { tab: each })}
        current={tab}
      />,
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
