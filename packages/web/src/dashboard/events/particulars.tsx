// When, who, what and where, each with buttons to search for it and to exclude it.

import type { ListedEntry, Party } from "@tallystick/client/wire"
import type { Child } from "../../elements/elements.ts"
import { clockApart } from "../../parts/clock-apart.ts"
import { Icon, historyIcon, waitingIcon } from "../../parts/icon.tsx"
import { LaneLetter } from "../../parts/lane.tsx"
import { Text } from "../../parts/text.tsx"
import { Time } from "../../parts/time.tsx"
import type { Desk } from "../desk.ts"
import { termText } from "./asked.ts"
import { Name } from "./entry-line.tsx"
import { Terms } from "./term-buttons.tsx"

interface ParticularsProps {
  readonly entry: ListedEntry
  readonly desk: Desk
  readonly find: (term: string) => void
}

export function Particulars({ entry, desk, find }: ParticularsProps) {
  const { actor, target, projectId, lane, source, kind } = entry
  const own = (field: string, value: string, shown?: Child) => (
    <Particular term={termText(field, value)} find={find}>
      {shown ?? <Text of={value} />}
    </Particular>
  )
  return (
    <dl class="particulars">
      <Times of={entry} />
      <dt>Actor</dt>
      {own("actor", actor.id, <Thing of={actor} desk={desk} />)}
      <dt>Target</dt>
      {own("target", target.id, <Thing of={target} desk={desk} />)}
      <dt>Action</dt>
      {own("action", entry.action)}
      <dt>Project</dt>
      {own("project", projectId)}
      <dt>Lane</dt>
      {own(
        "lane",
        lane,
        <>
          <LaneLetter of={lane} /> <Text of={lane} />
        </>,
      )}
      <dt>Source</dt>
      {own("source", source)}
      {kind !== "event" && <dt>Kind</dt>}
      {kind !== "event" && own("kind", kind)}
    </dl>
  )
}

function Times({ of: entry }: { readonly of: ListedEntry }) {
  const received = entry.receivedAt ?? entry.timestamp
  const apart = clockApart(entry)
  const ms = Date.parse(received) - Date.parse(entry.occurredAt)
  return (
    <>
      <dt>Occurred</dt>
      <dd>
        <Time at={entry.occurredAt} form="exact" />
      </dd>
      <dt>Received</dt>
      <dd>
        {apart === undefined ? (
          <>
            {ms >= 0 ? `${(ms / 1000).toFixed(3)} s later` : `${(-ms / 1000).toFixed(3)} s before`}{" "}
            <span class="quiet">
              <Time at={received} form="second" />
            </span>
          </>
        ) : (
          <>
            <Time at={received} form="exact" />
            <span class={entry.clockAhead ? "attention" : "soft"}>
              <Icon of={waitingIcon} /> {apart}
            </span>
          </>
        )}
      </dd>
    </>
  )
}

interface ParticularProps {
  readonly term: string
  readonly find: (term: string) => void
  readonly children?: Child
}

function Particular({ term, find, children }: ParticularProps) {
  return (
    <dd>
      {children}
      <Terms term={term} find={find} />
    </dd>
  )
}

function Thing({ of: party, desk }: { readonly of: Party; readonly desk: Desk }) {
  const { id, type, name, email } = party
  return (
    <>
      {type === undefined ? (
        <Name of={party} />
      ) : (
        <a href={desk.link(["things", type, id])} title="Its history">
          <Name of={party} /> <Icon of={historyIcon} />
        </a>
      )}
      <Text of={aside(party)} in="code" class="quiet" />
      {typeof email === "string" && name !== undefined && (
        <Text of={email} in="span" class="quiet" />
      )}
    </>
  )
}

/** `usr_1 · user`, without parts that its name repeats. */
function aside({ id, type, name, email }: Party): string {
  const isShown = typeof name !== "string" && typeof email !== "string"
  return [isShown ? undefined : id, type].filter((text) => text !== undefined).join(" · ")
}
