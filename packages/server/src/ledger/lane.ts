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
  const own =
    rules.length === 0
      ? undefined
      : longest(
          lowered,
          (prefix) => rules.find((rule) => rule.prefix.toLowerCase() === prefix)?.lane,
        )
  return own ?? longest(lowered, (prefix) => builtInLanes.get(prefix)) ?? "operations"
}

function longest(
  action: string,
  laneOfPrefix: (prefix: string) => Lane | undefined,
): Lane | undefined {
  for (let end = action.length; end > 0; end = action.lastIndexOf(".", end - 1)) {
    const lane = laneOfPrefix(action.slice(0, end))
    if (lane !== undefined) return lane
  }
  return undefined
}
