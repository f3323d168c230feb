// The result: the table, or why it is empty.

import { elementOf, redraw } from "../../elements/elements.ts"
import { Button } from "../../parts/button.tsx"
import { number } from "../../parts/counted.ts"
import { Refused, Skeleton } from "../../parts/refused.tsx"
import type { Desk } from "../desk.ts"
import { markedIn } from "../marked.ts"
import type { EntryTable } from "./entry-table.tsx"
import type { Row, Rows } from "./rows.ts"

interface ResultsParts {
  readonly desk: Desk
  readonly table: EntryTable
  /** Called for an empty list of rows. If there are more, only the newest matches were looked at. */
  readonly nothing: (hasMore: boolean) => Node
  /** Repeats the search, from the newest entry on. */
  readonly again: () => void
}

interface Beside {
  readonly open: number | undefined
  /** The number of entries that are not shown yet. */
  readonly waiting: number
}

const settleMs = 1500
const settleMsMax = 30_000

export function createResults({ desk, table, nothing, again }: ResultsParts) {
  const node = elementOf(<section class="rows" aria-label="Entries" />)
  const fresh = elementOf(<button type="button" id="new-ones" class="fresh" onClick={again} />)
  const more = elementOf(<div class="more" />)
  /** For what the empty message is shown. */
  let empty: { readonly rows?: Rows; readonly hasMore?: boolean } = {}
  let shown: Rows | undefined
  let settling: ReturnType<typeof setTimeout> | undefined
  let unsettled = { sequence: 0, waitMs: settleMs }

  function drawTable(rows: Rows, { open, waiting }: Beside): void {
    if (!table.node.isConnected) redraw(node, table.node, more)
    fresh.textContent = `${number(waiting)} new, show`
    table.show({
      rows: rows.all,
      total: rows.isTotalBound ? undefined : rows.total,
      checkpoint: desk.chain.state()?.checkpoint,
      open,
      marked: new Set(markedIn(desk).map(({ sequence }) => sequence)),
      beside: waiting > 0 ? fresh : undefined,
    })
    redraw(more, <More of={rows} />)
    shown = rows
    settleSoon(rows)
  }

  /** Loads entries again that came by the feed without a proof, or that no checkpoint covered. */
  function settleSoon(rows: Rows): void {
    const sequence = unsettledIn(rows)
    if (settling !== undefined || sequence === undefined || document.hidden) return
    const waitMs = sequence === unsettled.sequence ? unsettled.waitMs : settleMs
    unsettled = { sequence, waitMs: Math.min(waitMs * 2, settleMsMax) }
    const settle = async (): Promise<void> => {
      const first = unsettledIn(rows)
      if (first !== undefined) await Promise.all([rows.again(first), desk.chain.look()])
      settling = undefined
      // Entries without a checkpoint are requested again, even if nothing else is drawn meanwhile.
      if (node.isConnected && shown !== undefined) settleSoon(shown)
    }
    settling = setTimeout(() => void settle(), waitMs)
  }

  return {
    node,
    waiting(): void {
      if (node.childElementCount === 0) node.append(<Skeleton />)
    },
    draw(rows: Rows, beside: Beside): void {
      if (rows.all.length > 0) return drawTable(rows, beside)
      table.node.remove()
      if (rows.refusal !== undefined)
        return redraw(node, <Refused refusal={rows.refusal} retry={again} isPart />)
      redraw(more, <More of={rows} />)
      // Whether it is empty is not known yet.
      if (rows.isLoading) return
      const { hasMore } = rows
      if (empty.rows === rows && empty.hasMore === hasMore) return
      redraw(node, nothing(hasMore), hasMore ? more : <></>)
      empty = { rows, hasMore }
    },
    close: () => clearTimeout(settling),
  }
}

/** The newest of them. */
function unsettledIn({ all }: Rows): number | undefined {
  const isUnsettled = ({ entry, state }: Row): boolean =>
    entry !== undefined && (state === "unchecked" || state === "pending")
  return all.find(isUnsettled)?.sequence
}

function More({ of: rows }: { readonly of: Rows }) {
  const { all, total, isTotalBound, hasMore, isLoading, refusal } = rows
  if (refusal !== undefined)
    return <Refused refusal={refusal} retry={() => void rows.older()} isPart />
  return (
    <>
      <span>
        {number(all.length)} of {number(total)}
        {isTotalBound && " or fewer"}
      </span>
      {hasMore && (
        <Button kind="plain" id="older" onClick={() => void rows.older()}>
          {isLoading ? "Loading …" : "Load older"}
        </Button>
      )}
    </>
  )
}
