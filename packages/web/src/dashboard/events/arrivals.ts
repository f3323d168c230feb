// New entries while the page is open: shown at once, or counted until the reader asks for them.

import type { ListedEntry } from "@tallystick/client/wire"
import { counted } from "../../parts/counted.ts"
import { announce } from "../../parts/page.tsx"
import type { Desk } from "../desk.ts"
import { endpointUrl, type Query } from "../place.ts"
import { followFeed, type FeedParts } from "./feed.ts"

interface ArrivalsParts {
  readonly desk: Desk
  /** Whether the newest row is out of sight, so that new rows would not be seen. */
  readonly isAway: () => boolean
  readonly add: (entries: readonly ListedEntry[]) => void
  readonly changed: () => void
  /** Called at most every ten seconds: the counts are out of date. */
  readonly recount: () => void
}

/** With more than these, nobody can read them as they come. */
const shownPerSecondMax = 20
/** Entries that arrive within one frame are shown together. */
const gatherMs = 16
const announceMs = 10_000
const recountMs = 10_000

export function createArrivals({ desk, isAway, add, changed, recount }: ArrivalsParts) {
  const now = {
    isLive: false,
    /** Entries that are not shown yet. */
    waiting: 0,
    /** Since when the service cannot be reached. */
    lostAt: undefined as Date | undefined,
  }
  let stop = (): void => {}
  let gathered: ListedEntry[] = []
  let timer: ReturnType<typeof setTimeout> | undefined
  let second = { at: 0, count: 0 }
  let recounting: ReturnType<typeof setTimeout> | undefined
  const say = createSayer()

  function heard(entries: readonly ListedEntry[]): void {
    gathered.push(...entries)
    timer ??= setTimeout(pass, gatherMs)
  }

  function pass(): void {
    timer = undefined
    const entries = gathered.toReversed()
    gathered = []
    const at = performance.now()
    if (at - second.at > 1000) second = { at, count: 0 }
    second.count += entries.length
    const isTooFast = second.count > shownPerSecondMax
    if (now.isLive && now.waiting === 0 && !isTooFast && !isAway()) add(entries)
    else {
      now.waiting += entries.length
      changed()
    }
    say(entries.length, at)
    recounting ??= setTimeout(() => {
      recounting = undefined
      if (now.isLive) recount()
    }, recountMs)
  }

  function connected(isConnected: boolean): void {
    if (isConnected === (now.lostAt === undefined)) return
    now.lostAt = isConnected ? undefined : new Date()
    changed()
  }

  function end(): void {
    stop()
    clearTimeout(timer)
    clearTimeout(recounting)
    timer = recounting = undefined
    gathered = []
  }

  const state: Readonly<typeof now> = now
  return Object.assign(state, {
    /** Counts the matches of the filter from an entry on. */
    follow(after: number, filter: Query): void {
      end()
      now.waiting = 0
      stop = followFeed({ after, heard, connected, ...waysTo(desk, filter) })
    },
    setLive(wanted: boolean): void {
      now.isLive = wanted
      changed()
    },
    stop: end,
  })
}

function waysTo(desk: Desk, filter: Query): Pick<FeedParts, "poll" | "url"> {
  return {
    poll: (after, signal) =>
      desk.get(["events", "feed"], { ...filter, after, wait: 20, limit: 100 }, signal),
    url: (after) => endpointUrl(desk.workspace, ["events", "feed"], { ...filter, after }),
  }
}

/** Announced in one sentence from time to time, not row by row. */
function createSayer(): (count: number, now: number) => void {
  let unsaid = 0
  let saidAt = -Infinity
  return (count, now) => {
    unsaid += count
    if (now - saidAt < announceMs) return
    announce(counted(unsaid, "new entry", "new entries"))
    unsaid = 0
    saidAt = now
  }
}
