#!/usr/bin/env node
// argv to command. The only place that reads the environment, and the only one that ends the process.

import { readFileSync } from "node:fs"
import { enableCompileCache } from "node:module"
import { join } from "node:path"
import { setFlagsFromString } from "node:v8"
import { Command, InvalidArgumentError, Option } from "commander"
import { ConfigError } from "./config.ts"
import { StartError } from "./error.ts"

// What a request leaves behind is soon garbage, but V8 would let it quadruple the heap before it looks: half as much again is plenty.
setFlagsFromString("--heap-growing-percent=25")
// Not --max-semi-space-size: 32 MiB is what this thread has anyway, and for the other threads the flag would override their own limit.

// Code is compiled, and types are taken out of it, once and not at every start in each of six threads, where the means to do so would stay
// in memory. Threads find the folder in the environment; where it cannot be written, everything goes on without it.
process.env["NODE_COMPILE_CACHE"] ??= join(import.meta.dirname, "..", ".cache")
enableCompileCache(process.env["NODE_COMPILE_CACHE"])

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
    const { runServe } = await import("./cli/serve.ts")
    await runServe({ environment: process.env, version, demo, exit: (code) => process.exit(code) })
  })

program
  .command("verify")
  .description("check receipts, pages, proofs and evidence packs, offline")
  .argument("<files...>", "what GET …/receipts/{id} answered, a page read with include=proof, a .tlog-proof, or an evidence pack")
  .option("--key <vkey...>", "a log's key that you got by a way of your own, and trust")
  .option("--json", "print what was found as JSON", false)
  .addHelpText(
    "after",
    `
Ends with 0 if all is genuine, 3 if anything is not, 1 if anything cannot be read, and 2 if nothing is wrong but something is missing:
no trusted key has signed it, or no checkpoint covers it yet.

Example:
  $ tallystick verify receipt.json --key "$(cat log.vkey)"`,
  )
  .action(async (files: string[], { key = [], json }: { key?: string[]; json: boolean }) => {
    const { runVerify } = await import("./cli/verify.ts")
    process.exitCode = runVerify({ files, trustedKeys: key, json, say })
  })

const keys = program.command("keys").description("list, create and revoke the API keys of a workspace of the running service")
const atUrl = new Option("--url <address>", "where the service is (default: on this machine, at TALLYSTICK_PORT)")
const keysHelp = `
The instance key is taken from TALLYSTICK_ROOT_KEY, or from the data folder.

Example:
  $ `

keys
  .command("list")
  .description("list the keys of a workspace, without their secrets")
  .argument("<workspace>")
  .addOption(atUrl)
  .option("--json", "print them as JSON", false)
  .addHelpText("after", `${keysHelp}tallystick keys list acme`)
  .action(async (workspace: string, { url, json }: { url?: string; json: boolean }) => {
    const { listKeys } = await import("./cli/keys.ts")
    await listKeys({ environment: process.env, url, say, remark }, workspace, json)
  })

keys
  .command("create")
  .description("create a key, and print it, this once, on standard output")
  .argument("<workspace>")
  .requiredOption("--name <name>", "what it is for, in lists")
  .addOption(new Option("--scope <scopes...>", "what it may do").choices(["write", "read", "admin"]).makeOptionMandatory())
  .option("--project <ids...>", "the only projects that it reaches")
  .option("--expires-in <time>", "such as 90d, 12h or 30m", secondsOf)
  .addOption(atUrl)
  .addHelpText("after", `${keysHelp}KEY=$(tallystick keys create acme --name billing --scope write --expires-in 90d)`)
  .action(async (workspace: string, options: CreateOptions) => {
    const { createKey } = await import("./cli/keys.ts")
    const { name, scope, project, expiresIn, url } = options
    const request = {
      name,
      scopes: scope,
      ...(project && { projectIds: project }),
      ...(expiresIn !== undefined && { expiresInSeconds: expiresIn }),
    }
    await createKey({ environment: process.env, url, say, remark }, workspace, request)
  })

interface CreateOptions {
  readonly name: string
  readonly scope: readonly ("write" | "read" | "admin")[]
  readonly project?: readonly string[]
  readonly expiresIn?: number
  readonly url?: string
}

keys
  .command("revoke")
  .description("end a key, and every token that was made with it")
  .argument("<workspace>")
  .argument("<key-id>", "as it is listed")
  .addOption(atUrl)
  .addHelpText("after", `${keysHelp}tallystick keys revoke acme 4cVx0Zp3QmT7a`)
  .action(async (workspace: string, keyId: string, { url }: { url?: string }) => {
    const { revokeKey } = await import("./cli/keys.ts")
    await revokeKey({ environment: process.env, url, say, remark }, workspace, keyId)
  })

program
  .command("reindex")
  .description("make again what is derived from the journal, while the service is stopped")
  .addHelpText("after", "\nExample:\n  $ TALLYSTICK_DATA=/var/lib/tallystick tallystick reindex")
  .action(async () => {
    const { runReindex } = await import("./cli/reindex.ts")
    // Begins each line anew, and takes away what is left of the one before.
    const progress = process.stderr.isTTY ? (line: string) => remark(`\r${line}\u001b[K`) : undefined
    process.exitCode = await runReindex({ environment: process.env, say, complain: remark, progress })
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

function say(text: string): void {
  process.stdout.write(text)
}

function remark(text: string): void {
  process.stderr.write(text)
}

function secondsOf(text: string): number {
  const [, count = "", unit = ""] = /^([1-9][0-9]{0,8})([smhd])$/.exec(text) ?? []
  const seconds: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 }
  if (seconds[unit] === undefined) throw new InvalidArgumentError("It must be a number and s, m, h or d.")
  return Number(count) * seconds[unit]
}

/** A port that is taken, a folder that is none, a disk that is full: the system's own sentence names the call and the path. */
function isOfTheSystem(error: unknown): error is Error {
  return error instanceof Error && "syscall" in error && "code" in error
}
