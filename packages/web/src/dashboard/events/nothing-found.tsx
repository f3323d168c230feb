// Says why the list is empty: nothing matches, or all matches are outside the range.

import type { EventsFeed } from "@tallystick/client/wire"
import { elementOf, redraw } from "../../elements/elements.ts"
import { Button } from "../../parts/button.tsx"
import { Text } from "../../parts/text.tsx"
import { Time } from "../../parts/time.tsx"
import type { Desk } from "../desk.ts"
import { boundsOf, chipsOf, filterOf, withoutTerm, type Asked } from "./asked.ts"

interface NothingParts {
  readonly desk: Desk
  readonly asked: Asked
  readonly change: (asked: Asked) => void
  /** Whether nothing was ever recorded. */
  readonly firstRun: () => void
}

export function nothingFound({ desk, asked, change, firstRun }: NothingParts): HTMLElement {
  const chips = chipsOf(asked.text)
  const outside = elementOf(<div />)
  const clear = (text: string): void => change({ ...asked, text })
  void look()
  return elementOf(
    <div class="nothing-found">
      <h2>{chips.length === 0 ? "Nothing in this time" : "Nothing matches"}</h2>
      {chips.length > 0 && (
        <p class="actions">
          {chips.map(({ text }) => (
            <Button onClick={() => clear(withoutTerm(asked.text, text))}>
              Clear <code>{<Text of={text} />}</code>
            </Button>
          ))}
          {chips.length > 1 && <Button onClick={() => clear("")}>Clear all</Button>}
        </p>
      )}
      {outside}
    </div>,
  )

  /** The same search without its range: its oldest entry, if there is one. */
  async function look(): Promise<void> {
    const isBounded = Object.keys(boundsOf(asked.range, new Date())).length > 0
    if (!isBounded && asked.text !== "") return
    const everything: Asked = { ...asked, range: { since: "all" } }
    const filter = filterOf(everything, new Date())
    const told = await desk.get<EventsFeed>(["events", "feed"], { ...filter, after: 0, limit: 1 })
    const oldest = told.ok ? told.value.events[0] : undefined
    if (oldest === undefined) return told.ok && asked.text === "" ? firstRun() : undefined
    redraw(
      outside,
      <p class="soft">
        Outside your range there are entries. The oldest is of{" "}
        <Time at={oldest.occurredAt} form="date" />.{" "}
        <Button kind="plain" onClick={() => change(everything)}>
          Show
        </Button>
      </p>,
    )
  }
}
