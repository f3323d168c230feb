import { elementOf } from "../../elements/elements.ts"
import type { OpenView } from "../desk.ts"
import { NotAdmin } from "../not-found.tsx"
import { Tabs } from "../tabs.tsx"
import { keysPart } from "./keys.tsx"
import { membersPart } from "./members.tsx"
import { tokensPart } from "./tokens.tsx"

const tabs = [
  ["keys", "API keys", keysPart],
  ["tokens", "Links and tokens", tokensPart],
  ["members", "Members", membersPart],
] as const

export const openAccess: OpenView = (desk, place) => {
  const content = elementOf(<div class="access" />)
  const draw = (wanted: string | null): void => {
    const [tab, , open] = tabs.find(([each]) => each === wanted) ?? tabs[0]
    content.replaceChildren(
      <h1>Access</h1>,
      <Tabs
        label="Access"
        tabs={tabs.map(([each, name]) => [each, name])}
        href={(each) => desk.link(["access"], { tab: each })}
        current={tab}
      />,
      desk.isAdmin ? open(desk) : <NotAdmin />,
    )
  }
  draw(place.query.get("tab"))
  return {
    title: "Access",
    node: content,
    moved: ({ query }) => draw(query.get("tab")),
  }
}
