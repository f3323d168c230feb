// Commands that check, copy and recover a ledger: `fsck`, `export`, `backup`, `copy` and `resume`.

import type { BackupFlags } from "./backup-command.ts"
import type { FsckFlags } from "./fsck-command.ts"
import { gathered, serviceUrl, someOf } from "./option-values.ts"
import { whileRunning, whileStopped, type ProgramCommand } from "./program-command.ts"
import type { Terminal } from "./terminal.ts"

export function addRecoveryCommands(program: ProgramCommand, terminal: Terminal): void {
  program.commandsGroup(whileRunning)
  addBackup(program, terminal)
  addExport(program, terminal)
  program.commandsGroup(whileStopped)
  addFsck(program, terminal)
  addResume(program, terminal)
  addCopy(program, terminal)
}

function addFsck(program: ProgramCommand, terminal: Terminal): void {
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
      someOf("--pass <pass>", "run only this pass; repeat for more", [
        "chain",
        "contents",
        "index",
      ]),
    )
    .option("--json", "print faults and timings as JSON", false)
    .notes(`
There are three passes. \`chain\` hashes every record and body and the tree over them, and compares the result with everything that was signed.
\`contents\` reads each body, and compares keys, tokens, members, projects, policies and packs with the entries that record them. \`index\`
compares the index of keys and receipts and the search with the entries, and looks for orphans that belong to no entry. Anyone who can write the files and the heads file can
cut off the end; only a checkpoint kept elsewhere shows that.

Exit codes: 0 everything is as it was written; 3 something is not; 1 the data cannot be read, or has no such workspace.

Example:
  $ TALLYSTICK_DATA=/var/lib/tallystick tallystick fsck --checkpoint /safe/checkpoint`)
    .action(async (workspaces: string[], flags: FsckFlags) => {
      const { runFsck } = await import("./fsck-command.ts")
      process.exitCode = await runFsck(terminal, workspaces, flags)
    })
}

function addExport(program: ProgramCommand, terminal: Terminal): void {
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
in TALLYSTICK_ROOT_KEY or in the data folder. If that fails, no entry is written. Bodies and disclosures (sealed fields) are in separate files, so that you
can leave either out.

Example:
  $ TALLYSTICK_DATA=/var/lib/tallystick tallystick export acme /exports/acme`)
    .addOption(serviceUrl)
    .action(async (workspace: string, folder: string, { url }: { url?: string }) => {
      const { runExport } = await import("./export-command.ts")
      await runExport({ ...terminal, url }, workspace, folder)
    })
}

function addBackup(program: ProgramCommand, terminal: Terminal): void {
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
    .action(async (target: string, flags: BackupFlags) => {
      const { runBackup } = await import("./backup-command.ts")
      await runBackup(terminal, target, flags)
    })
}

function addCopy(program: ProgramCommand, terminal: Terminal): void {
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
      const { runCopy } = await import("./copy-command.ts")
      process.exitCode = await runCopy(terminal, from, to)
    })
}

function addResume(program: ProgramCommand, terminal: Terminal): void {
  program
    .command("resume")
    .description(
      "let a copy made by `backup`, or data older than what was signed, take new entries, while the service is stopped",
    )
    .option("--check", "only check, and print what would happen", false)
    .option("--json", "print the result as JSON", false)
    .notes(`
Use the newest heads file of the original service (TALLYSTICK_HEADS): it says what was signed last. If it is lost, make an empty one. A workspace that ends exactly there
continues in the same epoch. If a signed entry is missing, or nobody knows what was signed last, the workspace continues in a new epoch: a
ledger with a name and a key of its own, whose first entry says where it continues from. Old entries stay, and new ones follow them. Receipts
of lost entries stay lost, and \`verify\` says so. Data that fails its integrity check is refused.

Example:
  $ TALLYSTICK_DATA=/backups/tallystick-monday TALLYSTICK_HEADS=/var/lib/tallystick.heads tallystick resume`)
    .action(async ({ check, json }: { check: boolean; json: boolean }) => {
      const { runResume } = await import("./resume-command.ts")
      process.exitCode = await runResume(terminal, check, json)
    })
}
