import { readdirSync, statSync } from "node:fs"
import { join, resolve } from "node:path"
import { makeWriter, runLoad, startService, type Program } from "./programs.ts"
import { median } from "../median.ts"

// Whether a change made writing more expensive: two checkouts in turns, in one run. The rate
// depends on the machine's other work; the processor time of an event depends on it less.

const cases = [
  { name: "single, 64 connections", connections: 64, batch: 0 },
  { name: "batches of 100, 8 connections", connections: 8, batch: 100 },
]

export interface Versions {
  /** A checkout that `node scripts/ready.mjs` has made ready. */
  readonly before: string
  /** Where both keep their data. */
  readonly folder: string
  readonly turns: number
  readonly seconds: number
}

interface Turn {
  readonly events: number
  readonly perSecond: number
  readonly cpuUs: number
  readonly p99Ms: number
}

/** The rows of a table. */
export async function* compareVersions({
  before,
  folder,
  turns,
  seconds,
}: Versions): AsyncGenerator<readonly string[]> {
  const names = ["before", "after"]
  const programs = [
    await startService(join(folder, "before"), [], resolve(before)),
    await startService(join(folder, "after")),
  ]
  const sides = await Promise.all(
    programs.map(async (program) => ({
      program,
      writer: await makeWriter(program.url, "versions"),
      written: 0,
    })),
  )
  for (const { name, connections, batch } of cases) {
    const measured: Turn[][] = []
    // The first turn is not counted: both programs are compiled while they run.
    for (let turn = 0; turn <= turns; turn++) {
      const both: Turn[] = []
      // Each goes first in every other turn.
      for (const side of turn % 2 === 0 ? sides : sides.toReversed()) {
        const load = {
          connections,
          batch,
          seconds,
          writers: [side.writer],
          run: `versions-${batch}-turn-${turn}-key`,
        }
        const measured = await measure(side.program, load)
        both[sides.indexOf(side)] = measured
        side.written += measured.events
      }
      if (turn > 0) measured.push(both)
    }
    for (const [at, version] of names.entries()) {
      const own = (of: (turn: Turn) => number): number =>
        median(measured.flatMap((both) => both[at] ?? []).map(of))
      yield [
        name,
        version,
        own((turn) => turn.perSecond).toFixed(0),
        own((turn) => turn.cpuUs).toFixed(1),
        own((turn) => turn.p99Ms).toFixed(1),
      ]
    }
    const ratios = (of: (turn: Turn) => number): number[] =>
      measured.flatMap(([a, b]) => (a && b ? [of(b) / of(a)] : []))
    yield [
      name,
      "after / before",
      ...[
        (turn: Turn) => turn.perSecond,
        (turn: Turn) => turn.cpuUs,
        (turn: Turn) => turn.p99Ms,
      ].map((of) => spread(ratios(of))),
    ]
  }
  for (const [at, { program, written }] of sides.entries()) {
    await program.stop()
    const name = names[at] ?? ""
    yield ["bytes on the disk an event", name, bytesOf(join(folder, name), written), "", ""]
  }
}

/** Of each file. */
function bytesOf(data: string, events: number): string {
  return readdirSync(data)
    .filter((file) => file.endsWith(".db"))
    .map((file) => `${file} ${Math.round(statSync(join(data, file)).size / events)}`)
    .join(", ")
}

async function measure(
  program: Program,
  load: Omit<Parameters<typeof runLoad>[0], "url">,
): Promise<Turn> {
  const spentMs = program.cpuMs()
  const { events, seconds, p99Ms, refused } = await runLoad({ ...load, url: program.url })
  if (refused > 0)
    throw new Error(`${refused} requests were refused, so that the figures would say too much`)
  return {
    events,
    perSecond: events / seconds,
    cpuUs: ((program.cpuMs() - spentMs) * 1000) / events,
    p99Ms,
  }
}

function spread(ratios: readonly number[]): string {
  return `${median(ratios).toFixed(2)} (${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)})`
}
