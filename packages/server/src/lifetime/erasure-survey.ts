// What an erasure would destroy, and the parts that erasures work with.

import type { Pace } from "../runtime/pace.ts"
import type { ErasuresFile } from "../store/erasures-file.ts"
import type { Store } from "../store/store.ts"
import type { AdminParts } from "../workspace/admin-entries.ts"
import type { DestroyingParts } from "./content-destruction.ts"
import type { Holds } from "./holds.ts"
import { personalEntries, type Personal, type SubjectAsked } from "./subject-entries.ts"

export interface ErasureParts extends AdminParts, Omit<DestroyingParts, "journal"> {
  readonly store: Pick<Store, "journal" | "search" | "registry">
  /** See `FilingBeside.catchUp`. */
  readonly file: (workspace: string) => Promise<void>
  readonly erasuresFile: ErasuresFile
  /** Called for each erasure that is done. */
  readonly erased: (entries: number) => void
  /** The ids of the holds on these entries, or on the person. */
  readonly holdsOn: Holds["among"]
  readonly pace: Pace
}

export interface WorkingParts extends ErasureParts {
  readonly surveys: Surveys
}

/**
 * The findings of requests, so that entries are not read twice; undefined if they are too large.
 */
export type Surveys = Map<string, Survey>

export interface Survey {
  readonly entries: number
  readonly fields: number
  readonly sequences: readonly number[]
  readonly found: readonly Personal[] | undefined
  readonly upTo: number
}

/** Beyond this, findings are not remembered: some megabytes of digests. */
const keptMax = 20_000

interface Asked extends Omit<SubjectAsked, "workspace" | "after"> {
  readonly after?: number
}

/** Everything that an erasure would destroy. */
export async function survey(
  parts: WorkingParts,
  workspace: string,
  asked: Asked,
  signal?: AbortSignal,
): Promise<Survey> {
  const sequences: number[] = []
  const found: Personal[] = []
  let fields = 0
  for await (const batch of personalEntries(sourceOf(parts), { workspace, after: 0, ...asked })) {
    signal?.throwIfAborted()
    for (const one of batch) {
      sequences.push(one.sequence)
      fields += one.digests.length
      if (found.length <= keptMax) found.push(one)
    }
  }
  const { upTo } = asked
  const isWhole = found.length === sequences.length
  return {
    entries: sequences.length,
    fields,
    sequences,
    found: isWhole ? found : undefined,
    upTo,
  }
}

/** The findings of the request, and those in the entries between them and its own first entry. */
export async function* surveyed(
  parts: WorkingParts,
  asked: SubjectAsked,
  { found = [], upTo }: Survey,
): AsyncGenerator<readonly Personal[]> {
  yield found
  yield* personalEntries(sourceOf(parts), { ...asked, after: upTo })
}

export function sourceOf({ store, file, pace }: WorkingParts) {
  return { ...store, file, pace }
}
