// The chain as a horizontal stick. Entries have a notch only if they were checked.

import type { ChainState } from "@tallystick/client/wire"
import { elementOf } from "../../elements/elements.ts"
import { number } from "../../parts/counted.ts"
import { cellsOf, cellSizeOf, type Cell, type CellState } from "./chain-verdict.ts"

const words: Readonly<Record<CellState, string>> = {
  verified: "verified",
  checking: "in progress",
  unchecked: "not checked",
  broken: "broken",
  after: "after the break, not proven",
}

interface MapProps {
  readonly state: ChainState
  readonly nowMs: number
  readonly cellHref: (cell: Cell) => string
}

/** On a narrow screen, more cells than these take two lines. */
const lineCellsMax = 22

export function ChainMap({ state, nowMs, cellHref }: MapProps) {
  const cells = cellsOf(state, nowMs)
  const each = cellSizeOf(state.size)
  const states = [...new Set(cells.map(keyOf))]
  const map = elementOf(
    <div class={cells.length > lineCellsMax ? "chain-map long" : "chain-map"}>
      <ol class="cells" aria-label="The whole chain">
        {cells.map((cell) => (
          <li class={keyOf(cell)}>
            <a href={cellHref(cell)} aria-label={nameOf(cell)} title={nameOf(cell)} />
            {cell.state === "broken" && <Crack />}
          </li>
        ))}
      </ol>
      <Scale cells={cells} />
      <ul class="cell-keys">
        {states.map((key) => (
          <li>
            <i class={`cell-key ${key}`} />
            {key
              .split(" ")
              .map((part) => (part === "archived" ? part : words[part as CellState])) // made by keyOf
              .join(", ")}
          </li>
        ))}
        <li class="quiet">
          {each === 1 ? "one cell, one entry" : `one cell, ${number(each)} entries`}
        </li>
      </ul>
    </div>,
  )
  map.style.setProperty("--half", String(Math.ceil(cells.length / 2)))
  return map
}

function scalePlaces(cells: readonly Cell[]): readonly Cell[] {
  const at = [0, 0.25, 0.5, 0.75].map((part) => cells[Math.ceil(part * cells.length)])
  return [...new Set(at)].filter((cell) => cell !== undefined)
}

function Scale({ cells }: { readonly cells: readonly Cell[] }) {
  const last = cells.at(-1)
  const places = cells.length < 8 ? cells.slice(0, 1) : scalePlaces(cells)
  return (
    <ol class="scale" aria-hidden="true">
      {places.map(({ from }) => (
        <li>#{number(from)}</li>
      ))}
      {last !== undefined && (
        <li>
          #{number(last.to)}
          <span>now</span>
        </li>
      )}
    </ol>
  )
}

function keyOf({ state, isArchived }: Cell): string {
  return isArchived ? `archived ${state}` : state
}

function nameOf({ from, to, state, isArchived }: Cell): string {
  const range = from === to ? `Entry ${number(from)}` : `Entries ${number(from)} to ${number(to)}`
  return `${range}: ${isArchived ? "archived, " : ""}${words[state]}`
}

function Crack() {
  return (
    <svg class="crack" viewBox="0 0 32 60" aria-hidden="true">
      <path class="gap" d="M13 0 18 12 11 24 19 36 12 48 16 60H22L18 48 25 36 17 24 24 12 19 0Z" />
      <path class="lip" d="M13 0 18 12 11 24 19 36 12 48 16 60" />
    </svg>
  )
}
