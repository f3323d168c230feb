// The chain page: how far it is intact, what was checked and when, and a check of it in this browser.

import type { ListedEntry } from "@tallystick/client/wire"
import { elementOf, redraw } from "../../elements/elements.ts"
import { number, numbered } from "../../parts/counted.ts"
import { Facts } from "../../parts/facts.tsx"
import { Hash } from "../../parts/hash.tsx"
import { Skeleton } from "../../parts/refused.tsx"
import { Time } from "../../parts/time.tsx"
import type { Desk, OpenView } from "../desk.ts"
import { startRecomputer, type Recomputer } from "../events/recompute.ts"
import { offerReload } from "../offer-reload.tsx"
import type { Place } from "../place.ts"
import { drawClaim } from "./chain-claim.tsx"
import { cellsOf, type Cell } from "./chain-verdict.ts"
import type { KnownChain } from "./chain-watch.ts"
import { browserCheck } from "./browser-check.tsx"
import { around, linkedEntries, Links } from "./links.tsx"
import { signedPart } from "./signed.tsx"
import type { Range } from "./verify-chain.ts"
import "./chain.css"

export const openChain: OpenView = (desk, place) => {
  const claim = elementOf(<div class="claim" />)
  const cell = elementOf(<div />)
  claim.append(<Skeleton />)
  const recomputer = startRecomputer(offerReload)
  const check = browserCheck(desk)
  const signed = signedPart(desk)
  let chosen = rangeIn(place)
  const draw = (): void => drawClaim(claim, desk)
  let drawing: object | undefined
  const drawChosen = (): void => {
    const mine = (drawing = {})
    void drawCell(cell, desk, recomputer, chosen, () => drawing === mine)
  }
  const unwatch = desk.chain.watch(() => {
    draw()
    signed.draw()
    drawChosen()
  })
  draw()
  drawChosen()
  if (place.query.get("verify") === "all") check.start()
  void desk.chain.look()
  return {
    title: "Chain",
    node: (
      <div class="chain-page">
        {claim}
        {cell}
        {check.node}
        {signed.node}
      </div>
    ),
    moved(next) {
      chosen = rangeIn(next)
      drawChosen()
      if (next.query.get("verify") === "all") check.start()
    },
    close() {
      unwatch()
      check.cancel()
      recomputer.close()
    },
  }
}

function rangeIn({ query }: Place): Range | undefined {
  const [from, to] = ["from", "to"].map((name) => Number(query.get(name) ?? ""))
  if (from === undefined || to === undefined) return undefined
  return Number.isSafeInteger(from) && from >= 1 && to >= from ? { from, to } : undefined
}

/** The cell that was chosen, or the one that is broken. */
async function drawCell(
  place: Element,
  desk: Desk,
  recomputer: Recomputer,
  chosen: Range | undefined,
  isWanted: () => boolean,
): Promise<void> {
  const state = desk.chain.state()
  if (state === undefined) return
  const cells = cellsOf(state, Date.now())
  const cell = cells.find((each) =>
    chosen === undefined
      ? each.state === "broken"
      : each.from <= chosen.from && chosen.from <= each.to,
  )
  if (cell === undefined) return redraw(place)
  const [fault] = state.faults
  const shown =
    fault !== undefined && cell.state === "broken"
      ? around(fault)
      : { from: Math.max(cell.from, cell.to - 2), to: cell.to }
  const [first, last] = await Promise.all([
    linkedEntries(desk, recomputer, { from: cell.from, to: cell.from }),
    linkedEntries(desk, recomputer, shown),
  ])
  // Another cell was chosen meanwhile.
  if (!isWanted()) return
  const checked = state.checked.find(({ from, to }) => from <= cell.from && cell.to <= to)
  redraw(
    place,
    <section class="cell">
      <h2>
        {cell.from === cell.to
          ? numbered(cell.from)
          : `#${number(cell.from)} – #${number(cell.to)}`}
      </h2>
      <CellFacts cell={cell} first={first[0]?.entry} last={last.at(-1)?.entry} checked={checked} />
      <Links
        entries={last}
        entryHref={({ sequence }) =>
          desk.link(["events", String(sequence)], { includeSystem: true })
        }
      />
    </section>,
  )
}

interface CellFactsProps {
  readonly cell: Cell
  readonly first: ListedEntry | undefined
  readonly last: ListedEntry | undefined
  readonly checked: KnownChain["checked"][number] | undefined
}

function CellFacts({ cell, first, last, checked }: CellFactsProps) {
  return (
    <Facts
      rows={[
        [
          "Recorded",
          first && last && (
            <span>
              <Time at={first.timestamp} /> to <Time at={last.timestamp} />
            </span>
          ),
        ],
        ["Kept", cell.isArchived ? "in the archive" : "hot"],
        [
          "Read again",
          checked === undefined ? (
            "not since it was written"
          ) : (
            <span>
              <Time at={checked.checkedAt} />{" "}
              {checked.isHere ? "in this browser" : "or later, by the service"}
            </span>
          ),
        ],
        ["Hash of the last", last && <Hash of={last.hash} />],
      ]}
    />
  )
}
