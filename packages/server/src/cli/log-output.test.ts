import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { closeSync, constants, mkdtempSync, openSync, readSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { test } from "node:test"
import { delay, systemClock } from "../clock.ts"
import { openLogOutput } from "./log-output.ts"

/** The two ends of a pipe that takes 64 KiB and then no more, as a log's reader's is. */
function openPipe() {
  const folder = mkdtempSync(join(tmpdir(), "tallystick-pipe-"))
  const path = join(folder, "pipe")
  execFileSync("mkfifo", [path])
  const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  const writer = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK)
  rmSync(folder, { recursive: true })
  const open = new Set([reader, writer])
  const close = (file: number): void => {
    if (open.delete(file)) closeSync(file)
  }
  return {
    writer,
    /** What lies in it. */
    take(): string {
      const bytes = Buffer.alloc(128 * 1024)
      try {
        return bytes.toString("utf8", 0, readSync(reader, bytes))
      } catch (error) {
        assert.equal((error as NodeJS.ErrnoException).code, "EAGAIN")
        return ""
      }
    },
    leave: () => close(reader),
    [Symbol.dispose]: () => open.forEach(close),
  }
}

async function takeUntil(pipe: ReturnType<typeof openPipe>, end: string): Promise<string> {
  let taken = ""
  for (let turn = 0; !taken.endsWith(end); turn++) {
    assert.ok(turn < 1000, "it does not come")
    taken += pipe.take()
    await delay(5)
  }
  return taken
}

const lineOf = (number: number): string =>
  `${String(number).padStart(6, "0")} a line that says – in more than ASCII – what has happened\n`
const fail = (): void => assert.fail("nothing is lost")

test("lines that a slow reader has not taken yet wait, complete and in order", async () => {
  using pipe = openPipe()
  const lines = openLogOutput(pipe.writer, systemClock, fail)
  const all = Array.from({ length: 5000 }, (_, number) => lineOf(number))
  for (const line of all) lines.write(line)
  await delay(100)
  assert.equal(await takeUntil(pipe, lineOf(4999)), all.join(""))
  await lines.written()
})

test("lines beyond the limit are dropped and counted, and the process continues", async () => {
  using pipe = openPipe()
  const lost: number[] = []
  const lines = openLogOutput(pipe.writer, systemClock, (count) => {
    lost.push(count)
    lines.write(`${count} are lost\n`)
  })
  const count = 50_000
  for (let number = 0; number < count; number++) lines.write(lineOf(number))
  const started = performance.now()
  await lines.written()
  assert.ok(performance.now() - started < 5000, "it waits for ever")
  const taken = (await takeUntil(pipe, " are lost\n")).split("\n")
  assert.equal(lost.length, 1)
  assert.equal(taken.length - 2 + (lost[0] ?? 0), count)
  assert.ok((lost[0] ?? 0) > 1000)
  for (const [place, line] of taken.slice(0, -2).entries()) assert.equal(`${line}\n`, lineOf(place))
})

test("the process continues without a reader", async () => {
  using pipe = openPipe()
  const lines = openLogOutput(pipe.writer, systemClock, fail)
  pipe.leave()
  lines.write(lineOf(1))
  await lines.written()
  lines.write(lineOf(2))
  await lines.written()
})
