// The lane of an action: the rule with the longest matching prefix of whole dot segments decides.

import type { Lane, WorkspaceSettings } from "../store/documents.ts"

export type LaneRules = WorkspaceSettings["laneRules"]

const builtIn: Readonly<Record<Exclude<Lane, "operations">, string>> = {
  security:
    "auth login session mfa password access permission role key token secret security user.role",
  data: "data record file document export import report invoice customer payment",
  policy: "policy consent terms privacy retention",
}

const builtInLanes: ReadonlyMap<string, Lane> = new Map(
  // The type of Object.entries loses that the names are lanes.
  (Object.entries(builtIn) as [Lane, string][]).flatMap(([lane, prefixes]) =>
    prefixes.split(" ").map((prefix): [string, Lane] => [prefix, lane]),
  ),
)

/**
 * The rules of the workspace come before the built-in ones, whatever their length. Without a rule,
 * the lane is `operations`.
 */
export function laneOf(action: string, rules: LaneRules): Lane {
  const lowered = action.toLowerCase()
  return ownLane(lowered, rules) ?? builtInLane(lowered) ?? "operations"
}

/** Reads each rule once: every event passes here, and an action may have a hundred segments. */
function ownLane(action: string, rules: LaneRules): Lane | undefined {
  let [longest, own]: [string, Lane | undefined] = ["", undefined]
  for (const { prefix, lane } of rules) {
    if (prefix.length > longest.length && beginsWith(action, prefix))
      [longest, own] = [prefix, lane]
  }
  return own
}

/** Whether an action in lower case begins with these segments, in any case. */
export function beginsWith(action: string, prefix: string): boolean {
  const start = prefix.toLowerCase()
  return action === start || action.startsWith(`${start}.`)
}

function builtInLane(action: string): Lane | undefined {
  for (let end = action.length; end > 0; end = action.lastIndexOf(".", end - 1)) {
    const lane = builtInLanes.get(action.slice(0, end))
    if (lane !== undefined) return lane
  }
  return undefined
}
