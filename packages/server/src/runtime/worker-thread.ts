// Remote calls to a worker thread. Questions that are asked in the same turn share a message. Each
// answer is a message of its own, so that it does not wait for others. A thread may also send
// reports.

import { flushCompileCache } from "node:module"
import { parentPort, Worker, workerData } from "node:worker_threads"
import { LedgerError, type ErrorCode } from "../error.ts"

/** The questions that a thread answers. Arguments and answers are copied. */
export type Questions = Readonly<Record<string, (...given: never[]) => unknown>>

export interface Thread<Q extends Questions> {
  ask<K extends keyof Q & string>(
    question: K,
    ...given: Parameters<Q[K]>
  ): Promise<Awaited<ReturnType<Q[K]>>>
  /**
   * Resolves when the thread has ended. Questions that it has begun and not answered are rejected: its
   * own close decides what it finishes, and a long one must not hold up a stop.
   */
  close(): Promise<void>
}

export interface ThreadListener<R> {
  /** Called if the thread ends without a `close`. */
  readonly onDeath: (cause: Error) => void
  readonly onReport?: (report: R) => void
}

interface ThreadOptions<R> extends ThreadListener<R> {
  /**
   * For a thread whose objects live for a while: a small young generation would copy them several
   * times before they become old.
   */
  readonly youngGenerationMb?: number
}

interface ThreadStart {
  readonly module: string
  readonly given: unknown
}

interface Question {
  readonly id: number
  readonly question: string
  readonly given: readonly unknown[]
}

/** What a thread sends after its first message, which says that it is ready. */
type ThreadMessage<R = unknown> =
  | { readonly kind: "answer"; readonly id: number; readonly answer: unknown }
  | { readonly kind: "error"; readonly id: number; readonly error: unknown }
  | {
      readonly kind: "refusal"
      readonly id: number
      readonly code: ErrorCode
      readonly detail: string
      readonly cause: unknown
    }
  | { readonly kind: "report"; readonly report: R }

const closeQuestion = "close"

/**
 * The objects of a thread are short-lived, so it needs a smaller young generation than the main
 * thread.
 */
const youngGenerationMb = 12

/** Starts a thread on a module that calls `answer`. Resolves when it is ready. */
export async function startThread<Q extends Questions, R = never>(
  module: string,
  given: unknown,
  listener: ThreadOptions<R>,
): Promise<Thread<Q>> {
  const maxYoungGenerationSizeMb = listener.youngGenerationMb ?? youngGenerationMb
  const worker = new Worker(module, {
    workerData: { module, given } satisfies ThreadStart,
    execArgv: [],
    resourceLimits: { maxYoungGenerationSizeMb },
  })
  const waiting = new Map<
    number,
    { readonly resolve: (answer: unknown) => void; readonly reject: (error: unknown) => void }
  >()
  let asked = 0
  let closing = false
  let ended: Error | undefined

  const die = (cause: Error) => {
    ended ??= cause
    for (const { reject } of waiting.values()) reject(cause)
    waiting.clear()
    if (!closing) listener.onDeath(cause)
    closing = true
  }
  const hear = (told: ThreadMessage<R>) => {
    if (told.kind === "report") {
      listener.onReport?.(told.report)
      return
    }
    const call = waiting.get(told.id)
    waiting.delete(told.id)
    if (told.kind === "error") call?.reject(told.error)
    else if (told.kind === "refusal") call?.reject(new LedgerError(told.code, told.detail, told))
    else call?.resolve(told.answer)
  }
  await new Promise<void>((resolve, reject) => {
    worker.once("message", () => resolve())
    worker.once("error", reject)
    worker.once("exit", () =>
      reject(new Error(`the thread of ${module} ended before it was ready`)),
    )
  })
  worker.on("message", hear)
  worker.on("error", (error) =>
    die(error instanceof Error ? error : new Error("a thread has failed", { cause: error })),
  )
  worker.on("exit", () => die(new Error(`the thread of ${module} has ended`)))

  const send = createOutbox(worker, (id, error) => hear({ kind: "error", id, error }))
  const post = (question: string, ...given: readonly unknown[]): Promise<unknown> =>
    new Promise((resolve, reject) => {
      if (ended !== undefined) {
        reject(ended)
        return
      }
      const id = ++asked
      waiting.set(id, { resolve, reject })
      send({ id, question, given })
    })

  return {
    // Both sides share `Q`, which gives the answer's type.
    ask: (question, ...given) => post(question, ...given) as never,
    async close() {
      closing = true
      const exited = new Promise((resolve) => worker.once("exit", resolve))
      await post(closeQuestion)
      await exited
    },
  }
}

