// What the main thread allocates for an event, and how much of that survives collections of young
// objects and stays until a full collection.

import { join } from "node:path"
import { makeWriter, runLoad, startService } from "./programs.ts"

export interface GarbageOptions {
  readonly folder: string
  readonly seconds: number
}

interface Collection {
  readonly isolate: string
  readonly isOfYoung: boolean
  readonly beforeMb: number
  readonly afterMb: number
}

interface Garbage {
  readonly allocatedMb: number
  readonly keptMb: number
}

const cases = [
  { name: "single, 64 connections", connections: 64, batch: 0 },
  { name: "batches of 100, 8 connections", connections: 8, batch: 100 },
]

/** Rows of a table. */
export async function* measureGarbage({ folder, seconds }: GarbageOptions) {
  const service = await startService(join(folder, "garbage"), ["--trace-gc"])
  const writer = await makeWriter(service.url, "garbage")
  let traced = ""
  service.child.stdout?.on("data", (chunk: Buffer) => (traced += chunk.toString()))
  for (const { name, connections, batch } of cases) {
    const load = { url: service.url, connections, batch, writers: [writer] }
    // Not counted: the program is compiled while it runs.
    await runLoad({ ...load, seconds, run: `garbage-${batch}-warm-key` })
    traced = ""
    const { events } = await runLoad({ ...load, seconds, run: `garbage-${batch}-turn-key` })
    const { allocatedMb, keptMb } = garbageOf(traced)
    yield [
      name,
      ((allocatedMb * 1024) / events).toFixed(1),
      `${((100 * keptMb) / allocatedMb).toFixed(1)} %`,
    ] as const
  }
  await service.stop()
}

/** Of the thread that allocates most, which is main. */
function garbageOf(traced: string): Garbage {
  const threads = Map.groupBy(collectionsIn(traced), ({ isolate }) => isolate)
  const all = threads.values().map(sumOf).toArray()
  const most = all.toSorted((a, b) => b.allocatedMb - a.allocatedMb)[0]
  if (most === undefined) throw new Error("V8 has told of no collection")
  return most
}

function sumOf(collections: readonly Collection[]): Garbage {
  let [allocatedMb, keptMb] = [0, 0]
  for (const [at, { isOfYoung, beforeMb, afterMb }] of collections.entries()) {
    const last = collections[at - 1]
    if (last === undefined) continue
    allocatedMb += beforeMb - last.afterMb
    if (isOfYoung && last.isOfYoung) keptMb += afterMb - last.afterMb
  }
  return { allocatedMb, keptMb }
}

/** Of lines like `[7:0x1f] 4194 ms: Scavenge 21.2 (26.0) -> 17.4 (26.0) MB, …`. */
function collectionsIn(traced: string): readonly Collection[] {
  const lines = traced.matchAll(
    /^\[\d+:(0x[0-9a-f]+)\] +\d+ ms: ([A-Z][\w -]*?) (?:\(\w+\) )?([\d.]+) \([\d.]+\) -> ([\d.]+) /gm,
  )
  return lines
    .map(([, isolate = "", kind, before, after]) => ({
      isolate,
      isOfYoung: kind === "Scavenge",
      beforeMb: Number(before),
      afterMb: Number(after),
    }))
    .toArray()
}
