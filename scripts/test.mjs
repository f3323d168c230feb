// Runs the tests: `scripts/test.mjs [--quick] [--timeout=ms] [--name=pattern] [--minutes=n] [files,
// folders or globs]`; without files, every test of every package. --quick leaves out what needs a process
// or a socket of its own. The minutes are those that the tests at length may take. It is here
// because `node --test` passes what tested nothing: globs or a name that match nothing, a file
// without a test, a file that exits half way. And it runs no file by itself while it runs others at
// once.

import { globSync, readFileSync, statSync } from "node:fs"
import { join, relative, resolve } from "node:path"
import { Readable } from "node:stream"
import { run } from "node:test"
import { spec } from "node:test/reporters"
import { parseArgs } from "node:util"
import { bundleProgram } from "./bundle.mjs"

const every = ["packages/*/src/**/*.test.ts", "test/**/*.test.ts"]

/** These measure how quick the service is: beside another test they would measure that one. */
const measuring = new Set([
  "test/promises/overload.test.ts",
  "test/promises/slow-clients.test.ts",
  "test/promises/measuring.deep.ts",
])

/**
 * The longest, longest first: begun last, one of them would run on when all others are done. A
 * run of several files ends with the times that this list is made of.
 */
const long = [
  // Where it is their first run, they build a program in Go.
  "test/outside/object-storage.test.ts",
  "test/outside/generated-clients.test.ts",
  "test/postgres/commands.test.ts",
  "test/api/exports-lifetime.test.ts",
  "test/api/archive.test.ts",
  "test/cli.test.ts",
  "test/ledger-commands.test.ts",
  "test/postgres/lifetime-servers.test.ts",
  "test/postgres/killed-at-step.test.ts",
  "test/crash/archive-killed.test.ts",
  "test/crash/expiry-killed.test.ts",
  "test/crash/secret.test.ts",
  "test/outside/schemathesis.test.ts",
  "test/postgres/engine.test.ts",
  "test/api/archive-s3.test.ts",
  "test/crash/erasure-killed.test.ts",
  "test/pages/events.test.ts",
  "test/outside/installed.test.ts",
  "test/api/permissions.test.ts",
  "test/promises/stalls.test.ts",
  "test/postgres/database-away.test.ts",
  "test/pages/administration.test.ts",
  "test/promises/restored.test.ts",
  "test/promises/tampering.test.ts",
  "test/crash/kill.test.ts",
  "test/postgres/several-servers.test.ts",
  "test/promises/one-entry.test.ts",
  "test/promises/read-your-writes.test.ts",
  "test/api/sessions.test.ts",
  "test/promises/bad-input.test.ts",
  "test/postgres/store.test.ts",
  "test/crash/power.test.ts",
  "test/promises/one-chain.test.ts",
  "test/api/permissions-canary.test.ts",
  "test/pages/entry.test.ts",
  "test/postgres-server.test.ts",
  "test/api/members.test.ts",
  "test/outside/export.test.ts",
  "test/crash/failing-calls.test.ts",
  "test/promises/forged.test.ts",
  "test/operating.test.ts",
  "test/crash/start.test.ts",
  "test/api/export-memory.test.ts",
  "test/pages/dashboard.test.ts",
  "test/crash/stop.test.ts",
  "packages/server/src/store/sqlite/sqlite-segments.test.ts",
  "test/pages/chain.test.ts",
  "test/pages/component.test.ts",
]

const { values, positionals } = parseArgs({
  // A file that hangs for ten minutes has failed.
  options: {
    quick: { type: "boolean", default: false },
    timeout: { type: "string", default: "600000" },
    name: { type: "string" },
    minutes: { type: "string" },
  },
  allowPositionals: true,
})
const [ofPackages] = every
const asked = positionals.length > 0 ? positionals : values.quick ? [ofPackages] : every
const globs = asked.map((one) =>
  statSync(one, { throwIfNoEntry: false })?.isDirectory() ? join(one, "**/*.test.ts") : one,
)

const empty = globs.filter((glob) => globSync(glob).length === 0)
if (empty.length > 0) {
  console.error(`test: no file matches ${empty.join(" or ")}, so nothing was tested`)
  process.exit(1)
}
const needsMore = (file) =>
  /"node:(child_process|net|http)"|\/(service|postgres-server)\.ts"|\.listen\(/.test(
    readFileSync(file, "utf8"),
  )
const matching = [...new Set(globSync(globs))].toSorted((a, b) => (a < b ? -1 : 1))
const found = values.quick ? matching.filter((file) => !needsMore(file)) : matching
const files = [
  ...long.filter((file) => found.includes(file)),
  ...found.filter((file) => !long.includes(file)),
]

// Two hundred processes compile the same files: that is a fifth of their time.
const cache = join(import.meta.dirname, "..", "node_modules", ".cache", "tests")
process.env.NODE_COMPILE_CACHE ??= cache

