// Evidence packs: fixed sets of entries for people outside.

import type { EventsPage, Pack, PackList } from "@tallystick/client/wire"
import { elementOf } from "../../elements/elements.ts"
import { Copy } from "../../parts/copy.tsx"
import { counted, number } from "../../parts/counted.ts"
import { openForm } from "../../parts/dialog.tsx"
import { Field, textIn } from "../../parts/form.tsx"
import { Hash } from "../../parts/hash.tsx"
import { announce } from "../../parts/page.tsx"
import { Below, type Column } from "../../parts/table.tsx"
import { Text } from "../../parts/text.tsx"
import { thisMinute, timeIn, timeInField, zoneHint } from "../../parts/time-field.ts"
import { Time } from "../../parts/time.tsx"
import type { Desk, OpenView } from "../desk.ts"
import { listedTable } from "../listed-table.tsx"
import { clearMarks, markedIn } from "../marked.ts"
import { askedIn, boundsOf, filterOf, type Asked } from "../events/asked.ts"
import { given, type Place, type Query } from "../place.ts"
import { HandOut } from "./hand-out.tsx"
import { openPack } from "./pack.tsx"

const everything: Asked = { text: "", range: { since: "all" }, withSystem: false }

/** If the pack in the address changes, the view is opened again. */
export const openPacks: OpenView = (desk, place) => {
  const [packId] = place.rest
  if (packId !== undefined) return openPack(desk, packId, place)
  const list = listedTable(desk, {
    path: ["evidence-packs"],
    itemsOf: ({ packs }: PackList) => packs,
    columns: () => columns(desk),
    textOf: ({ title, packId }) => `${title} ${packId}`,
    empty:
      "There is none yet. A pack holds entries with their proofs, the policies that they " +
      "name, and a verifier that opens without a network.",
    add: {
      name: "New pack",
      open: (reload) => openNewPack(desk, reload, wantedIn(desk, place) ?? { asked: everything }),
    },
  })
  const wanted = wantedIn(desk, place)
  if (wanted !== undefined) {
    // A reload does not begin it again.
    history.replaceState(null, "", desk.link(["packs"]))
    queueMicrotask(() => openNewPack(desk, () => list.reload(), wanted))
  }
  return {
    title: "Packs",
    node: (
      <section class="top">
        <h1>Evidence packs</h1>
        <p class="lead soft">
          Entries that somebody else can check without this service, and without believing it. A
          pack is fixed for ever: every download is the same bytes, and is recorded.
        </p>
        {list.node}
      </section>
    ),
  }
}

/** The contents of a pack: marked rows, or the matches of a search. */
type Wanted = { readonly receiptIds: readonly string[] } | { readonly asked: Asked }

/** `new`: the dialog opens at once, with the search of the page that led here. */
function wantedIn(desk: Desk, { query }: Place): Wanted | undefined {
  if (query.has("marked")) {
    const receiptIds = markedIn(desk).map(({ receipt }) => receipt)
    if (receiptIds.length > 0) return { receiptIds }
  }
  return query.has("new") ? { asked: askedIn(query) } : undefined
}

function columns(desk: Desk): readonly Column<Pack>[] {
  return [
    {
      name: "Pack",
      isPlain: true,
      draw: ({ title, packId }) => (
        <>
          <Text of={title} in="a" href={desk.link(["packs", packId])} />
          <Below>
            <Text of={packId} in="code" />
          </Below>
        </>
      ),
    },
    { name: "Entries", draw: ({ receiptCount }) => number(receiptCount) },
    { name: "Made", draw: ({ createdAt }) => <Time at={createdAt} form="date" /> },
    {
      name: "Its hash",
      draw: ({ packHash }) => (
        <span class="short-hash">
          <Hash of={packHash} short /> <Copy text={packHash} label="Copy hash" />
        </span>
      ),
    },
    { name: "Hand out", isEnd: true, draw: (pack) => <HandOut desk={desk} pack={pack} /> },
  ]
}

function openNewPack(desk: Desk, made: () => void, wanted: Wanted): void {
  openForm({
    title: "New evidence pack",
    action: "Make the pack",
    submit: (values) =>
      desk.send<Pack>("POST", ["evidence-packs"], {
        title: textIn(values, "title"),
        ...("receiptIds" in wanted ? wanted : { filter: given(filterIn(values, wanted.asked)) }),
      }),
    done({ receiptCount }) {
      if ("receiptIds" in wanted) clearMarks(desk)
      made()
      announce(`The pack with ${counted(receiptCount, "entry", "entries")} is made`)
    },
    children: (
      <>
        <Field name="title" label="Title" placeholder="Q3 access review" maxLength={200} />
        {"receiptIds" in wanted ? (
          <p>{counted(wanted.receiptIds.length, "marked entry", "marked entries")}.</p>
        ) : (
          <SearchFields desk={desk} asked={wanted.asked} />
        )}
      </>
    ),
  })
}

/** With the number of entries that they find. */
function SearchFields({ desk, asked }: { readonly desk: Desk; readonly asked: Asked }) {
  const { from, to } = boundsOf(asked.range, thisMinute())
  const count = elementOf(<p class="soft small" role="status" />)
  let counting: object | undefined
  const countEntries = async (): Promise<void> => {
    const form = count.closest("form")
    if (form === null) return
    const mine = (counting = {})
    const query = { ...filterIn(new FormData(form), asked), limit: 1 }
    const told = await desk.get<EventsPage>(["events"], query)
    // The search was changed meanwhile.
    if (counting !== mine) return
    count.textContent = told.ok
      ? `${counted(told.value.total, "entry", "entries")} now; a pack holds up to 10,000.`
      : `${told.refusal.detail}.`
  }
  const fields = (
    <div class="form">
      <Field
        name="query"
        label="Search"
        isMono
        optional
        value={asked.text}
        placeholder="actor:usr_12 lane:security"
      />
      <div class="form-pair">
        <Field name="from" label="From" type="datetime-local" optional value={timeInField(from)} />
        <Field
          name="to"
          label="To"
          type="datetime-local"
          optional
          value={timeInField(to)}
          hint={zoneHint()}
        />
      </div>
      {count}
    </div>
  )
  fields.addEventListener("change", () => void countEntries())
  queueMicrotask(() => void countEntries())
  return fields
}

/** In the form of the list of entries; includes the archive. */
function filterIn(values: FormData, { withSystem }: Asked): Query {
  const range = { from: timeIn(values, "from"), to: timeIn(values, "to") }
  return filterOf({ text: textIn(values, "query") ?? "", range, withSystem }, new Date())
}
