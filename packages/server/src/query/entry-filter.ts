// What a filter of entries means, as the search understands it.

import { parseQuery, type Query } from "@tallystick/client/grammar"
import type { EntryFilter } from "@tallystick/client/wire"
import { LedgerError } from "../error.ts"
import { instantOf, isBefore } from "../store/instant.ts"
import { systemProject } from "../store/search/searchable-fields.ts"
import type { Wanted } from "../store/search/search.ts"

/**
 * `reach` are the projects that may be seen; undefined: all. `at` is the path of the filter in a
 * body.
 */
export function wantedIn(
  {
    projectId = "all",
    query,
    lane,
    userVisible,
    from,
    to,
    includeSystem = false,
  }: Omit<EntryFilter, "storage" | "includeArchive">,
  reach?: readonly string[],
  at = "",
): Wanted {
  const projectIds =
    projectId === "all" ? reach : projectId === systemProject ? undefined : [projectId]
  return {
    system: projectId === systemProject ? "only" : includeSystem ? "with" : "without",
    ...(projectIds === undefined ? {} : { projectIds }),
    ...(lane === undefined || lane === "all" ? {} : { lane }),
    ...(userVisible === undefined ? {} : { userVisible }),
    ...instant("from", from),
    ...instant("to", to),
    ...searchOf(query, at),
  }
}

/** Throws if no entry can match: a list would look empty, and a hold would hold nothing. */
export function requireOrder({ from, to }: Pick<Wanted, "from" | "to">, at: string): void {
  if (from !== undefined && to !== undefined && isBefore(to, from))
    throw new LedgerError("invalid_field", `${at}to must not be before ${at}from`)
}

function instant(name: "from" | "to", text: string | undefined): Pick<Wanted, "from" | "to"> {
  const at = text === undefined ? undefined : instantOf(text)
  return at === undefined ? {} : { [name]: at }
}

export function searchOf(text: string | undefined, at = ""): { readonly query?: Query } {
  const parsed = text === undefined ? undefined : parseQuery(text)
  if (parsed === undefined) return {}
  if ("problem" in parsed) throw new LedgerError("invalid_field", `${at}query ${parsed.problem}`)
  return { query: parsed.query }
}
