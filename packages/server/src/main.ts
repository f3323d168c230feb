// Turns arguments into a command. Only this file and cli/ read the environment; only this file and
// the store end the process.

import { fstatSync, readFileSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { isatty } from "node:tty"
import { Argument, Help, type Option } from "commander"
import type { Shell } from "./cli/completion-command.ts"
import { addLedgerCommands } from "./cli/ledger-commands.ts"
import { addMaintenanceCommands } from "./cli/maintenance-commands.ts"
import { gathered, serviceUrl } from "./cli/option-values.ts"
import { ProgramCommand } from "./cli/program-command.ts"
import { addRecoveryCommands } from "./cli/recovery-commands.ts"
import { addServiceCommands } from "./cli/service-commands.ts"
import type { Terminal } from "./cli/terminal.ts"
import { keptAlive } from "./clock.ts"
import { ConfigError } from "./config.ts"
import { codeOf, detailOf, isArchiveAway, LedgerError, sqliteCodeOf, StartError } from "./error.ts"
import { ArchiveFailure } from "./store/archive/archive-storage.ts"

// Our own package.json has this form.
const { version } = JSON.parse(
  readFileSync(join(import.meta.dirname, "..", "package.json"), "utf8"),
) as { version: string }

let needsReader = true
/**
 * SQLite's code of a full disk, the one of no room for the memory that connections share, and those
 * of a file that cannot be read or is damaged.
 */
const sqliteFull = 13
const sqliteNoSharedMemory = 4874
const sqliteUnreadable: readonly number[] = [10, 11, 26]

/** Calls `taken` when standard output has taken all of it. */
function output(content: string | Uint8Array, taken = () => {}): void {
  if (!isFile) {
    process.stdout.write(content, () => taken())
    return
  }
  try {
    // The stream would write once, and on a full disk that stores a part without an error.
    writeFileSync(1, content)
    taken()
  } catch (error) {
    endWithout(error)
  }
}

const isFile = fstatSync(1).isFile()

let hasProgress = false

function progress(line: string): void {
  if (!process.stderr.isTTY) return
  hasProgress = true
  process.stderr.write(`\r${line}\u001b[K`)
}

function endProgress(): void {
  if (hasProgress) process.stderr.write("\r\u001b[K")
  hasProgress = false
}
process.on("exit", endProgress)

const terminal: Terminal = {
  environment: process.env,
  say(text) {
    endProgress()
    output(text)
  },
  write: (bytes) => new Promise((taken) => output(bytes, taken)),
  remark(text) {
    endProgress()
    process.stderr.write(text)
  },
  progress,
  // Some terminals report the width 0.
  columns: (process.stdout.isTTY && process.stdout.columns) || undefined,
  input: { isTerminal: isatty(0), read: () => process.stdin },
  outliveReader: () => void (needsReader = false),
}

const help = new Help()
// Every switch is off by default, so the help omits that.
const optionDescription = (option: Option) =>
  option.defaultValue === false ? option.description : help.optionDescription(option)

/** A narrower column would have one word on each line. */
const minWidthToWrap = 24

const program = new ProgramCommand("tallystick")
  .description("An audit ledger: append-only, hash-chained, verifiable without us")
  .version(version)
  .configureHelp({ optionDescription, minWidthToWrap })
  .configureOutput({ outputError: (text, write) => write(`tallystick: ${inOneLine(text)}\n`) })

program
  .command("serve")
  .description("run the service until SIGTERM or SIGINT")
  .option(
    "--demo",
    "on empty data, create a workspace `demo` with a key, and print how to write a first event",
    false,
  )
  .notes(`
Settings are environment variables, such as TALLYSTICK_PORT. \`tallystick config\` prints all with their values.

Example:
  $ TALLYSTICK_PORT=9000 tallystick serve --demo`)
  .action(async ({ demo }: { demo: boolean }) => {
    const { runServe } = await import("./cli/serve-command.ts")
    await runServe({ environment: process.env, version, demo, exit: (code) => process.exit(code) })
  })

program
  .command("verify")
  .description("check receipts, pages, proofs, evidence packs and exports, offline")
  .argument(
    "<files...>",
    "an answer of GET …/receipts/{id}, a page or JSON lines read with include=proof, a .tlog-proof, an evidence pack (packed or not), or an export",
  )
  .option(
    "--key <vkey>",
    "a log's key that you trust, from another source than the files; repeat for more",
    gathered,
  )
  .option(
    "--epochs <file>",
    "an answer of GET …/tlog/epochs, or an export: shows which entries a restored ledger has lost",
  )
  .option("--json", "print the results as JSON", false)
  .notes(`
Exit codes: 0 everything is genuine; 3 something is not; 1 a file cannot be read; 2 nothing is found wrong, but the proof, a trusted key's signature or a
checkpoint is missing. Each check is \`ok\`, \`FAIL\`, or \`?\` if it is not confirmed (with --json: true, false, null).

Example:
  $ tallystick verify receipt.json --key "$(cat log.vkey)"`)
  .action(
    async (
      files: string[],
      { key = [], epochs, json }: { key?: string[]; epochs?: string; json: boolean },
    ) => {
      const { runVerify } = await import("./cli/verify-command.ts")
      process.exitCode = runVerify({ files, trustedKeys: key, epochs, json, say: terminal.say })
    },
  )

program
  .command("config")
  .description("print every setting and where its value comes from, without the secrets")
  .option("--json", "print them as JSON", false)
  .example("TALLYSTICK_PORT=9000 tallystick config")
  .action(async ({ json }: { json: boolean }) => {
    const { showConfig } = await import("./cli/config-command.ts")
    showConfig(terminal, json)
  })

program
  .command("doctor")
  .description(
    "check everything that the service depends on, and say what is wrong and what to do; exit code 1 if anything is bad",
  )
  .addOption(serviceUrl)
  .option("--json", "print the results as JSON", false)
  .example("TALLYSTICK_DATA=/var/lib/tallystick tallystick doctor")
  .action(async ({ url, json }: { url?: string; json: boolean }) => {
    const { runDoctor } = await import("./cli/doctor-command.ts")
    process.exitCode = await runDoctor({ ...terminal, url }, json)
  })

program
  .command("completion")
  .description("print a script with which your shell completes commands and options")
  .addArgument(new Argument("<shell>").choices(["bash", "zsh", "fish"]))
  .example("source <(tallystick completion bash)")
  .action(async (shell: Shell) => {
    const { completionFor } = await import("./cli/completion-command.ts")
    terminal.say(completionFor(shell, program))
  })

program.addHelp()
addLedgerCommands(program, terminal)
addServiceCommands(program, terminal)
addRecoveryCommands(program, terminal)
addMaintenanceCommands(program, terminal)

process.stdout.on("error", endWithout)
// Nobody reads it any more. The command goes on, and its exit code says how it ended.
process.stderr.on("error", () => {})

// Such as a connection that the command needs, and that was lost beside it.
process.on("uncaughtException", (error) => {
  terminal.remark(`tallystick: ${error instanceof StartError ? error.message : error.stack}\n`)
  process.exit(1)
})

try {
  await keptAlive(program.parseAsync())
} catch (error) {
  // An error that the operator can correct is shown as one sentence. Any other is a bug, and is
  // shown with its stack.
  const expected =
    error instanceof ConfigError ||
    error instanceof StartError ||
    error instanceof ArchiveFailure ||
    error instanceof LedgerError ||
    isOfTheSystem(error) ||
    (error instanceof Error && (isDiskFull(error) || isUnreadable(error)))
  terminal.remark(
    expected
      ? `tallystick: ${sentenceOf(error)}\n`
      : `tallystick: ${error instanceof Error ? error.stack : String(error)}\n`,
  )
  process.exit(1)
}

/**
 * The reader may close the pipe early. After any other error the output is incomplete, so the
 * command must fail.
 */
function endWithout(error: unknown): void {
  const isClosed = codeOf(error) === "EPIPE"
  if (isClosed && !needsReader) return
  if (!isClosed) terminal.remark(`tallystick: ${detailOf(error)}\n`)
  process.exit(process.exitCode === undefined || process.exitCode === 0 ? 1 : process.exitCode)
}

/** The error in the arguments, with a suggestion or a reference to --help. */
function inOneLine(text: string): string {
  const line = text
    .replace(/^error: /, "")
    .trimEnd()
    .replaceAll("\n", " ")
  return line.includes("(Did you mean") ? line : `${line.replace(/\.$/, "")} (--help says more)`
}

function sentenceOf(error: Error): string {
  if (isArchiveAway(error))
    return `${withCause(error)}; tallystick archive verify names everything that is missing`
  if (isUnreadable(error))
    return `a file of the data cannot be read (${error.message}): tallystick reindex makes index.db and search.db again; if it fails too, journal.db is damaged: keep the data unchanged, look at the disk, and restore a backup`
  if (isDiskFull(error))
    return "the disk of the data is full, or nearly: make room, and run this again"
  if (error instanceof LedgerError) return withCause(error)
  return aboutPath(error) ?? error.message
}

/** As other programs say it: the path, and why. A new folder is denied by the one above it. */
function aboutPath(error: Error): string | undefined {
  const [, why, call, path = ""] = /^[A-Z]+: (.*), (\w+) '([^']*)'$/.exec(error.message) ?? []
  if (why === undefined || !isOfTheSystem(error)) return undefined
  return error.code === "EACCES"
    ? `${call === "mkdir" ? dirname(path) : path}: ${why}; run this as the account that owns it, or change its owner or its permissions`
    : `${path}: ${why}`
}

/** The service's reserve is used up, or SQLite reports that the disk is full. */
function isDiskFull(error: unknown): boolean {
  if (error instanceof LedgerError) return error.code === "storage_full"
  const code = sqliteCodeOf(error)
  return (code & 0xff) === sqliteFull || code === sqliteNoSharedMemory
}

function isUnreadable(error: unknown): boolean {
  return !isDiskFull(error) && sqliteUnreadable.includes(sqliteCodeOf(error) & 0xff)
}

function withCause({ message, cause }: LedgerError): string {
  return cause instanceof Error ? `${message}: ${cause.message}` : message
}

/** An error of the system, such as a full disk: its message names the call and the path. */
function isOfTheSystem(error: unknown): error is Error & { readonly code: unknown } {
  return error instanceof Error && "syscall" in error && "code" in error
}
