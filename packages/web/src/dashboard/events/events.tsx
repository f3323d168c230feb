// The explorer: entries of the ledger, searched, followed, and each recomputed in this browser.

import type { ListedEntry } from "@tallystick/client/wire"
import { redraw } from "../../elements/redraw.ts"
import { counted } from "../../parts/counted.ts"
import { announce, elementOf } from "../../parts/page.tsx"
import { watchZone } from "../../parts/time.tsx"
import type { Desk, OpenView } from "../desk.ts"
import type { Place } from "../place.ts"
import { createArrivals } from "./arrivals.ts"
import { addressOf, askedIn, liftRange, reachesNow, withTerm } from "./asked.ts"
import type { Asked, Range } from "./asked.ts"
import { createDrawer } from "./drawer.tsx"
import { createEntryPanel } from "./entry-panel.ts"
import { createEntryTable } from "./entry-table.tsx"
import { ExplorerFrame, placeFilters } from "./explorer-frame.tsx"
import { explorerShortcuts } from "./explorer-shortcuts.ts"
import { ExportMenu, openExportMenu } from "./export-menu.tsx"
import { createFacets } from "./facets.tsx"
import { createFinding } from "./finding.ts"
import { firstRun } from "./first-run.tsx"
import { remember } from "./kept-searches.ts"
import { nothingFound } from "./nothing-found.tsx"
import { createMarkBar } from "./mark-bar.tsx"
import { isEntryName } from "./open-entry.ts"
import { createRangeMenu } from "./range-menu.tsx"
import { startRecomputer } from "./recompute.ts"
import { createResults } from "./results.tsx"
import { createSearchBox } from "./search-box.tsx"
import { Summary } from "./summary.tsx"
import { createTimeline } from "./timeline.tsx"
import "../../style/entries.css"
import "./events.css"
import "./drawer.css"

export const openEvents: OpenView = (desk, place) => {
  const explorer = createExplorer(desk, place)
  explorer.moved(place)
  return { title: "Events", isWide: true, ...explorer }
}

/** Kept while following; the rest is asked for again when it is looked at. */
const liveRowsMax = 500

/** The ledger of the instance has no other entries than the service's own. */
function askedBy(desk: Desk, query: URLSearchParams): Asked {
  const asked = askedIn(query)
  return { ...asked, withSystem: asked.withSystem || desk.workspace === "instance" }
}

function LiveButton({ turn }: { readonly turn: () => void }) {
  return (
    <button type="button" id="live" class="button live" aria-pressed={false} onClick={turn}>
      <span class="dot" /> Live
    </button>
  )
}

