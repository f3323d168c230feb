// One entry, as its person reads it.

import type { Party } from "@tallystick/client/wire"
import { Copy } from "../parts/copy.tsx"
import { Facts } from "../parts/facts.tsx"
import { Hash } from "../parts/hash.tsx"
import { Icon, checkIcon, crossIcon, saveIcon, waitingIcon } from "../parts/icon.tsx"
import { elementOf } from "../parts/page.tsx"
import { Text } from "../parts/text.tsx"
import { Time } from "../parts/time.tsx"
import { root } from "../place.ts"
import { save } from "../save.ts"
import { Notch } from "../parts/notch.tsx"
import { phraseOf } from "./phrases.ts"
import type { ActivityEntry } from "./read-page.ts"

const shown = {
  sealed: {
    word: "Receipt",
    icon: checkIcon,
    tone: "intact",
    sentence: "Recomputed in this browser: this is what was recorded, and where.",
  },
  pending: {
    word: "Not sealed yet",
    icon: waitingIcon,
    tone: "quiet",
    sentence: "Recomputed in this browser: this is what was recorded. No checkpoint covers it yet.",
  },
  unproven: {
    word: "Not proven",
    icon: waitingIcon,
    tone: "attention",
    sentence: "The service gave no proof of this entry, so nothing was recomputed.",
  },
  broken: {
    word: "Broken",
    icon: crossIcon,
    tone: "broken",
    sentence:
      "What is shown here is not what was recorded. Keep this entry, and ask whoever runs the ledger.",
  },
} as const

export function EntryRow({ of }: { readonly of: ActivityEntry }) {
  const { entry, state, isOwn } = of
  const id = `proof-${entry.sequence}`
  const details = elementOf(<div id={id} class="proof" hidden />)
  const turn = ({ currentTarget }: Event): void => {
    // What nobody opens need not be drawn.
    if (details.childElementCount === 0) details.append(<Proof of={of} />)
    details.hidden = !details.hidden
    if (currentTarget instanceof Element)
      currentTarget.setAttribute("aria-expanded", String(!details.hidden))
  }
  return (
    <li class="wood">
      <Notch lane={entry.lane} state={state} />
      <Time at={entry.timestamp} form="clock" />
      <div class="happened">
        <p>
          <What of={of} />
          <span class="unseen">, {entry.lane}</span>
          {!isOwn && (
            <span class="tag">
              by <Name of={entry.actor} />
            </span>
          )}
        </p>
        <p class="soft small">
          {entry.target.id !== entry.actor.id && <Name of={entry.target} />} <TimeApart of={of} />
        </p>
      </div>
      <button
        type="button"
        id={`show-${entry.sequence}`}
        class={`show ${shown[state].tone}`}
        aria-expanded={false}
        aria-controls={id}
        onClick={turn}
      >
        <Icon of={shown[state].icon} />
        <span>{shown[state].word}</span>
        <span class="unseen"> of {entry.action}</span>
      </button>
      {details}
    </li>
  )
}

/** A sentence where there is one, else the name of the action. */
function What({ of: { entry, isOwn } }: { readonly of: ActivityEntry }) {
  const phrase = phraseOf(entry.action)
  if (phrase === undefined)
    return (
      <b class="mono">
        <Text of={entry.action} />
      </b>
    )
  return <b>{isOwn ? `You ${phrase}` : `Somebody ${phrase}`}</b>
}

function Name({ of: { id, name, email } }: { readonly of: Party }) {
  return <Text of={name ?? email ?? id} />
}

/** When the sender says something else than the ledger, both are shown. */
function TimeApart({ of: { entry } }: { readonly of: ActivityEntry }) {
  const apart = Math.abs(Date.parse(entry.occurredAt) - Date.parse(entry.timestamp))
  if (!(apart > 60_000)) return <></>
  return (
    <span class="apart">
      <Icon of={waitingIcon} /> happened <Time at={entry.occurredAt} />, as its sender says
    </span>
  )
}

function Proof({ of: { entry, verdict, state } }: { readonly of: ActivityEntry }) {
  const { eventHash, checkpoint } = verdict
  return (
    <>
      <p class="small soft">{shown[state].sentence}</p>
      <Facts
        rows={[
          ["Recorded", <Time at={entry.timestamp} />],
          ["Entry", `#${entry.sequence.toLocaleString("en-GB")}`],
          ["Action", <Text of={entry.action} />],
          ["Hash", eventHash === undefined ? undefined : <Hash of={eventHash} />],
          ["Signed for", checkpoint && `${checkpoint.size.toLocaleString("en-GB")} entries`],
          [
            "Key",
            checkpoint &&
              (verdict.verdict === "genuine" ? "one that you trust" : "not confirmed by you"),
          ],
          [
            "Receipt",
            <>
              <code>
                <Text of={entry.receipt} />
              </code>
              <Copy text={entry.receipt} label="Copy receipt id" />
            </>,
          ],
        ]}
      />
      <div class="actions">
        <button
          type="button"
          class="button"
          onClick={() => save(`${entry.receipt}.json`, JSON.stringify(entry), "application/json")}
        >
          <Icon of={saveIcon} /> Entry and proof
        </button>
        <a class="button" href={new URL("verify", root).href}>
          Verify it
        </a>
      </div>
    </>
  )
}
