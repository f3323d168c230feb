// What one person agreed to: the state at a time, the text, and the entries that decide. Each
// look-up is recorded before anything is shown.

import type { ConsentState, ListedEntry, Pack } from "@tallystick/client/wire"
import { elementOf, redraw } from "../../elements/elements.ts"
import { Button, waiting } from "../../parts/button.tsx"
import { Copy } from "../../parts/copy.tsx"
import { number } from "../../parts/counted.ts"
import { Fold } from "../../parts/fold.tsx"
import { Choice, Field, Form, RefusedLine, textIn } from "../../parts/form.tsx"
import { Hash } from "../../parts/hash.tsx"
import { Table, type Column } from "../../parts/table.tsx"
import { Lines, Text, Value } from "../../parts/text.tsx"
import { timeOfField } from "../../parts/time-field.ts"
import { Time, isUtc } from "../../parts/time.tsx"
import { State, Verdict, type Tone } from "../../parts/verdict.tsx"
import type { Desk } from "../desk.ts"
import { everyProject } from "../every-item.ts"

interface LookUpProps {
  readonly desk: Desk
  readonly subject?: string
  readonly projectId?: string
  readonly found?: (reason: string) => void
}

export function ConsentLookUp({ desk, subject: known, projectId: fixed, found }: LookUpProps) {
  const place = elementOf(<div aria-live="polite" />)
  // The hint says it, also after the zone of the page has changed.
  const inUtc = isUtc()
  const submit = async (values: FormData) => {
    const time = textIn(values, "at")
    const asked = {
      subject: textIn(values, "subject") ?? known,
      projectId: textIn(values, "project") ?? fixed,
      at: time === undefined ? undefined : instantOf(time, inUtc),
      reason: textIn(values, "reason"),
    }
    const told = await desk.get<ConsentState>(["consents"], asked)
    if (!told.ok) return told
    // Consents may have been recorded since the page was opened.
    found?.(asked.reason ?? "")
    redraw(place, <Found desk={desk} state={told.value} isNow={asked.at === undefined} />)
    return told
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
        {fixed === undefined && <ProjectField desk={desk} />}
        <Field
          name="at"
          label="At"
          type="datetime-local"
          optional
          hint={`In ${inUtc ? "UTC" : "your time"}. Empty: now.`}
        />
        <Field name="reason" label="Reason" maxLength={200} placeholder="request SUP-2291" />
      </Form>
      {place}
    </>
  )
}

/** The time that was typed. The whole minute counts. */
function instantOf(typed: string, inUtc: boolean): string {
  const time = new Date(timeOfField(typed, inUtc))
  if (typed.length <= "2026-01-31T09:30".length) time.setSeconds(59, 999)
  return time.toISOString()
}

function ProjectField({ desk }: { readonly desk: Desk }) {
  const place = elementOf(<div />)
  const draw = (ids: readonly string[]): void =>
    redraw(
      place,
      <Choice
        name="project"
        label="Project"
        value="core"
        options={ids.map((id) => [id, id] as const)}
      />,
    )
  draw(["core"])
  void everyProject(desk).then((told) => {
    if (told.ok) draw([...new Set(["core", ...told.value.map(({ id }) => id).sort()])])
  })
  return place
}

interface FoundProps {
  readonly desk: Desk
  readonly state: ConsentState
  readonly isNow: boolean
}

const tones: Readonly<Record<ConsentState["state"], Tone>> = {
  given: "intact",
  withdrawn: "attention",
  none: "neutral",
}

function Found({ desk, state: found, isNow }: FoundProps) {
  const { state, at, subject, policyVersion, events, total, hasMore, lookupReceiptId } = found
  const version = policyVersion === undefined ? "" : ` to version ${policyVersion}`
  const titles = {
    given: `${subject} ${isNow ? "agrees" : "agreed"}${version}`,
    withdrawn: `${subject} ${isNow ? "has" : "had"} withdrawn`,
    none: `${isNow ? "No" : "By then, no"} consent of ${subject}`,
  }
  return (
    <div class="found">
      <Verdict tone={tones[state]} title={titles[state]} isPart>
        <Said of={found} />
        <p class="quiet small">
          As the ledger had it on <Time at={at} />.
        </p>
      </Verdict>
      <Shown of={found} />
      {total === 0 && subject.includes("@") && (
        <p class="soft">
          This looks like an e-mail address. A look-up is by the id that the consents name: find it
          with a search for <code>kind:consent email:…</code> under Events.
        </p>
      )}
      {events.length > 0 && (
        <>
          <h3>How it came to that</h3>
          {hasMore && (
            <p class="soft small">
              The newest {events.length} of {number(total)}.
            </p>
          )}
          <Table columns={columns(desk)} items={events} />
        </>
      )}
      {total > 0 && <PackOffer desk={desk} state={found} />}
      <p class="small quiet">
        This look-up is recorded: <code>{lookupReceiptId}</code>{" "}
        <Copy text={lookupReceiptId} label="Copy receipt id of the look-up" />
      </p>
    </div>
  )
}