function createExplorer(desk: Desk, place: Place) {
  const over = new AbortController()
  const recomputer = startRecomputer()
  const finding = createFinding({ desk, recomputer, found, changed: draw }, askedIn(place.query))
  let isAsked = false
  const zooms: Range[] = []

  const box = createSearchBox({ search, finding })
  const range = createRangeMenu((next) => change({ range: next }))
  const summary = elementOf(<div class="summary" />)
  const marks = createMarkBar({ desk, changed: draw })
  const timeline = createTimeline({
    zoom(from, to) {
      zooms.push(finding.asked.range)
      change({ range: { from, to } })
    },
    undo() {
      const before = zooms.pop()
      if (before !== undefined) change({ range: before })
    },
  })
  const facets = createFacets({
    desk,
    search: (text) => change({ text }),
    withSystem: (withSystem) => change({ withSystem }),
    nameOf: (id) => finding.names.nameOf(id),
  })
  const table = createEntryTable({
    hrefOf,
    open: (sequence) => desk.go(hrefOf(sequence), panel.isOpen ? "replace" : undefined),
    older: () => {
      const { rows } = finding
      if (rows?.hasMore === true && rows.refusal === undefined) void rows.older()
    },
    again: (sequence) => void finding.rows?.again(sequence),
    find,
  })
  const drawer = createDrawer({
    desk,
    find,
    step,
    close: closeEntry,
    entryHref: hrefOf,
    mark,
    isMarked: (entry) => marks.has(entry),
  })
  const arrivals = createArrivals({
    desk,
    isAway: () => table.node.getBoundingClientRect().top < 0,
    add: (entries) => finding.rows?.prepend(entries, liveRowsMax),
    changed: draw,
    recount: count,
  })
  const live = elementOf(<LiveButton turn={turnLive} />)
  const results = createResults({
    desk,
    table,
    nothing: () => nothingFound({ desk, asked: finding.asked, change, firstRun: showFirstRun }),
    again: showNew,
  })
  const node = elementOf(
    <ExplorerFrame
      search={box.node}
      range={range.node}
      live={live}
      exports={<ExportMenu desk={desk} filter={() => finding.filter} asked={() => finding.asked} />}
      summary={summary}
      timeline={timeline.node}
      openTable={() => timeline.openTable()}
      facets={facets.node}
      results={results.node}
      marks={marks.node}
    />,
  )
  const page = elementOf(<div>{node}</div>)
  placeFilters(facets.node, over.signal)
  const panel = createEntryPanel({ desk, drawer, recomputer, place: node, hrefOf })

  // What is asked --------------------------------------------------------------------------------

  function hrefOf(sequence: number): string {
    return desk.link(["events", String(sequence)], addressOf(finding.asked))
  }

  function search(text: string): void {
    if (isEntryName(text)) return desk.go(desk.link(["events", text], addressOf(finding.asked)))
    remember(text)
    change({ text })
  }

  function change(part: Partial<Asked>): void {
    const { sequence } = panel
    const path = sequence === undefined ? ["events"] : ["events", String(sequence)]
    desk.go(desk.link(path, addressOf(liftRange({ ...finding.asked, ...part }))))
  }

  function find(term: string): void {
    change({ text: withTerm(finding.asked.text, term) })
  }

  function moved({ query, rest: [name] }: Place): void {
    const next = askedBy(desk, query)
    if (!isAsked || JSON.stringify(next) !== JSON.stringify(finding.asked)) ask(next)
    isAsked = true
    if (!node.isConnected) page.replaceChildren(node)
    panel.show(name)
    draw()
  }

  function ask(asked: Asked): void {
    finding.ask(asked)
    box.show(asked.text)
    range.show(asked.range)
    results.waiting()
    void desk.chain.look()
  }

  /** The rows have come: what is counted is asked for after them. */
  function found(): void {
    const { rows, asked, at, filter } = finding
    arrivals.stop()
    if (rows?.refusal !== undefined) return
    announce(counted(rows?.total ?? 0, "entry", "entries"))
    const newest = rows?.all[0]?.sequence ?? 0
    if (reachesNow(asked.range, at)) arrivals.follow(newest, filter)
    count()
  }

  function count(): void {
    const now = new Date()
    void timeline.load(desk, finding.filter, now)
    facets.show(finding.asked, now)
  }

  // What is shown --------------------------------------------------------------------------------

  function draw(): void {
    const { rows } = finding
    if (rows === undefined) return
    const { all, total } = rows
    const chain = desk.chain.state()
    redraw(summary, <Summary rows={all} total={total} chain={chain} lostAt={arrivals.lostAt} />)
    live.setAttribute("aria-pressed", String(arrivals.isLive))
    if (chain !== undefined) facets.showChain(chain)
    marks.draw()
    results.draw(rows, { open: panel.sequence, waiting: arrivals.waiting })
  }

  function turnLive(): void {
    arrivals.setLive(!arrivals.isLive)
    if (arrivals.isLive && arrivals.waiting > 0) showNew()
  }

  function showNew(): void {
    scrollTo(0, 0)
    ask(finding.asked)
  }

  function showFirstRun(): void {
    arrivals.stop()
    page.replaceChildren(firstRun({ desk, signal: over.signal }))
  }

  // The entry that is open -----------------------------------------------------------------------

  function closeEntry(): void {
    if (!panel.isOpen) return
    const { sequence } = panel
    desk.go(desk.link(["events"], addressOf(finding.asked)), "replace")
    if (sequence !== undefined) table.focus(sequence)
  }

  /** `1` is the next older one. */
  function step(by: -1 | 1): void {
    const all = finding.rows?.all ?? []
    const from = panel.sequence ?? table.focused()
    const at = all.findIndex(({ sequence }) => sequence === from)
    const next = all[from === undefined ? 0 : at + by]
    if (next === undefined || (at < 0 && from !== undefined)) return
    const { isOpen } = panel
    const isInTable = table.focused() !== undefined
    if (isOpen) desk.go(hrefOf(next.sequence), "replace")
    table.bring(next.sequence)
    if (!isOpen || isInTable) table.focus(next.sequence)
  }

  function current(): ListedEntry | undefined {
    const sequence = table.focused() ?? panel.sequence
    const row = finding.rows?.all.find((each) => each.sequence === sequence)
    return row?.entry ?? panel.entry
  }

  function mark(entry: ListedEntry): void {
    marks.turn(entry)
    drawer.marked(marks.has(entry))
  }

  const shortcuts = explorerShortcuts({
    search: () => box.focus(),
    step,
    close: closeEntry,
    live: turnLive,
    range: () => range.open(),
    exports: openExportMenu,
    address: () => (panel.sequence === undefined ? location.href : hrefOf(panel.sequence)),
    entry: current,
    mark,
  })

  const unwatch = [
    watchZone(redrawTimes),
    desk.chain.watch(draw),
    desk.chain.watch(() => panel.again()),
  ]
  function redrawTimes(): void {
    table.redraw()
    timeline.redraw()
    range.show(finding.asked.range)
  }

  return {
    node: page,
    shortcuts,
    moved,
    close() {
      arrivals.stop()
      table.close()
      recomputer.close()
      results.close()
      over.abort()
      for (const stop of unwatch) stop()
    },
  }
}
