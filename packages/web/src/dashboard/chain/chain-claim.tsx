// How far the chain is intact, in one line, and the map of it, made from the same data.

import type { ChainState } from "@tallystick/client/wire"
import { redraw, type Child } from "../../elements/elements.ts"
import { number } from "../../parts/counted.ts"
import { crossIcon, Icon, sealIcon, waitingIcon } from "../../parts/icon.tsx"
import { Refused } from "../../parts/refused.tsx"
import { Text } from "../../parts/text.tsx"
import { Time } from "../../parts/time.tsx"
import type { Desk } from "../desk.ts"
import { ChainMap } from "./chain-map.tsx"
import { verdictOf, type Cell } from "./chain-verdict.ts"
import type { KnownChain } from "./chain-watch.ts"

interface DrawnClaim {
  readonly buttons?: (state: KnownChain) => Child
  readonly below?: (state: KnownChain) => Child
}

/** Draws the claim and the map of the chain, or why its state is not known. */
export function drawClaim(place: Element, desk: Desk, { buttons, below }: DrawnClaim = {}): void {
  const state = desk.chain.state()
  const refusal = desk.chain.refusal()
  const retry = (): void => void desk.chain.look()
  if (state === undefined) {
    if (refusal !== undefined) redraw(place, <Refused refusal={refusal} retry={retry} />)
    return
  }
  const nowMs = Date.now()
  const cellHref = ({ from, to }: Cell): string => desk.link(["chain"], { from, to })
  redraw(
    place,
    <>
      <ChainClaim state={state} nowMs={nowMs}>
        {buttons?.(state)}
      </ChainClaim>
      {state.size > 0 && <ChainMap state={state} nowMs={nowMs} cellHref={cellHref} />}
      {below?.(state)}
    </>,
  )
}

interface ClaimProps {
  readonly state: KnownChain
  readonly nowMs: number
  readonly children?: Child
}

function ChainClaim({ state, nowMs, children }: ClaimProps) {
  const { tone, intactTo, unchecked } = verdictOf(state, nowMs)
  const [fault] = state.faults
  const [icon, title] = (
    {
      intact: [sealIcon, `Chain intact to #${number(intactTo)}`],
      broken: [crossIcon, "Chain broken"],
      neutral: [waitingIcon, unearned(state)],
    } as const
  )[tone]
  return (
    <section class="top line">
      <h1>
        <span class={tone}>
          <Icon of={icon} />
        </span>
        {title}
      </h1>
      <p>
        {fault !== undefined ? (
          <Fault of={fault} intactTo={intactTo} />
        ) : (
          <>
            {state.checkpoint && "No broken link is known. "}
            {checkedSentence(unchecked, state)}{" "}
            {state.checkpoint && (
              <>
                Last checkpoint signed <Time at={state.checkpoint.signedAt} />.
              </>
            )}
          </>
        )}
      </p>
      <div class="actions">{children}</div>
    </section>
  )
}

interface FaultProps {
  readonly of: KnownChain["faults"][number]
  readonly intactTo: number
}

function Fault({ of: { sequence, detail, foundAt, isHere }, intactTo }: FaultProps) {
  const place = <b>#{number(sequence)}</b>
  if (isHere)
    return (
      <>
        From {place} on: <Text of={detail} /> Found in this browser <Time at={foundAt} />; the
        service does not say so. Keep every receipt and export that you have, and ask whoever runs
        it: <code>tallystick fsck</code> says what is damaged.
      </>
    )
  return (
    <>
      At {place}: <Text of={detail} />. Found <Time at={foundAt} />.{" "}
      {intactTo > 0 &&
        `Entries up to #${number(intactTo)} still hold, and so do copies that were exported. `}
      The workspace takes no writes until its operator has looked: <code>tallystick fsck</code> says
      what is damaged.
    </>
  )
}

/** The claim for a chain of which nothing was checked since it was written. */
function unearned({ size, checkpoint }: ChainState): string {
  if (size === 0) return "Nothing recorded yet"
  return checkpoint === undefined ? "Not sealed yet" : `Sealed to #${number(checkpoint.sequence)}`
}

function checkedSentence(unchecked: number, { checkpoint }: ChainState): string {
  const sealed = checkpoint?.sequence ?? 0
  if (sealed === 0) return ""
  if (unchecked <= 0) return "Every sealed entry was read and hashed again in the last 7 days."
  if (unchecked >= sealed)
    return "The service reads all entries again continuously, and has not reached these yet."
  return `All but ${number(unchecked)} sealed entries were read and hashed again in the last 7 days.`
}
