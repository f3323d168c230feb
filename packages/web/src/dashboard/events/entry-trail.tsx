// How far an entry is proven, drawn on the stick, and the difference if it is not what was
// recorded.

import type { Child } from "../../elements/elements.ts"
import { number } from "../../parts/counted.ts"
import { Icon, attentionIcon, checkIcon, crossIcon, pendingIcon } from "../../parts/icon.tsx"
import { Text } from "../../parts/text.tsx"
import { Time } from "../../parts/time.tsx"
import type { OpenedEntry } from "./explorer-entry.ts"
import { goneText } from "./gone-content.ts"
import type { Recomputed } from "./recompute.ts"

export function Trail({ entry, found }: OpenedEntry) {
  const isSealed = found.state === "sealed"
  const [, key = ""] = entry.proof?.vkey.split("+") ?? []
  const verified = {
    sealed: ["intact", checkIcon, "Verified", checkedText(entry), "in this browser"],
    pending: ["intact", checkIcon, "Verified", "hash and link,", "in this browser"],
    unproven: ["attention", attentionIcon, "Not checked", "not recomputed", "in this browser"],
    broken: ["broken", crossIcon, "Broken", "this is not what", "was recorded"],
  } as const
  const [tone, icon, word, first, second] = verified[found.state]
  return (
    <ol class="trail">
      <Step tone="intact" icon={checkIcon} word="Recorded">
        #{number(entry.sequence)}, on disk
        <br />
        <Time at={entry.timestamp} form="second" />
      </Step>
      {isSealed ? (
        <Step tone="intact" icon={checkIcon} word="Sealed">
          by checkpoint #{number(found.checkpointSize ?? 0)}
          <br />
          key <code>{key}</code>
        </Step>
      ) : (
        <Step tone="pending" icon={pendingIcon} word={found.state === "pending" ? "Pending" : "–"}>
          {found.state === "pending" ? "no checkpoint covers it yet" : ""}
        </Step>
      )}
      <Step tone={tone} icon={icon} word={word}>
        {first}
        <br />
        {second}
      </Step>
    </ol>
  )
}

/** Without its content, only the record can be hashed. */
function checkedText(entry: OpenedEntry["entry"]): string {
  return goneText(entry) === undefined ? "hash, link and place," : "record, link and place,"
}

interface StepProps {
  readonly tone: string
  readonly icon: string
  readonly word: string
  readonly children?: Child
}

function Step({ tone, icon, word, children }: StepProps) {
  return (
    <li class={tone}>
      <span class={`state ${tone}`}>
        <Icon of={icon} /> {word}
      </span>
      <span class="said">{children}</span>
    </li>
  )
}

export function Failure({ of: { failure, expected, found } }: { readonly of: Recomputed }) {
  return (
    <div class="panel small">
      <p class="broken">
        What is shown here does not hash to what was recorded. It differs in{" "}
        <Text of={failure ?? ""} in="code" />.
      </p>
      {expected !== undefined && (
        <p>
          Expected <code>{<Text of={expected} />}</code>
          {found !== undefined && (
            <>
              , found <code>{<Text of={found} />}</code>
            </>
          )}
        </p>
      )}
      <p>Keep this entry, and ask whoever runs the ledger.</p>
    </div>
  )
}
