// The explorer: entries of the ledger, searched, followed, and each recomputed in this browser.

import { elementOf } from "../../elements/elements.ts"
import { watchZone } from "../../parts/time.tsx"
import type { Desk, OpenView } from "../desk.ts"
import type { Place } from "../place.ts"
import { askedIn, type Asked } from "./asked.ts"
import { createAddress } from "./explorer-address.ts"
import { createControls } from "./explorer-controls.tsx"
import { createExplorerEntry } from "./explorer-entry.ts"
import { ExplorerFrame, placeFilters } from "./explorer-frame.tsx"
import { createList } from "./explorer-list.tsx"
import { explorerShortcuts } from "./explorer-shortcuts.ts"
import { createFinding } from "./finding.ts"
import { firstRun } from "./first-run.tsx"
import { startRecomputer } from "./recompute.ts"
import { offerReload } from "../offer-reload.tsx"
import "../../style/entries.css"
import "./events.css"
import "./drawer.css"

export const openEvents: OpenView = (desk, place) => {
  const explorer = createExplorer(desk, place)
  explorer.moved(place)
  return { title: "Events", isWide: true, ...explorer }
}

function createExplorer(desk: Desk, { query }: Place) {
  const over = new AbortController()
  const recomputer = startRecomputer(offerReload)
  const opened = (): number | undefined => panel.sequence
  const finding = createFinding(
    { desk, recomputer, found: () => list.found(), changed: draw },
    askedIn(query),
  )
  const address = createAddress({ desk, finding, opened })
  const controls = createControls({ desk, finding, address })
  const list = createList({
    desk,
    finding,
    address,
    opened,
    count: () => controls.count(),
    firstRun: () => page.replaceChildren(firstRun({ desk, signal: over.signal })),
  })
  const node = elementOf(<ExplorerFrame {...controls.nodes} {...list.nodes} />)
  const page = elementOf(<div>{node}</div>)
  placeFilters(controls.nodes.facets, over.signal)
  const shared = { desk, finding, recomputer, address, list }
  const entry = createExplorerEntry({ ...shared, place: node })
  const { panel } = entry
  let shown = ""

  function moved({ query: said, rest: [name], isBack }: Place): void {
    const next = address.asked(said)
    // After a first run something may have been recorded.
    if (JSON.stringify(next) !== shown || !node.isConnected) ask(next, isBack)
    if (!node.isConnected) page.replaceChildren(node)
    panel.show(name)
    draw()
  }
  function ask(asked: Asked, isBack = false): void {
    shown = JSON.stringify(asked)
    finding.ask(asked, isBack)
    controls.show(asked)
    list.waiting()
    void desk.chain.look()
  }
  function draw(): void {
    const chain = desk.chain.state()
    if (chain !== undefined) controls.showChain(chain)
    list.draw()
  }
  const unwatch = [
    watchZone(() => {
      list.table.redraw()
      controls.redrawTimes()
    }),
    desk.chain.watch(draw),
    desk.chain.watch(() => panel.again()),
  ]
  return {
    node: page,
    shortcuts: explorerShortcuts({ controls, list, entry, address }),
    moved,
    close() {
      finding.close()
      list.close()
      recomputer.close()
      over.abort()
      for (const stop of unwatch) stop()
    },
  }
}
