// The matches and new entries: the table, its summary, Live, and marks.

import { elementOf, redraw } from "../../elements/elements.ts"
import { counted } from "../../parts/counted.ts"
import { announce } from "../../parts/page.tsx"
import type { Desk } from "../desk.ts"
import { createArrivals } from "./arrivals.ts"
import { reachesNow } from "./asked.ts"
import { createEntryTable } from "./entry-table.tsx"
import type { Address } from "./explorer-address.ts"
import type { Finding } from "./finding.ts"
import { createMarkBar } from "./mark-bar.tsx"
import { nothingFound } from "./nothing-found.tsx"
import { createResults } from "./results.tsx"
import { Summary } from "./summary.tsx"

interface ListParts {
  readonly desk: Desk
  readonly finding: Finding
  readonly address: Address
  /** The entry in the drawer. */
  readonly opened: () => number | undefined
  readonly count: () => void
  readonly firstRun: () => void
}

/** Entries in memory while following; others are loaded again when they become visible. */
const liveRowsMax = 500

export function createList({ desk, finding, address, opened, count, firstRun }: ListParts) {
  const summary = elementOf(<div class="summary" />)
  const live = elementOf(<LiveButton turn={turnLive} />)
  const marks = createMarkBar({ desk, changed: draw })
  const table = createEntryTable({
    hrefOf: address.entry,
    open: (sequence) =>
      desk.go(address.entry(sequence), opened() === undefined ? undefined : "replace"),
    rows: () => finding.rows,
    find: address.find,
  })
  const arrivals = createArrivals({
    desk,
    isAway: () => table.node.getBoundingClientRect().top < 0,
    add: (entries) => finding.rows?.prepend(entries, liveRowsMax),
    changed: draw,
    recount: count,
  })
  const results = createResults({
    desk,
    table,
    nothing: () =>
      nothingFound({ desk, asked: finding.asked, change: address.change, firstRun: leave }),
    again: showNewest,
  })

  function draw(): void {
    const { rows } = finding
    if (rows === undefined) return
    const chain = desk.chain.state()
    redraw(summary, <Summary of={rows} chain={chain} lostAt={arrivals.lostAt} />)
    live.setAttribute("aria-pressed", String(arrivals.isLive))
    marks.draw()
    results.draw(rows, { open: opened(), waiting: arrivals.waiting })
  }

  /** Called when the rows have arrived, because counts are requested after them. */
  function found(): void {
    arrivals.stop()
    const { rows, top } = finding
    if (rows?.refusal !== undefined) return
    // The rows are drawn next.
    if (top !== undefined) queueMicrotask(() => scrollTo(0, top))
    announce(counted(rows?.total ?? 0, "entry", "entries"))
    follow()
    count()
  }

  function follow(): void {
    const { rows, asked, at, filter } = finding
    if (reachesNow(asked.range, at)) arrivals.follow(rows?.all[0]?.sequence ?? 0, filter)
  }

  function showNewest(): void {
    scrollTo(0, 0)
    finding.ask(finding.asked)
    void desk.chain.look()
  }

  function turnLive(): void {
    arrivals.setLive(!arrivals.isLive)
    if (arrivals.isLive && arrivals.waiting > 0) showNewest()
  }

  function leave(): void {
    arrivals.stop()
    firstRun()
  }

  return {
    nodes: { summary, live, results: results.node, marks: marks.node },
    table,
    marks,
    waiting: () => results.waiting(),
    draw,
    found,
    turnLive,
    close(): void {
      arrivals.stop()
      table.close()
      results.close()
    },
  }
}

export type List = ReturnType<typeof createList>

function LiveButton({ turn }: { readonly turn: () => void }) {
  return (
    <button type="button" id="live" class="button live" aria-pressed={false} onClick={turn}>
      <span class="dot" /> Live
    </button>
  )
}
