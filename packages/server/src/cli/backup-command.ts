// `tallystick backup`: copies the ledger into a new folder. The service may run.

import { join } from "node:path"
import type { ArchivePlace } from "../config.ts"
import { archiveList } from "../operator/backup-archive.ts"
import { backUp, type BackupProgress } from "../operator/backup.ts"
import { StartError } from "../error.ts"
import { configOf, counted, type Terminal } from "./terminal.ts"

export interface BackupFlags {
  readonly withoutSecrets: boolean
  readonly withoutArchive: boolean
}

export async function runBackup(
  terminal: Terminal,
  target: string,
  { withoutSecrets, withoutArchive }: BackupFlags,
): Promise<void> {
  const { say, remark, progress } = terminal
  const config = configOf(terminal)
  const { data, archive, databaseUrl } = config
  if (databaseUrl !== undefined)
    throw new StartError(
      "the ledger is in PostgreSQL, whose own tools back it up: pg_basebackup with an archive of the WAL, or pg_dump; see docs/postgresql.md#back-up-a-database",
    )
  // Object storage is a separate place already, and may be larger than any disk of this machine.
  const withArchive = !withoutArchive && archive.kind === "folder"
  const { workspaces, entries, secrets, segments, isNoted } = await backUp({
    ...config,
    target,
    withSecrets: !withoutSecrets,
    withArchive,
    progress: (step) => progress(lineOf(step)),
  })
  say(
    `Copied ${entries} entries of ${counted(workspaces, "workspace")} to ${target} and hashed each of them again.\n`,
  )
  say(
    secrets.includes("secret")
      ? "The copy includes the secret: anyone who has the copy can sign in the ledger's name.\n"
      : "The copy does not include the secret. Keep the secret elsewhere: without it the service cannot sign and knows no key.\n",
  )
  if (segments > 0)
    say(
      withArchive
        ? `The copy includes ${counted(segments, "segment")} of the archive.\n`
        : archiveLine(segments, archive, target),
    )
  if (!isNoted)
    remark(
      `tallystick: cannot write to ${data}, so the service does not show that this backup was made\n`,
    )
}

/** The archive segments that the copy needs, and how to copy them. */
function archiveLine(segments: number, archive: ArchivePlace, target: string): string {
  const list = join(target, archiveList)
  const needs = `The copy needs ${counted(segments, "segment")} of the archive, which ${list} names.`
  return archive.kind === "folder"
    ? `${needs} Copy them: rsync -a --files-from=${list} ${archive.path}/ ${join(target, "archive")}/\n`
    : `${needs} Keep them in s3://${archive.bucket}/${archive.prefix} as long as the copy.\n`
}

function lineOf(step: BackupProgress): string {
  if (step.kind === "hashed") return `${step.workspace}: hashed ${step.done} entries`
  if (step.kind === "archived") return `copied ${step.done} of ${step.segments} segments`
  return `copied ${Math.floor((100 * step.done) / Math.max(step.pages, 1))} %`
}
