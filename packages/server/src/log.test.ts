import assert from "node:assert/strict"
import test from "node:test"
import { createLog } from "./log.ts"

const id = `tsk_${"1".repeat(13)}`
const token = `${id}_${"aB3".repeat(16)}c`

/** What the log writes of these fields. */
function logged(fields: object, secrets: readonly string[] = []): string {
  let written = ""
  createLog("info", secrets, (line) => (written += line)).info(fields, "a message")
  return written
}

test("a credential is shortened to its id, whatever stands around it", () => {
  for (const before of ["", " ", "Bearer%20", "request_", "7", "Ä"]) {
    const line = logged({ requestId: `${before}${token}` })
    assert.ok(line.includes(`"requestId":"${before}${id}_…"`), line)
  }
})

test("a secret is removed, also if the line that has it is logged again", () => {
  const secret = 'a "secret" of \\ 32 characters'
  for (const text of [secret, logged({ text: secret })]) {
    const line = logged({ text: `before ${text} after` }, [secret])
    assert.match(line, /before .*….* after/)
    assert.ok(!line.includes("32 characters"), line)
  }
})

test("an error is a line with its causes and its code, also one of several or with itself as a cause", () => {
  const cause = Object.assign(new TypeError("no answer"), { code: "ECONNREFUSED", socket: {} })
  const round = new Error("again")
  round.cause = round
  const [one, many] = [new Error("cut off", { cause }), new AggregateError([cause, round], "all")]
  const [read, all] = [one, many].map((err) => JSON.parse(logged({ err })).err)
  assert.equal(read.message, "cut off: no answer")
  assert.match(read.stack, /^Error: cut off\n[^]*\ncaused by: TypeError: no answer\n/)
  assert.deepEqual([read.type, all.type], ["Error", "AggregateError"])
  assert.deepEqual(
    all.aggregateErrors.map(({ stack, ...rest }: { stack: string }) => rest),
    [
      { code: "ECONNREFUSED", type: "TypeError", message: "no answer" },
      { type: "Error", message: "again" },
    ],
  )
})

test("a line has its level, its time and its message, and no line is below the least level", () => {
  const lines: string[] = []
  const log = createLog("warn", [], (line) => void lines.push(line))
  log.info("not this one")
  log.warn("this one")
  log.fatal({ err: "no error", left: undefined }, "and this one")
  const time = /"time":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z",/
  assert.deepEqual(
    lines.map((line) => line.replace(time, "")),
    ['{"level":40,"msg":"this one"}\n', '{"level":60,"err":"no error","msg":"and this one"}\n'],
  )
})
