// Writes exports in threads of their own, with their own connections. The first thread starts with
// the first export, the second when the first is busy. Their priority is low, so that they use only
// processor time that requests leave.

import { createEntryExporter, type EntryExporter } from "../query/entry-exporter.ts"
import { createCheckpoints, createIsGenuine } from "../query/verified-checkpoints.ts"
import { createLeaves } from "../query/verified-leaves.ts"
import { lowerPriority } from "../runtime/thread-priority.ts"
import {
  answer,
  givenToThread,
  startThread,
  startWhenAsked,
  type Thread,
} from "../runtime/worker-thread.ts"
import type { Keyring } from "../secrets/keyring.ts"
import { isSealedBy } from "../store/log-keys.ts"
import { openReading, type StorePlace } from "../store/open.ts"
import { createLeafReader } from "../store/leaf-reader.ts"

export interface ExportingOptions {
  readonly place: StorePlace
  readonly keyring: Keyring
}

export interface ExportingBeside extends EntryExporter {
  close(): Promise<void>
}

/** The main thread can send as much as two of them write. */
const exportThreads = 2
/** The objects of a piece live until it is written. */
const youngGenerationMb = 48
/** Requests have precedence. */
const niceness = 5

/** The first broken entry of each workspace whose chain is known to be broken. */
type Halted = ReadonlyMap<string, number>

type ExportQuestions = {
  head: EntryExporter["head"]
  write(
    halted: Halted,
    ...asked: Parameters<EntryExporter["write"]>
  ): ReturnType<EntryExporter["write"]>
  end: EntryExporter["end"]
}

/** An entry that was found broken. */
type Suspect = readonly [workspace: string, sequence: number]

/** Calls `suspect` for broken entries, and `onDeath` when a thread ends unexpectedly. */
export function exportBeside(
  options: ExportingOptions,
  halted: () => Halted,
  suspect: (...at: Suspect) => void,
  onDeath: (cause: Error) => void,
): ExportingBeside {
  const threads: { readonly thread: Thread<ExportQuestions>; asked: number }[] = []
  const start = (): (typeof threads)[number] => {
    const listener = { onDeath, onReport: (at: Suspect) => suspect(...at), youngGenerationMb }
    const thread = startWhenAsked(() =>
      startThread<ExportQuestions, Suspect>(import.meta.filename, options, listener),
    )
    const started = { thread, asked: 0 }
    threads.push(started)
    return started
  }
  /** The thread with the fewest open questions, or a new one if all are busy. */
  const next = (): (typeof threads)[number] => {
    const [idlest] = threads.toSorted((a, b) => a.asked - b.asked)
    const isFree = idlest?.asked === 0 || threads.length === exportThreads
    return idlest !== undefined && isFree ? idlest : start()
  }
  const using = async <T>(use: (thread: Thread<ExportQuestions>) => Promise<T>): Promise<T> => {
    const started = next()
    started.asked += 1
    try {
      return await use(started.thread)
    } finally {
      started.asked -= 1
    }
  }
  return {
    head: (format) => using((thread) => thread.ask("head", format)),
    write: (...asked) => using((thread) => thread.ask("write", halted(), ...asked)),
    end: (...asked) => using((thread) => thread.ask("end", ...asked)),
    async close() {
      await Promise.all(threads.map(({ thread }) => thread.close()))
    },
  }
}

/** A piece has a few tiles, and the next one has others. */
const verifiedTiles = { verifiedTilesMax: 64 }

const options = givenToThread<ExportingOptions>(import.meta.filename)
if (options !== undefined) {
  const { place, keyring } = options
  lowerPriority(niceness)
  const store = await openReading(place)
  const { journal, index, registry } = store
  const leaves = createLeaves({ index, ...createLeafReader({ journal, index }) }, verifiedTiles)
  const isGenuine = createIsGenuine(registry, isSealedBy(keyring))
  const checkpoints = createCheckpoints({ store: { journal, index }, leaves, isGenuine })
  let broken: Halted = new Map()
  const haltedFrom = (workspace: string): number | undefined => broken.get(workspace)
  const suspect = (...at: Suspect): void => report(at)
  const source = { journal, index, registry, checkpoints, leaves, haltedFrom, suspect }
  const exporter = createEntryExporter({ journal, index, registry, source })
  const report = answer<ExportQuestions, Suspect>(
    {
      ...exporter,
      write(halted, ...asked) {
        broken = halted
        return exporter.write(...asked)
      },
    },
    () => store.close(),
  )
}
