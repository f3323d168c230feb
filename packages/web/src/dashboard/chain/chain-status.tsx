// The state of the chain in the bar of every page, so that a break is visible everywhere.

import { redraw } from "../../elements/elements.ts"
import { number } from "../../parts/counted.ts"
import { attentionIcon, crossIcon, Icon, sealIcon, waitingIcon } from "../../parts/icon.tsx"
import type { Desk } from "../desk.ts"
import { verdictOf } from "./chain-verdict.ts"

export function drawChainStatus(place: Element, { chain, link }: Desk): void {
  const state = chain.state()
  if (state === undefined) return place.replaceChildren()
  // After the connection is lost, the earlier state no longer counts.
  const isStale = chain.refusal() !== undefined
  const { tone, intactTo } = verdictOf(state, Date.now())
  const [icon, word, rest] = (
    {
      broken: [crossIcon, "broken", ` at #${number(intactTo + 1)}`],
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
        {isStale && "Connection lost"}
        <span class={isStale ? "wide-only" : undefined}>
          {isStale && ". "}
          <span class="wide-only">Chain </span>
          {word}
          <span class="to">{rest}</span>
        </span>
      </span>
    </a>,
  )
}
