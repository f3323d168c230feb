// `tallystick backup`: copies the ledger into a new folder. The service may run.

import { join } from "node:path"
import type { ArchivePlace } from "../config.ts"
import { archiveList, backUp, type BackupProgress } from "../operator/backup.ts"
import { StartError } from "../error.ts"
import { configOf, counted, type Terminal } from "./terminal.ts"

export async function runBackup(
  terminal: Terminal,
  target: string,
  withSecrets: boolean,
): Promise<void> {
  const { say, remark, progress } = terminal
  const { data, archive, databaseUrl, heads } = configOf(terminal)
  if (databaseUrl !== undefined)
    throw new StartError(
      "the ledger is in PostgreSQL, whose own tools back it up: pg_basebackup with an archive of the WAL, or pg_dump; see docs/operating.md#back-up-a-database",
    )
  const show = (step: BackupProgress): void => progress(lineOf(step))
  const { workspaces, entries, secrets, archiveFiles, isNoted } = await backUp({
    data,
    archive,
    headsPath: heads,
    target,
    withSecrets,
    progress: show,
  })
  progress("")
  say(
    `Copied ${entries} entries of ${counted(workspaces, "workspace")} to ${target} and hashed each of them again.\n`,
  )
  say(
    secrets.includes("secret")
      ? "The copy includes the secret: anyone who has the copy can sign in the ledger's name.\n"
      : "The copy does not include the secret. Keep the secret elsewhere: without it the service cannot sign and knows no key.\n",
  )
  if (archiveFiles > 0) say(archiveLine(archiveFiles, archive, target))
  if (!isNoted)
    remark(
      `tallystick: cannot write to ${data}, so the service does not show that this backup was made\n`,
    )
}

/** What the copy needs besides, and how that is copied. */
function archiveLine(files: number, archive: ArchivePlace, target: string): string {
  const list = join(target, archiveList)
  const needs = `The copy needs ${counted(files, "file")} of the archive, which ${list} names.`
  return archive.kind === "folder"
    ? `${needs} Copy them: rsync -a --files-from=${list} ${archive.path}/ ${join(target, "archive")}/\n`
    : `${needs} Keep them in s3://${archive.bucket}/${archive.prefix} as long as the copy.\n`
}

function lineOf(step: BackupProgress): string {
  if (step.kind === "hashed") return `${step.workspace}: hashed ${step.done} entries`
  return `copied ${Math.floor((100 * step.done) / Math.max(step.pages, 1))} %`
}
