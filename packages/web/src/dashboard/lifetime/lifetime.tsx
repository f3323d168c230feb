// What becomes of entries as they grow old: how long they are kept, what keeps them longer, what is
// erased, and where they lie.

import type { Child } from "../../elements/jsx-runtime.ts"
import { elementOf } from "../../parts/page.tsx"
import { Verdict } from "../../parts/verdict.tsx"
import type { Desk, OpenView } from "../desk.ts"
import { archivePart } from "./archive.tsx"
import { erasuresPart } from "./erasures.tsx"
import { holdsPart } from "./holds.tsx"
import type { Part } from "./part.ts"
import { retentionPart } from "./retention.tsx"

const parts = {
  retention: retentionPart,
  holds: holdsPart,
  erasures: erasuresPart,
  archive: archivePart,
} as const
const names: Readonly<Record<keyof typeof parts, string>> = {
  retention: "Retention",
  holds: "Holds",
  erasures: "Erasures",
  archive: "Archive",
}

export const openLifetime: OpenView = (desk, place) => {
  const content = elementOf(<div class="lifetime" />)
  let shown: Part | undefined
  const draw = (wanted: string | null): void => {
    const tab = isTab(wanted) ? wanted : "retention"
    shown?.close?.()
    shown = desk.isAdmin || tab === "archive" ? parts[tab](desk) : { node: <NotAdmin /> }
    content.replaceChildren(
      <h1>Lifetime</h1>,
      <p class="lead soft">
        What becomes of entries as they grow old. Whatever happens to what they said, that they were
        recorded, when, and in which place, holds for ever.
      </p>,
      <Tabs desk={desk} tab={tab} />,
      shown.node,
    )
  }
  draw(place.rest[0] ?? null)
  return {
    title: "Lifetime",
    node: content,
    moved: ({ rest }) => draw(rest[0] ?? null),
    close: () => shown?.close?.(),
  }
}

function isTab(text: string | null): text is keyof typeof parts {
  return text !== null && Object.hasOwn(parts, text)
}

function Tabs({ desk, tab }: { readonly desk: Desk; readonly tab: keyof typeof parts }): Node {
  return (
    <nav class="tabs" aria-label="Lifetime">
      {Object.entries(names).map(([each, name]): Child => (
        <a href={desk.link(["lifetime", each])} aria-current={each === tab ? "page" : undefined}>
          {name}
        </a>
      ))}
    </nav>
  )
}

function NotAdmin() {
  return (
    <Verdict tone="neutral" title="For admins of this workspace" isPart>
      <p>Whoever is an admin sees and changes this, and can make you one under Access, Members.</p>
    </Verdict>
  )
}
