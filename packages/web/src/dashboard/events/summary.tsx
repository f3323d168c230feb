// One line about the page: the number of matches, and how many were recomputed.

import type { ChainState } from "@tallystick/client/wire"
import { counted, number } from "../../parts/counted.ts"
import { timeText } from "../../parts/time.tsx"
import { State, type Tone } from "../../parts/verdict.tsx"
import type { Row, Rows } from "./rows.ts"

interface SummaryProps {
  readonly of: Rows
  readonly chain: ChainState | undefined
  readonly lostAt: Date | undefined
}

export function Summary({ of: { all, total, refusal }, chain, lostAt }: SummaryProps) {
  // The search was not answered.
  if (all.length === 0 && refusal !== undefined) return <></>
  return (
    <>
      <span>
        <b>{number(total)}</b>
        {chain !== undefined && ` of ${counted(chain.size, "entry", "entries")}`}
      </span>
      {all.length > 0 && <RecomputedSentence rows={all} />}
      {lostAt !== undefined && (
        <State tone="attention">Connection lost, showing {timeText(lostAt, "second")}</State>
      )}
    </>
  )
}

export function RecomputedSentence({ rows }: { readonly rows: readonly Row[] }) {
  const count = (state: Row["state"]): number => rows.filter((row) => row.state === state).length
  const all = rows.length
  const broken = rows.filter((r) => r.state === "broken" || r.entry?.integrity === "broken").length
  const unproven = count("unproven")
  const unchecked = count("unchecked")
  const some = (part: number): string =>
    `${number(part)} of ${number(all)} rows on this page ${part === 1 ? "is" : "are"}`
  const said = (tone: Tone, text: string): Node => (
    <State tone={tone} class="recomputed">
      {text}
    </State>
  )
  if (broken > 0) return said("broken", `${some(broken)} broken`)
  if (unproven > 0) return said("attention", `${some(unproven)} not checked`)
  if (unchecked > 0) return <span class="quiet">recomputing …</span>
  const rowsText = all === 1 ? "The one row" : `All ${number(all)} rows`
  return said("intact", `${rowsText} on this page recomputed`)
}
