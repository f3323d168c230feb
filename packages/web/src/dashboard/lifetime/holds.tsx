// Holds: entries under a hold neither expire nor are erased.

import type { Hold, HoldList, NewHold } from "@tallystick/client/wire"
import { elementOf, redraw } from "../../elements/elements.ts"
import { Button } from "../../parts/button.tsx"
import { counted } from "../../parts/counted.ts"
import { openForm } from "../../parts/dialog.tsx"
import { Choice, Field, textIn } from "../../parts/form.tsx"
import { announce } from "../../parts/page.tsx"
import { Below, type Column } from "../../parts/table.tsx"
import { Text, Unseen } from "../../parts/text.tsx"
import { Time } from "../../parts/time.tsx"
import { Made } from "../access/made.tsx"
import type { Desk, Part } from "../desk.ts"
import { listedTable } from "../listed-table.tsx"

export function holdsPart(desk: Desk): Part {
  const list = listedTable(desk, {
    path: ["holds"],
    itemsOf: ({ holds }: HoldList) => holds,
    columns: (reload) => columns(desk, reload),
    isOver: ({ state }) => state !== "active",
    textOf: ({ name, reason, subject, filter, receiptIds = [] }) =>
      [name, reason, subject?.id, filter?.query, ...receiptIds].join(" "),
    empty: "Nothing is held: rules and erasures apply to everything.",
    add: { name: "Place a hold", open: (reload) => openNewHold(desk, reload) },
  })
  return {
    node: (
      <>
        <p class="soft">
          What a hold covers neither expires nor is erased until the hold is released. An erasure
          that it stops is carried out then.
        </p>
        {list.node}
      </>
    ),
  }
}

function columns(desk: Desk, changed: () => void): readonly Column<Hold>[] {
  return [
    {
      name: "Hold",
      isPlain: true,
      draw: ({ name, reason }) => (
        <>
          <Text of={name} in="b" />
          <Below of={reason} />
        </>
      ),
    },
    { name: "Covers", draw: (hold) => <Covered desk={desk} of={hold} /> },
    { name: "Placed", draw: ({ createdAt, createdBy }) => <Made at={createdAt} by={createdBy} /> },
    {
      name: "Release",
      isEnd: true,
      draw: (hold) =>
        hold.state === "active" ? (
          <Button kind="plain" onClick={() => openRelease(desk, hold, changed)}>
            Release
            <Unseen of={hold.name} />
          </Button>
        ) : (
          <Released of={hold} />
        ),
    },
  ]
}

function Released({ of: { releasedAt, releaseReason } }: { readonly of: Hold }) {
  return (
    <span>
      released {releasedAt !== undefined && <Time at={releasedAt} form="date" />}
      {releaseReason !== undefined && <Below of={releaseReason} />}
    </span>
  )
}

function Covered({ desk, of }: { readonly desk: Desk; readonly of: Hold }) {
  const { filter, subject, receiptIds } = of
  if (subject !== undefined)
    return (
      <>
        about <Text of={subject.id} in="a" href={desk.link(["people", subject.id])} />
      </>
    )
  if (receiptIds !== undefined) return <>{counted(receiptIds.length, "receipt", "receipts")}</>
  const { query = "", projectId = "all", lane = "all", ...others } = filter ?? {}
  const shown = [
    query,
    ...(projectId === "all" ? [] : [`project:${projectId}`]),
    ...(lane === "all" ? [] : [`lane:${lane}`]),
    ...Object.entries(others).map(([name, value]) => `${name}=${String(value)}`),
  ].filter((text) => text !== "")
  return shown.length === 0 ? <>every entry</> : <Text of={shown.join(" ")} in="code" />
}

function openRelease(desk: Desk, { holdId, name }: Hold, changed: () => void): void {
  openForm({
    title: "Release the hold?",
    action: "Release it",
    submit: (values) =>
      desk.send("DELETE", ["holds", holdId], { reason: textIn(values, "reason") }),
    done() {
      announce("The hold is released")
      changed()
    },
    children: (
      <>
        <p class="soft">
          What only <Text of={name} /> covers may expire from the next run on, and erasures that
          waited for it are carried out at once.
        </p>
        <Field name="reason" label="Reason" maxLength={1000} />
      </>
    ),
  })
}

const scopes = {
  person: "Everything about a person",
  search: "What a search finds, now and later",
  receipts: "Single receipts",
} as const
type Scope = keyof typeof scopes

function openNewHold(desk: Desk, changed: () => void): void {
  const place = elementOf(<div />)
  const draw = (scope: Scope): void => redraw(place, <ScopeField of={scope} />)
  draw("person")
  const choice = <Choice name="scope" label="It covers" options={Object.entries(scopes)} />
  choice.addEventListener("change", ({ target }) => {
    if (target instanceof HTMLSelectElement) draw(target.value as Scope) // one of its options
  })
  openForm({
    title: "Place a hold",
    action: "Place it",
    submit: (values) => desk.send("POST", ["holds"], holdIn(values)),
    done() {
      announce("The hold is placed")
      changed()
    },
    children: (
      <>
        <Field name="name" label="Name" maxLength={200} placeholder="Case 7" />
        <Field name="reason" label="Reason" maxLength={1000} />
        {choice}
        {place}
      </>
    ),
  })
}

function ScopeField({ of }: { readonly of: Scope }) {
  switch (of) {
    case "person":
      return <Field name="subject" label="Person" isMono hint="Their id, as your events name it." />
    case "search":
      return (
        <Field
          name="query"
          label="Search"
          isMono
          optional
          placeholder="action:billing.* actor:usr_1"
          hint="As under Events. Empty: every entry."
        />
      )
    case "receipts":
      return <Field name="receipts" label="Receipts" type="textarea" isMono hint="One a line." />
  }
}

function holdIn(values: FormData): NewHold {
  const subject = textIn(values, "subject")
  const receipts = textIn(values, "receipts")
  const query = textIn(values, "query")
  return {
    name: textIn(values, "name") ?? "",
    reason: textIn(values, "reason") ?? "",
    ...(subject !== undefined
      ? { subject: { id: subject } }
      : receipts !== undefined
        ? { receiptIds: receipts.split(/\s+/).filter((receipt) => receipt !== "") }
        : { filter: query === undefined ? {} : { query } }),
  }
}
