// argv to command. The only place that reads the settings of the environment, and the only one that ends the process.

import { readFileSync } from "node:fs"
import { join } from "node:path"
import { Argument, Command, Help, InvalidArgumentError, Option } from "commander"
import type { Shell } from "./cli/completion-command.ts"
import { ConfigError } from "./config.ts"
import { StartError } from "./error.ts"

// The package's own description of itself.
const { version } = JSON.parse(readFileSync(join(import.meta.dirname, "..", "package.json"), "utf8")) as { version: string }

const help = new Help()
// That an option is off unless it is given need not be said of each.
const optionDescription = (option: Option) => (option.defaultValue === false ? option.description : help.optionDescription(option))

const program = new Command("tallystick")
  .description("An audit ledger: append-only, hash-chained, verifiable without us")
  .version(version)
  .configureHelp({ optionDescription })
  .configureOutput({ outputError: (text, write) => write(`tallystick: ${inOneLine(text)}\n`) })

program
  .command("serve")
  .description("run the service until it is told to stop (SIGTERM or SIGINT)")
  .option("--demo", "on empty data, make a workspace `demo` with a key, and print how to write a first event", false)
  .addHelpText("after", "\nExample:\n  $ TALLYSTICK_PORT=9000 tallystick serve --demo")
  .action(async ({ demo }: { demo: boolean }) => {
    const { runServe } = await import("./cli/serve-command.ts")
    await runServe({ environment: process.env, version, demo, exit: (code) => process.exit(code) })
  })

program
  .command("verify")
  .description("check receipts, pages, proofs, evidence packs and exports, offline")
  .argument(
    "<files...>",
    "what GET …/receipts/{id} answered, a page read with include=proof, a .tlog-proof, an evidence pack, or an export",
  )
  .option("--key <vkey>", "a log's key that you got by a way of your own, and trust; may be given again for another one", gathered)
  .option("--epochs <file>", "what GET …/tlog/epochs answered, or an export: entries that the ledger has gone on without are then told")
  .option("--json", "print what was found as JSON", false)
  .addHelpText(
    "after",
    `
Ends with 0 if all is genuine, 3 if anything is not, 1 if anything cannot be read, and 2 if nothing is wrong but something is missing:
no trusted key has signed it, or no checkpoint covers it yet. Each check is \`ok\`, \`FAIL\`, or \`?\` if it is only not confirmed (with --json: true,
false, null).

Example:
  $ tallystick verify receipt.json --key "$(cat log.vkey)"`,
  )
  .action(async (files: string[], { key = [], epochs, json }: { key?: string[]; epochs?: string; json: boolean }) => {
    const { runVerify } = await import("./cli/verify-command.ts")
    process.exitCode = runVerify({ files, trustedKeys: key, epochs, json, say })
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
    const { listKeys } = await import("./cli/keys-command.ts")
    await listKeys({ environment: process.env, url, say, remark }, workspace, json)
  })

keys
  .command("create")
  .description("create a key, and print it, this once, on standard output")
  .argument("<workspace>")
  .requiredOption("--name <name>", "what it is for, in lists")
  .addOption(someOf("--scope <scope>", "what it may do; may be given again", ["write", "read", "admin"]).makeOptionMandatory())
  .option("--project <id>", "the only project that it reaches; may be given again", gathered)
  .option("--expires-in <time>", "such as 90d, 12h or 30m", secondsOf)
  .addOption(atUrl)
  .addHelpText("after", `${keysHelp}KEY=$(tallystick keys create acme --name billing --scope write --expires-in 90d)`)
  .action(async (workspace: string, options: CreateOptions) => {
    const { createKey } = await import("./cli/keys-command.ts")
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
    const { revokeKey } = await import("./cli/keys-command.ts")
    await revokeKey({ environment: process.env, url, say, remark }, workspace, keyId)
  })

program
  .command("rotate")
  .description("have another key sign a workspace's log from now on, and print the announcement of it, which the key before signs too")
  .argument("<workspace>")
  .addOption(atUrl)
  .addHelpText(
    "after",
    `
The key before signs beside it for a week. Until then, whoever trusts it checks the announcement with \`tallystick verify\`, and trusts
the new key from then on. Everything that was given out before stays as it is, under the key that signed it.
${keysHelp}tallystick rotate acme > announcement.json`,
  )
  .action(async (workspace: string, { url }: { url?: string }) => {
    const { rotateKey } = await import("./cli/rotate-log-key-command.ts")
    await rotateKey({ environment: process.env, url, say, remark }, workspace)
  })

const secret = program.command("secret").description("give the data another secret, while the service is stopped")

