import type { Child } from "../elements/elements.ts"
import { Hash } from "./hash.tsx"
import { Icon } from "./icon.tsx"
import { Text } from "./text.tsx"
import { toneIcons } from "./verdict.tsx"

/** `undone`: an earlier check failed, or there was nothing to check. */
export type CheckState = "intact" | "attention" | "broken" | "undone"

export interface CheckRow {
  readonly name: string
  readonly state: CheckState
  readonly says: string
  /** In hex. */
  readonly hash?: string
  /** The source of the result: `recomputed`, `pinned`. */
  readonly where?: string
  readonly expected?: string
  readonly found?: string
}

const words: Readonly<Record<CheckState, string>> = {
  intact: "holds",
  attention: "not confirmed",
  broken: "does not hold",
  undone: "not checked",
}

interface ChecksProps {
  readonly rows: readonly CheckRow[]
  /** Shown instead of `where`. */
  readonly beside?: (row: CheckRow) => Child
}

export function Checks({ rows, beside }: ChecksProps) {
  return (
    <ol class="checks">
      {rows.map((row) => (
        <li>
          <span class={`state ${row.state}`}>
            <Icon of={row.state === "undone" ? toneIcons.neutral : toneIcons[row.state]} />{" "}
            <b>{row.name}</b>
            <span class="unseen"> {words[row.state]}</span>
          </span>
          <p class={row.state === "undone" ? "quiet" : ""}>
            <Text of={row.says} />
          </p>
          <span class="evidence">{row.hash !== undefined && <Hash of={row.hash} short />}</span>
          <span class="where">{beside?.(row) ?? row.where}</span>
          {(row.expected !== undefined || row.found !== undefined) && <Difference row={row} />}
        </li>
      ))}
    </ol>
  )
}

function Difference({ row: { expected, found } }: { readonly row: CheckRow }) {
  return (
    <dl class="difference">
      {expected !== undefined && (
        <>
          <dt>Expected</dt>
          <dd>
            <HashOrText of={expected} />
          </dd>
        </>
      )}
      {found !== undefined && (
        <>
          <dt class="broken">Found</dt>
          <dd>
            <HashOrText of={found} />
          </dd>
        </>
      )}
    </dl>
  )
}

function HashOrText({ of: text }: { readonly of: string }) {
  return /^[0-9a-f]{64}$/.test(text) ? <Hash of={text} /> : <Text of={text} />
}
