// Items that need attention. None is an alarm: a broken chain is shown on every page.

import type { ApiKey, EventsPage } from "@tallystick/client/wire"
import type { Told } from "../../ask.ts"
import { counted } from "../../parts/counted.ts"
import { checkIcon, historyIcon, Icon, keyIcon } from "../../parts/icon.tsx"
import { Text } from "../../parts/text.tsx"
import { hourMs, weekMs } from "../../parts/spans.ts"
import { isUnused, keyState } from "../access/key-state.ts"
import { verdictOf } from "../chain/chain-verdict.ts"
import type { KnownChain } from "../chain/chain-watch.ts"
import { wholeChain, type Desk } from "../desk.ts"
import { everyKey } from "../every-item.ts"
import type { Child } from "../../elements/elements.ts"
import { part, type Part } from "./part.tsx"

interface Concern {
  readonly icon: string
  readonly title: Child
  readonly detail: string
  readonly href: string
  readonly does: string
}

const soonMs = weekMs

export function attention(desk: Desk): Part {
  const keys = keysFor(desk)
  return part<readonly Concern[]>({
    className: "attention-list",
    title: "Needs attention",
    beside: (concerns) => concerns.length > 0 && <span class="quiet">{concerns.length}</span>,
    ask: (state) => concernsOf(desk, state, keys),
    draw: (concerns) =>
      concerns.length === 0 ? (
        <p class="soft small state">
          <Icon of={checkIcon} />{" "}
          <span>Nothing {desk.chain.state()?.faults[0] && "else "}does.</span>
        </p>
      ) : (
        <ul>
          {concerns.map(({ icon, title, detail, href, does }) => (
            <li>
              <span class="attention">
                <Icon of={icon} />
              </span>
              <div>
                <b>{title}</b>
                <p>{detail}</p>
              </div>
              <a href={href}>{does}</a>
            </li>
          ))}
        </ul>
      ),
  })
}

type Keys = ReturnType<typeof everyKey>

/** A chain grows every second, and its keys seldom change: they are read once an hour. */
function keysFor(desk: Desk): () => Keys {
  let read: { readonly atMs: number; readonly keys: Keys } | undefined
  return async () => {
    if (read === undefined || Date.now() - read.atMs > hourMs)
      read = { atMs: Date.now(), keys: everyKey(desk) }
    const told = await read.keys
    if (!told.ok) read = undefined
    return told
  }
}

async function concernsOf(
  desk: Desk,
  state: KnownChain,
  keys: () => Keys,
): Promise<Told<readonly Concern[]>> {
  const chain = await unchecked(desk, state)
  if (!chain.ok || !desk.isAdmin) return chain
  const told = await keys()
  return told.ok ? { ok: true, value: [...chain.value, ...ofKeys(desk, told.value)] } : told
}

/** Younger entries have not had their turn yet. */
async function unchecked(desk: Desk, state: KnownChain): Promise<Told<readonly Concern[]>> {
  const verdict = verdictOf(state, Date.now())
  if (verdict.tone !== "intact" || verdict.unchecked === 0) return { ok: true, value: [] }
  const told = await desk.get<EventsPage>(["events"], {
    ...wholeChain,
    cursor: verdict.firstUnchecked + 1,
    limit: 1,
  })
  if (!told.ok) return told
  const [oldest] = told.value.events
  if (oldest === undefined || Date.now() - Date.parse(oldest.timestamp) < soonMs)
    return { ok: true, value: [] }
  const concern = {
    icon: historyIcon,
    title: `${counted(verdict.unchecked, "entry", "entries")} not checked for 7 days`,
    detail: state.checking
      ? "The service is reading them again now."
      : "The service reads the whole chain again in turns.",
    href: desk.link(["chain"], { verify: "all" }),
    does: "Check now",
  }
  return { ok: true, value: [concern] }
}

function ofKeys(desk: Desk, apiKeys: readonly ApiKey[]): readonly Concern[] {
  const does = { icon: keyIcon, href: desk.link(["access"]), does: "Review" }
  return apiKeys
    .filter((key) => keyState(key) === "live")
    .flatMap((key) => {
      const isEnding = Date.parse(key.expiresAt ?? "") - Date.now() < soonMs
      if (!isEnding && !isUnused(key)) return []
      const title = (
        <>
          Key “<Text of={key.name} />” {isEnding ? "ends within 7 days" : "unused for 90 days"}
        </>
      )
      return [{ ...does, title, detail: `It may ${key.scopes.join(", ")}.` }]
    })
}