secret
  .command("rotate")
  .description("seal everything anew under another secret; cut short, it goes on when it is run again")
  .addHelpText(
    "after",
    `
A secret that the data folder keeps is made anew by this. One that you give is yours to make: set TALLYSTICK_SECRET to the new one, and
TALLYSTICK_SECRET_PREVIOUS to the one before, also for a service that is started before this has ended. API keys, tokens, sessions,
passwords and idempotency keys stay what they are, and so do the keys that sign. Backups that were made before need the secret before.

Example:
  $ TALLYSTICK_DATA=/var/lib/tallystick tallystick secret rotate`,
  )
  .action(async () => {
    const { runRotateSecret } = await import("./cli/rotate-secret-command.ts")
    await runRotateSecret({ environment: process.env, say, progress: progressLine() })
  })

const rootKey = program.command("root-key").description("give the instance another key, while the service is stopped")

rootKey
  .command("rotate")
  .description("put another instance key in the place of this one, and record that in the ledger")
  .option("--revoke-tokens", "end all tokens that instance keys have made: after a leak", false)
  .addHelpText(
    "after",
    `
A key that the data folder keeps is made anew by this. One that you give is yours to make: set TALLYSTICK_ROOT_KEY to the new one, and
TALLYSTICK_ROOT_KEY_PREVIOUS to the one before. A service that is started with both takes either.

Example:
  $ TALLYSTICK_DATA=/var/lib/tallystick tallystick root-key rotate --revoke-tokens`,
  )
  .action(async ({ revokeTokens }: { revokeTokens: boolean }) => {
    const { runRotateRootKey } = await import("./cli/rotate-root-key-command.ts")
    await runRotateRootKey({ environment: process.env, revokesTokens: revokeTokens, say })
  })

program
  .command("reindex")
  .description("make again what is derived from the journal, while the service is stopped")
  .addHelpText("after", "\nExample:\n  $ TALLYSTICK_DATA=/var/lib/tallystick tallystick reindex")
  .action(async () => {
    const { runReindex } = await import("./cli/reindex-command.ts")
    process.exitCode = await runReindex({ environment: process.env, say, complain: remark, progress: progressLine() })
  })

program
  .command("config")
  .description("print what the service would run with, and where each value comes from, without the secrets")
  .option("--json", "print it as JSON", false)
  .addHelpText("after", "\nExample:\n  $ TALLYSTICK_PORT=9000 tallystick config")
  .action(async ({ json }: { json: boolean }) => {
    const { showConfig } = await import("./cli/config-command.ts")
    showConfig({ environment: process.env, json, say })
  })

program
  .command("doctor")
  .description(
    "look at all that the service stands on, running or not, and say what is wrong and what to do; ends with 1 if anything is bad",
  )
  .option("--json", "print what was found as JSON", false)
  .addHelpText("after", "\nExample:\n  $ TALLYSTICK_DATA=/var/lib/tallystick tallystick doctor")
  .action(async ({ json }: { json: boolean }) => {
    const { runDoctor } = await import("./cli/doctor-command.ts")
    process.exitCode = await runDoctor({ environment: process.env, json, say })
  })

program
  .command("completion")
  .description("print a script that has a shell complete the commands and options")
  .addArgument(new Argument("<shell>").choices(["bash", "zsh", "fish"]))
  .addHelpText("after", "\nExample:\n  $ source <(tallystick completion bash)")
  .action(async (shell: Shell) => {
    const { completionFor } = await import("./cli/completion-command.ts")
    say(completionFor(shell, program))
  })

program
  .command("fsck")
  .description("derive everything again from what is kept, while the service is stopped, and name what is not as it was written")
  .argument("[workspaces...]", "only these")
  .option("--checkpoint <file>", "a checkpoint that was kept elsewhere: the data must have what it covers; may be given again", gathered)
  .addOption(someOf("--pass <pass>", "only this; may be given again", ["chain", "contents", "index"]))
  .option("--json", "print what was found, and how long it took, as JSON", false)
  .addHelpText(
    "after",
    `
Three passes: \`chain\` hashes every record and body and the tree over them, and holds that against all that was signed; \`contents\` reads
each body, and holds the keys, tokens, members, projects, policies and packs that there are against the entries that made them; \`index\`
makes the index of keys and receipts again, and looks for what belongs to no entry. Whoever can write the files and the heads file can cut
off the end, and then only a checkpoint that was kept elsewhere shows it.

Ends with 0 if all is as it was written, 3 if anything is not, and 1 if it cannot be read, or has no such workspace.

Example:
  $ TALLYSTICK_DATA=/var/lib/tallystick tallystick fsck --checkpoint /safe/checkpoint`,
  )
  .action(async (workspaces: string[], { checkpoint = [], pass, json }: FsckFlags) => {
    const { runFsck } = await import("./cli/fsck-command.ts")
    const { passes } = await import("./operator/fsck/fsck.ts")
    const options = { workspaces, checkpoints: checkpoint, passes: pass ?? passes, json }
    process.exitCode = await runFsck({ environment: process.env, ...options, say, complain: remark, progress: progressLine() })
  })