/**
 * A thread that starts on demand, with its first question. If it cannot start, the question is
 * refused, and the next question tries again.
 */
export function startWhenAsked<Q extends Questions>(start: () => Promise<Thread<Q>>): Thread<Q> {
  const refusal = (cause?: unknown): LedgerError => {
    const detail = "a thread of the service could not start; repeat the request"
    return new LedgerError("ledger_unavailable", detail, { cause })
  }
  let starting: Promise<Thread<Q>> | undefined
  let isClosed = false
  const started = (): Promise<Thread<Q>> => {
    if (isClosed) return Promise.reject(refusal())
    starting ??= start().catch((cause: unknown) => {
      starting = undefined
      throw refusal(cause)
    })
    return starting
  }
  return {
    ask: (question, ...given) => started().then((thread) => thread.ask(question, ...given)),
    async close() {
      isClosed = true
      // The callers of the question get the error of a failed start.
      const noThread = (): void => {}
      await starting?.then((thread) => thread.close(), noThread)
    },
  }
}

function createOutbox(worker: Worker, fail: (id: number, error: unknown) => void) {
  let unsent: Question[] = []
  const send = (): void => {
    const questions = unsent
    unsent = []
    try {
      worker.postMessage(questions)
    } catch (error) {
      for (const { id } of questions) fail(id, error)
    }
  }
  return (asked: Question): void => {
    if (unsent.push(asked) === 1) queueMicrotask(send)
  }
}

/** For each of these questions, a function that asks it. */
export function asking<Q extends Questions, const K extends keyof Q & string>(
  thread: Thread<Q>,
  ...questions: readonly K[]
): { readonly [N in K]: (...given: Parameters<Q[N]>) => Promise<Awaited<ReturnType<Q[N]>>> } {
  const functions = questions.map((question) => [
    question,
    (...given: Parameters<Q[K]>) => thread.ask(question, ...given),
  ])
  // Each name has its function.
  return Object.fromEntries(functions) as never
}

/** The argument that this thread was started with. Undefined if the module was only imported. */
export function givenToThread<T>(module: string): T | undefined {
  // Only startThread sets the data.
  const started = workerData as ThreadStart | null
  return started?.module === module ? (started.given as T) : undefined
}

/**
 * The thread's side: answers questions until it is closed. Returns a function that sends a report.
 * Between threads, an error loses its class, unless it is a LedgerError or `asRefusal` makes it one.
 */
export function answer<Q extends Questions, R = never>(
  questions: Q,
  close: () => void | Promise<void>,
  asRefusal = (thrown: unknown): unknown => thrown,
): (report: R) => void {
  const port = parentPort
  if (port === null) throw new Error("this module runs as a thread")
  const tell = (told: ThreadMessage<R>) => port.postMessage(told)
  const reply = async ({ id, question, given }: Question): Promise<void> => {
    try {
      // The asking side has the type `Q`, and only it can post to this port.
      const answered =
        question === closeQuestion ? close() : questions[question]?.(...(given as never[]))
      tell({ kind: "answer", id, answer: answered instanceof Promise ? await answered : answered })
    } catch (thrown) {
      const error = asRefusal(thrown)
      if (error instanceof LedgerError)
        tell({ kind: "refusal", id, code: error.code, detail: error.detail, cause: error.cause })
      else tell({ kind: "error", id, error })
    }
    if (question === closeQuestion) port.close()
  }
  port.on("message", (asked: readonly Question[]) => {
    for (const one of asked) void reply(one)
  })
  port.postMessage("ready")
  // The next start uses the compiled code, even if this process is killed.
  flushCompileCache()
  return (report) => tell({ kind: "report", report })
}
