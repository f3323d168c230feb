// A worker thread that answers questions and may report on its own: one question is one message, and so is its answer. Storage's
// writer and reader are such threads, and so is the program that watches.

import { flushCompileCache } from "node:module"
import { parentPort, Worker, workerData, type Transferable } from "node:worker_threads"
import { LedgerError, type ErrorCode } from "../error.ts"

/** What a thread can be asked: a name for each question, with what it is given and what it answers. */
export type Questions = Readonly<Record<string, (given: never) => unknown>>

export interface Thread<Q extends Questions> {
  ask<K extends keyof Q & string>(question: K, given: Parameters<Q[K]>[0], transfer?: Transferable[]): Promise<Awaited<ReturnType<Q[K]>>>
  /** Has the thread finish what it was asked, and end. */
  close(): Promise<void>
}

export interface ThreadListener<R> {
  /** The thread has ended, and nobody had asked it to. */
  readonly onDeath: (cause: Error) => void
  readonly onReport?: (report: R) => void
}

interface Started {
  readonly module: string
  readonly given: unknown
}

interface Asked {
  readonly id: number
  readonly question: string
  readonly given: unknown
}

type Told<R = unknown> =
  | { readonly kind: "ready" }
  | { readonly kind: "answer"; readonly id: number; readonly answer: unknown }
  | { readonly kind: "error"; readonly id: number; readonly error: unknown }
  | { readonly kind: "refusal"; readonly id: number; readonly code: ErrorCode; readonly detail: string }
  | { readonly kind: "report"; readonly report: R }

const closeQuestion = "close"

/** What a thread has in hand is soon done with: a young generation as large as the main thread's would only be memory that is never used. */
const resourceLimits = { maxYoungGenerationSizeMb: 12 }

/** Starts a thread on a module that calls `answer`, and waits until it is ready. */
export async function startThread<Q extends Questions, R = never>(
  module: string,
  given: unknown,
  listener: ThreadListener<R>,
): Promise<Thread<Q>> {
  const worker = new Worker(module, { workerData: { module, given } satisfies Started, execArgv: [], resourceLimits })
  const waiting = new Map<number, { readonly resolve: (answer: unknown) => void; readonly reject: (error: unknown) => void }>()
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
  const hear = (told: Told<R>) => {
    if (told.kind === "ready") return
    if (told.kind === "report") {
      listener.onReport?.(told.report)
      return
    }
    const call = waiting.get(told.id)
    waiting.delete(told.id)
    if (told.kind === "error") call?.reject(told.error)
    else if (told.kind === "refusal") call?.reject(new LedgerError(told.code, told.detail))
    else call?.resolve(told.answer)
  }
  await new Promise<void>((resolve, reject) => {
    worker.once("message", () => resolve())
    worker.once("error", reject)
  })
  worker.on("message", hear)
  worker.on("error", (error) => die(error instanceof Error ? error : new Error("a thread has failed", { cause: error })))
  worker.on("exit", () => die(new Error(`the thread of ${module} has ended`)))

  const post = (question: string, value: unknown, transfer: Transferable[] = []): Promise<unknown> =>
    new Promise((resolve, reject) => {
      if (ended !== undefined) {
        reject(ended)
        return
      }
      const id = ++asked
      waiting.set(id, { resolve, reject })
      worker.postMessage({ id, question, given: value } satisfies Asked, transfer)
    })

  return {
    // The answer's type is fixed by `Q`, which both sides share.
    ask: (question, value, transfer) => post(question, value, transfer) as never,
    async close() {
      closing = true
      const exited = new Promise((resolve) => worker.once("exit", resolve))
      await post(closeQuestion, undefined)
      await exited
    },
  }
}

/** What this thread was started with, if it was started on this module: a module may also be imported by another thread. */
export function givenToThread<T>(module: string): T | undefined {
  // Only startThread sets it, and with what the module's own starter gives.
  const started = workerData as Started | null
  return started?.module === module ? (started.given as T) : undefined
}

/** The thread's side: says that it is ready, then answers until it is told to close. Returns the way to report. */
export function answer<Q extends Questions, R = never>(questions: Q, close: () => void | Promise<void>): (report: R) => void {
  const port = parentPort
  if (port === null) throw new Error("this module runs as a thread")
  const tell = (told: Told<R>) => port.postMessage(told)
  const reply = async ({ id, question, given }: Asked): Promise<void> => {
    try {
      // The asking side sends what `Q` says; nobody else can post to this port.
      const answered = question === closeQuestion ? close() : questions[question]?.(given as never)
      tell({ kind: "answer", id, answer: answered instanceof Promise ? await answered : answered })
    } catch (error) {
      // Of an error only the message would arrive.
      if (error instanceof LedgerError) tell({ kind: "refusal", id, code: error.code, detail: error.detail })
      else tell({ kind: "error", id, error })
    }
    if (question === closeQuestion) port.close()
  }
  port.on("message", (asked: Asked) => void reply(asked))
  tell({ kind: "ready" })
  // What this thread has compiled is for the next start, also when this process is killed.
  flushCompileCache()
  return (report) => tell({ kind: "report", report })
}
