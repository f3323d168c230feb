import assert from "node:assert/strict"
import test from "node:test"
import { createLog } from "../log.ts"
import { createHealth, createSuspicions, type FollowerMetrics } from "./health.ts"

test("a failure is logged as an error, and another process that is ahead is not", () => {
  const lines: string[] = []
  const log = createLog("info", [], (line) => void lines.push(line))
  const { see } = createHealth({} as FollowerMetrics, log, () => {})
  see({ kind: "failed", workspace: "acme", detail: "no answer" })
  see({ kind: "overtaken", workspace: "acme", detail: "another process is ahead" })
  assert.deepEqual(
    lines.map((line) => ({ ...JSON.parse(line), time: undefined })),
    [
      {
        level: 50,
        time: undefined,
        workspace: "acme",
        detail: "no answer",
        msg: "following failed; it is tried again",
      },
      {
        level: 30,
        time: undefined,
        workspace: "acme",
        detail: "another process is ahead",
        msg: "another server follows this workspace",
      },
    ],
  )
})

test("repeated reads of a broken entry cause one check, and so do those of an intact workspace", () => {
  const reports: string[] = []
  const halted = new Set<string>()
  let nowMs = 0
  const suspect = createSuspicions(
    { elapsed: () => nowMs },
    (workspace) => halted.has(workspace),
    (workspace, sequence) => reports.push(`${workspace} ${sequence}`),
  )
  for (let read = 0; read < 1000; read++, nowMs += 9) suspect("acme", 5 + (read % 7))
  suspect("other", 1)
  assert.deepEqual(reports, ["acme 5", "other 1"])
  nowMs += 10_000
  suspect("acme", 9)
  assert.deepEqual(reports.slice(2), ["acme 9"], "it may have come later")
  halted.add("acme")
  nowMs += 10_000
  suspect("acme", 9)
  assert.equal(reports.length, 3)
})
