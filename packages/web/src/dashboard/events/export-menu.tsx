// What is found, as a file: page by page, with a count, until it is done or given up.

import type { EventsPage, ListedEntry } from "@tallystick/client/wire"
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
import { searchOf, type Query } from "../place.ts"
import { addressOf, type Asked } from "./asked.ts"
import { csvHeader, csvRow } from "./csv.ts"

interface ExportProps {
  readonly desk: Desk
  readonly filter: () => Query
  readonly asked: () => Asked
  readonly total: () => number
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

function openExport({ desk, filter, total }: ExportProps, format: Format): void {
  const over = new AbortController()
  const place = elementOf(<div />)
  const progress = document.createElement("progress")
  progress.setAttribute("aria-label", "Progress")
  progress.max = Math.max(1, total())
  const asks = filter()
  openDialog(`Export as ${format === "csv" ? "CSV" : "JSON lines"}`, (close) => {
    place.append(
      <p class="soft">
        What is found now, newest first. Nothing leaves this browser but to your disk.
      </p>,
      progress,
      <p class="small" id="export-count" role="status" />,
      <p class="actions">
        <button type="button" class="button" onClick={close}>
          Cancel
        </button>
      </p>,
    )
    void run(close)
    return place
  })
  place.closest("dialog")?.addEventListener("close", () => over.abort())

  async function run(close: () => void): Promise<void> {
    const { type, begin, line } = kinds[format]
    const parts: Blob[] = [new Blob([begin])]
    let cursor = 0
    let count = 0
    for (;;) {
      const told = await desk
        .get<EventsPage>(["events"], { ...asks, cursor, limit: 100 }, over.signal)
        .catch(() => undefined)
      if (told === undefined || over.signal.aborted) return
      if (!told.ok) return redraw(place, <RefusedLine refusal={told.refusal} />)
      const { events, nextCursor, hasMore } = told.value
      // Of a long export the browser keeps the pieces where it has room for them.
      parts.push(new Blob(events.map(line)))
      count += events.length
      progress.value = count
      const said = document.getElementById("export-count")
      if (said !== null) said.textContent = counted(count, "entry", "entries")
      if (!hasMore) break
      cursor = nextCursor
    }
    save(`${desk.workspace}-entries.${format}`, new Blob(parts, { type }), type)
    close()
  }
}
