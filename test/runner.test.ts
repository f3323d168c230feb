import assert from "node:assert/strict"
import { spawnSync } from "node:child_process"
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import test from "node:test"

// The test runner must not call a run green that tested nothing, or not everything.

const runner = join(import.meta.dirname, "..", "scripts", "test.mjs")
const good = 'import test from "node:test"\ntest("good", () => {})\ntest("as good", () => {})\n'

const cases = [
  { what: "two tests", text: good, code: 0, says: /tests 2\n/ },
  { what: "no test", text: "export {}\n", code: 1, says: /one\.test\.mjs has no test, or exited/ },
  {
    what: "an exit half way",
    text: `${good}test("cut", () => process.exit(0))\ntest("never", () => {})\n`,
    code: 1,
    says: /has no test, or exited/,
  },
  {
    what: "an exit in the first test",
    text: 'import test from "node:test"\ntest("cut", () => process.exit(0))\n',
    code: 1,
    says: /has no test, or exited/,
  },
  {
    what: "a test that fails",
    text: `${good}test("bad", () => { throw new Error("no") })\n`,
    code: 1,
    says: /fail 1\n/,
  },
  { what: "a name that one test has", text: good, name: "as good", code: 0, says: /tests 1\n/ },
  {
    what: "a name that no test has",
    text: good,
    name: "nothing",
    code: 1,
    says: /no test has a name like nothing/,
  },
  {
    what: "a name, and an exit behind it",
    text: `${good}test("as bad", () => process.exit(0))\n`,
    name: "as",
    code: 1,
    says: /has no test, or exited/,
  },
]

for (const { what, text, name, code, says } of cases) {
  test(`the runner ends with ${code} for ${what}`, () => {
    const folder = mkdtempSync(join(tmpdir(), "tallystick-runner-"))
    try {
      writeFileSync(join(folder, "one.test.mjs"), text)
      const ran = runTests(
        ...(name === undefined ? [] : [`--name=${name}`]),
        join(folder, "one.test.mjs"),
      )
      assert.equal(ran.status, code, ran.said)
      assert.match(ran.said, says)
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
}

const onLinux = { skip: process.platform !== "linux" && "only Linux tells the processor time" }

test("a run of several files ends with the times of each, with its processes", onLinux, () => {
  const folder = mkdtempSync(join(tmpdir(), "tallystick-runner-"))
  try {
    const work = "crypto.pbkdf2Sync('a', 'b', 1000000, 32, 'sha512')"
    const busy = `import { spawnSync } from "node:child_process"
spawnSync(process.execPath, ["-e", "${work}"])
`
    writeFileSync(join(folder, "idle.test.mjs"), good)
    writeFileSync(join(folder, "busy.test.mjs"), busy + good)
    const { said } = runTests(join(folder, "*.test.mjs"))
    const lines = said.matchAll(/ℹ \S+ s, (\S+) s of the processor: \S*(busy|idle)\.test\.mjs/g)
    const [[, most, first] = [], [, least, second] = []] = [...lines]
    assert.deepEqual([first, second], ["busy", "idle"], said)
    assert.ok(Number(most) > 2 * Number(least), said)
    assert.doesNotMatch(said, /took/)
  } finally {
    rmSync(folder, { recursive: true })
  }
})

test("--quick leaves out files that need a socket or a process", () => {
  const folder = mkdtempSync(join(tmpdir(), "tallystick-runner-"))
  try {
    writeFileSync(join(folder, "one.test.mjs"), good)
    writeFileSync(join(folder, "two.test.mjs"), `import "node:net"\n${good}`)
    const files = join(folder, "*.test.mjs")
    assert.match(runTests("--quick", files).said, /tests 2\n/)
    assert.match(runTests(files).said, /tests 4\n/)
  } finally {
    rmSync(folder, { recursive: true })
  }
})

test("for a folder, the runner runs every test in it and below it", () => {
  const folder = mkdtempSync(join(tmpdir(), "tallystick-runner-"))
  try {
    mkdirSync(join(folder, "below"))
    writeFileSync(join(folder, "one.test.ts"), good)
    writeFileSync(join(folder, "below", "two.test.ts"), good)
    writeFileSync(join(folder, "other.ts"), good)
    const { status, said } = runTests(folder)
    assert.equal(status, 0, said)
    assert.match(said, /tests 4\n/)
  } finally {
    rmSync(folder, { recursive: true })
  }
})

test("a file that stays alive after its tests is ended, and fails", () => {
  const folder = mkdtempSync(join(tmpdir(), "tallystick-runner-"))
  try {
    writeFileSync(join(folder, "one.test.mjs"), `${good}setInterval(() => {}, 1000)\n`)
    const { status, said } = runTests("--timeout=2000", join(folder, "one.test.mjs"))
    assert.equal(status, 1, said)
    assert.match(said, /its tests are over, and something keeps it alive/)
  } finally {
    rmSync(folder, { recursive: true })
  }
})

test("the runner ends with 1 for files that are not there", () => {
  const { status, said } = runTests("nowhere/*.test.ts")
  assert.equal(status, 1)
  assert.match(said, /no file matches nowhere/)
})

function runTests(...args: readonly string[]): {
  readonly status: number | null
  readonly said: string
} {
  // Otherwise it would count as part of this run, and print nothing.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env
  const { status, stdout, stderr } = spawnSync(process.execPath, [runner, ...args], {
    env,
    encoding: "utf8",
    timeout: 60_000,
  })
  return { status, said: stdout + stderr }
}

test("the files that the runner names are there", () => {
  const named = readFileSync(runner, "utf8").match(/(?<=")test\/[\w/.-]+\.ts(?=")/g) ?? []
  assert.ok(named.length > 10, `found ${named.length} names only`)
  for (const path of named)
    assert.ok(existsSync(join(import.meta.dirname, "..", path)), `${path} is not there`)
})
