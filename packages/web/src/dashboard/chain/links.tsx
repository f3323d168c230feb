// Links between entries as a picture: the two ends of a link must be equal, so the picture is the
// check.

import type { ChainFault, EventsPage, ListedEntry } from "@tallystick/client/wire"
import type { Child } from "../../elements/elements.ts"
import { number } from "../../parts/counted.ts"
import { checkIcon, crossIcon, Icon } from "../../parts/icon.tsx"
import { Notch, notchState } from "../../parts/lane.tsx"
import { Text } from "../../parts/text.tsx"
import { wholeChain, type Desk } from "../desk.ts"
import { beginsLedger } from "../events/begins-ledger.ts"
import type { Recomputer } from "../events/recompute.ts"
import type { Range } from "./verify-chain.ts"

interface LinksProps {
  /** Neighbours, oldest first. */
  readonly entries: readonly LinkedEntry[]
  readonly entryHref: (entry: ListedEntry) => string
  readonly children?: Child
}

export function Links({ entries, entryHref, children }: LinksProps) {
  return (
    <ol class="links">
      {entries.map(({ entry }, at) => {
        const before = entries[at - 1]
        return (
          <>
            {before !== undefined && !beginsLedger(entry) && (
              <Ends left={before.hash} right={entry.previousHash} />
            )}
            <li class={`linked lane-${entry.lane}`}>
              <span class="notch-place">
                <Notch lane={entry.lane} state={notchState(entry.integrity)} />
              </span>
              <a href={entryHref(entry)}>#{number(entry.sequence)}</a>
              <Text of={entry.action} in="code" class="cut" />
            </li>
          </>
        )
      })}
      {children}
    </ol>
  )
}

export function Ends({ left, right }: { readonly left: string; readonly right: string }) {
  const isEqual = left === right
  return (
    <li class={isEqual ? "ends" : "ends unequal"}>
      <b>{left.slice(-4)}</b>
      <span class={isEqual ? "intact" : "broken"}>
        <Icon of={isEqual ? checkIcon : crossIcon} />
        <span class="unseen">{isEqual ? "is" : "is not"}</span>
      </span>
      <b>{right.slice(-4)}</b>
    </li>
  )
}

export interface LinkedEntry {
  readonly entry: ListedEntry
  /** The recomputed hash; of an entry without a proof, the one that the service states. */
  readonly hash: string
}

export function around({ sequence }: ChainFault): Range {
  return { from: Math.max(1, sequence - 1), to: sequence + 1 }
}

/** Neighbours of a chain, oldest first. Empty if they cannot be loaded. */
export async function linkedEntries(
  desk: Desk,
  recomputer: Recomputer,
  { from, to }: Range,
): Promise<readonly LinkedEntry[]> {
  const told = await desk.get<EventsPage>(["events"], {
    ...wholeChain,
    include: "proof",
    cursor: to + 1,
    limit: to - from + 1,
  })
  if (!told.ok) return []
  const entries = told.value.events.toReversed()
  const recomputed = await recomputer.recompute(entries)
  return entries.map((entry, at) => ({ entry, hash: recomputed[at]?.hash ?? entry.hash }))
}
