// Entries that an entry names, and those that name it, loaded when the list is opened.

import type { EventsPage, ListedEntry } from "@tallystick/client/wire"
import { askedTogether } from "../../ask.ts"
import { elementOf } from "../../elements/elements.ts"
import { number } from "../../parts/counted.ts"
import { Fold } from "../../parts/fold.tsx"
import { showTold } from "../../parts/show-told.tsx"
import { Text } from "../../parts/text.tsx"
import { Time } from "../../parts/time.tsx"
import { wholeChain, type Desk } from "../desk.ts"
import { goneText, timeOf } from "./gone-content.ts"

const shownMax = 20

export function related(
  entry: ListedEntry,
  desk: Desk,
  entryHref: (sequence: number) => string,
): Node {
  const place = elementOf(<div class="related" />)
  const named = receiptsIn(entry)
  const fold = elementOf(
    <Fold id="related" title="Related receipts" beside={named.length || undefined}>
      {place}
    </Fold>,
  )
  const look = () => {
    const query = named.map((receipt) => `receipt:${receipt}`).join(" ")
    const search = (text: string) =>
      desk.get<EventsPage>(["events"], { ...wholeChain, limit: shownMax, query: text })
    return askedTogether([...(query === "" ? [] : [query]), `"${entry.receipt}"`].map(search))
  }
  const draw = (pages: readonly EventsPage[]) => {
    const found = pages.flatMap(({ events }) => events)
    const others = found.filter(({ sequence }) => sequence !== entry.sequence)
    return <List of={others} entryHref={entryHref} />
  }
  fold.addEventListener("toggle", () => {
    if (fold.hasAttribute("open") && place.childElementCount === 0) void showTold(place, look, draw)
  })
  return fold
}

function receiptsIn({ metadata: { relatedReceiptIds } }: ListedEntry): readonly string[] {
  if (!Array.isArray(relatedReceiptIds)) return []
  return (relatedReceiptIds as readonly unknown[])
    .filter((receipt) => typeof receipt === "string" && /^rcp_\w+$/.test(receipt))
    .slice(0, 8) as readonly string[] // each is one, as just seen
}

interface ListProps {
  readonly of: readonly ListedEntry[]
  readonly entryHref: (sequence: number) => string
}

function List({ of: entries, entryHref }: ListProps) {
  if (entries.length === 0)
    return <p class="quiet small">It names no other entry, and none names it.</p>
  return (
    <ul class="small">
      {entries.map((entry) => (
        <li>
          <a href={entryHref(entry.sequence)}>#{number(entry.sequence)}</a>{" "}
          <Text of={goneText(entry) ?? entry.action} in="code" />{" "}
          <span class="quiet">
            <Time at={timeOf(entry)} form="minute" />
          </span>
        </li>
      ))}
    </ul>
  )
}
