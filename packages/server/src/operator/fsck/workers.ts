// Does the work of fsck in this thread, or in a pool of threads with connections of their own.
// Questions are independent of each other; answers come in the order of the questions.

import { walkContents, type ContentsResult, type Contents } from "./contents-check.ts"
import {
  checkSegment,
  readBlock,
  type BlockOf,
  type SaidBlock,
  type SegmentOf,
} from "./segment-check.ts"
import type { Fault } from "./fault.ts"
import { walkPiece, type Piece, type PieceResult } from "./chain-piece.ts"
import { openWhole } from "../../store/open-offline.ts"
import type { StorePlace } from "../../store/open.ts"
import type {
  Kept,
  Keyed,
  RepeatedName,
  Stray,
  UnpackedContent,
  Whole,
} from "../../store/whole-ledger.ts"
import { answer, givenToThread, startThread, type Thread } from "../../runtime/worker-thread.ts"

type Work = {
  piece(given: Piece): Promise<PieceResult>
  contents(given: Contents): Promise<ContentsResult>
  /** Undefined if there is no index. */
  keyed(run: number): Promise<Keyed | undefined>
  repeated(given: RepeatedAsked): Promise<readonly RepeatedName[]>
  /** Entries of a large segment, of which threads read several blocks at once. */
  block(given: BlockOf): Promise<Read<SaidBlock>>
  segment(given: SegmentOf): Promise<Read<Fault | undefined>>
  strays(given: StraysOf): Promise<readonly Stray[]>
}

/** What was found, and what was unpacked for it. */
interface Read<T> {
  readonly found: T
  readonly unpacked: UnpackedContent
}

interface RepeatedAsked {
  readonly workspaces: readonly string[]
  readonly isIndexRight: boolean
}

interface StraysOf {
  readonly of: Kept
  /** What other questions have found to be right. */
  readonly right: UnpackedContent
}

export interface Workers {
  /** Yields the answers in order, and works ahead by some questions. The caller may stop early. */
  each<K extends keyof Work>(
    question: K,
    given: Iterable<Parameters<Work[K]>[0]>,
  ): AsyncIterable<Awaited<ReturnType<Work[K]>>>
  close(): Promise<void>
}

/** Questions that wait for each thread, so that none is idle while the caller handles an answer. */
const askedAhead = 2
/** Questions for each thread whose answers are not handled: one may take much longer than others. */
const unansweredOfThread = 8

/** With 0 threads, this thread does the work. */
export async function openWorkers(
  place: StorePlace,
  whole: Whole,
  threads: number,
): Promise<Workers> {
  const pool: Thread<AnsweredWork>[] = []
  const close = async (): Promise<void> =>
    void (await Promise.all(pool.map((thread) => thread.close())))
  // A question to a dead thread rejects.
  const onDeath = (): void => {}
  for (let count = 0; count < threads; count++)
    pool.push(await startThread<AnsweredWork>(import.meta.filename, place, { onDeath }))
  const own = workOn(whole)
  // Each thread as often as it may have questions. This thread works on one at a time.
  const free: (Thread<AnsweredWork> | undefined)[] =
    threads === 0 ? [undefined] : Array.from({ length: askedAhead }, () => pool).flat()
  type Waiting = (thread: Thread<AnsweredWork> | undefined) => void
  /** Parts of the index of keys are small, so they come last, beside a segment that takes long. */
  const [waiting, waitingKeys]: [Waiting[], Waiting[]] = [[], []]
  const ask = async <K extends keyof Work>(
    question: K,
    given: Parameters<Work[K]>[0],
  ): Promise<Awaited<ReturnType<Work[K]>>> => {
    const thread =
      free.length > 0
        ? free.shift()
        : await new Promise<Thread<AnsweredWork> | undefined>((resolve) =>
            (question === "keyed" ? waitingKeys : waiting).push(resolve),
          )
    try {
      // TypeScript cannot relate `given` to `question`, nor the question to its answer.
      if (thread === undefined) return (await own[question](given as never)) as never
      const told = await thread.ask(question, ...([given] as never))
      if ("unreadable" in told) throw new UnreadableError(told.unreadable)
      return told.found
    } finally {
      const next = waiting.shift() ?? waitingKeys.shift()
      if (next === undefined) free.push(thread)
      else next(thread)
    }
  }
  return {
    each: (question, given) =>
      inOrder(given, (one) => ask(question, one), Math.max(threads * unansweredOfThread, 1)),
    close,
  }
}

class UnreadableError extends Error {
  override readonly name = "UnreadableError"
}

/** Whether SQLite could not read a page: the data is damaged, and nobody can say what was in it. */
export function isUnreadable(error: unknown): error is Error {
  return error instanceof UnreadableError || (error instanceof Error && "errcode" in error)
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

/** Errors lose their code between threads, so an unreadable page is an answer. */
type AnsweredWork = {
  readonly [K in keyof Work]: (
    given: Parameters<Work[K]>[0],
  ) => Promise<Answered<Awaited<ReturnType<Work[K]>>>>
}
type Answered<A> = { readonly found: A } | { readonly unreadable: string }

function workOn(whole: Whole): Work {
  const read = <T>(found: T): Read<T> => ({ found, unpacked: whole.unpacked() })
  return {
    piece: (given) => walkPiece(whole, given),
    contents: (given) => walkContents(whole, given),
    keyed: async (run) => whole.index?.keyed(run),
    repeated: ({ workspaces, isIndexRight }) => whole.repeated(workspaces, isIndexRight),
    block: async (given) => read(await readBlock(whole, given)),
    segment: async (given) => read(await checkSegment(whole, given)),
    strays: ({ of, right }) => whole.strays(of, right),
  }
}

async function answered<A>(act: () => Promise<A>): Promise<Answered<A>> {
  try {
    return { found: await act() }
  } catch (error) {
    if (isUnreadable(error)) return { unreadable: error.message }
    throw error
  }
}

const given = givenToThread<StorePlace>(import.meta.filename)
if (given !== undefined) {
  // The thread that started this one has made sure that no service runs.
  const whole = await openWhole(given, { alone: false })
  const answers = Object.entries(workOn(whole)).map(([question, work]) => [
    question,
    (one: never) => answered<unknown>(() => work(one)),
  ])
  // Each question has its own answer, or says what is unreadable.
  answer<AnsweredWork>(Object.fromEntries(answers) as AnsweredWork, () => whole.close())
}
