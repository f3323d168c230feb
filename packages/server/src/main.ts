#!/usr/bin/env node
// argv to command. The only place that reads the environment, and the only one that ends the process.

import { readFileSync } from "node:fs"
import { join } from "node:path"
import { setFlagsFromString } from "node:v8"
import { Command } from "commander"
import { runServe } from "./cli/serve.ts"
import { ConfigError } from "./config.ts"
import { StartError } from "./error.ts"

// What a request leaves behind is soon garbage, but V8 would let it quadruple the heap before it looks: half as much again is plenty.
setFlagsFromString("--heap-growing-percent=25")
// And with room for what is under way, most of it is garbage by the time it is looked at, so there is less to carry over.
setFlagsFromString("--max-semi-space-size=32")

// The package's own description of itself.
const { version } = JSON.parse(readFileSync(join(import.meta.dirname, "..", "package.json"), "utf8")) as { version: string }

const program = new Command("tallystick")
  .description("An audit ledger: append-only, hash-chained, verifiable without us")
  .version(version)
  .showHelpAfterError()
  .configureOutput({ outputError: (text, write) => write(`tallystick: ${text}`) })

program
  .command("serve")
  .description("run the service until it is told to stop (SIGTERM or SIGINT)")
  .option("--demo", "on empty data, make a workspace `demo` with a key, and print how to write a first event", false)
  .addHelpText("after", "\nExample:\n  $ TALLYSTICK_PORT=9000 tallystick serve --demo")
  .action(async ({ demo }: { demo: boolean }) => {
    await runServe({ environment: process.env, version, demo, exit: (code) => process.exit(code) })
  })

try {
  await program.parseAsync()
} catch (error) {
  // What the operator can mend is one sentence; anything else is a fault of ours, with its stack.
  const expected = error instanceof ConfigError || error instanceof StartError || isOfTheSystem(error)
  process.stderr.write(
    expected ? `tallystick: ${error.message}\n` : `tallystick: ${error instanceof Error ? error.stack : String(error)}\n`,
  )
  process.exit(1)
}

/** A port that is taken, a folder that is none, a disk that is full: the system's own sentence names the call and the path. */
function isOfTheSystem(error: unknown): error is Error {
  return error instanceof Error && "syscall" in error && "code" in error
}
