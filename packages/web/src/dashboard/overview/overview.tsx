// The overview: the chain, today, what needs attention, and the last entries.

import type { ChainState } from "@tallystick/client/wire"
import { elementOf } from "../../elements/elements.ts"
import { Icon, sealIcon } from "../../parts/icon.tsx"
import { Skeleton } from "../../parts/refused.tsx"
import { dayStart, Time, watchZone } from "../../parts/time.tsx"
import { drawClaim } from "../chain/chain-claim.tsx"
import { around, linkedEntries, Links, type LinkedEntry } from "../chain/links.tsx"
import type { Desk, OpenView } from "../desk.ts"
import { startRecomputer, type Recomputer } from "../events/recompute.ts"
import { offerReload } from "../offer-reload.tsx"
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
  const rest = elementOf(
    <div>
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
    </div>,
  )
  let last: readonly LinkedEntry[] | undefined
  let seen = ""
  const recomputer = startRecomputer(offerReload)
  const draw = (): void => drawChain(claim, desk, last)
  const changed = async (): Promise<void> => {
    draw()
    const state = desk.chain.state()
    // Nothing is loaded where the chain is refused.
    rest.hidden = state === undefined && desk.chain.refusal() !== undefined
    if (state === undefined) return
    const { size, pending, archived, faults } = state
    // The figures are of these, and of today.
    const now = [size, pending, archived, faults.length, dayStart(new Date()).getTime()].join(" ")
    if (now === seen) return
    seen = now
    if (size === 0 && desk.workspace !== "instance")
      return desk.go(desk.link(["events"]), "replace")
    for (const part of Object.values(shown)) void part.load(state)
    last = await linksOf(state, desk, recomputer)
    draw()
  }
  const unwatch = [desk.chain.watch(() => void changed()), watchZone(() => void changed())]
  void changed()
  // No workspace exists yet.
  if (member.instanceAdmin && desk.workspace === "instance" && workspaces.length === 1)
    queueMicrotask(() => desk.go(desk.link(["workspaces"]), "replace"))
  return {
    title: "Overview",
    node: (
      <div class="overview">
        {claim}
        {rest}
      </div>
    ),
    close() {
      for (const stop of unwatch) stop()
      recomputer.close()
    },
  }
}

/** The entries where the chain is broken, or the last signed ones, oldest first. */
function linksOf(
  { checkpoint, faults: [fault] }: ChainState,
  desk: Desk,
  recomputer: Recomputer,
): Promise<readonly LinkedEntry[]> {
  const sealed = checkpoint?.sequence ?? 0
  const shown = fault === undefined ? { from: sealed - 2, to: sealed } : around(fault)
  return linkedEntries(desk, recomputer, shown)
}

/** Until its links are known, their place is empty. */
function drawChain(place: Element, desk: Desk, last: readonly LinkedEntry[] | undefined): void {
  drawClaim(place, desk, {
    buttons: ({ faults }) => (
      <>
        <a class="button" href={desk.link(["chain"], { verify: "all" })}>
          Verify in this browser
        </a>
        <a class="button" href={desk.link(["chain"])}>
          {faults.length === 0 ? "History" : "What this means"}
        </a>
      </>
    ),
    below: (state) =>
      last?.length !== 0 && (
        <Links
          entries={last ?? []}
          entryHref={({ sequence }) => desk.link(["events", String(sequence)])}
        >
          <Signed state={state} newest={last?.at(-1)} />
        </Links>
      ),
  })
}

interface SignedProps {
  readonly state: ChainState
  readonly newest: LinkedEntry | undefined
}

/** Only if the last entry shown is the last that the checkpoint covers. */
function Signed({ state: { checkpoint }, newest }: SignedProps) {
  if (checkpoint === undefined || newest?.entry.sequence !== checkpoint.sequence) return <></>
  return (
    <>
      <li class="ends">
        <b>{newest.hash.slice(-4)}</b>
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
