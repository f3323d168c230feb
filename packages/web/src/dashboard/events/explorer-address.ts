// The state of the explorer in its address, and all changes of it.

import { isUtc } from "../../parts/time.tsx"
import type { Desk } from "../desk.ts"
import { addressOf, askedIn, liftTimes, withTerm, type Asked, type Range } from "./asked.ts"
import type { Finding } from "./finding.ts"
import { remember } from "./kept-searches.ts"
import { isEntryName } from "./open-entry.ts"

interface AddressParts {
  readonly desk: Desk
  readonly finding: Finding
  readonly opened: () => number | undefined
}

export function createAddress({ desk, finding, opened }: AddressParts) {
  const zooms: Range[] = []

  function of(name?: string | number, asked = finding.asked): string {
    return desk.link(name === undefined ? ["events"] : ["events", String(name)], addressOf(asked))
  }

  function change(part: Partial<Asked>): void {
    desk.go(of(opened(), liftTimes({ ...finding.asked, ...part }, isUtc())))
  }

  return {
    change,
    list: () => of(),
    entry: (sequence: number) => of(sequence),
    search: (text: string): void => {
      if (isEntryName(text)) return desk.go(of(text))
      remember(text)
      change({ text })
    },
    /** Adds a term, or removes its opposite. */
    find: (term: string) => change({ text: withTerm(finding.asked.text, term) }),
    zoom: (from: string, to: string): void => {
      zooms.push(finding.asked.range)
      change({ range: { from, to } })
    },
    undoZoom: (): void => {
      const before = zooms.pop()
      if (before !== undefined) change({ range: before })
    },
    /** The ledger of the instance has only the service's own entries. */
    asked(query: URLSearchParams): Asked {
      const asked = askedIn(query)
      return { ...asked, withSystem: asked.withSystem || desk.workspace === "instance" }
    },
  }
}

export type Address = ReturnType<typeof createAddress>
