import { ask } from "../../ask.ts"
import { CopyCurl } from "../../parts/copy.tsx"
import { openDialog } from "../../parts/dialog.tsx"
import { RefusedLine } from "../../parts/form.tsx"
import { Menu } from "../../parts/menu.tsx"
import type { Desk } from "../desk.ts"
import { endpointUrl, type Query } from "../place.ts"
import { addressOf, type Asked } from "./asked.ts"

interface ExportProps {
  readonly desk: Desk
  readonly filter: () => Query
  readonly asked: () => Asked
}

const formats = [
  ["jsonl", "JSON, a line for each entry"],
  ["csv", "CSV"],
  ["parquet", "Parquet"],
] as const

export function ExportMenu({ desk, filter, asked }: ExportProps) {
  const urlOf = (path: readonly string[], more: Query = {}): URL =>
    endpointUrl(desk.workspace, path, { ...filter(), ...more })
  return (
    <Menu id="export" label="Export" buttonClass="button export-button wide-only">
      {formats.map(([format, text]) => (
        <button
          type="button"
          onClick={() => void download(desk, urlOf(["events", "export"], { format }))}
        >
          {text}
        </button>
      ))}
      <CopyCurl url={() => urlOf(["events"]).href} />
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

/** The answer to HEAD names none. */
const reasons: Readonly<Record<number, string>> = {
  403: "you may not export here",
  429: "there were too many requests: wait a minute",
  503: "the service cannot do it now: try again in a while",
}

/** The browser writes it to the disk as it comes. The ledger records it before the first byte. */
async function download({ inSession, working }: Desk, url: URL): Promise<void> {
  // Asked first, because a refusal would become the file.
  working(true)
  const answer = await inSession(() => ask(url, { method: "HEAD" }))
  working(false)
  if (!answer.ok) {
    const { refusal } = answer
    const detail = reasons[refusal.status] ?? refusal.detail
    return openDialog("Nothing was exported", () => (
      <RefusedLine refusal={{ ...refusal, detail }} />
    ))
  }
  const link = document.createElement("a")
  link.href = url.href
  link.download = ""
  link.click()
}
