// What happened last, what happens most, and who looked.

import type { EventsPage, FieldValues, ListedEntry } from "@tallystick/client/wire"
import { number } from "../../parts/counted.ts"
import { Notch, notchState } from "../../parts/lane.tsx"
import { Text } from "../../parts/text.tsx"
import { isToday, Time } from "../../parts/time.tsx"
import { weekMs } from "../../parts/spans.ts"
import type { Desk } from "../desk.ts"
import { termText } from "../events/asked.ts"
import { part, type Part } from "./part.tsx"

const all = { projectId: "all", storage: "all" } as const

export function topActions(desk: Desk): Part {
  const from = new Date(Date.now() - weekMs).toISOString()
  return part<FieldValues>({
    className: "tops",
    title: "Most frequent",
    beside: () => <span class="quiet">7 days</span>,
    ask: () => desk.get(["events", "values"], { ...all, field: "action", limit: 5, from }),
    draw({ values }) {
      if (values.length === 0) return <p class="soft small">Nothing in the last 7 days.</p>
      const most = values[0]?.count ?? 1
      return (
        <ul>
          {values.map(({ value, count }) => (
            <li>
              <Text
                of={value}
                in="a"
                class="cut"
                href={desk.link(["events"], { query: termText("action", value), range: "7d" })}
              />
              <svg
                class="bar-of-one"
                viewBox="0 0 100 6"
                preserveAspectRatio="none"
                aria-hidden="true"
              >
                <rect width={(count / most) * 100} height={6} />
              </svg>
              <data value={count}>{number(count)}</data>
            </li>
          ))}
        </ul>
      )
    },
  })
}

export function latestSecurity(desk: Desk): Part {
  return part<EventsPage>({
    className: "latest",
    title: "Latest security entries",
    beside: ({ total }) =>
      total > 7 && (
        <a href={desk.link(["events"], { lane: "security", range: "all" })}>All {number(total)}</a>
      ),
    ask: () => desk.get(["events"], { ...all, lane: "security", limit: 7 }),
    draw: ({ events }) =>
      events.length === 0 ? (
        <p class="soft small">None yet.</p>
      ) : (
        <ol>
          {events.map((entry) => (
            <LatestRow entry={entry} href={desk.link(["events", String(entry.sequence)])} />
          ))}
        </ol>
      ),
  })
}

function LatestRow({ entry, href }: { readonly entry: ListedEntry; readonly href: string }) {
  const { lane, integrity, timestamp, actor, action, target } = entry
  return (
    <li class="wood">
      <Notch lane={lane} state={notchState(integrity)} />
      <a href={href}>
        <Time at={timestamp} form={isToday(timestamp) ? "second" : "short"} />
      </a>
      <Text of={actor.name ?? actor.id} in="span" class="who cut" />
      <Text of={action} in="code" class="cut" />
      <Text of={target.name ?? target.id} in="span" class="soft what cut" />
    </li>
  )
}

/** Nobody knows these by their ids alone. */
const kinds: Readonly<Record<string, string>> = { api_key: "Key ", token: "Link " }

/** Reads of which the ledger itself keeps an entry. */
const reads: Readonly<Record<string, string>> = {
  "security.session.create": "signed in",
  "evidence.pack.create": "made a pack",
  "evidence.pack.download": "downloaded a pack",
  "workspace.export": "exported entries",
  "workspace.events.export": "exported what a search found",
  "policy.consent.lookup": "looked up a person's consents",
  "security.token.create": "made a link",
}

export function whoRead(desk: Desk): Part {
  return part<EventsPage>({
    className: "reads",
    title: "Who read this ledger",
    ask: () =>
      desk.get(["events"], {
        projectId: "system",
        storage: "all",
        limit: 6,
        query: Object.keys(reads)
          .map((action) => `action:${action}`)
          .join(" "),
      }),
    draw: ({ events }) =>
      events.length === 0 ? (
        <p class="soft small">
          Nobody yet. Exports, packs, links and look-ups of a person are recorded.
        </p>
      ) : (
        <ol>
          {events.map(({ actor, action, target, timestamp, sequence }) => (
            <li>
              <span>
                {kinds[actor.type ?? ""]}
                <Text of={actor.name ?? actor.email ?? actor.id} in="b" />{" "}
                <a href={desk.link(["events", String(sequence)], { projectId: "system" })}>
                  {reads[action] ?? action}
                </a>{" "}
                {target.name !== undefined && <Text of={target.name} />}
              </span>
              <span class="quiet">
                <Time at={timestamp} form={isToday(timestamp) ? "clock" : "short"} />
              </span>
            </li>
          ))}
        </ol>
      ),
  })
}
