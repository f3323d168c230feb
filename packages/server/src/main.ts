// Turns arguments into a command. Only this file and cli/ read the environment; only this file and
// the store end the process.

import { readFileSync } from "node:fs"
import { join } from "node:path"
import { isatty } from "node:tty"
import { Argument, Help, Option } from "commander"
import type { Shell } from "./cli/completion-command.ts"
import { addLedgerCommands } from "./cli/ledger-commands.ts"
import { gathered, secondsOf, someOf } from "./cli/option-values.ts"
import { ProgramCommand } from "./cli/program-command.ts"
import type { Terminal } from "./cli/terminal.ts"
import { ConfigError } from "./config.ts"
import { LedgerError, StartError } from "./error.ts"
import { ArchiveFailure } from "./store/archive/archive-storage.ts"

// Our own package.json has this form.
const { version } = JSON.parse(
  readFileSync(join(import.meta.dirname, "..", "package.json"), "utf8"),
) as { version: string }

let needsReader = true
/** SQLite's code of a full disk. */
const sqliteFull = 13

const terminal: Terminal = {
  environment: process.env,
  say: (text) => void process.stdout.write(text),
  write: (bytes) => new Promise((taken) => void process.stdout.write(bytes, () => taken())),
  remark: (text) => void process.stderr.write(text),
  progress: (line) => void (process.stderr.isTTY && process.stderr.write(`\r${line}\u001b[K`)),
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
  .example("TALLYSTICK_PORT=9000 tallystick serve --demo")
  .action(async ({ demo }: { demo: boolean }) => {
    const { runServe } = await import("./cli/serve-command.ts")
    await runServe({ environment: process.env, version, demo, exit: (code) => process.exit(code) })
  })

program
  .command("verify")
  .description("check receipts, pages, proofs, evidence packs and exports, offline")
  .argument(
    "<files...>",
    "an answer of GET …/receipts/{id}, a page read with include=proof, a .tlog-proof, an evidence pack, or an export",
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

addLedgerCommands(program, terminal)

const keys = program
  .command("keys")
  .description("list, create and revoke API keys of a workspace, through the running service")
const atUrl = new Option(
  "--url <address>",
  "address of the service (default: this machine, at TALLYSTICK_PORT)",
)
const keysHelp = `
The command uses the instance key in TALLYSTICK_ROOT_KEY or in the data folder.

Example:
  $ `

keys
  .command("list")
  .description("list the keys of a workspace, without their secrets")
  .argument("<workspace>")
  .addOption(atUrl)
  .option("--json", "print them as JSON", false)
  .notes(`${keysHelp}tallystick keys list acme`)
  .action(async (workspace: string, { url, json }: { url?: string; json: boolean }) => {
    const { listKeys } = await import("./cli/keys-command.ts")
    await listKeys({ ...terminal, url }, workspace, json)
  })

keys
  .command("create")
  .description("create a key and print it on standard output, only this once")
  .argument("<workspace>")
  .requiredOption("--name <name>", "name of the key in lists")
  .addOption(
    someOf("--scope <scope>", "what the key may do; repeat for more", [
      "write",
      "read",
      "admin",
    ]).makeOptionMandatory(),
  )
  .option("--project <id>", "limit the key to this project; repeat for more", gathered)
  .option("--expires-in <time>", "such as 90d, 12h or 30m", secondsOf)
  .addOption(atUrl)
  .notes(
    `${keysHelp}export TALLYSTICK_KEY=$(tallystick keys create acme --name billing --scope write)`,
  )
  .action(async (workspace: string, options: CreateOptions) => {
    const { createKey } = await import("./cli/keys-command.ts")
    const { name, scope, project, expiresIn, url } = options
    const request = {
      name,
      scopes: scope,
      ...(project && { projectIds: project }),
      ...(expiresIn !== undefined && { expiresInSeconds: expiresIn }),
    }
    await createKey({ ...terminal, url }, workspace, request)
  })

interface CreateOptions {
  readonly name: string
  readonly scope: readonly ("write" | "read" | "admin")[]
  readonly project?: readonly string[]
  readonly expiresIn?: number
  readonly url?: string
}

program
  .command("retention")
  .description("how long contents are kept")
  .command("run")
  .description("destroy expired contents now, as the service does each day")
  .argument("<workspace>")
  .addOption(atUrl)
  .notes(`${keysHelp}tallystick retention run acme`)
  .action(async (workspace: string, { url }: { url?: string }) => {
    const { runRetention } = await import("./cli/retention-command.ts")
    await runRetention({ ...terminal, url }, workspace)
  })

const erasures = program
  .command("erasures")
  .description("list, show and request the erasures of a workspace, through the running service")

erasures
  .command("list")
  .description("list erasures and their progress, newest first")
  .argument("<workspace>")
  .addOption(atUrl)
  .option("--json", "print them as JSON", false)
  .notes(`${keysHelp}tallystick erasures list acme`)
  .action(async (workspace: string, { url, json }: { url?: string; json: boolean }) => {
    const { listErasures } = await import("./cli/erasures-command.ts")
    await listErasures({ ...terminal, url }, workspace, json)
  })

erasures
  .command("show")
  .description(
    "show an erasure as JSON, with the packs, tokens and exports that had some of the data",
  )
  .argument("<workspace>")
  .argument("<erasure-id>", "the id that `erasures list` shows")
  .addOption(atUrl)
  .notes(`${keysHelp}tallystick erasures show acme era_4cVx0Zp3QmT7a`)
  .action(async (workspace: string, erasureId: string, { url }: { url?: string }) => {
    const { showErasure } = await import("./cli/erasures-command.ts")
    await showErasure({ ...terminal, url }, workspace, erasureId)
  })

erasures
  .command("request")
  .description("destroy the sealed fields about a person, for ever")
  .argument("<workspace>")
  .argument("<subject>", "the id of the person")
  .requiredOption("--reason <text>", "why; it stays readable for ever, so it must name nobody")
  .option("--reference <text>", "such as the number of a letter; it stays readable, too")
  .option("--type <type>", "only entries where the person has this type; repeat for more", gathered)
  .option("--entries", "destroy the whole content of their entries, with the id", false)
  .option("--dry-run", "say what would be destroyed, and destroy nothing", false)
  .addOption(atUrl)
  .notes(`${keysHelp}tallystick erasures request acme usr_4711 --reason "Their request" --dry-run`)
  .action(async (workspace: string, id: string, options: ErasureOptions) => {
    const { requestErasure } = await import("./cli/erasures-command.ts")
    const { reason, reference, type, entries, dryRun, url } = options
    const request = {
      subject: { id, ...(type && { types: type }) },
      reason,
      ...(reference !== undefined && { reference }),
      scope: entries ? "entries" : "fields",
      dryRun,
    } as const
    await requestErasure({ ...terminal, url }, workspace, request)
  })

interface ErasureOptions {
  readonly reason: string
  readonly reference?: string
  readonly type?: readonly string[]
  readonly entries: boolean
  readonly dryRun: boolean
  readonly url?: string
}

keys
  .command("revoke")
  .description("revoke a key, and every token made with it")
  .argument("<workspace>")
  .argument("<key-id>", "the id that `keys list` shows")
  .addOption(atUrl)
  .notes(`${keysHelp}tallystick keys revoke acme 4cVx0Zp3QmT7a`)
  .action(async (workspace: string, keyId: string, { url }: { url?: string }) => {
    const { revokeKey } = await import("./cli/keys-command.ts")
    await revokeKey({ ...terminal, url }, workspace, keyId)
  })

program
  .command("rotate")
  .description(
    "give a workspace's log a new signing key, and print its announcement, which both keys sign",
  )
  .argument("<workspace>")
  .addOption(atUrl)
  .notes(`
The old key keeps signing for a week. Until then, anyone who trusts the old key checks the announcement with \`tallystick verify\`, and trusts
the new key from then on. Earlier receipts, proofs and packs stay valid under the key that signed them.
${keysHelp}tallystick rotate acme > announcement.json`)
  .action(async (workspace: string, { url }: { url?: string }) => {
    const { rotateKey } = await import("./cli/rotate-log-key-command.ts")
    await rotateKey({ ...terminal, url }, workspace)
  })

const secret = program
  .command("secret")
  .description("replace the secret, while the service is stopped")

secret
  .command("rotate")
  .description("seal everything again under a new secret; if interrupted, run it again to continue")
  .notes(`
If the data folder holds the secret, the command makes the new one. If you configure it, make the new one yourself: set TALLYSTICK_SECRET to
the new secret and TALLYSTICK_SECRET_PREVIOUS to the old one, also for a service that starts before the rotation has finished. API keys,
tokens, sessions, passwords, idempotency keys and signing keys stay the same. Older backups need the old secret.

Example:
  $ TALLYSTICK_DATA=/var/lib/tallystick tallystick secret rotate`)
  .action(async () => {
    const { runRotateSecret } = await import("./cli/rotate-secret-command.ts")
    await runRotateSecret(terminal)
  })

const rootKey = program
  .command("root-key")
  .description("replace the instance key, while the service is stopped")

rootKey
  .command("rotate")
  .description("replace the instance key, and record that in the ledger")
  .option("--revoke-tokens", "revoke every token made with an instance key, after a leak", false)
  .notes(`
If the data folder holds the key, the command makes the new one. If you configure it, make the new one yourself: set TALLYSTICK_ROOT_KEY to
the new key and TALLYSTICK_ROOT_KEY_PREVIOUS to the old one. A service that has both settings accepts both keys.

Example:
  $ TALLYSTICK_DATA=/var/lib/tallystick tallystick root-key rotate --revoke-tokens`)
  .action(async ({ revokeTokens }: { revokeTokens: boolean }) => {
    const { runRotateRootKey } = await import("./cli/rotate-root-key-command.ts")
    await runRotateRootKey(terminal, revokeTokens)
  })

program
  .command("reindex")
  .description("rebuild the index and the search from the journal, while the service is stopped")
  .example("TALLYSTICK_DATA=/var/lib/tallystick tallystick reindex")
  .action(async () => {
    const { runReindex } = await import("./cli/reindex-command.ts")
    process.exitCode = await runReindex(terminal)
  })

const archive = program
  .command("archive")
  .description("show the archive of old entries, verify it, archive now, or restore it")
archive
  .command("status")
  .description("show what each workspace has in the archive")
  .option("--json", "print JSON", false)
  .example("TALLYSTICK_DATA=/var/lib/tallystick tallystick archive status")
  .action(async ({ json }: { json: boolean }) => {
    const { runArchiveStatus } = await import("./cli/archive-command.ts")
    await runArchiveStatus(terminal, json)
  })
archive
  .command("verify")
  .description("read every segment and hash every body in it again; exit code 1 if one is wrong")
  .option("--json", "print JSON", false)
  .example("TALLYSTICK_DATA=/var/lib/tallystick tallystick archive verify")
  .action(async ({ json }: { json: boolean }) => {
    const { runArchiveVerify } = await import("./cli/archive-command.ts")
    process.exitCode = await runArchiveVerify(terminal, json)
  })
archive
  .command("now")
  .description("archive everything that is due, while the service is stopped")
  .example("TALLYSTICK_DATA=/var/lib/tallystick tallystick archive now")
  .action(async () => {
    const { runArchiveNow } = await import("./cli/archive-command.ts")
    await runArchiveNow(terminal)
  })
archive
  .command("restore")
  .description("put all archived bodies back into the database, while the service is stopped")
  .example("TALLYSTICK_DATA=/var/lib/tallystick tallystick archive restore")
  .action(async () => {
    const { runArchiveRestore } = await import("./cli/archive-command.ts")
    await runArchiveRestore(terminal)
  })

program
  .command("compact")
  .description(
    "give free space in the journal's file back to the disk, while the service is stopped",
  )
  .notes(`
The service packs older entries, and new entries take the space that becomes free. This command copies the journal into a file without free space,
compares the two, and puts the new file in place. It needs room for the new file. If it is killed, run it again to continue.

Example:
  $ TALLYSTICK_DATA=/var/lib/tallystick tallystick compact`)
  .action(async () => {
    const { runCompact } = await import("./cli/compact-command.ts")
    runCompact(terminal)
  })

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
  .option("--json", "print the results as JSON", false)
  .example("TALLYSTICK_DATA=/var/lib/tallystick tallystick doctor")
  .action(async ({ json }: { json: boolean }) => {
    const { runDoctor } = await import("./cli/doctor-command.ts")
    process.exitCode = await runDoctor(terminal, json)
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

program
  .command("fsck")
  .description(
    "derive everything again from the stored bytes, while the service is stopped, and name what was changed",
  )
  .argument("[workspaces...]", "check only these")
  .option(
    "--checkpoint <file>",
    "a checkpoint kept elsewhere, which the data must contain; repeat for more",
    gathered,
  )
  .addOption(
    someOf("--pass <pass>", "run only this pass; repeat for more", ["chain", "contents", "index"]),
  )
  .option("--json", "print faults and timings as JSON", false)
  .notes(`
There are three passes. \`chain\` hashes every record and body and the tree over them, and compares the result with everything that was signed.
\`contents\` reads each body, and compares keys, tokens, members, projects, policies and packs with the entries that record them. \`index\`
rebuilds the index of keys and receipts, and looks for orphans that belong to no entry. Anyone who can write the files and the heads file can
cut off the end; only a checkpoint kept elsewhere shows that.

Exit codes: 0 everything is as it was written; 3 something is not; 1 the data cannot be read, or has no such workspace.

Example:
  $ TALLYSTICK_DATA=/var/lib/tallystick tallystick fsck --checkpoint /safe/checkpoint`)
  .action(async (workspaces: string[], { checkpoint = [], pass, json }: FsckOptions) => {
    const { runFsck } = await import("./cli/fsck-command.ts")
    const { passes } = await import("./operator/fsck/fsck.ts")
    process.exitCode = await runFsck(terminal, {
      workspaces,
      checkpoints: checkpoint,
      passes: pass ?? passes,
      json,
    })
  })

interface FsckOptions {
  readonly checkpoint?: readonly string[]
  readonly pass?: readonly ("chain" | "contents" | "index")[]
  readonly json: boolean
}

program
  .command("export")
  .description(
    "write a ledger into a folder of plain files that anyone can check; the service may run",
  )
  .argument("<workspace>")
  .argument(
    "<folder>",
    "a new folder, or an earlier export of the same ledger, to which new entries are added",
  )
  .notes(`
The export covers all entries up to the last checkpoint. A running service records the export first; the command asks it with the instance key
in TALLYSTICK_ROOT_KEY or in the data folder. If that fails, nothing is written. Bodies and disclosures (sealed fields) are in separate files, so that you
can leave either out.

Example:
  $ TALLYSTICK_DATA=/var/lib/tallystick tallystick export acme /exports/acme`)
  .addOption(atUrl)
  .action(async (workspace: string, folder: string, { url }: { url?: string }) => {
    const { runExport } = await import("./cli/export-command.ts")
    await runExport({ ...terminal, url }, workspace, folder)
  })

program
  .command("backup")
  .description(
    "copy the ledger into a new folder, and hash the whole copy again; the service may run",
  )
  .argument("<folder>", "folder of the copy, which must not exist")
  .option(
    "--without-secrets",
    "leave out the secret and the instance key of the data folder",
    false,
  )
  .option(
    "--without-archive",
    "only name the archive segments that the copy needs, also if the archive is a folder",
    false,
  )
  .notes(`
The copy is complete: a service starts on it with TALLYSTICK_DATA set to the folder, read-only until \`tallystick resume\`. The copy includes the
secret and the instance key if the data folder holds them, readable by its owner alone. Guard it like the data: anyone who has it can sign in
the ledger's name. With --without-secrets, keep the secret elsewhere: without it the service cannot sign and knows no key. The copy never
includes a secret set by TALLYSTICK_SECRET, nor the heads file, which must be newer than the copy. If the archive is object storage, the copy only
names the segments that it needs.

Example:
  $ TALLYSTICK_DATA=/var/lib/tallystick tallystick backup /backups/tallystick-monday`)
  .action(async (target: string, without: { withoutSecrets: boolean; withoutArchive: boolean }) => {
    const { runBackup } = await import("./cli/backup-command.ts")
    await runBackup(terminal, target, {
      withSecrets: !without.withoutSecrets,
      mayHaveArchive: !without.withoutArchive,
    })
  })

program
  .command("copy")
  .description(
    "copy a ledger from a folder into a PostgreSQL database, or back, while no service runs on either; if interrupted, run it again",
  )
  .requiredOption("--from <place>", "folder of the data, or postgres://user:password@host/name")
  .requiredOption("--to <place>", "the same; an empty place, or an interrupted copy")
  .notes(`
Every entry, receipt, key, token and signature stays the same; index and search are made again, and \`fsck\` checks the copy. It needs the
secret of the ledger: TALLYSTICK_SECRET, or the file in the folder (for a database, in TALLYSTICK_DATA). A new folder gets the secret and the
instance key of the data folder, if that holds them. PGPASSWORD can have the password of the database. Signed heads are copied too; the heads file of a folder is next to it, unless
TALLYSTICK_HEADS names another. The last uses of credentials are not copied. The original does not change: never start it again.

Exit codes are those of \`fsck\`: 0 the copy is as it was written; 3 something in it is not; 1 nothing could be copied.

Example:
  $ tallystick copy --from /var/lib/tallystick --to postgres://tallystick@db.example/tallystick`)
  .action(async ({ from, to }: { from: string; to: string }) => {
    const { runCopy } = await import("./cli/copy-command.ts")
    process.exitCode = await runCopy(terminal, from, to)
  })

program
  .command("resume")
  .description(
    "let a copy made by `backup`, or data older than what was signed, take new entries, while the service is stopped",
  )
  .option("--check", "only check, and print what would happen", false)
  .option("--json", "print the result as JSON", false)
  .notes(`
Use the newest heads file of the original service (TALLYSTICK_HEADS): it says what was signed last. A workspace that ends exactly there
continues in the same epoch. If a signed entry is missing, or nobody knows what was signed last, the workspace continues in a new epoch: a
ledger with a name and a key of its own, whose first entry says where it continues from. Old entries stay, and new ones follow them. Receipts
of lost entries stay lost, and \`verify\` says so. Data that fails its integrity check is refused.

Example:
  $ TALLYSTICK_DATA=/backups/tallystick-monday TALLYSTICK_HEADS=/var/lib/tallystick.heads tallystick resume`)
  .action(async ({ check, json }: { check: boolean; json: boolean }) => {
    const { runResume } = await import("./cli/resume-command.ts")
    process.exitCode = await runResume(terminal, check, json)
  })

// The reader may close the pipe early. After any other error the output is incomplete, so the
// command must fail.
process.stdout.on("error", (error) => {
  const isClosed = "code" in error && error.code === "EPIPE"
  if (isClosed && !needsReader) return
  if (!isClosed) terminal.remark(`tallystick: ${error.message}\n`)
  process.exit(process.exitCode === undefined || process.exitCode === 0 ? 1 : process.exitCode)
})

try {
  await program.parseAsync()
} catch (error) {
  // An error that the operator can correct is shown as one sentence. Any other is a bug, and is
  // shown with its stack.
  const expected =
    error instanceof ConfigError ||
    error instanceof StartError ||
    error instanceof ArchiveFailure ||
    isArchiveAway(error) ||
    isOfTheSystem(error) ||
    (error instanceof Error && isDiskFull(error))
  terminal.remark(
    expected
      ? `tallystick: ${sentenceOf(error)}\n`
      : `tallystick: ${error instanceof Error ? error.stack : String(error)}\n`,
  )
  process.exit(1)
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
  if (isArchiveAway(error)) return whatIsAway(error)
  return isDiskFull(error)
    ? "the disk of the data is full, or nearly: make room, and run this again"
    : error.message
}

/** The archive is unreachable. The operator can restore it. */
function isArchiveAway(error: unknown): error is LedgerError {
  return error instanceof LedgerError && error.code === "archive_unavailable"
}

/** The service's reserve is used up, or SQLite reports that the disk is full. */
function isDiskFull(error: unknown): boolean {
  if (error instanceof LedgerError) return error.code === "storage_full"
  return error instanceof Error && "errcode" in error && error.errcode === sqliteFull
}

/** Names the first file that cannot be read. */
function whatIsAway({ message, cause }: LedgerError): string {
  const why = cause instanceof Error ? `: ${cause.message}` : ""
  return `${message}${why}; tallystick archive verify names everything that is missing`
}

/** An error of the system, such as a full disk: its message names the call and the path. */
function isOfTheSystem(error: unknown): error is Error {
  return error instanceof Error && "syscall" in error && "code" in error
}
