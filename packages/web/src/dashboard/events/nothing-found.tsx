// Says why the list is empty: nothing matches, or only a wider search does.

import type { EventsFeed } from "@tallystick/client/wire"
import { elementOf, redraw } from "../../elements/elements.ts"
import { Button } from "../../parts/button.tsx"
import { Text } from "../../parts/text.tsx"
import { Time } from "../../parts/time.tsx"
import type { Desk } from "../desk.ts"
import { boundsOf, chipsOf, filterOf, withoutTerm, type Asked, type Chip } from "./asked.ts"

interface NothingParts {
  readonly desk: Desk
  readonly asked: Asked
  readonly change: (asked: Asked) => void
  /** Called if nothing was ever recorded. */
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

  /** Offers the first wider search that finds something. */
  async function look(): Promise<void> {
    for (const [where, wider] of widerThan(asked)) {
      const filter = filterOf(wider, new Date())
      const told = await desk.get<EventsFeed>(["events", "feed"], { ...filter, after: 0, limit: 1 })
      if (!told.ok) return
      const [oldest] = told.value.events
      if (oldest === undefined && asked.text === "") return firstRun()
      if (oldest === undefined) continue
      return redraw(
        outside,
        <p class="soft">
          There are {chips.length === 0 ? "entries" : "matches"} {where}, the oldest of{" "}
          <Time at={oldest.occurredAt} form="date" />.{" "}
          <Button kind="plain" onClick={() => change(wider)}>
            Show them
          </Button>
        </p>,
      )
    }
  }
}

function widerThan(asked: Asked): readonly (readonly [where: string, wider: Asked])[] {
  const everything: Asked = { ...asked, range: { since: "all" } }
  const isBounded = Object.keys(boundsOf(asked.range, new Date())).length > 0
  const begun = chipsOf(asked.text)
    .map((chip) => (mayGoOn(chip) ? `${chip.text}*` : chip.text))
    .join(" ")
  return [
    ...(isBounded || asked.text === "" ? [["outside this time", everything] as const] : []),
    ...(begun.includes("*")
      ? [["of words that begin so", { ...everything, text: begun }] as const]
      : []),
    ["among the ledger's own entries", { ...everything, withSystem: true }],
  ]
}

/** A word that is found whole, and not as the beginning of another one. */
function mayGoOn({ text, field = "text", isNot }: Chip): boolean {
  return !isNot && /^[^"*]+$/.test(text) && ["text", "actor", "action", "target"].includes(field)
}