interface FsckFlags {
  readonly checkpoint?: readonly string[]
  readonly pass?: readonly ("chain" | "contents" | "index")[]
  readonly json: boolean
}

program
  .command("export")
  .description("write a whole ledger into a folder of plain files that can be checked without us, also while the service runs")
  .argument("<workspace>")
  .argument("<folder>", "a new one, or one that an export of the same ledger was written to: what is new is added")
  .addHelpText(
    "after",
    `
It has what the last checkpoint covers. While the service runs, it is asked to record the export first, with the instance key, which is taken from
TALLYSTICK_ROOT_KEY or from the data folder; if it cannot, nothing is written. Bodies and what is sealed in them are in files of their own, so that either can be left out.

Example:
  $ TALLYSTICK_DATA=/var/lib/tallystick tallystick export acme /exports/acme`,
  )
  .addOption(atUrl)
  .action(async (workspace: string, folder: string, { url }: { url?: string }) => {
    const { runExport } = await import("./cli/export-command.ts")
    await runExport({ environment: process.env, workspace, folder, url, say, remark, progress: progressLine() })
  })

program
  .command("backup")
  .description("copy the ledger into a new folder, also while the service runs, and hash all of the copy again")
  .argument("<folder>", "where the copy is to be; nothing may be there yet")
  .option("--without-secrets", "leave out the secret and the instance key that the data folder keeps", false)
  .addHelpText(
    "after",
    `
The copy is complete: a service starts on it with TALLYSTICK_DATA at the folder, read only until \`tallystick resume\`. What the data folder
keeps of secrets is in it, readable by its owner alone: whoever has it can sign in the ledger's name, so guard it like the data. With
--without-secrets keep the secret apart: without it nothing can be signed, and no key is known. A secret that is set by TALLYSTICK_SECRET
is never in it, and neither is the heads file: that one must not be as old as a copy.

Example:
  $ TALLYSTICK_DATA=/var/lib/tallystick tallystick backup /backups/tallystick-monday`,
  )
  .action(async (target: string, { withoutSecrets }: { withoutSecrets: boolean }) => {
    const { runBackup } = await import("./cli/backup-command.ts")
    await runBackup({ environment: process.env, target, withSecrets: !withoutSecrets, say, progress: progressLine() })
  })

program
  .command("resume")
  .description("go on from a copy that `backup` made, or from data that is older than what was signed, while the service is stopped")
  .option("--check", "only look, and say what would be done", false)
  .option("--json", "print what was done as JSON", false)
  .addHelpText(
    "after",
    `
The heads file of the service that was backed up says what was signed last: bring it along, the newest there is (TALLYSTICK_HEADS). A
workspace that ends there goes on as it is. Where anything that was signed is missing, or nobody knows what was, the workspace goes on in a
new epoch: a ledger with a name and a key of its own, which begins by saying what it goes on from. Its entries stay, and what is written from
then on follows them; receipts of what is lost stay lost, and say so when they are verified. Anything that does not hold together is refused.

Example:
  $ TALLYSTICK_DATA=/backups/tallystick-monday TALLYSTICK_HEADS=/var/lib/tallystick.heads tallystick resume`,
  )
  .action(async ({ check, json }: { check: boolean; json: boolean }) => {
    const { runResume } = await import("./cli/resume-command.ts")
    process.exitCode = await runResume({ environment: process.env, check, json, say, complain: remark, progress: progressLine() })
  })

// Whoever reads what is said may have read enough; anything else keeps them from it, and they must know.
process.stdout.on("error", (error) => {
  if (!("code" in error && error.code === "EPIPE")) remark(`tallystick: ${error.message}\n`)
  process.exit(process.exitCode === undefined || process.exitCode === 0 ? 1 : process.exitCode)
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

/** What is wrong with the arguments: what was meant, if anything is like it, and otherwise where all of it stands. */
function inOneLine(text: string): string {
  const line = text
    .replace(/^error: /, "")
    .trimEnd()
    .replaceAll("\n", " ")
  return line.includes("(Did you mean") ? line : `${line.replace(/\.$/, "")} (--help says more)`
}

/** Where somebody watches: begins each line anew, and takes away what is left of the one before. */
function progressLine(): ((line: string) => void) | undefined {
  return process.stderr.isTTY ? (line) => remark(`\r${line}\u001b[K`) : undefined
}

/** One value each time, so that what stands behind it is not taken for another. */
function gathered(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value]
}

/** An option that is given once for each of some words; several of them at once would swallow what stands behind. */
function someOf(flags: string, description: string, words: readonly string[]): Option {
  return new Option(flags, description).choices(words).argParser((value, before?: readonly string[]) => {
    if (!words.includes(value)) throw new InvalidArgumentError(`Allowed choices are ${words.join(", ")}.`)
    return gathered(value, before)
  })
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
