// Three numbers: entries today, entries that wait for a checkpoint, and archived entries.

import type { ChainState, Timeline } from "@tallystick/client/wire"
import type { Told } from "../../ask.ts"
import { number } from "../../parts/counted.ts"
import { dayStart } from "../../parts/time.tsx"
import { hourMs } from "../../parts/spans.ts"
import type { Desk } from "../desk.ts"
import { part, type Part } from "./part.tsx"

export function figures(desk: Desk): Part {
  const parts = [today(desk), waiting(), archive()]
  return {
    node: <div class="figures">{parts.map(({ node }) => node)}</div>,
    load: async (state) => void (await Promise.all(parts.map(({ load }) => load(state)))),
  }
}

function today(desk: Desk): Part {
  return part<Timeline>({
    className: "figure",
    title: "Today",
    ask() {
      const from = dayStart(new Date())
      // The days on which clocks change have 23 or 25 hours.
      const to = dayStart(new Date(from.getTime() + 36 * hourMs))
      return desk.get(["events", "timeline"], {
        from: from.toISOString(),
        to: to.toISOString(),
        buckets: 24,
        projectId: "all",
        storage: "all",
      })
    },
    draw: ({ buckets }) => {
      const totals = buckets.map(({ total }) => total)
      return (
        <>
          <Figure of={totals.reduce((sum, each) => sum + each, 0)} unit="events" />
          <Bars totals={totals} />
        </>
      )
    },
  })
}

function Bars({ totals }: { readonly totals: readonly number[] }) {
  const most = Math.max(...totals, 1)
  const [busiest] = totals.flatMap((total, hour) => (total === most ? [hour] : []))
  return (
    <svg
      class="bars"
      viewBox={`0 0 ${totals.length * 10} 28`}
      preserveAspectRatio="none"
      role="img"
      aria-label={
        busiest === undefined
          ? "No event yet today"
          : `By the hour; the most, ${number(most)}, from ${busiest}:00`
      }
    >
      {totals.map((total, at) => (
        <rect x={at * 10 + 1} width={8} y={28 - (total / most) * 27} height={(total / most) * 27} />
      ))}
    </svg>
  )
}

/** It is known already. */
const known = async (value: ChainState): Promise<Told<ChainState>> => ({ ok: true, value })

function waiting(): Part {
  return part<ChainState>({
    className: "figure",
    title: "Waiting for a checkpoint",
    ask: known,
    draw: ({ pending }) => (
      <>
        <Figure of={pending} unit={pending === 1 ? "entry" : "entries"} />
        <p class="soft">
          {pending === 0
            ? "Everything is sealed."
            : "A checkpoint is signed within seconds of a write."}
        </p>
      </>
    ),
  })
}

function archive(): Part {
  return part<ChainState>({
    className: "figure",
    title: "Archive",
    ask: known,
    draw: ({ size, archived }) => {
      const hot = size === 0 ? 100 : Math.round(((size - archived) / size) * 100)
      return (
        <>
          <p class="number">
            {hot} % <span>hot, {100 - hot} % archived</span>
          </p>
          <svg class="share" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">
            <rect class="cold" width={100} height={6} />
            <rect class="hot" width={hot} height={6} />
          </svg>
        </>
      )
    },
  })
}

function Figure({ of, unit }: { readonly of: number; readonly unit: string }) {
  return (
    <p class="number">
      {number(of)} <span>{unit}</span>
    </p>
  )
}
