// Who does the work of fsck: this thread alone, or threads beside it, each with connections of its own. What they are asked is independent
// of each other; the one who asks puts the answers together in their order.

import { walkContents, type CheckedContents, type Contents, type Repeated } from "./contents-check.ts"
import { walkPiece, type Piece, type WalkedPiece } from "./chain-piece.ts"
import { openWhole } from "../../store/sqlite/whole.ts"
import type { Kept, Keyed, Whole } from "../../store/sqlite/whole.ts"
import type { Stray } from "../../store/sqlite/strays.ts"
import { answer, givenToThread, startThread, type Thread } from "../../runtime/worker-thread.ts"

type Work = {
  piece(given: Piece): WalkedPiece
  contents(given: Contents): CheckedContents
  /** Nothing where there is no index. */
  keyed(run: number): Keyed | undefined
  repeated(given: Repeated): number | undefined
  strays(of: Kept): readonly Stray[]
}

export interface Crew {
  /** The answers in the order of what was asked; some of it is worked on ahead, and whoever has heard enough may stop. */
  each<K extends keyof Work>(question: K, given: Iterable<Parameters<Work[K]>[0]>): AsyncIterable<ReturnType<Work[K]>>
  close(): Promise<void>
}

/** What each thread has waiting, so that none has nothing to do while answers are put together. */
const askedAhead = 2

/** `threads` 0: without any. */
export async function openCrew(data: string, whole: Whole, threads: number): Promise<Crew> {
  const crew: Thread<AnsweredWork>[] = []
  const close = async (): Promise<void> => void (await Promise.all(crew.map((thread) => thread.close())))
  // Whoever asks it hears of its end.
  const onDeath = (): void => {}
  for (let count = 0; count < threads; count++)
    crew.push(await startThread<AnsweredWork>(import.meta.filename, { data } satisfies Given, { onDeath }))
  const own = workOn(whole)
  let asked = 0
  const ask = async <K extends keyof Work>(question: K, given: Parameters<Work[K]>[0]): Promise<ReturnType<Work[K]>> => {
    const thread = crew[asked++ % Math.max(threads, 1)]
    // The compiler does not tie the question to what is given with it.
    if (thread === undefined) return own[question](given as never) as ReturnType<Work[K]>
    const told = await thread.ask(question, given)
    if ("unreadable" in told) throw new UnreadableError(told.unreadable)
    return told.found
  }
  return { each: (question, given) => inOrder(given, (one) => ask(question, one), Math.max(threads * askedAhead, 1)), close }
}

/** SQLite can make no sense of what it reads. */
export class UnreadableError extends Error {
  override readonly name = "UnreadableError"
}

async function* inOrder<G, A>(given: Iterable<G>, ask: (one: G) => Promise<A>, ahead: number): AsyncGenerator<A> {
  const asked: Promise<A>[] = []
  for (const one of given) {
    const awaited = ask(one)
    // What is told of it is told when its turn has come, if it comes.
    awaited.catch(() => {})
    asked.push(awaited)
    const first = asked.length < ahead ? undefined : asked.shift()
    if (first !== undefined) yield await first
  }
  for (const rest of asked) yield await rest
}

// In a thread ---------------------------------------------------------------------------------------------------------------------------------------------

interface Given {
  readonly data: string
}

/** An error's code would be lost on the way between threads. */
type AnsweredWork = { readonly [K in keyof Work]: (given: Parameters<Work[K]>[0]) => Answered<ReturnType<Work[K]>> }
type Answered<A> = { readonly found: A } | { readonly unreadable: string }

function workOn(whole: Whole): Work {
  return {
    piece: (given) => walkPiece(whole, given),
    contents: (given) => walkContents(whole, given),
    keyed: (run) => whole.index?.keyed(run),
    repeated: ({ workspace, what }) => whole.repeated(workspace, what),
    strays: (of) => whole.strays(of),
  }
}

function answered<A>(act: () => A): Answered<A> {
  try {
    return { found: act() }
  } catch (error) {
    if (error instanceof Error && "errcode" in error) return { unreadable: error.message }
    throw error
  }
}

const given = givenToThread<Given>(import.meta.filename)
if (given !== undefined) {
  // Whoever started this thread has the folder to itself.
  const whole = openWhole(given.data, { alone: false })
  const work = workOn(whole)
  const answers: AnsweredWork = {
    piece: (one) => answered(() => work.piece(one)),
    contents: (one) => answered(() => work.contents(one)),
    keyed: (one) => answered(() => work.keyed(one)),
    repeated: (one) => answered(() => work.repeated(one)),
    strays: (one) => answered(() => work.strays(one)),
  }
  answer<AnsweredWork>(answers, () => whole.close())
}
