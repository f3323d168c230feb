// `tallystick archive`: lists, verifies and moves archived bodies.

import { StartError } from "../error.ts"
import {
  archiveNow,
  archiveStatus,
  restoreArchive,
  verifyArchive,
  type ArchiveChangeOptions,
} from "../operator/archive.ts"
import { offlineOptionsOf } from "../operator/offline-ledger.ts"
import { requiredSecrets } from "../operator/secret-files.ts"
import { configOf, counted, jsonText, type Terminal } from "./terminal.ts"

export async function runArchiveStatus(terminal: Terminal, json: boolean): Promise<void> {
  const workspaces = await archiveStatus(configOf(terminal))
  if (json) return terminal.say(jsonText({ workspaces }))
  for (const { workspace, segments, entries, bytes, textBytes } of workspaces)
    terminal.say(
      `${workspace}: ${entriesOf(entries)} in ${counted(segments, "segment")}, ${bytes} bytes for ${textBytes} bytes of text\n`,
    )
}

/** Returns the exit code: 1 if a segment is not what was recorded. */
export async function runArchiveVerify(terminal: Terminal, json: boolean): Promise<number> {
  const { say, remark, progress } = terminal
  const found = await verifyArchive(configOf(terminal), (workspace, segments) =>
    progress(`${workspace}: ${segments} segments`),
  )
  if (json) say(jsonText(found))
  else {
    const { length: wrong } = found.faults
    say(
      wrong === 0
        ? `Read ${counted(found.segments, "segment")}, and hashed every body again.\n`
        : `Of ${counted(found.segments, "segment")}, ${wrong} cannot be read, or differ from what was recorded.\n`,
    )
  }
  for (const fault of found.faults) remark(`tallystick: ${fault}\n`)
  for (const stray of found.strays)
    remark(
      found.isInUse
        ? `tallystick: no entry records ${stray} yet; before you delete it, run this again while the service is stopped\n`
        : `tallystick: no entry records ${stray}, so nothing reads it; you may delete it before the next start, which may record it\n`,
    )
  return found.faults.length === 0 ? 0 : 1
}

/** Returns the exit code: 1 if damaged entries stay in the database. */
export async function runArchiveNow(terminal: Terminal): Promise<number> {
  if (!configOf(terminal).archives)
    throw new StartError("with a database nothing is archived until TALLYSTICK_ARCHIVE is set")
  const { entries, staying } = await archiveNow(optionsOf(terminal))
  terminal.say(`Archived ${entriesOf(entries)}.\n`)
  for (const { workspace, unsigned, damaged } of staying) {
    if (unsigned > 0)
      terminal.remark(
        `tallystick: ${workspace}: no checkpoint covers ${counted(unsigned, "due entry", "due entries")} yet; start the service, which signs one\n`,
      )
    if (damaged > 0)
      terminal.remark(
        `tallystick: ${workspace}: ${entriesOf(damaged)} cannot be archived; tallystick fsck names what was changed\n`,
      )
  }
  return staying.some(({ damaged }) => damaged > 0) ? 1 : 0
}

const entriesOf = (count: number): string => counted(count, "entry", "entries")

export async function runArchiveRestore(terminal: Terminal): Promise<void> {
  const entries = await restoreArchive(optionsOf(terminal))
  terminal.say(
    `The bodies of ${entriesOf(entries)} are in the database again. Raise hotDays, or the service archives them again.\n`,
  )
}

function optionsOf(terminal: Terminal): ArchiveChangeOptions {
  const config = configOf(terminal)
  return {
    ...offlineOptionsOf(config),
    secrets: requiredSecrets(config),
    progress: (workspace, entries) => terminal.progress(`${workspace}: ${entries} entries`),
  }
}
