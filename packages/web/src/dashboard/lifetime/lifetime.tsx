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

const tabs = [
  ["retention", "Retention", retentionPart],
  ["holds", "Holds", holdsPart],
  ["erasures", "Erasures", erasuresPart],
  ["archive", "Archive", archivePart],
] as const

export const openLifetime: OpenView = (desk, place) => {
  const content = elementOf(<div class="lifetime" />)
  let shown: Part | undefined
  const draw = (place: Place): void => {
    const [tab, , open] = tabs.find(([each]) => each === place.rest[0]) ?? tabs[0]
    shown?.close?.()
    shown = desk.isAdmin || tab === "archive" ? open(desk, place) : { node: <NotAdmin /> }
    content.replaceChildren(
      <h1>Lifetime</h1>,
      <p class="lead soft">
        What becomes of entries as they grow old. Their contents can go. That they were recorded,
        when, and in which place, stays provable for ever.
      </p>,
      <Tabs
        label="Lifetime"
        tabs={tabs.map(([each, name]) => [each, name])}
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