// Services and commands are started hundreds of times: test/program.ts.
if (files.some(needsMore)) process.env.BUNDLED_PROGRAM ??= await bundleProgram(cache)

// How many runs the simulation makes, of three hundred.
if (values.quick) process.env.SEEDS ??= "50"
if (values.minutes !== undefined) process.env.DEEP_MINUTES = values.minutes

// The tests are processes of their own, which end with this one.
const stopped = new AbortController()
for (const signal of ["SIGTERM", "SIGINT"]) process.once(signal, () => stopped.abort())

if (positionals.length === 0)
  console.log(`${files.length} files${values.quick ? "" : ", some fifteen minutes on two cores"}`)

const eachFile = new URL("each-test-file.mjs", import.meta.url)
// Longer than the end of a PostgreSQL takes.
eachFile.searchParams.set("wait-ms", String(Math.min(30_000, Number(values.timeout))))

// The spec reporter also where nobody watches: one line a test, what failed in full, and the
// counts.
Readable.from(together()).compose(new spec()).pipe(process.stdout)

/** What happens in both runs, as if they were one: it ends with the counts of both. */
async function* together() {
  // Four files at a time also where there are two cores: much of what a test does is to wait for
  // other processes and for the disk. A run with five took no less.
  const runs = [
    { files: files.filter((file) => !measuring.has(file)), concurrency: 4 },
    { files: files.filter((file) => measuring.has(file)), concurrency: 1 },
  ].filter((each) => each.files.length > 0)
  const counts = new Map()
  /** Files that came to their end, with how many tests they ran. */
  const ended = new Map()
  const times = new Map()
  let summary
  for (const each of runs) {
    for await (const event of run({
      ...each,
      timeout: Number(values.timeout),
      testNamePatterns: values.name,
      signal: stopped.signal,
      // Two cores run four files at once: threads that collect a file's garbage beside it win no time,
      // and each adds some work.
      execArgv: [`--import=${eachFile}`, "--v8-pool-size=0"],
    })) {
      const { file, nesting, counts: counted } = event.data ?? {}
      const took = timesIn(event)
      if (took !== undefined) {
        times.set(file, took)
        continue
      }
      if (event.type === "test:summary" && file !== undefined) {
        ended.set(file, counted.tests)
        if (ended.size % 25 === 0)
          yield remark(
            `${ended.size} of ${files.length} files, after ${Math.round(performance.now() / 1000)} s`,
          )
      }
      // All that a file says of whose tests none has the name.
      if (event.type === "test:plan" && nesting === 0 && file !== undefined)
        ended.set(file, ended.get(file) ?? 0)
      const [, what, count] = countIn(event) ?? []
      if (what !== undefined) counts.set(what, (counts.get(what) ?? 0) + Number(count))
      else if (event.type === "test:summary" && event.data.file === undefined) {
        summary = event
        if (!event.data.success) process.exitCode = 1
      } else yield event
    }
  }
  if (files.length > 1) for (const line of longest(times)) yield remark(line)
  for (const [what, count] of counts) yield remark(`${what} ${count}`)
  if (summary !== undefined) yield summary
  expectTests(ended)
}

function remark(message) {
  return { type: "test:diagnostic", data: { nesting: 0, level: "info", message } }
}

/**
 * A file that has no test, or exits before they are over, passes with node. Of a name it is enough
 * that one file has such a test.
 */
function expectTests(ended) {
  const isNamed = values.name !== undefined
  for (const file of files) {
    const tests = ended.get(resolve(file))
    if (tests > 0 || (isNamed && tests === 0)) continue
    console.error(`test: ${file} has no test, or exited before its tests were over`)
    process.exitCode = 1
  }
  if (!isNamed || [...ended.values()].some((tests) => tests > 0)) return
  console.error(`test: no test has a name like ${values.name}, so nothing was tested`)
  process.exitCode = 1
}

/** What the last line of a file says: each-test-file.mjs. */
function timesIn({ type, data }) {
  const pattern = /^took ((\S+) s, \S+ s of the processor)\n?$/
  const [, said, seconds] = (type === "test:stderr" && pattern.exec(data.message)) || []
  return said === undefined ? undefined : { said, seconds: Number(seconds) }
}

/** The files that took the most time, one a line. */
function longest(times) {
  return [...times]
    .toSorted(([, one], [, other]) => other.seconds - one.seconds)
    .slice(0, 25)
    .map(([file, { said }]) => `${said}: ${relative(process.cwd(), file)}`)
}

/** Each run ends with its counts, one a line; a test's own remarks come from a file. */
function countIn({ type, data }) {
  if (type !== "test:diagnostic" || data.nesting !== 0 || data.file !== undefined) return undefined
  return /^(tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) ([0-9.]+)$/.exec(
    data.message,
  )
}
