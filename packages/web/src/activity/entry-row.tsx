// One entry, as its person reads it.

import type { Party } from "@tallystick/client/wire"
import { elementOf } from "../elements/elements.ts"
import { Icon, checkIcon, crossIcon, waitingIcon } from "../parts/icon.tsx"
import { Notch } from "../parts/lane.tsx"
import { Text } from "../parts/text.tsx"
import { TimeElement } from "../parts/time-element.tsx"
import { filled, phraseOf, type Reader } from "./phrases.ts"
import type { ProvenEntry } from "./prove-page.ts"

const shown = {
  sealed: [checkIcon, "intact"],
  pending: [waitingIcon, "quiet"],
  unproven: [waitingIcon, "attention"],
  broken: [crossIcon, "broken"],
} as const

export interface RowProps {
  readonly of: ProvenEntry
  readonly reader: Reader
}

export function EntryRow({ of, reader }: RowProps) {
  const { entry, state, isOwn } = of
  const { words, time } = reader
  const [icon, tone] = shown[state]
  const id = `proof-${entry.sequence}`
  const details = elementOf(<div id={id} class="proof" part="details" hidden />)
  const turn = ({ currentTarget: button }: Event): void => {
    details.hidden = !details.hidden
    if (button instanceof Element) button.setAttribute("aria-expanded", String(!details.hidden))
    if (!details.hidden) void drawDetails(details, of, reader)
  }
  return (
    <li class="wood" part={`entry ${state}`}>
      <Notch lane={entry.lane} state={state} />
      <TimeElement at={entry.timestamp} form="clock" text={time} />
      <div class="happened">
        <p>
          <What of={of} reader={reader} />
          <span class="unseen">, {words[entry.lane as "data"] ?? entry.lane}</span>
          {!isOwn && (
            <span class="tag">{filled(words.by, { name: <Name of={entry.actor} /> })}</span>
          )}
        </p>
        <p class="soft small">
          {entry.target.id !== entry.actor.id && <Name of={entry.target} />}{" "}
          <TimeApart of={of} reader={reader} />
        </p>
      </div>
      <button
        type="button"
        id={`show-${entry.sequence}`}
        class={`show ${tone}`}
        part="state"
        aria-expanded={false}
        aria-controls={id}
        onClick={turn}
      >
        <Icon of={icon} />
        <span>{words[state]}</span>
        <span class="unseen"> {filled(words.of, { action: entry.action })}</span>
      </button>
      {details}
    </li>
  )
}

function What({ of: { entry, isOwn }, reader: { words, actions } }: RowProps) {
  const did = phraseOf(entry.action, actions)
  if (did === undefined) return <Text of={entry.action} in="b" class="mono" />
  if (typeof did !== "string") return <Text of={did[isOwn ? 0 : 1]} in="b" />
  return <b>{filled(isOwn ? words.you : words.somebody, { did })}</b>
}

function Name({ of: { id, name, email } }: { readonly of: Party }) {
  return <Text of={name ?? email ?? id} />
}

function TimeApart({ of: { entry }, reader: { words, time } }: RowProps) {
  const apart = Math.abs(Date.parse(entry.occurredAt) - Date.parse(entry.timestamp))
  if (!(apart > 60_000)) return <></>
  return (
    <span class="apart">
      <Icon of={waitingIcon} />{" "}
      {filled(words.happened, { time: <TimeElement at={entry.occurredAt} text={time} /> })}
    </span>
  )
}

/** Details are loaded and drawn only when the row is opened. */
async function drawDetails(place: HTMLElement, of: ProvenEntry, reader: Reader): Promise<void> {
  try {
    const { EntryDetails } = await import("./entry-details.tsx")
    if (place.querySelector("dl") === null)
      place.replaceChildren(<EntryDetails of={of} reader={reader} />)
  } catch {
    // Chromium remembers it until the page is loaded again.
    place.replaceChildren(reader.words.noConnection)
  }
}
