import assert from "node:assert/strict"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import type { Chance } from "../chance.ts"
import type { Service } from "../service.ts"
import type { Fault } from "./faults.ts"
import { isLastReached } from "./last-step.ts"
import { startProgram } from "./programs.ts"

// Kills a program at each of its steps (killed-at-step.ts). A first run to its end counts the
// steps. Then each run continues with the data of the run before, and is killed at another step, in
// random order. If there are more steps than kills, chance picks one of each kind, and the others
// from all over the run. A run that ends before its step is made up for by another, half as many
// times as there are kills.

/** KILLS sets the number for a longer run. */
export const usualKills = Number(process.env["KILLS"] ?? 10)

/** At most this many runs, beside the first, are made for so many kills. */
export const roundsFor = (kills: number): number => kills + Math.ceil(kills / 2)

export interface StepKills {
  readonly kills: number
  readonly chance: Chance
  /** Only at steps of this kind, for a fault that shows there. */
  readonly only?: string
  /** The data of the program; the file with its steps lies beside it. */
  readonly data: string
  /** Runs the program until it has ended, or has done what it should. */
  readonly run: (environment: Readonly<Record<string, string>>, round: number) => Promise<void>
}

export interface Killed {
  readonly kills: number
  /** Of the run that was not killed: how many of each kind. */
  readonly steps: Readonly<Record<string, number>>
  /** How often each kind of step was the last. */
  readonly last: Readonly<Record<string, number>>
}

/** A module that a program loads first. */
export function loadedFirst(...modules: readonly string[]): string {
  const at = (module: string): string => pathToFileURL(join(import.meta.dirname, module)).href
  return modules.map((one) => `--import=${one.startsWith("data:") ? one : at(one)}`).join(" ")
}

export async function killAtSteps({ kills, chance, only, data, run }: StepKills): Promise<Killed> {
  const path = `${data}.steps`
  const environment = { STEPS: path, NODE_OPTIONS: loadedFirst("killed-at-step.ts") }
  const runTo = async ({ count, kind = "" }: Step, round: number) => {
    writeFileSync(path, `${count} ${kind}\n`)
    await run(environment, round)
    const text = readFileSync(path, "utf8")
    return { isReached: isLastReached(text), taken: text.trimEnd().split("\n").slice(1) }
  }
  const { taken: all } = await runTo({ count: Infinity }, 0)
  const kinds = counted(all)
  const steps = only === undefined ? all.length : (kinds[only] ?? 0)
  const ends: Step[] = Object.entries(only === undefined ? kinds : {}).map(([kind, times]) => ({
    kind,
    count: 1 + chance.below(times),
  }))
  while (ends.length > kills) ends.splice(chance.below(ends.length), 1)
  const others = kills - ends.length
  for (let at = 0; at < others; at++) {
    const [from, to] = [Math.floor((at * steps) / others), Math.floor(((at + 1) * steps) / others)]
    const count = 1 + from + chance.below(Math.max(1, to - from))
    ends.push(only === undefined ? { count } : { kind: only, count })
  }
  const last: string[] = []
  // A later run may take fewer steps than the first one.
  let most = all.length
  for (let round = 1; last.length < kills && round <= roundsFor(kills); round++) {
    const [drawn = { count: Infinity }] = ends.splice(chance.below(ends.length), 1)
    const isThere = drawn.kind !== undefined || drawn.count <= most
    const end = isThere ? drawn : { count: 1 + chance.below(most) }
    const { isReached, taken } = await runTo(end, round)
    if (isReached) last.push(end.kind ?? taken[end.count - 1] ?? "")
    else most = Math.max(1, taken.length)
  }
  return { kills: last.length, steps: kinds, last: counted(last) }
}

/** Of a kind, or of all, the one with this number. */
interface Step {
  readonly kind?: string
  readonly count: number
}

function counted(names: readonly string[]): Readonly<Record<string, number>> {
  const groups = Object.entries(Object.groupBy(names, (name) => name))
  return Object.fromEntries(groups.map(([name, some = []]) => [name, some.length]))
}

export interface ServiceKills extends Omit<StepKills, "run"> {
  readonly environment?: Readonly<Record<string, string>>
  /** Modules that are loaded after the one that kills. */
  readonly modules?: readonly string[]
  readonly fault?: Fault
  /** Rejects as for an unanswered request if the service is killed meanwhile. */
  readonly work: (service: Service, round: number) => Promise<void>
}

/** The same for a service, which starts each time, and is killed when it has done its work. */
export function killServiceAtSteps(kills: ServiceKills): Promise<Killed> {
  const { data, environment, modules = [], fault, work } = kills
  return killAtSteps({
    ...kills,
    async run(steps, round) {
      const others = loadedFirst(...modules)
      const settings = {
        ...environment,
        ...steps,
        NODE_OPTIONS: `${steps["NODE_OPTIONS"]} ${others}`,
      }
      const service = await startProgram({ data, environment: settings }, fault).catch(
        (error: unknown) => expectKilled(data, error),
      )
      if (service === undefined) return
      try {
        await work(service, round)
      } catch (error) {
        // What fetch throws when there is no answer, or not the whole of it.
        if (!(error instanceof TypeError)) throw error
        await service.end("SIGKILL")
        expectKilled(data, error)
      } finally {
        await service.end("SIGKILL")
      }
    },
  })
}

/** Expects that it reached its last step, and did not fail for another reason. */
function expectKilled(data: string, cause: unknown): undefined {
  assert.ok(isLastReached(readFileSync(`${data}.steps`, "utf8")), String(cause))
}
