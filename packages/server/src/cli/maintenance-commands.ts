// Commands that change stored data, mostly while the service is stopped: `secret`, `root-key`,
// `reindex`, `archive` and `compact`.

import { whileRunning, whileStopped, type ProgramCommand } from "./program-command.ts"
import type { Terminal } from "./terminal.ts"

export function addMaintenanceCommands(program: ProgramCommand, terminal: Terminal): void {
  program.commandsGroup(whileRunning)
  addArchive(program, terminal)
  program.commandsGroup(whileStopped)
  addReindex(program, terminal)
  addCompact(program, terminal)
  addSecret(program, terminal)
  addRootKey(program, terminal)
}

function addSecret(program: ProgramCommand, terminal: Terminal): void {
  const secret = program
    .command("secret")
    .description("replace the secret, while the service is stopped")

  secret
    .command("rotate")
    .description(
      "seal everything again under a new secret; if interrupted, run it again to continue",
    )
    .notes(`
If the data folder holds the secret, the command makes the new one. If you configure it, make the new one yourself: set TALLYSTICK_SECRET to
the new secret and TALLYSTICK_SECRET_PREVIOUS to the old one, also for a service that starts before the rotation has finished. API keys,
tokens, sessions, passwords, idempotency keys and signing keys stay the same. Older backups need the old secret.

Example:
  $ TALLYSTICK_DATA=/var/lib/tallystick tallystick secret rotate`)
    .action(async () => {
      const { runRotateSecret } = await import("./rotate-secret-command.ts")
      await runRotateSecret(terminal)
    })
}

function addRootKey(program: ProgramCommand, terminal: Terminal): void {
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
      const { runRotateRootKey } = await import("./rotate-root-key-command.ts")
      await runRotateRootKey(terminal, revokeTokens)
    })
}

function addReindex(program: ProgramCommand, terminal: Terminal): void {
  program
    .command("reindex")
    .description("rebuild the index and the search from the journal, while the service is stopped")
    .example("TALLYSTICK_DATA=/var/lib/tallystick tallystick reindex")
    .action(async () => {
      const { runReindex } = await import("./reindex-command.ts")
      process.exitCode = await runReindex(terminal)
    })
}

function addArchive(program: ProgramCommand, terminal: Terminal): void {
  const archive = program
    .command("archive")
    .description(
      "show the archive of old entries, or verify it; archive now, or restore it, while the service is stopped",
    )
  archive
    .command("status")
    .description("show what each workspace has in the archive")
    .option("--json", "print JSON", false)
    .example("TALLYSTICK_DATA=/var/lib/tallystick tallystick archive status")
    .action(async ({ json }: { json: boolean }) => {
      const { runArchiveStatus } = await import("./archive-command.ts")
      await runArchiveStatus(terminal, json)
    })
  archive
    .command("verify")
    .description("read every segment and hash every body in it again; exit code 1 if one is wrong")
    .option("--json", "print JSON", false)
    .example("TALLYSTICK_DATA=/var/lib/tallystick tallystick archive verify")
    .action(async ({ json }: { json: boolean }) => {
      const { runArchiveVerify } = await import("./archive-command.ts")
      process.exitCode = await runArchiveVerify(terminal, json)
    })
  archive
    .command("now")
    .description(
      "archive everything that is due, while the service is stopped; exit code 1 if a damaged entry stays",
    )
    .example("TALLYSTICK_DATA=/var/lib/tallystick tallystick archive now")
    .action(async () => {
      const { runArchiveNow } = await import("./archive-command.ts")
      process.exitCode = await runArchiveNow(terminal)
    })
  archive
    .command("restore")
    .description("put all archived bodies back into the database, while the service is stopped")
    .example("TALLYSTICK_DATA=/var/lib/tallystick tallystick archive restore")
    .action(async () => {
      const { runArchiveRestore } = await import("./archive-command.ts")
      await runArchiveRestore(terminal)
    })
}

function addCompact(program: ProgramCommand, terminal: Terminal): void {
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
      const { runCompact } = await import("./compact-command.ts")
      runCompact(terminal)
    })
}
