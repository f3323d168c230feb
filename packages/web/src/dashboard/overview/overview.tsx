// What there is to know at a glance: the chain, today, what needs attention, what happened last.

import type { ChainState, EventsPage, ListedEntry } from "@tallystick/client/wire"
import { redraw } from "../../elements/redraw.ts"
import { crossIcon, Icon, sealIcon, waitingIcon } from "../../parts/icon.tsx"
import { elementOf } from "../../parts/page.tsx"
import { Refused, Skeleton } from "../../parts/refused.tsx"
import { Time } from "../../parts/time.tsx"
import { ChainMap } from "../chain/chain-map.tsx"
import { verdictOf } from "../chain/chain-verdict.ts"
import { Links } from "../chain/links.tsx"
import type { Desk, OpenView } from "../desk.ts"
import { attention } from "./attention.tsx"
import { figures } from "./figures.tsx"
import { latestSecurity, topActions, whoRead } from "./latest.tsx"
import "./overview.css"

export const openOverview: OpenView = (desk) => {
  const { member, workspaces } = desk.session
  const claim = elementOf(<div class="claim" />)
  claim.append(<Skeleton />)
  const shown = {
    figures: figures(desk),
    attention: attention(desk),
    tops: topActions(desk),
    latest: latestSecurity(desk),
    reads: whoRead(desk),
  }
  let last: readonly ListedEntry[] = []
  let size = -1
  const draw = (): void => drawClaim(claim, desk, last)
  const changed = async (): Promise<void> => {
    draw()
    const grown = desk.chain.state()?.size
    if (grown === undefined || grown === size) return
    size = grown
    if (size === 0 && desk.workspace !== "instance")
      return desk.go(desk.link(["events"]), "replace")
    for (const part of Object.values(shown)) void part.load()
    last = await newest(desk)
    draw()
  }
  const unwatch = desk.chain.watch(() => void changed())
  void changed()
  // Nobody has named a workspace yet.
  if (member.instanceAdmin && desk.workspace === "instance" && workspaces.length === 1)
    queueMicrotask(() => desk.go(desk.link(["workspaces"]), "replace"))
  return {
    title: "Overview",
    node: (
      <div class="overview">
        {claim}
        {shown.figures.node}
        <div class="columns">
          <div>
            {shown.attention.node}
            {shown.tops.node}
          </div>
          <div>
            {shown.latest.node}
            {shown.reads.node}
          </div>
        </div>
      </div>
    ),
    close: unwatch,
  }
}

/** The last that are signed for, oldest first. */
async function newest(desk: Desk): Promise<readonly ListedEntry[]> {
  const sealed = desk.chain.state()?.checkpoint?.sequence ?? 0
  const told = await desk.get<EventsPage>(["events"], {
    projectId: "all",
    includeSystem: true,
    storage: "all",
    include: "proof",
    cursor: sealed + 1,
    limit: 3,
  })
  return told.ok ? told.value.events.toReversed() : []
}

function drawClaim(place: Element, desk: Desk, last: readonly ListedEntry[]): void {
  const state = desk.chain.state()
  const refusal = desk.chain.refusal()
  if (state === undefined) {
    if (refusal !== undefined)
      redraw(place, <Refused refusal={refusal} retry={() => void desk.chain.look()} />)
    return
  }
  const nowMs = Date.now()
  redraw(
    place,
    <Line state={state} desk={desk} nowMs={nowMs} />,
    state.size > 0 ? (
      <ChainMap
        state={state}
        nowMs={nowMs}
        cellHref={({ from, to }) => desk.link(["chain"], { from, to })}
      />
    ) : (
      <></>
    ),
    last.length > 0 ? (
      <Links entries={last} entryHref={({ sequence }) => desk.link(["events", String(sequence)])}>
        <Signed state={state} last={last} />
      </Links>
    ) : (
      <></>
    ),
  )
}

interface LineProps {
  readonly state: ChainState
  readonly desk: Desk
  readonly nowMs: number
}

/** The claim is made from the same data as the map below it. */
function Line({ state, desk, nowMs }: LineProps) {
  const { tone, intactTo, unchecked } = verdictOf(state, nowMs)
  const [fault] = state.faults
  const [icon, title] = (
    {
      intact: [sealIcon, `Chain intact to #${intactTo.toLocaleString("en-GB")}`],
      broken: [crossIcon, "Chain broken"],
      neutral: [waitingIcon, state.size === 0 ? "Nothing recorded yet" : "Not sealed yet"],
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
          <>
            At <b>#{fault.sequence.toLocaleString("en-GB")}</b>: {fault.detail}. Found at{" "}
            <Time at={fault.foundAt} />.{" "}
            {intactTo > 0 &&
              `Entries up to #${intactTo.toLocaleString("en-GB")} still hold, and so do copies that were exported.`}
          </>
        ) : (
          <>
            No broken link. {checkedSentence(unchecked, state)}{" "}
            {state.checkpoint && (
              <>
                Last checkpoint signed <Time at={state.checkpoint.signedAt} />.
              </>
            )}
          </>
        )}
      </p>
      <div class="actions">
        <a class="button" href={desk.link(["chain"], { verify: "all" })}>
          Verify in this browser
        </a>
        <a class="button" href={desk.link(["chain"])}>
          {fault === undefined ? "History" : "What this means"}
        </a>
      </div>
    </section>
  )
}

function checkedSentence(unchecked: number, { checkpoint }: ChainState): string {
  const sealed = checkpoint?.sequence ?? 0
  if (sealed === 0) return ""
  if (unchecked <= 0) return "Every sealed entry was read and hashed again in the last 7 days."
  if (unchecked >= sealed)
    return "The service reads every entry again in turns, and has yet to begin."
  return `All but ${unchecked.toLocaleString("en-GB")} sealed entries were read and hashed again in the last 7 days.`
}

/** Only where the last entry that is shown is the last that the checkpoint covers. */
function Signed({
  state: { checkpoint },
  last,
}: {
  readonly state: ChainState
  readonly last: readonly ListedEntry[]
}) {
  const newestShown = last.at(-1)
  if (checkpoint === undefined || newestShown?.sequence !== checkpoint.sequence) return <></>
  return (
    <>
      <li class="ends">
        <b>{newestShown.hash.slice(-4)}</b>
        <span class="intact">
          <Icon of={sealIcon} />
        </span>
      </li>
      <li class="linked signed">
        <b class="intact">Checkpoint</b>
        <span>
          signed <Time at={checkpoint.signedAt} form="second" />
        </span>
      </li>
    </>
  )
}
