// Polls the state of a workspace's chain while somebody looks at it, and adds what was checked in
// this browser.

import type { ChainFault, ChainState, CheckedRange } from "@tallystick/client/wire"
import type { Refusal } from "../../ask.ts"
import type { Desk } from "../desk.ts"

/** What was checked in this browser counts like what the service has checked. */
export interface KnownChain extends ChainState {
  readonly checked: readonly (CheckedRange & Here)[]
  /** The first of the chain comes first. */
  readonly faults: readonly (ChainFault & Here)[]
}

interface Here {
  /** Found in this browser. */
  readonly isHere?: true
}

export type Found = Pick<CheckedRange, "from" | "to"> | Pick<ChainFault, "sequence" | "detail">

const everyMs = 15_000

export type ChainWatch = ReturnType<typeof watchChain>

export function watchChain(get: Desk["get"]) {
  const over = new AbortController()
  const watchers = new Set<() => void>()
  let state: ChainState | undefined
  let refusal: Refusal | undefined
  let checked: readonly (CheckedRange & Here)[] = []
  let faults: readonly (ChainFault & Here)[] = []
  const tell = (): void => watchers.forEach((changed) => changed())
  async function look(): Promise<void> {
    try {
      const told = await get<ChainState>(["integrity"], {}, over.signal)
      refusal = told.ok ? undefined : told.refusal
      if (told.ok) state = told.value
      tell()
    } catch {
      // Closed meanwhile.
    }
  }
  const timer = setInterval(() => {
    if (!document.hidden) void look()
  }, everyMs)
  addEventListener("online", () => void look(), over)
  document.addEventListener("visibilitychange", () => !document.hidden && void look(), over)
  return {
    /** The last answer of the service, with what was found here; undefined before the first. */
    state: (): KnownChain | undefined =>
      state && {
        ...state,
        checked: [...state.checked, ...checked],
        faults: [...state.faults, ...faults].toSorted((a, b) => a.sequence - b.sequence),
      },
    found: (found: Found): void => {
      const at = new Date().toISOString()
      if ("to" in found) {
        const { from, to } = found
        checked = [...checked, { from, to, checkedAt: at, isHere: true }]
        // They were read again, and hold.
        faults = faults.filter(({ sequence }) => sequence < from || sequence > to)
      } else faults = [...faults, { ...found, foundAt: at, isHere: true }]
      tell()
    },
    refusal: () => refusal,
    /** Calls `changed` after each answer, until the returned function is called. */
    watch: (changed: () => void) => {
      watchers.add(changed)
      return () => void watchers.delete(changed)
    },
    look,
    close: (): void => {
      clearInterval(timer)
      over.abort()
    },
  }
}
