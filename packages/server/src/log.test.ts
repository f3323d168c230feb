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
