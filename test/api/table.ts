import assert from "node:assert/strict"
import type { Ask, Client, Reply } from "../service.ts"
import { expectProblem } from "./watched.ts"

// Scenarios as tables: one row for each request and who sends it.

export interface Row {
  /** What the row tests, if the request does not say it. */
  readonly about?: string
  readonly as: Client
  /** `GET /v1/limits` */
  readonly ask: string
  readonly send?: unknown
  readonly headers?: Ask["headers"]
  /** `202`, or for an error also its code: `400 invalid_field`. */
  readonly gets: number | string
  /** What must stand in the answer's body. */
  readonly has?: readonly (string | RegExp)[]
  readonly hasNot?: readonly string[]
  /** Members that the JSON answer must have, also within objects. */
  readonly shows?: object
  readonly answerHeaders?: Readonly<Record<string, string | null>>
}

/** Sends every row in turn, and fails with a list of the rows whose answer differs. */
export async function expectRows(rows: readonly Row[]): Promise<readonly Reply[]> {
  assert.ok(rows.length > 0)
  const replies: Reply[] = []
  const failures: string[] = []
  for (const [number, row] of rows.entries()) {
    try {
      replies.push(await expectRow(row))
    } catch (error) {
      failures.push(
        `row ${number + 1}, ${row.about ?? ""} ${row.ask}: ${error instanceof Error ? error.message : String(error)}`,
      )
    }
  }
  assert.equal(
    failures.length,
    0,
    `${failures.length} of ${rows.length} rows:\n\n${failures.join("\n\n")}\n`,
  )
  return replies
}

async function expectRow({
  as,
  ask,
  send,
  headers,
  gets,
  has = [],
  hasNot = [],
  shows,
  answerHeaders = {},
}: Row): Promise<Reply> {
  const [method = "", path = ""] = ask.split(" ")
  const reply = await as.ask(method, path, {
    ...(send === undefined ? {} : { body: send }),
    ...(headers && { headers }),
  })
  expectAnswered(reply.status, reply.text, gets)
  for (const one of has)
    assert.ok(
      typeof one === "string" ? reply.text.includes(one) : one.test(reply.text),
      `it lacks ${one}: ${reply.text}`,
    )
  for (const one of hasNot) assert.ok(!reply.text.includes(one), `it has ${one}: ${reply.text}`)
  if (shows !== undefined) assert.partialDeepStrictEqual(reply.json(), shows)
  for (const [name, value] of Object.entries(answerHeaders))
    assert.equal(reply.headers.get(name), value, name)
  return reply
}

/** Whether an answer is what a row says in its `gets`. */
export function expectAnswered(status: number, text: string, gets: number | string): void {
  const [expected, code] = String(gets).split(" ")
  assert.equal(`${status}`, expected, text)
  if (code === undefined) return
  const problem = expectProblem(text, "the answer")
  assert.equal(problem.error, code, text)
  assert.equal(problem.status, status, "a code goes with one status")
}
