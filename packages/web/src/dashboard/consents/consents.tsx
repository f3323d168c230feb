// Consents: how many there are of each version, and those of one person, asked for with a reason.

import type { ConsentsPage, FieldValues, ListedEntry } from "@tallystick/client/wire"
import type { Refusal } from "../../ask.ts"
import { redraw } from "../../elements/redraw.ts"
import { Copy } from "../../parts/copy.tsx"
import { Field, Form, RefusedLine, textIn } from "../../parts/form.tsx"
import { elementOf } from "../../parts/page.tsx"
import { Table, type Column } from "../../parts/table.tsx"
import { Text, Value } from "../../parts/text.tsx"
import { Time } from "../../parts/time.tsx"
import type { Desk, OpenView } from "../desk.ts"

export const openConsents: OpenView = (desk) => {
  const counts = elementOf(<div class="two" aria-busy="true" />)
  void drawCounts(desk, counts)
  return {
    title: "Consents",
    node: (
      <>
        <section class="top">
          <h1>Consents</h1>
          <p class="lead soft">
            To which version of a policy people agreed, and how. The counts are of all consents ever
            recorded.
          </p>
          {counts}
        </section>
        <section>
          <h2>What one person agreed to</h2>
          <ConsentLookUp desk={desk} found={() => void drawCounts(desk, counts)} />
        </section>
      </>
    ),
  }
}

/** The version is the target of a consent: `core:7`. */
async function drawCounts(desk: Desk, place: HTMLElement): Promise<void> {
  const consents = { query: "kind:consent", projectId: "all", storage: "all", limit: 50 } as const
  const [versions, modes] = await Promise.all([
    desk.get<FieldValues>(["events", "values"], { ...consents, field: "target" }),
    desk.get<FieldValues>(["events", "values"], { ...consents, field: "metadata.mode" }),
  ])
  place.removeAttribute("aria-busy")
  const refused = [versions, modes].find(({ ok }) => !ok)
  if (refused !== undefined && !refused.ok)
    return redraw(
      place,
      <RefusedLine refusal={refused.refusal} retry={() => void drawCounts(desk, place)} />,
    )
  if (!versions.ok || !modes.ok) return
  if (versions.value.values.length === 0)
    return redraw(
      place,
      <p class="soft">
        Nobody has agreed to anything yet. A program records a consent with{" "}
        <code>POST /v1/consents</code>.
      </p>,
    )
  redraw(
    place,
    <Counts title="By version" of={versions.value} href={(value) => versionHref(desk, value)} />,
    <Counts title="By mode" of={modes.value} />,
  )
}

function versionHref(desk: Desk, value: string): string {
  const at = value.lastIndexOf(":")
  return desk.link(["policies", value.slice(0, at)], { version: value.slice(at + 1) })
}

interface CountsProps {
  readonly title: string
  readonly of: FieldValues
  readonly href?: (value: string) => string
}

function Counts({ title, of: { values }, href }: CountsProps) {
  return (
    <div>
      <Table
        columns={[
          {
            name: title,
            isPlain: true,
            draw: ({ value }) =>
              href === undefined ? (
                <Text of={value} />
              ) : (
                <a href={href(value)}>
                  <Text of={value} />
                </a>
              ),
          },
          { name: "Consents", draw: ({ count }) => count.toLocaleString("en-GB") },
        ]}
        items={values}
      />
    </div>
  )
}

interface LookUpProps {
  readonly desk: Desk
  /** Whom, if that is known already. */
  readonly subject?: string
  readonly reason?: string
  /** Something was found, and recorded. */
  readonly found?: (reason: string) => void
}

interface LookUpBody {
  readonly subject: string | undefined
  readonly reason: string | undefined
  readonly cursor?: number
}

export function ConsentLookUp({ desk, subject: known, reason: before = "", found }: LookUpProps) {
  const place = elementOf(<div aria-live="polite" />)
  const submit = async (values: FormData): Promise<Refusal | undefined> => {
    const [subject = known, reason] = [textIn(values, "subject"), textIn(values, "reason")]
    return lookUp({ subject, reason })
  }
  async function lookUp(body: LookUpBody): Promise<Refusal | undefined> {
    const told = await desk.send<ConsentsPage>("POST", ["consents", "lookup"], body)
    if (!told.ok) return told.refusal
    const page = told.value
    // Some may have been recorded since the page was opened.
    found?.(body.reason ?? "")
    redraw(
      place,
      <Found
        desk={desk}
        page={page}
        older={() => void lookUp({ ...body, cursor: page.nextCursor })}
      />,
    )
    return undefined
  }
  return (
    <>
      <p class="soft">
        The ledger records that you looked, whom you looked up, and why, before anything is shown.
      </p>
      <Form action="Look up" submit={submit}>
        {known === undefined && (
          <Field
            name="subject"
            label="Person"
            isMono
            hint="Their id, exactly as in the consents."
          />
        )}
        <Field
          name="reason"
          label="Reason"
          maxLength={200}
          value={before}
          placeholder="request SUP-2291"
        />
      </Form>
      {place}
    </>
  )
}

function columns(desk: Desk): readonly Column<ListedEntry>[] {
  return [
    { name: "When", isPlain: true, draw: ({ timestamp }) => <Time at={timestamp} /> },
    {
      name: "Policy",
      draw: ({ target: { id } }) => (
        <a href={versionHref(desk, id)}>
          <Text of={id} />
        </a>
      ),
    },
    { name: "How", draw: ({ metadata }) => <Value of={metadata["mode"]} /> },
    { name: "Where", draw: ({ metadata }) => <Value of={metadata["surface"]} /> },
    {
      name: "Receipt",
      draw: ({ sequence, receipt }) => (
        <span class="short-hash">
          <a href={desk.link(["events", String(sequence)])}>#{sequence.toLocaleString("en-GB")}</a>{" "}
          <Copy text={receipt} label="Copy receipt id" />
        </span>
      ),
    },
  ]
}

interface FoundProps {
  readonly desk: Desk
  readonly page: ConsentsPage
  readonly older: () => void
}

function Found({ desk, page, older }: FoundProps) {
  const { events, subject, total, hasMore, lookupReceiptId } = page
  return (
    <div class="found">
      <h3>
        {total === 0 ? "No consent of " : `${total.toLocaleString("en-GB")} of `}
        <Text of={subject} />
      </h3>
      {total === 0 && subject.includes("@") && (
        <p class="soft">
          This looks like an e-mail address. A look-up is by the id that the consents name: find it
          with a search for <code>kind:consent email:…</code> under Events.
        </p>
      )}
      {events.length > 0 && <Table columns={columns(desk)} items={events} />}
      <p class="small quiet">
        This look-up is recorded: <code>{lookupReceiptId}</code>{" "}
        <Copy text={lookupReceiptId} label="Copy receipt id of the look-up" />
      </p>
      {hasMore && (
        <p class="actions">
          <button type="button" class="button" onClick={older}>
            Show older (another look-up)
          </button>
        </p>
      )}
    </div>
  )
}
