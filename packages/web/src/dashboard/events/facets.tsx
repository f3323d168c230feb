// Filters with the number of entries that each would leave.

import type { ChainState, EventsPage, FieldValues } from "@tallystick/client/wire"
import type { Told } from "../../ask.ts"
import { elementOf, redraw } from "../../elements/elements.ts"
import { Button, IconButton } from "../../parts/button.tsx"
import { number } from "../../parts/counted.ts"
import { Fold } from "../../parts/fold.tsx"
import { RefusedLine } from "../../parts/form.tsx"
import { crossIcon } from "../../parts/icon.tsx"
import { LaneLetter } from "../../parts/lane.tsx"
import { Text } from "../../parts/text.tsx"
import type { Desk } from "../desk.ts"
import type { NameOf } from "./actor-names.ts"
import {
  chipsOf,
  filterOf,
  lanes,
  termText,
  withoutField,
  withoutTerm,
  withTerm,
  type Asked,
} from "./asked.ts"
import { forgetSearch, savedSearches, saveSearch } from "./kept-searches.ts"

interface FacetsParts {
  readonly desk: Desk
  readonly search: (text: string) => void
  readonly withSystem: (isWanted: boolean) => void
  /** The name of an actor, if a loaded row has it. */
  readonly nameOf: NameOf
}

type Value = FieldValues["values"][number]

const fields = [
  { field: "lane", name: "Lane", isOpen: true },
  { field: "project", name: "Project", isOpen: true },
  { field: "actor", name: "Actor", isOpen: true },
  { field: "source", name: "Source", isOpen: false },
  { field: "kind", name: "Kind", isOpen: false },
  { field: "storage", name: "Storage", isOpen: false },
] as const
const shownMax = 6

export function createFacets({ desk, search, withSystem, nameOf }: FacetsParts) {
  const node = elementOf(<aside class="facets" id="facets" aria-label="Filters" />)
  const chain = elementOf(<div />)
  const saved = elementOf(<div />)
  let asked: Asked | undefined
  let at = new Date()
  let round = 0
  const facets = fields.map(({ field, name, isOpen }) => {
    const place = elementOf(<div />)
    const fold = elementOf(
      <Fold id={`facet-${field}`} title={name} open={isOpen}>
        {place}
      </Fold>,
    )
    let counted = -1
    const look = async (): Promise<void> => {
      if (!fold.hasAttribute("open") || asked === undefined || counted === round) return
      const wanted = (counted = round)
      const told = await valuesOf(desk, field, asked, at)
      if (wanted !== round) return
      if (told.ok)
        drawValues(place, field === "actor" ? nameOf : undefined, field, told.value, asked, search)
      else {
        counted = -1
        redraw(place, <RefusedLine refusal={told.refusal} retry={() => void look()} />)
      }
    }
    fold.addEventListener("toggle", () => void look())
    return { fold, look }
  })
  const system = document.createElement("input")
  system.type = "checkbox"
  system.addEventListener("change", () => withSystem(system.checked))
  node.append(
    <header class="slim-only">
      <h2>Filters</h2>
      <IconButton icon={crossIcon} label="Close filters" onClick={() => node.hidePopover()} />
    </header>,
    ...facets.map(({ fold }) => fold),
    <Fold id="facet-integrity" title="Integrity" beside="of the whole ledger" open>
      {chain}
      <label>
        {system} <span>the ledger's own entries</span>
      </label>
    </Fold>,
    <Fold id="facet-saved" title="Saved searches">
      {saved}
    </Fold>,
  )
  const drawSaved = (): void =>
    redraw(saved, <Saved now={asked?.text ?? ""} search={search} changed={drawSaved} />)
  /** One request after the other, so that rows do not wait for counts. */
  const countAll = async (): Promise<void> => {
    const mine = ++round
    for (const { look } of facets) if (mine === round) await look()
  }
  return {
    node,
    show(next: Asked, now: Date): void {
      asked = next
      at = now
      system.checked = next.withSystem
      drawSaved()
      void countAll()
    },
    showChain: (state: ChainState) =>
      redraw(chain, <ChainCounts of={state} href={desk.link(["chain"])} />),
  }
}

