// The history of one thing: everything it did and everything done to it, on one stick.

import { printable } from "@tallystick/proof"
import { elementOf, redraw } from "../../elements/elements.ts"
import { Copy } from "../../parts/copy.tsx"
import { Text } from "../../parts/text.tsx"
import { Tabs } from "../tabs.tsx"
import type { OpenView } from "../desk.ts"
import { createEntryList } from "../entry-list.tsx"
import { Name } from "../events/entry-line.tsx"
import { loadHistory, newestOf, personTypes, queryOf, sidesOf, type Thing } from "./both-sides.ts"

export const openThing: OpenView = (desk, { rest: [type = "", id = ""], query, isBack }) => {
  const thing: Thing = { type, id }
  const side = query.get("side")
  const within = queryOf(thing, side === "done" ? side : "did")
  const name = elementOf(<h1>{<Text of={id} />}</h1>)
  const list = createEntryList({
    desk,
    isBack,
    load: loadHistory(desk, thing, sidesOf(side)),
    nothing: (hasMore) => (
      <div class="nothing-found">
        <h2>{hasMore ? "Nothing found yet" : "Nothing recorded"}</h2>
        <p class="soft">
          {hasMore
            ? "The newest entries that name it are about others with its id or name."
            : "No entry that you may see has it as its actor or target."}
        </p>
      </div>
    ),
    changed({ all }) {
      const party = newestOf(thing, all)
      if (party !== undefined) redraw(name, <Name of={party} />)
    },
  })
  const isPerson = personTypes.includes(type)
  return {
    title: `History of ${printable(id)}`,
    node: (
      <div class="about">
        <header>
          {name}
          <p class="soft">
            <Text of={`${type} · ${id}`} in="code" /> <Copy text={id} label="Copy id" />
          </p>
          <Tabs
            label="Sides"
            tabs={[
              [null, "All"],
              ["did", `What ${isPerson ? "they" : "it"} did`],
              ["done", `What was done to ${isPerson ? "them" : "it"}`],
            ]}
            href={(to) => desk.link(["things", type, id], { side: to ?? "" })}
            current={side}
          >
            {isPerson && (
              <a class="plain" href={desk.link(["people", id])}>
                What is known of them
              </a>
            )}
            <a class="plain" href={desk.link(["events"], { query: within, range: "all" })}>
              Search these entries
            </a>
          </Tabs>
        </header>
        {list.node}
      </div>
    ),
    close: () => list.close(),
  }
}
