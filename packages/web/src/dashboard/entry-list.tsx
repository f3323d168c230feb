// A list of entries on another page, about a thing, a person or a pack. Its rows are recomputed,
// and each opens in the explorer.

import type { Told } from "../ask.ts"
import { elementOf, redraw } from "../elements/elements.ts"
import { counted } from "../parts/counted.ts"
import { announce } from "../parts/page.tsx"
import { watchZone } from "../parts/time.tsx"
import type { Desk } from "./desk.ts"
import { createEntryTable } from "./events/entry-table.tsx"
import { keepList, leftList } from "./events/left-lists.ts"
import { startRecomputer } from "./events/recompute.ts"
import { offerReload } from "./offer-reload.tsx"
import { createResults } from "./events/results.tsx"
import { createRows, type RowPage, type Rows } from "./events/rows.ts"
import { RecomputedSentence } from "./events/summary.tsx"

interface ListParts {
  readonly desk: Desk
  /** The reader came back: the list has the rows with which it was left. */
  readonly isBack: boolean | undefined
  readonly load: (cursor: number, limit: number) => Promise<Told<RowPage>>
  /** Shown if there are no entries, or if there are more and none of the newest is one of these. */
  readonly nothing: (hasMore: boolean) => Node
  readonly changed?: (rows: Rows) => void
}

export type EntryList = ReturnType<typeof createEntryList>

export function createEntryList({ desk, isBack = false, load, nothing, changed }: ListParts) {
  const name = location.href
  const left = isBack ? leftList(desk, name) : undefined
  const recomputer = startRecomputer(offerReload)
  const summary = elementOf(<p class="summary" role="status" />)
  const linkTo = (sequence: number): string =>
    desk.link(["events", String(sequence)], { range: "all" })
  const table = createEntryTable({
    hrefOf: linkTo,
    open: (sequence) => desk.go(linkTo(sequence)),
    rows: () => rows,
  })
  const results = createResults({ desk, table, nothing, again: () => void rows.begin() })
  const rows: Rows = createRows({
    load,
    recompute: (entries) => recomputer.recompute(entries),
    ...(left && { left: left.rows }),
    changed: draw,
  })
  function draw(): void {
    redraw(summary, <>{rows.all.length > 0 && <RecomputedSentence rows={rows.all} />}</>)
    results.draw(rows, { open: undefined, waiting: 0 })
    changed?.(rows)
  }
  const unwatch = [watchZone(() => table.redraw()), desk.chain.watch(draw)]
  results.waiting()
  void rows.begin().then(() => {
    if (left !== undefined) scrollTo(0, left.top)
    announce(counted(rows.all.length, "entry", "entries"))
  })
  return {
    node: (
      <div class="entry-list">
        {summary}
        {results.node}
      </div>
    ),
    rows,
    close(): void {
      keepList(desk, name, rows)
      recomputer.close()
      results.close()
      table.close()
      for (const stop of unwatch) stop()
    },
  }
}
