import type { ChainState } from "@tallystick/client/wire"
import type { Desk } from "../desk.ts"
import type { Asked } from "./asked.ts"
import { ExportMenu } from "./export-menu.tsx"
import type { Address } from "./explorer-address.ts"
import { createFacets } from "./facets.tsx"
import type { Finding } from "./finding.ts"
import { createRangeMenu } from "./range-menu.tsx"
import { createSearchBox } from "./search-box.tsx"
import { createTimeline } from "./timeline.tsx"

interface ControlParts {
  readonly desk: Desk
  readonly finding: Finding
  readonly address: Address
}

export function createControls({ desk, finding, address }: ControlParts) {
  const { change, search, zoom, undoZoom } = address
  const box = createSearchBox({ search, finding })
  const range = createRangeMenu((next) => change({ range: next }))
  const timeline = createTimeline({ zoom, undo: undoZoom })
  const facets = createFacets({
    desk,
    search: (text) => change({ text }),
    withSystem: (withSystem) => change({ withSystem }),
    nameOf: (id) => finding.names.nameOf(id),
  })
  return {
    nodes: {
      search: box.node,
      range: range.node,
      exports: <ExportMenu desk={desk} filter={() => finding.filter} asked={() => finding.asked} />,
      timeline: timeline.node,
      openTable: () => timeline.openTable(),
      facets: facets.node,
    },
    show(asked: Asked): void {
      box.show(asked.text)
      range.show(asked.range)
    },
    showChain: (chain: ChainState) => facets.showChain(chain),
    count(): void {
      const now = new Date()
      void timeline.load(desk, finding.filter, now)
      facets.show(finding.asked, now)
    },
    redrawTimes(): void {
      timeline.redraw()
      range.show(finding.asked.range)
    },
    focusSearch: () => box.focus(),
    openRange: () => range.open(),
  }
}

export type Controls = ReturnType<typeof createControls>
