// In the bar, on every page: how the chain of the workspace is. A break is seen from everywhere.

import { redraw } from "../../elements/redraw.ts"
import { number } from "../../parts/counted.ts"
import { attentionIcon, crossIcon, Icon, sealIcon, waitingIcon } from "../../parts/icon.tsx"
import type { Desk } from "../desk.ts"
import { verdictOf } from "./chain-verdict.ts"

export function drawChainStatus(place: Element, { chain, link }: Desk): void {
  const state = chain.state()
  if (state === undefined) return place.replaceChildren()
  // What was said before the connection was lost is no claim about now.
  const isStale = chain.refusal() !== undefined
  const { tone, intactTo } = verdictOf(state, Date.now())
  const [icon, word, rest] = (
    {
      broken: [crossIcon, "broken", ` at #${(intactTo + 1).toLocaleString("en-GB")}`],
      intact: [sealIcon, "intact", ` to #${number(intactTo)}`],
      neutral: [
        waitingIcon,
        ...(intactTo === 0
          ? (["not sealed yet", ""] as const)
          : (["sealed", ` to #${number(intactTo)}`] as const)),
      ],
    } as const
  )[tone]
  redraw(
    place,
    <a href={link(["chain"])} class={`state ${isStale ? "neutral" : tone}`}>
      <Icon of={isStale ? attentionIcon : icon} />
      <span>
        {isStale && "Connection lost. "}
        <span class="wide-only">Chain </span>
        {word}
        {rest}
      </span>
    </a>,
  )
}
