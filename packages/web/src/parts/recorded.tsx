// The recorded content of an event: who did what to whom, and all the rest.

import type { Child } from "../elements/elements.ts"
import { clockApart } from "./clock-apart.ts"
import { LaneLetter } from "./lane.tsx"
import type { Members, RecordedContent } from "./recorded-content.ts"
import { Text, Value } from "./text.tsx"
import { Time } from "./time.tsx"

interface WhatProps {
  readonly of: RecordedContent
  readonly recordedAt: string | undefined
}

export function WhatWasRecorded({ of: content, recordedAt }: WhatProps) {
  const { actor, target, action, lane, withheld } = content
  return (
    <>
      {action !== undefined && (
        <dl class="what">
          <Term name="Who">
            <Party of={actor} />
          </Term>
          <Term name="Did what">
            <Text of={action} in="code" />
          </Term>
          <Term name="To whom">
            <Party of={target} />
          </Term>
          <Term name="Lane">
            {lane !== undefined && (
              <>
                <LaneLetter of={lane} /> <Text of={lane} />
              </>
            )}
          </Term>
        </dl>
      )}
      <ClockNote of={content} recordedAt={recordedAt} />
      {withheld > 0 && (
        <p class="soft small note">
          {withheld === 1 ? "One personal field is" : `${withheld} personal fields are`} withheld
          from this view. The hash covers {withheld === 1 ? "it" : "them"} all the same.
        </p>
      )}
    </>
  )
}

/** For an event whose own time differs from that of the ledger. */
function ClockNote({ of: { occurredAt, receivedAt }, recordedAt }: WhatProps) {
  const apart =
    occurredAt !== undefined && recordedAt !== undefined
      ? clockApart({ occurredAt, receivedAt, timestamp: recordedAt })
      : undefined
  if (occurredAt === undefined || apart === undefined) return <></>
  return (
    <p class="soft small note clock">
      Occurred <Time at={occurredAt} />; {apart}.
    </p>
  )
}

function Term({ name, children }: { readonly name: string; readonly children: Child }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  )
}

export function Party({ of: { id, type, name, email } }: { readonly of: Members }) {
  const beside = [name, email, name === undefined && email === undefined ? type : undefined]
  return (
    <>
      <code>
        <Value of={id ?? "–"} />
      </code>
      {beside.map(
        (value) =>
          value !== undefined && (
            <>
              {" "}
              <Value of={value} />
            </>
          ),
      )}
    </>
  )
}

type Row = readonly [term: string, value: Child]

/** Everything that is not in the first lines. */
export function furtherRows(content: RecordedContent): readonly Row[] {
  const { occurredAt, receivedAt, projectId, source, kind, actor, target, metadata } = content
  return [
    ["Occurred", occurredAt && <Time at={occurredAt} />],
    ["Received", receivedAt && <Time at={receivedAt} />],
    ["Project", projectId && <Text of={projectId} />],
    ["Source", source && <Text of={source} />],
    ["Kind", kind && <Text of={kind} />],
    ...membersAs("Actor", actor, ["id"]),
    ...membersAs("Target", target, ["id"]),
    ...membersAs("Metadata", metadata),
  ]
}

function membersAs(what: string, members: Members, shown: readonly string[] = []): readonly Row[] {
  return Object.entries(members)
    .filter(([name]) => name !== "_sd" && !shown.includes(name))
    .map(([name, value]) => [`${what} ${name}`, <Value of={value} />] as const)
}
