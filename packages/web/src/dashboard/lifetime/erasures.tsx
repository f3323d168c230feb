// Erasures: destroys the data about a person, after a preview.

import type {
  Erasure,
  ErasureList,
  ErasurePreview,
  HandedOut,
  NewErasure,
} from "@tallystick/client/wire"
import { invalid } from "../../ask.ts"
import { elementOf, redraw, type Child } from "../../elements/elements.ts"
import { Button } from "../../parts/button.tsx"
import { counted, number } from "../../parts/counted.ts"
import { openDialog, openForm } from "../../parts/dialog.tsx"
import { Facts } from "../../parts/facts.tsx"
import { Choice, Field, Form, textIn } from "../../parts/form.tsx"
import { checkIcon, Icon, pendingIcon, waitingIcon } from "../../parts/icon.tsx"
import { announce } from "../../parts/page.tsx"
import { Below, type Column } from "../../parts/table.tsx"
import { Text, Unseen } from "../../parts/text.tsx"
import { Time } from "../../parts/time.tsx"
import type { Desk, Part } from "../desk.ts"
import { forgetLists } from "../events/left-lists.ts"
import { listedTable } from "../listed-table.tsx"
import type { Place } from "../place.ts"

const againMs = 2000

export function erasuresPart(desk: Desk, { query }: Place): Part {
  let timer: ReturnType<typeof setTimeout> | undefined
  const list = listedTable(desk, {
    path: ["erasures"],
    itemsOf: ({ erasures }: ErasureList) => erasures,
    columns: () => columns(desk),
    empty: "Nothing was ever erased here.",
    shown: (erasures) => {
      clearTimeout(timer)
      if (erasures.some(({ state }) => state === "running"))
        timer = setTimeout(() => list.reload(), againMs)
    },
  })
  const preview = elementOf(<div aria-live="polite" />)
  const done = (): void => {
    forgetLists(desk)
    redraw(preview)
    list.reload()
  }
  const submit = async (values: FormData) => {
    const request = requestIn(values)
    const dry = { ...request, dryRun: true }
    const told = await desk.send<ErasurePreview>("POST", ["erasures"], dry)
    if (told.ok)
      redraw(preview, <Preview desk={desk} request={request} of={told.value} done={done} />)
    return told
  }
  const form = elementOf(
    <Form action="Show what would be destroyed" submit={submit}>
      <p class="soft">
        Destroys what the ledger has sealed about a person. Nobody can undo it, and nothing is
        destroyed before you have seen what that is.
      </p>
      <Field
        name="subject"
        label="Person"
        isMono
        value={query.get("person") ?? ""}
        hint={
          <>
            Their id, as your events name it. <a href={desk.link(["people"])}>People</a> finds it by
            a name or an e-mail address.
          </>
        }
      />
      <Choice
        name="scope"
        label="What"
        options={[
          ["fields", "Sealed fields: e-mail, name, and what else is personal"],
          ["entries", "Whole contents of their entries, with their id"],
        ]}
      />
      <Field
        name="reason"
        label="Reason"
        maxLength={200}
        hint="It stays readable for ever: do not name the person."
      />
      <Field name="reference" label="Reference" optional maxLength={200} placeholder="SUP-2291" />
    </Form>,
  )
  // It is of another request.
  form.addEventListener("input", () => redraw(preview))
  return {
    node: (
      <>
        {form}
        {preview}
        <h2>Requested before</h2>
        {list.node}
      </>
    ),
    close: () => clearTimeout(timer),
  }
}

function requestIn(values: FormData): NewErasure {
  const reference = textIn(values, "reference")
  return {
    subject: { id: textIn(values, "subject") ?? "" },
    scope: textIn(values, "scope") === "entries" ? "entries" : "fields",
    reason: textIn(values, "reason") ?? "",
    ...(reference !== undefined && { reference }),
  }
}

interface PreviewProps {
  readonly desk: Desk
  readonly request: NewErasure
  readonly of: ErasurePreview
  readonly done: () => void
}

function Preview({ desk, request, of, done }: PreviewProps) {
  const { entries, fields, holds, handedOut } = of
  return (
    <section class="panel erasure-preview" aria-label="What would be erased">
      <h2>
        {entries === 0
          ? "There is nothing to erase"
          : `${counted(fields, "sealed field", "sealed fields")} in ${counted(entries, "entry", "entries")}`}
      </h2>
      {entries > 0 && request.scope === "entries" && (
        <p>
          The whole contents of these entries are destroyed: nobody can read then what happened.
        </p>
      )}
      {holds.length > 0 && (
        <p>
          It waits until {holds.length === 1 ? "this hold is" : "these holds are"} released:{" "}
          <Codes of={holds} href={() => desk.link(["lifetime", "holds"])} />
        </p>
      )}
      <HandedOutFacts desk={desk} of={handedOut} />
      {entries > 0 && (
        <p class="actions">
          <Button kind="danger" onClick={() => openConfirmation({ desk, request, of, done })}>
            Erase it…
          </Button>
        </p>
      )}
    </section>
  )
}

