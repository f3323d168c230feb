import { Icon, filterIcon } from "../../parts/icon.tsx"
import { Notch } from "../../parts/lane.tsx"
import { lanes } from "./asked.ts"
import type { Controls } from "./explorer-controls.tsx"
import type { List } from "./explorer-list.tsx"

export function ExplorerFrame(props: Controls["nodes"] & List["nodes"]) {
  const { search, range, live, exports, summary, timeline, openTable, facets, results, marks } =
    props
  return (
    <div class="explorer">
      <h1 class="unseen">Events</h1>
      <div class="find">
        {search}
        <button type="button" class="button slim-filters" popovertarget="facets">
          <Icon of={filterIcon} /> Filters
        </button>
        {range}
        {live}
        {exports}
      </div>
      <section class="over-time" aria-label="Over time">
        <div class="summary-line">
          {summary}
          <LaneKeys />
          <button type="button" class="plain wide-only" onClick={openTable}>
            Show as table
          </button>
        </div>
        {timeline}
      </section>
      {facets}
      {results}
      {marks}
    </div>
  )
}

function LaneKeys() {
  return (
    <span class="lane-keys">
      {lanes.map((lane) => (
        <span class="lane-key">
          <Notch lane={lane} state="sealed" /> {lane}
        </span>
      ))}
    </span>
  )
}

/** On a narrow page the filters are a sheet that a button opens. */
export function placeFilters(facets: HTMLElement, signal: AbortSignal): void {
  const narrow = matchMedia("(max-width: 959px)")
  const place = (): void => {
    if (narrow.matches) facets.setAttribute("popover", "auto")
    else facets.removeAttribute("popover")
  }
  narrow.addEventListener("change", place, { signal })
  place()
}
