// The finder's thread: searches, and nothing else, so that a broad one delays no look-up that a request waits for.

import { join } from "node:path"
import { answer, givenToThread } from "../../thread.ts"
import type { Wanted } from "../search.ts"
import { openForReading } from "./database.ts"
import { searchReads } from "./search-reads.ts"

export const finderModule = import.meta.filename

export type FinderQuestions = {
  find(
    asked: readonly [workspace: string, wanted: Wanted, before: number, limit: number],
  ): ReturnType<ReturnType<typeof searchReads>["find"]>
}

const folder = givenToThread<string>(finderModule)
if (folder !== undefined) {
  const search = openForReading(join(folder, "search.db"))
  const reads = searchReads(search)
  answer<FinderQuestions>({ find: (asked) => reads.find(...asked) }, () => search.close())
}
