// What happens to entries as they grow old: retention, holds, erasures, and the archive.

import { elementOf } from "../../elements/elements.ts"
import type { OpenView, Part } from "../desk.ts"
import type { Place } from "../place.ts"
import { NotAdmin } from "../not-found.tsx"
import { Tabs } from "../tabs.tsx"
import { archivePart } from "./archive.tsx"
import { erasuresPart } from "./erasures.tsx"
import { holdsPart } from "./holds.tsx"
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
  const draw = (place: Place): void => {
    const wanted = place.rest[0] ?? null
    const tab = isTab(wanted) ? wanted : "retention"
    shown?.close?.()
    shown = desk.isAdmin || tab === "archive" ? parts[tab](desk, place) : { node: <NotAdmin /> }
    content.replaceChildren(
      <h1>Lifetime</h1>,
      <p class="lead soft">
        What becomes of entries as they grow old. Their contents can go. That they were recorded,
        when, and in which place, stays provable for ever.
      </p>,
      <Tabs
        label="Lifetime"
        tabs={Object.entries(names)}
        href={(each) => desk.link(["lifetime", each])}
        current={tab}
      />,
      shown.node,
    )
  }
  draw(place)
  return {
    title: "Lifetime",
    node: content,
    moved: draw,
    close: () => shown?.close?.(),
  }
}

function isTab(text: string | null): text is keyof typeof parts {
  return text !== null && Object.hasOwn(parts, text)
}
