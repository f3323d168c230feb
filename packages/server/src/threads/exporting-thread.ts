// Writes exports in a thread of its own, with its own connections. It starts with the first export.

import { createEntryExporter, type EntryExporter } from "../query/entry-exporter.ts"
import { createCheckpoints, createIsGenuine } from "../query/verified-checkpoints.ts"
import { createLeaves } from "../query/verified-leaves.ts"
import { answer, givenToThread, startThread, type Thread } from "../runtime/worker-thread.ts"
import type { Keyring } from "../secrets/keyring.ts"
import type { Limits } from "../limits.ts"
import { isSealedBy } from "../store/log-keys.ts"
import { openReading, type StorePlace } from "../store/open.ts"
import { createLeafReader } from "../store/tree-reads.ts"

export interface ExportingOptions {
  readonly place: StorePlace
  readonly keyring: Keyring
  readonly limits: Limits
}

export interface ExportingBeside extends EntryExporter {
  close(): Promise<void>
}

/** The first broken entry of each workspace whose chain is known to be broken. */
type Halted = ReadonlyMap<string, number>

type ExportQuestions = {
  begin(asked: Parameters<EntryExporter["begin"]>[0]): ReturnType<EntryExporter["begin"]>
  add(
    asked: readonly [halted: Halted, ...Parameters<EntryExporter["add"]>],
  ): ReturnType<EntryExporter["add"]>
  end(number: number): ReturnType<EntryExporter["end"]>
  drop(number: number): ReturnType<EntryExporter["drop"]>
}

/** An entry that was found broken. */
type Suspect = readonly [workspace: string, sequence: number]

/** `suspect` hears of broken entries. Calls `onDeath` when the thread ends unexpectedly. */
export function exportBeside(
  options: ExportingOptions,
  halted: () => Halted,
  suspect: (...at: Suspect) => void,
  onDeath: (cause: Error) => void,
): ExportingBeside {
  let started: Promise<Thread<ExportQuestions>> | undefined
  const thread = (): Promise<Thread<ExportQuestions>> => {
    const onReport = (at: Suspect): void => suspect(...at)
    started ??= startThread<ExportQuestions, Suspect>(import.meta.filename, options, {
      onDeath,
      onReport,
    })
    return started
  }
  return {
    begin: async (asked) => (await thread()).ask("begin", asked),
    add: async (...asked) => (await thread()).ask("add", [halted(), ...asked]),
    end: async (number) => (await thread()).ask("end", number),
    drop: async (number) => (await thread()).ask("drop", number),
    async close() {
      await (await started)?.close()
    },
  }
}

const options = givenToThread<ExportingOptions>(import.meta.filename)
if (options !== undefined) {
  const { place, keyring, limits } = options
  const store = await openReading(place)
  const { journal, index, registry } = store
  const readLeaves = createLeafReader({ journal, index })
  const leaves = createLeaves({ leaves: readLeaves }, limits)
  const isGenuine = createIsGenuine(registry, isSealedBy(keyring))
  const checkpoints = createCheckpoints({ store: { journal, index }, leaves, isGenuine })
  let broken: Halted = new Map()
  const haltedFrom = (workspace: string): number | undefined => broken.get(workspace)
  const suspect = (...at: Suspect): void => report(at)
  const source = { journal, index, registry, checkpoints, leaves, haltedFrom, suspect }
  const exporter = createEntryExporter({ journal, index, registry, source })
  const report = answer<ExportQuestions, Suspect>(
    {
      begin: (asked) => exporter.begin(asked),
      add([halted, ...asked]) {
        broken = halted
        return exporter.add(...asked)
      },
      end: (number) => exporter.end(number),
      drop: (number) => exporter.drop(number),
    },
    () => store.close(),
  )
}
