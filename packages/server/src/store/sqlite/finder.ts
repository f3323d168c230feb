// The finder's thread: searches, and nothing else, so that a broad one delays no look-up that a request waits for.

import { join } from "node:path"
import { answer, givenToThread } from "../../thread.ts"
import type { Hits, Wanted } from "../search.ts"
import { createUnfiled, joined } from "../unfiled.ts"
import { openForReading } from "./database.ts"
import { journalReads } from "./reads.ts"
import { searchReads } from "./search-reads.ts"

export const finderModule = import.meta.filename

export type FinderQuestions = {
  find(asked: readonly [workspace: string, wanted: Wanted, before: number, limit: number]): Hits | undefined
}

const folder = givenToThread<string>(finderModule)
if (folder !== undefined) {
  const search = openForReading(join(folder, "search.db"))
  const journal = openForReading(join(folder, "journal.db"))
  const reads = searchReads(search)
  const recorded = journalReads(journal)
  const unfiled = createUnfiled({
    last: (workspace) => recorded.head(workspace)?.sequence ?? 0,
    after: (...asked) => recorded.after(...asked),
  })
  answer<FinderQuestions>(
    {
      find([workspace, wanted, before, limit]) {
        // In this order: what is filed in between is in neither or in the second, and so counted once.
        const { position, hits } = reads.findFiled(workspace, wanted, before, limit)
        const fresh = unfiled(workspace, position, wanted)
        return fresh === undefined ? undefined : joined(hits, fresh, before, limit)
      },
    },
    () => {
      search.close()
      journal.close()
    },
  )
}
