// `tallystick fsck`: derives everything again from what is kept, while the service is stopped, and names what is not as it was written.

import { readFileSync } from "node:fs"
import { availableParallelism } from "node:os"
import { readConfig } from "../config.ts"
import { UnreadableError } from "../operator/fsck/workers.ts"
import { CheckpointError, fsck, sentenceOf, type Fscked, type Pass } from "../operator/fsck/fsck.ts"

export interface FsckCommand {
  readonly environment: Readonly<Record<string, string | undefined>>
  /** None: all of them. */
  readonly workspaces: readonly string[]
  /** Files that hold checkpoints which were kept elsewhere. */
  readonly checkpoints: readonly string[]
  readonly passes: readonly Pass[]
  readonly json: boolean
  readonly say: (text: string) => void
  readonly complain: (text: string) => void
  /** Shows how far it has come, in a line that the next one replaces. Absent where nobody watches. */
  readonly progress: ((line: string) => void) | undefined
}

/** Each has a heap of its own; beyond so many, the disk is what they wait for. */
const threadsMax = 8

/** The process's exit code. */
export const endings = { good: 0, unreadable: 1, changed: 3 } as const

export async function runFsck(command: FsckCommand): Promise<number> {
  const { environment, workspaces, checkpoints, passes, json, say, complain, progress } = command
  process.umask(0o077)
  const { data, heads } = readConfig(environment, (path) => readFileSync(path, "utf8"))
  const notes = checkpoints.map((path) => readFileSync(path, "utf8"))
  try {
    const found = await fsck({
      data,
      headsPath: heads,
      workspaces: workspaces.length === 0 ? undefined : workspaces,
      checkpoints: notes,
      passes,
      threads: Math.min(availableParallelism(), threadsMax),
      progress: (pass, workspace, done) => progress?.(`${workspace}: ${pass}, ${done} entries`),
    })
    progress?.("")
    if (json) say(`${JSON.stringify(jsonOf(found), null, 2)}\n`)
    else tell(found, say, complain)
    return found.faults.length === 0 ? endings.good : endings.changed
  } catch (error) {
    // A page that SQLite cannot make sense of is damage, and nothing can be said of what stood there.
    const isUnreadable = error instanceof UnreadableError || (error instanceof Error && "errcode" in error)
    if (!isUnreadable && !(error instanceof CheckpointError)) throw error
    complain(`tallystick: ${isUnreadable ? `${data} cannot be read: ` : ""}${error.message}\n`)
    return endings.unreadable
  }
}

function tell({ workspaces, faults, uncommitted, timings }: Fscked, say: (text: string) => void, complain: (text: string) => void): void {
  for (const fault of faults) complain(`tallystick: ${printable(sentenceOf(fault))}\n`)
  for (const { pass, entries, ms } of timings) say(`${pass}: ${entries} entries in ${(ms / 1000).toFixed(1)} s\n`)
  if (uncommitted > 0)
    say(
      `${uncommitted} credentials, passwords or evidence packs were made by an older version, which did not record all that they stand for.\n`,
    )
  if (faults.length > 0) return say(`${faults.length} not as it was written.\n`)
  const sum = workspaces.reduce((all, { entries }) => all + entries, 0)
  const where = `${sum} entries of ${workspaces.length} ${workspaces.length === 1 ? "workspace" : "workspaces"}`
  // Only the chain says that nothing else is there, and nothing is missing.
  const isWhole = timings.some(({ pass }) => pass === "chain")
  say(isWhole ? `All is as it was written: ${where}.\n` : "What was looked at is as it was written; the chain was not looked at.\n")
}

function jsonOf({ workspaces, faults, uncommitted, timings }: Fscked) {
  const perSecond = ({ entries, ms }: Fscked["timings"][number]) => Math.round(entries / Math.max(ms / 1000, 0.001))
  return {
    good: faults.length === 0,
    workspaces,
    faults,
    uncommitted,
    timings: timings.map((one) => ({ ...one, ms: Math.round(one.ms), perSecond: perSecond(one) })),
  }
}

/** What was changed may have been written by anyone: it must not move the cursor. */
function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`)
}