/** Counted without the terms of the field itself, so that the other choices are shown. */
async function valuesOf(
  desk: Desk,
  field: string,
  asked: Asked,
  now: Date,
): Promise<Told<readonly Value[]>> {
  const filter = filterOf({ ...asked, text: withoutField(asked.text, field) }, now)
  if (field !== "storage") {
    const told = await desk.get<FieldValues>(["events", "values"], { ...filter, field, limit: 20 })
    return told.ok ? { ok: true, value: told.value.values } : told
  }
  const found: Value[] = []
  for (const storage of ["hot", "archive"]) {
    const told = await desk.get<EventsPage>(["events"], { ...filter, storage, limit: 1 })
    if (!told.ok) return told
    found.push({ value: storage, count: told.value.total })
  }
  return { ok: true, value: found }
}

function drawValues(
  place: Element,
  nameOf: NameOf | undefined,
  field: string,
  found: readonly Value[],
  asked: Asked,
  search: (text: string) => void,
): void {
  const chosen = chipsOf(asked.text).filter((chip) => chip.field === field && !chip.isNot)
  const counts = new Map(found.map(({ value, count }) => [value, count]))
  // Lanes are always shown, in their order, and so are chosen values.
  const first = field === "lane" ? lanes : found.slice(0, shownMax).map(({ value }) => value)
  const values = [...new Set([...first, ...chosen.map(({ value }) => value.toLowerCase())])]
  const more = field === "lane" ? 0 : found.length - first.length
  redraw(
    place,
    <>
      {values.map((value) => {
        const chip = chosen.find((each) => each.value.toLowerCase() === value)
        const turn = (): void =>
          search(
            chip === undefined
              ? withTerm(asked.text, termText(field, value))
              : withoutTerm(asked.text, chip.text),
          )
        return (
          <label>
            <input
              type="checkbox"
              id={`facet-${field}-${value}`}
              checked={chip !== undefined}
              onChange={turn}
            />
            {field === "lane" && <LaneLetter of={value} />}
            <span class="cut" title={nameOf?.(value) && value}>
              <Text of={nameOf?.(value) ?? value} />
            </span>
            <data value={counts.get(value) ?? 0}>{number(counts.get(value) ?? 0)}</data>
          </label>
        )
      })}
    </>,
    <>
      {values.length === 0 && <p class="quiet small">None</p>}
      {more > 0 && (
        <p class="quiet small">
          {found.length === 20 ? "and more" : `and ${more} more`}: type <code>{field}:</code>
        </p>
      )}
    </>,
  )
}

interface ChainCountsProps {
  readonly of: ChainState
  readonly href: string
}

/** Values for the whole chain, which no search names. */
function ChainCounts({ of: { size, pending, archived, faults }, href }: ChainCountsProps) {
  const rows: readonly (readonly [name: string, count: number])[] = [
    ["sealed", size - pending],
    ["pending", pending],
    ["archived", archived],
    ["broken", faults.length],
  ]
  return (
    <>
      {rows.map(([name, count]) => (
        <p class={name === "broken" && count > 0 ? "counted broken" : "counted"}>
          {name === "broken" && count > 0 ? <a href={href}>broken</a> : <span>{name}</span>}
          <data value={count}>{number(count)}</data>
        </p>
      ))}
    </>
  )
}

interface SavedProps {
  readonly now: string
  readonly search: (text: string) => void
  readonly changed: () => void
}

function Saved({ now, search, changed }: SavedProps) {
  const saved = savedSearches.get()
  return (
    <>
      {saved.map((text) => (
        <p class="saved">
          <button type="button" class="plain cut" onClick={() => search(text)}>
            <Text of={text} />
          </button>
          <IconButton
            icon={crossIcon}
            label={`Forget ${text}`}
            onClick={() => {
              forgetSearch(text)
              changed()
            }}
          />
        </p>
      ))}
      {now !== "" && !saved.includes(now) && (
        <Button
          onClick={() => {
            saveSearch(now)
            changed()
          }}
        >
          Save this search
        </Button>
      )}
      {now === "" && saved.length === 0 && (
        <p class="quiet small">Search for something, and keep it here.</p>
      )}
    </>
  )
}
