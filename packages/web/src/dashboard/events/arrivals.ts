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
  /** Called when the text about them has changed. */
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
  let isLive = false
  let waiting = 0
  let lostAt: Date | undefined
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
    const now = performance.now()
    if (now - second.at > 1000) second = { at: now, count: 0 }
    second.count += entries.length
    const isTooFast = second.count > shownPerSecondMax
    if (isLive && waiting === 0 && !isTooFast && !isAway()) add(entries)
    else {
      waiting += entries.length
      changed()
    }
    say(entries.length, now)
    recounting ??= setTimeout(() => {
      recounting = undefined
      if (isLive) recount()
    }, recountMs)
  }

  function connected(isConnected: boolean): void {
    if (isConnected === (lostAt === undefined)) return
    lostAt = isConnected ? undefined : new Date()
    changed()
  }

  function end(): void {
    stop()
    clearTimeout(timer)
    clearTimeout(recounting)
    timer = recounting = undefined
    gathered = []
  }

  return {
    get isLive() {
      return isLive
    },
    get waiting() {
      return waiting
    },
    /** Since when the service cannot be reached. */
    get lostAt() {
      return lostAt
    },
    /** Counts the matches of the filter from an entry on. */
    follow(after: number, filter: Query): void {
      end()
      waiting = 0
      stop = followFeed({
        after,
        heard,
        connected,
        ...waysTo(desk, filter),
      })
    },
    setLive(wanted: boolean): void {
      isLive = wanted
      changed()
    },
    stop: end,
  }
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