/** The id must be typed a second time, because an erasure cannot be undone. */
function openConfirmation({ desk, request, of: { entries }, done }: PreviewProps): void {
  const { id } = request.subject
  openForm({
    title: "Erase for ever?",
    action: "Erase for ever",
    submit: async (values) =>
      textIn(values, "again") === id
        ? desk.send("POST", ["erasures"], request)
        : invalid("this is not the id of that person"),
    done() {
      announce("The erasure is recorded")
      done()
    },
    children: (
      <>
        <p class="soft">
          {counted(entries, "entry loses", "entries lose")} something for ever. To go on, type{" "}
          <Text of={id} in="code" />.
        </p>
        <Field name="again" label="The person's id" isMono />
      </>
    ),
  })
}

function columns(desk: Desk): readonly Column<Erasure>[] {
  return [
    {
      name: "Requested",
      isPlain: true,
      draw: ({ requestedAt, reason, reference, erasureId }) => (
        <>
          <Time at={requestedAt} />
          <Below>
            <Text of={reference === undefined ? reason : `${reason} (${reference})`} />
            <br />
            <a href={desk.link(["things", "erasure", erasureId])}>
              What proves it
              <Unseen after=": " of={erasureId} />
            </a>
          </Below>
        </>
      ),
    },
    {
      name: "Person",
      draw: ({ subject }) =>
        subject === undefined ? (
          <span class="quiet">forgotten</span>
        ) : (
          <Text of={subject.id} in="code" />
        ),
    },
    {
      name: "What",
      draw: ({ scope, entries, fields }) =>
        `${scope === "entries" ? "contents" : counted(fields, "field", "fields")} of ${counted(entries, "entry", "entries")}`,
    },
    { name: "State", draw: (erasure) => <State desk={desk} of={erasure} /> },
    {
      name: "Handed out",
      isEnd: true,
      draw: (erasure) => (
        <Button kind="plain" onClick={() => openHandedOut(desk, erasure)}>
          Copies
          <Unseen after=" of " of={erasure.erasureId} />
        </Button>
      ),
    },
  ]
}

const states = {
  held: ["attention", waitingIcon, "held"],
  running: ["pending", pendingIcon, "under way"],
  done: ["intact", checkIcon, "done"],
} as const

function State({
  desk,
  of: { state, holds = [], doneAt },
}: {
  readonly desk: Desk
  readonly of: Erasure
}) {
  const [tone, icon, word] = Object.hasOwn(states, state)
    ? states[state as keyof typeof states] // as just seen
    : (["neutral", pendingIcon, state] as const)
  return (
    <span class={`state ${tone}`}>
      <Icon of={icon} />
      <span>
        {word}
        {doneAt !== undefined && (
          <>
            {" "}
            <Time at={doneAt} form="minute" />
          </>
        )}
        {state === "held" && (
          <>
            {" "}
            by <Codes of={holds} href={() => desk.link(["lifetime", "holds"])} />
          </>
        )}
      </span>
    </span>
  )
}

function openHandedOut(desk: Desk, { handedOut, erasureId }: Erasure): void {
  openDialog("What was handed out", () => (
    <>
      <p class="soft">
        Nobody can recall it. Ask whoever has it to destroy it. Erasure <code>{erasureId}</code>.
      </p>
      <HandedOutFacts desk={desk} of={handedOut} />
    </>
  ))
}

function HandedOutFacts({ desk, of }: { readonly desk: Desk; readonly of: HandedOut }) {
  const { packs, tokens, exports, more } = of
  if (packs.length + tokens.length + exports.length === 0)
    return <p class="soft">No pack, link or export of this ledger contained it.</p>
  const some = (ids: readonly string[], href: (id: string) => string): Child =>
    ids.length === 0 ? undefined : <Codes of={ids} href={href} />
  return (
    <Facts
      rows={[
        ["Packs that had it", some(packs, (id) => desk.link(["packs", id]))],
        ["Links that show it", some(tokens, () => desk.link(["access"], { tab: "tokens" }))],
        ["Exports since then", some(exports, (id) => desk.link(["events", id]))],
        ["Besides these", more === 0 ? undefined : number(more)],
      ]}
    />
  )
}

interface CodesProps {
  readonly of: readonly string[]
  readonly href: (id: string) => string
}

function Codes({ of: ids, href }: CodesProps) {
  return (
    <span class="ids">
      {ids.map((id) => (
        <a href={href(id)}>
          <Text of={id} in="code" />{" "}
        </a>
      ))}
    </span>
  )
}
