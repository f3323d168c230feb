// What is found, as a file: page by page, with a count, until it is done or given up.

import type { EventsExport, EventsPage, ListedEntry } from "@tallystick/client/wire"
import type { Refusal } from "../../ask.ts"
import { redraw } from "../../elements/redraw.ts"
import { CopyCurl } from "../../parts/curl.tsx"
import { counted } from "../../parts/counted.ts"
import { openDialog } from "../../parts/dialog.tsx"
import { RefusedLine } from "../../parts/form.tsx"
import { Menu } from "../../parts/menu.tsx"
import { elementOf } from "../../parts/page.tsx"
import { apiUrl } from "../../place.ts"
import { save } from "../../save.ts"
import type { Desk } from "../desk.ts"
import { given, searchOf, type Query } from "../place.ts"
import { addressOf, type Asked } from "./asked.ts"
import { csvHeader, csvRow } from "./csv.ts"

interface ExportProps {
  readonly desk: Desk
  readonly filter: () => Query
  readonly asked: () => Asked
}

export function ExportMenu(props: ExportProps) {
  const { desk, filter, asked } = props
  const url = (): string => {
    const address = apiUrl(desk.workspace, "events")
    address.search = searchOf(filter()).toString()
    return address.href
  }
  return (
    <Menu id="export" label="Export" buttonClass="button export-button wide-only">
      <button type="button" onClick={() => openExport(props, "jsonl")}>
        JSON, a line for each entry
      </button>
      <button type="button" onClick={() => openExport(props, "csv")}>
        CSV
      </button>
      <CopyCurl url={url} />
      <button
        type="button"
        class="apart"
        onClick={() => desk.go(desk.link(["packs"], { ...addressOf(asked()), new: 1 }))}
      >
        Evidence pack of it …
      </button>
    </Menu>
  )
}

export function openExportMenu(): void {
  document.querySelector<HTMLElement>(".export-button")?.click()
  document.querySelector<HTMLElement>("#export button")?.focus()
}

type Format = "jsonl" | "csv"

const kinds = {
  jsonl: {
    type: "application/x-ndjson",
    begin: "",
    line: (entry: ListedEntry) => `${JSON.stringify(entry)}\n`,
  },
  csv: { type: "text/csv", begin: csvHeader, line: csvRow },
} as const

/** The ledger records it first: without that nothing is exported. */
function openExport({ desk, filter }: ExportProps, format: Format): void {
  const over = new AbortController()
  const place = elementOf(<div />)
  openDialog(`Export as ${format === "csv" ? "CSV" : "JSON lines"}`, (close) => {
    void run(close)
    return place
  })
  place.closest("dialog")?.addEventListener("close", () => over.abort())

  async function run(close: () => void): Promise<void> {
    const asks = filter()
    const shown = showProgress(place, close)
    const recorded = await desk.send<EventsExport>("POST", ["events", "exports"], {
      filter: given(asks),
      format,
    })
    if (over.signal.aborted) return
    const refuse = (refusal: Refusal): void => redraw(place, <RefusedLine refusal={refusal} />)
    if (!recorded.ok) return refuse(recorded.refusal)
    shown.begin(recorded.value.entries)
    const { type, begin, line } = kinds[format]
    const parts: Blob[] = [new Blob([begin])]
    let cursor = 0
    for (let count = 0; ;) {
      const told = await desk
        .get<EventsPage>(["events"], { ...asks, cursor, limit: 100 }, over.signal)
        .catch(() => undefined)
      if (told === undefined || over.signal.aborted) return
      if (!told.ok) return refuse(told.refusal)
      const { events, nextCursor, hasMore } = told.value
      // Of a long export the browser keeps the pieces where it has room for them.
      parts.push(new Blob(events.map(line)))
      count += events.length
      shown.count(count)
      if (!hasMore) break
      cursor = nextCursor
    }
    save(`${desk.workspace}-entries.${format}`, new Blob(parts, { type }), type)
    close()
  }
}

function showProgress(place: Element, cancel: () => void) {
  const progress = document.createElement("progress")
  progress.setAttribute("aria-label", "Progress")
  const said = elementOf(<p class="small" role="status" />)
  redraw(
    place,
    <p class="soft">
      What is found now, newest first. It goes to your disk and nowhere else, and the ledger records
      that you exported it.
    </p>,
    progress,
    said,
    <p class="actions">
      <button type="button" class="button" onClick={cancel}>
        Cancel
      </button>
    </p>,
  )
  return {
    begin: (entries: number): void => void (progress.max = Math.max(1, entries)),
    count(entries: number): void {
      progress.value = entries
      said.textContent = counted(entries, "entry", "entries")
    },
  }
}
