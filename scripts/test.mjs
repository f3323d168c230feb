// Runs the tests: `scripts/test.mjs [flags of node --test] [files or globs]`; without files, every test of every package.
// It is here because `node --test` ends with success when its globs match nothing.

import { globSync } from "node:fs"

const every = ["packages/*/src/**/*.test.ts", "test/**/*.test.ts"]

const flags = process.argv.slice(2).filter((argument) => argument.startsWith("-"))
const named = process.argv.slice(2).filter((argument) => !argument.startsWith("-"))
const globs = named.length > 0 ? named : every

const empty = globs.filter((glob) => globSync(glob).length === 0)
if (empty.length > 0) {
  console.error(`test: no file matches ${empty.join(" or ")}, so nothing was tested`)
  process.exit(1)
}

// The spec reporter also where nobody watches: one line a test, what failed in full, and the counts. A file that hangs for ten minutes has failed.
// Two files at a time also where there are two cores: most of what a test does is to wait for other processes.
const defaults = ["--test-reporter=spec", "--test-timeout=600000", "--test-concurrency=2"]

// In place of this process, so that a signal to npm reaches the tests.
process.execve(process.execPath, [process.execPath, "--test", ...defaults, ...flags, ...globs], process.env)
