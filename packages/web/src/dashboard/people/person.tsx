// One person, in four steps. Each keeps its state while another is shown.

import { elementOf, redraw, type Child } from "../../elements/elements.ts"
import { Button, waiting } from "../../parts/button.tsx"
import { Copy } from "../../parts/copy.tsx"
import { Text } from "../../parts/text.tsx"
import { openActivityLink } from "../activity-link.tsx"
import { ConsentLookUp } from "../consents/look-up.tsx"
import { Tabs } from "../tabs.tsx"
import type { Desk } from "../desk.ts"
import { createEntryList, type EntryList } from "../entry-list.tsx"
import { Name } from "../events/entry-line.tsx"
import { loadHistory, newestOf, partiesOf, personTypes, sidesOf } from "../things/both-sides.ts"
import { Nobody } from "./nobody.tsx"
import { PackOfPerson } from "./pack-of-person.tsx"

const steps = {
  history: "History",
  consents: "Consents",
  link: "Link for them",
  pack: "Evidence pack",
} as const
type Step = keyof typeof steps
// They are the keys of the table.
const order = Object.keys(steps) as readonly Step[]

export function openPerson(desk: Desk, id: string) {
  const name = elementOf(<h1>{<Text of={id} />}</h1>)
  const nav = elementOf(<nav class="tabs" aria-label="Steps" />)
  const content = elementOf(<div class="step" />)
  const made = new Map<Step, Node>()
  let history: { readonly side: string | null; readonly list: EntryList } | undefined
  let reason = ""
  function openHistory(side: string | null, isBack?: boolean): Node {
    if (history === undefined || history.side !== side) {
      history?.list.close()
      history = { side, list: listOf(side, isBack) }
    }
    return (
      <>
        <Sides desk={desk} id={id} side={side} />
        {history.list.node}
      </>
    )
  }
  const listOf = (side: string | null, isBack?: boolean): EntryList =>
    createEntryList({
      desk,
      isBack,
      load: loadHistory(desk, { id }, sidesOf(side)),
      nothing: (hasMore) => <Nobody desk={desk} text={id} hasMore={hasMore} />,
      changed({ all }) {
        const party = newestOf({ id }, all)
        if (party !== undefined) redraw(name, <Name of={party} />)
      },
    })
  const openLink = (): Promise<void> => {
    const types = typesIn(history?.list, id)
    return openActivityLink(desk, { subject: id, types, note: reason })
  }
  const open: Readonly<Record<Exclude<Step, "history">, () => Node>> = {
    consents: () => (
      <>
        <h2>What they agreed to</h2>
        <ConsentLookUp desk={desk} subject={id} found={(why) => (reason = why)} />
      </>
    ),
    link: () => <LinkStep open={openLink} />,
    pack: () => <PackOfPerson desk={desk} id={id} />,
  }
  const nodeOf = (step: Exclude<Step, "history">): Node => {
    const node = made.get(step) ?? elementOf(<div>{open[step]()}</div>)
    made.set(step, node)
    return node
  }
  return {
    node: (
      <>
        <header>
          {name}
          <p class="soft">
            <Text of={id} in="code" /> <Copy text={id} label="Copy id" />{" "}
            <a class="plain" href={desk.link(["people"])}>
              Somebody else
            </a>
          </p>
          {nav}
        </header>
        {content}
      </>
    ),
    /** The state in the address: a step, and a side of the history. */
    show(query: URLSearchParams, isBack?: boolean): void {
      const asked = query.get("step")
      const step = order.find((each) => each === asked) ?? "history"
      redraw(nav, <Steps desk={desk} id={id} at={step} />)
      // In every step, the history has the person's name.
      const side = step === "history" ? query.get("side") : (history?.side ?? null)
      const entries = openHistory(side, isBack)
      redraw(content, step === "history" ? entries : nodeOf(step))
    },
    close: () => history?.list.close(),
  }
}

function Steps({ desk, id, at }: { readonly desk: Desk; readonly id: string; readonly at: Step }) {
  const href = (step: Step): string =>
    desk.link(["people", id], { step: step === "history" ? "" : step })
  const next = order[order.indexOf(at) + 1]
  return (
    <>
      {order.map((step, place): Child => (
        <a href={href(step)} aria-current={step === at ? "page" : undefined}>
          {place + 1} {steps[step]}
        </a>
      ))}
      {next !== undefined ? (
        <a class="plain" href={href(next)}>
          Next: {steps[next]}
        </a>
      ) : (
        desk.isAdmin && (
          <a class="plain" href={desk.link(["lifetime", "erasures"], { person: id })}>
            Next: Erase them
          </a>
        )
      )}
    </>
  )
}

function LinkStep({ open }: { readonly open: () => Promise<void> }) {
  return (
    <>
      <h2>A link with which they see it themselves</h2>
      <p class="soft">
        It opens a page that checks each entry in their browser. It shows what is meant for them,
        for as long as you say.
      </p>
      <p class="actions">
        <Button kind="main" onClick={waiting(open)}>
          Make a link
        </Button>
      </p>
    </>
  )
}

interface SidesProps {
  readonly desk: Desk
  readonly id: string
  readonly side: string | null
}

function Sides({ desk, id, side }: SidesProps) {
  return (
    <Tabs
      label="Sides"
      isSmall
      tabs={[
        [null, "All"],
        ["did", "As actor"],
        ["done", "As target"],
      ]}
      href={(to) => desk.link(["people", id], { side: to ?? "" })}
      current={side}
    />
  )
}

/** The usual types, and those in the loaded entries. */
function typesIn(list: EntryList | undefined, id: string): readonly string[] {
  const found = (list?.rows.all ?? []).flatMap(({ entry }) =>
    entry === undefined ? [] : partiesOf({ id }, entry).map(({ type }) => type ?? ""),
  )
  return [...new Set([...personTypes, ...found])].slice(0, 20)
}
