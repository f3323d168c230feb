// The event as a sentence, if the names make one.

import type { ListedEntry } from "@tallystick/client/wire"
import { englishActions, phraseOf } from "../../activity/phrases.ts"
import { Text } from "../../parts/text.tsx"
import { Name } from "./entry-line.tsx"

export function Sentence({ of: { actor, target, action } }: { readonly of: ListedEntry }) {
  const isSelf = actor.id === target.id && actor.type === target.type
  const did = saidOf(action, target.type, isSelf)
  return (
    <p class="sentence">
      <b>
        <Name of={actor} />
      </b>{" "}
      <Text of={did ?? (isSelf ? "" : "→")} />{" "}
      {!isSelf && (
        <b>
          <Name of={target} />
        </b>
      )}
    </p>
  )
}

/** `paid the invoice`, if the action names the target's type; otherwise a known phrase. */
function saidOf(action: string, type: string | undefined, isSelf: boolean): string | undefined {
  const [verb = "", noun = ""] = action.split(".").toReversed()
  if (noun === type && /^(?:\w+ed|paid|sent|read|made|sold|set|given|taken)$/.test(verb))
    return `${verb} the ${noun}`
  const phrase = phraseOf(action, englishActions)
  return phrase === undefined || isSelf ? phrase : `${phrase}:`
}
