// Does the work of fsck in this thread, or in a pool of threads with connections of their own.
// Questions are independent of each other; answers come in the order of the questions.

import {
  walkContents,
  type ContentsResult,
  type Contents,
  type UniqueName,
} from "./contents-check.ts"
import { checkSegment, type SegmentOf } from "./segment-check.ts"
import type { Fault } from "./fault.ts"
import { walkPiece, type Piece, type PieceResult } from "./chain-piece.ts"
import { openWhole, type Kept, type Keyed, type Whole } from "../../store/sqlite/whole-ledger.ts"
import type { Stray } from "../../store/sqlite/orphans.ts"
import { answer, givenToThread, startThread, type Thread } from "../../runtime/worker-thread.ts"

type Work = {
  piece(given: Piece): PieceResult
  contents(given: Contents): ContentsResult
  /** Undefined if there is no index. */
  keyed(run: number): Keyed | undefined
  repeated(given: UniqueName): number | undefined
  segment(given: SegmentOf): Fault | undefined
  strays(of: Kept): readonly Stray[]
}

export interface Workers {
  /** Yields the answers in order, and works some questions ahead. The caller may stop early. */
  each<K extends keyof Work>(
    question: K,
    given: Iterable<Parameters<Work[K]>[0]>,
  ): AsyncIterable<ReturnType<Work[K]>>
  close(): Promise<void>
}

/** Questions that wait for each thread, so that none is idle while the caller handles an answer. */
const askedAhead = 2

/** With 0 threads, this thread does the work. */
export async function openWorkers(data: string, whole: Whole, threads: number): Promise<Workers> {
  const pool: Thread<AnsweredWork>[] = []
  const close = async (): Promise<void> =>
    void (await Promise.all(pool.map((thread) => thread.close())))
  // A question to a dead thread rejects.
  const onDeath = (): void => {}
  for (let count = 0; count < threads; count++)
    pool.push(
      await startThread<AnsweredWork>(import.meta.filename, { data } satisfies Given, { onDeath }),
    )
  const own = workOn(whole)
  let asked = 0
  const ask = async <K extends keyof Work>(
    question: K,
    given: Parameters<Work[K]>[0],
  ): Promise<ReturnType<Work[K]>> => {
    const thread = pool[asked++ % Math.max(threads, 1)]
    // TypeScript cannot relate `given` to `question`.
    if (thread === undefined) return own[question](given as never) as ReturnType<Work[K]>
    const told = await thread.ask(question, given)
    if ("unreadable" in told) throw new UnreadableError(told.unreadable)
    return told.found
  }
  return {
    each: (question, given) =>
      inOrder(given, (one) => ask(question, one), Math.max(threads * askedAhead, 1)),
    close,
  }
}

export class UnreadableError extends Error {
  override readonly name = "UnreadableError"
}

async function* inOrder<G, A>(
  given: Iterable<G>,
  ask: (one: G) => Promise<A>,
  ahead: number,
): AsyncGenerator<A> {
  const asked: Promise<A>[] = []
  for (const one of given) {
    const awaited = ask(one)
    // The loop below awaits it when its turn comes, unless the caller stops before.
    awaited.catch(() => {})
    asked.push(awaited)
    const first = asked.length < ahead ? undefined : asked.shift()
    if (first !== undefined) yield await first
  }
  for (const rest of asked) yield await rest
}

// In a thread -------------------------------------------------------------------------------------

interface Given {
  readonly data: string
}

/** Errors lose their code between threads, so an unreadable page is an answer. */
type AnsweredWork = {
  readonly [K in keyof Work]: (given: Parameters<Work[K]>[0]) => Answered<ReturnType<Work[K]>>
}
type Answered<A> = { readonly found: A } | { readonly unreadable: string }

function workOn(whole: Whole): Work {
  return {
    piece: (given) => walkPiece(whole, given),
    contents: (given) => walkContents(whole, given),
    keyed: (run) => whole.index?.keyed(run),
    repeated: ({ workspace, what }) => whole.repeated(workspace, what),
    segment: (given) => checkSegment(whole, given),
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
  // The thread that started this one holds the lock of the folder.
  const whole = openWhole(given.data, { alone: false })
  const work = workOn(whole)
  const answers: AnsweredWork = {
    piece: (one) => answered(() => work.piece(one)),
    contents: (one) => answered(() => work.contents(one)),
    keyed: (one) => answered(() => work.keyed(one)),
    repeated: (one) => answered(() => work.repeated(one)),
    segment: (one) => answered(() => work.segment(one)),
    strays: (one) => answered(() => work.strays(one)),
  }
  answer<AnsweredWork>(answers, () => whole.close())
}
