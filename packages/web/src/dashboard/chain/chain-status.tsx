// In the bar, on every page: how the chain of the workspace is. A break is seen from everywhere.

import { redraw } from "../../elements/redraw.ts"
import { crossIcon, Icon, sealIcon, waitingIcon } from "../../parts/icon.tsx"
import type { Desk } from "../desk.ts"
import { verdictOf } from "./chain-verdict.ts"

export function drawChainStatus(place: Element, { chain, link }: Desk): void {
  const state = chain.state()
  if (state === undefined) return place.replaceChildren()
  const { tone, intactTo } = verdictOf(state, Date.now())
  const [icon, word, rest] = (
    {
      broken: [crossIcon, "broken", ` at #${(intactTo + 1).toLocaleString("en-GB")}`],
      intact: [sealIcon, "intact", ` to #${intactTo.toLocaleString("en-GB")}`],
      neutral: [waitingIcon, "not sealed yet", ""],
    } as const
  )[tone]
  redraw(
    place,
    <a href={link(["chain"])} class={`state ${tone}`}>
      <Icon of={icon} />
      <span>
        <span class="wide-only">Chain </span>
        {word}
        {rest}
      </span>
    </a>,
  )
}