function Said({
  of: { state, mode, surface, since, policyVersion },
}: {
  readonly of: ConsentState
}) {
  if (since === undefined) return <p>Neither given nor withdrawn in this project.</p>
  return (
    <p>
      {state === "given" ? "Given" : "Withdrawn"} on <Time at={since} />
      {surface !== undefined && (
        <>
          {", "}
          <Text of={surface} />
        </>
      )}
      {state === "given" && mode !== undefined && (
        <>
          {", "}
          <Text of={mode} />
        </>
      )}
      {state === "withdrawn" &&
        policyVersion !== undefined &&
        `; the last consent was to version ${policyVersion}`}
      .
    </p>
  )
}

/** The text of the version, and whether the person can have seen it. */
function Shown({ of }: { readonly of: ConsentState }) {
  const { state, policyVersion, publishedAt, sectionHash, sections, events } = of
  if (state === "none" || policyVersion === undefined) return <></>
  if (publishedAt === undefined || sections === undefined)
    return (
      <State in="p" tone="attention">
        Version {policyVersion} was not published by then: the ledger has no text of it.
      </State>
    )
  const agreed = events.findLast(
    (entry) => entry.policyVersion === policyVersion && entry.action === givenAction,
  )
  return (
    <>
      {agreed !== undefined && Date.parse(publishedAt) > Date.parse(agreed.timestamp) && (
        <State in="p" tone="attention">
          Version {policyVersion} was published on <Time at={publishedAt} />, after they agreed.
        </State>
      )}
      <Fold
        id="policy-text"
        title={<>The text of version {policyVersion}</>}
        beside={
          <>
            published <Time at={publishedAt} form="date" />
          </>
        }
      >
        {sections.map(({ title, body }) => (
          <>
            <Text of={title} in="h3" class="section-title" />
            <p class="policy-body">
              <Lines of={body} />
            </p>
          </>
        ))}
        {sectionHash !== undefined && (
          <p class="small quiet">
            SHA-256 of its sections: <Hash of={sectionHash} />
          </p>
        )}
      </Fold>
    </>
  )
}

const givenAction = "policy.consent.record"

function columns(desk: Desk): readonly Column<ListedEntry>[] {
  return [
    { name: "When", isPlain: true, draw: ({ timestamp }) => <Time at={timestamp} /> },
    {
      name: "What",
      draw: ({ action, integrity }) =>
        action === givenAction ? "agreed" : action === "" ? integrity : "withdrew",
    },
    {
      name: "Version",
      draw: ({ policyVersion, action }) =>
        policyVersion ?? (action === givenAction ? undefined : "all"),
    },
    { name: "How", draw: ({ metadata }) => <Value of={metadata["mode"] ?? ""} /> },
    { name: "Where", draw: ({ metadata }) => <Value of={metadata["surface"] ?? ""} /> },
    {
      name: "Receipt",
      draw: ({ sequence, receipt }) => (
        <span class="short-hash">
          <a href={desk.link(["events", String(sequence)])}>#{number(sequence)}</a>{" "}
          <Copy text={receipt} label="Copy receipt id" />
        </span>
      ),
    },
  ]
}

/** For an auditor: what the person was shown, and when they agreed. */
function PackOffer({ desk, state }: { readonly desk: Desk; readonly state: ConsentState }) {
  const refused = elementOf(<div role="alert" />)
  const make = async (): Promise<void> => {
    const { subject, projectId } = state
    const told = await desk.send<Pack>("POST", ["evidence-packs"], {
      title: `Consents of ${subject}`.slice(0, 200),
      consents: { subject, projectId },
    })
    if (!told.ok) return redraw(refused, <RefusedLine refusal={told.refusal} />)
    // The reader has gone on to something else.
    if (!refused.isConnected) return
    desk.go(desk.link(["packs", told.value.packId]))
  }
  return (
    <>
      <p class="actions">
        <Button onClick={waiting(make)}>Evidence pack of it</Button>
      </p>
      {refused}
    </>
  )
}
