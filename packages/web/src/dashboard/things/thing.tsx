// The history of one thing: everything it did and everything done to it, on one stick.

import type { EventsPage, Party } from "@tallystick/client/wire"
import { printable } from "@tallystick/proof"
import { redraw } from "../../elements/redraw.ts"
import { counted } from "../../parts/counted.ts"
import { Copy } from "../../parts/copy.tsx"
import { announce, elementOf } from "../../parts/page.tsx"
import { Text } from "../../parts/text.tsx"
import { watchZone } from "../../parts/time.tsx"
import type { Desk, OpenView } from "../desk.ts"
import { createEntryTable } from "../events/entry-table.tsx"
import { Name } from "../events/entry-line.tsx"
import { startRecomputer } from "../events/recompute.ts"
import { createResults } from "../events/results.tsx"
import { createRows, type Rows } from "../events/rows.ts"
import { RecomputedSentence } from "../events/summary.tsx"
import { pageOfBoth, queryOf, type Side, type Thing } from "./both-sides.ts"
import "../../style/entries.css"
import "./thing.css"

const all = { projectId: "all", storage: "all", includeSystem: true } as const

export const openThing: OpenView = (desk, { rest: [type = "", id = ""], query }) => {
  const thing: Thing = { type, id }
  const side = query.get("side")
  const sides: readonly Side[] = side === "did" || side === "done" ? [side] : ["did", "done"]
  const recomputer = startRecomputer()
  const name = elementOf(<h1>{<Text of={id} />}</h1>)
  const summary = elementOf(<p class="summary" role="status" />)
  const table = createEntryTable({
    hrefOf: (sequence) => desk.link(["events", String(sequence)], { range: "all" }),
    open: (sequence) => desk.go(desk.link(["events", String(sequence)], { range: "all" })),
    older: () => {
      if (rows.hasMore && rows.refusal === undefined) void rows.older()
    },
    again: (sequence) => void rows.again(sequence),
  })
  const results = createResults({
    desk,
    table,
    nothing: () => (
      <div class="nothing-found">
        <h2>Nothing recorded</h2>
        <p class="soft">No entry that you may see has it as its actor or target.</p>
      </div>
    ),
    again: () => void rows.begin(),
  })
  const rows: Rows = createRows({
    load: (cursor, limit) =>
      pageOfBoth(thing, sides, (search) =>
        desk.get<EventsPage>(["events"], {
          ...all,
          query: search,
          cursor,
          limit,
          include: "proof",
        }),
      ),
    recompute: (entries) => recomputer.recompute(entries),
    changed: draw,
  })
  function draw(): void {
    const party = newest()
    if (party !== undefined) redraw(name, <Name of={party} />)
    redraw(summary, <>{rows.all.length > 0 && <RecomputedSentence rows={rows.all} />}</>)
    results.draw(rows, { open: undefined, waiting: 0 })
  }
  /** As it was called last. */
  function newest(): Party | undefined {
    for (const { entry } of rows.all) {
      const is = [entry?.actor, entry?.target].find((each) => each?.id === id && each.type === type)
      if (is?.name !== undefined || is?.email !== undefined) return is
    }
    return undefined
  }
  const unwatch = [watchZone(() => table.redraw()), desk.chain.watch(draw)]
  results.waiting()
  void rows.begin().then(() => announce(counted(rows.all.length, "entry", "entries")))
  return {
    title: `History of ${printable(id)}`,
    isWide: true,
    node: (
      <div class="thing">
        <header>
          {name}
          <Particulars thing={thing} />
          <Sides desk={desk} thing={thing} side={side} />
        </header>
        {summary}
        {results.node}
      </div>
    ),
    close() {
      recomputer.close()
      results.close()
      table.close()
      for (const stop of unwatch) stop()
    },
  }
}

function Particulars({ thing: { type, id } }: { readonly thing: Thing }) {
  return (
    <p class="soft">
      <code>
        <Text of={`${type} · ${id}`} />
      </code>{" "}
      <Copy text={id} label="Copy id" />
    </p>
  )
}

interface SidesProps {
  readonly desk: Desk
  readonly thing: Thing
  readonly side: string | null
}

function Sides({ desk, thing, side }: SidesProps) {
  const { type, id } = thing
  const tabs = [
    [null, "All"],
    ["did", "What it did"],
    ["done", "What was done to it"],
  ] as const
  const query = queryOf(thing, side === "done" ? side : "did")
  return (
    <nav class="tabs" aria-label="Sides">
      {tabs.map(([to, text]) => (
        <a
          href={desk.link(["things", type, id], { side: to ?? "" })}
          aria-current={side === to ? "page" : undefined}
        >
          {text}
        </a>
      ))}
      <a class="plain" href={desk.link(["events"], { query, range: "all" })}>
        Search within it
      </a>
    </nav>
  )
}
