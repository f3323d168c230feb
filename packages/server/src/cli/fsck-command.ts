// `tallystick fsck`: derives everything again from the stored bytes and names what was changed. The
// service must be stopped.

import { readFileSync } from "node:fs"
import { availableParallelism } from "node:os"
import { printable } from "@tallystick/proof"
import { withoutHeads } from "../operator/check-store.ts"
import {
  fsck,
  passes,
  sentenceOf,
  type FsckOptions,
  type FsckResult,
  type Pass,
} from "../operator/fsck/fsck.ts"
import { isUnreadable } from "../operator/fsck/workers.ts"
import type { Config } from "../config.ts"
import { placeName } from "../store/open.ts"
import { configOf, counted, jsonText, type Terminal } from "./terminal.ts"

export interface FsckFlags {
  /** Paths of files. */
  readonly checkpoint?: readonly string[]
  readonly pass?: readonly Pass[]
  readonly json: boolean
}

/** Each thread has a heap of its own, and more threads would only wait for the disk. */
const threadsMax = 8

const exitCodes = { good: 0, unreadable: 1, changed: 3 } as const

export async function runFsck(
  terminal: Terminal,
  workspaces: readonly string[],
  { checkpoint = [], pass = passes, json }: FsckFlags,
): Promise<number> {
  const asked = {
    workspaces: workspaces.length === 0 ? undefined : workspaces,
    checkpoints: checkpoint.map((path) => readFileSync(path, "utf8")),
    passes: pass,
  }
  return await checkLedger(terminal, configOf(terminal), asked, json)
}

const everything = { workspaces: undefined, checkpoints: [], passes }

/** Prints its findings, and returns the exit code. */
export async function checkLedger(
  { say, remark, progress }: Terminal,
  config: Config,
  asked: Pick<FsckOptions, "workspaces" | "checkpoints" | "passes"> = everything,
  json = false,
): Promise<number> {
  try {
    const found = await fsck({
      ...config,
      ...asked,
      threads: Math.min(availableParallelism(), threadsMax),
      progress: (pass, workspace, done) => progress(`${workspace}: ${pass}, ${done} entries`),
    })
    if (withoutHeads(config.heads, config) !== undefined)
      remark(
        `tallystick: the heads file ${config.heads} does not exist, so nothing was compared with what was signed last: set TALLYSTICK_HEADS to it\n`,
      )
    if (json) say(jsonText(jsonOf(found)))
    else tell(found, { say, remark })
    return found.faults.length === 0 ? exitCodes.good : exitCodes.changed
  } catch (error) {
    if (!isUnreadable(error)) throw error
    remark(`tallystick: cannot read ${placeName(config)}: ${error.message}\n`)
    return exitCodes.unreadable
  }
}

function tell(
  { workspaces, faults, timings }: FsckResult,
  { say, remark }: Pick<Terminal, "say" | "remark">,
): void {
  for (const fault of faults) remark(`tallystick: ${printable(sentenceOf(fault))}\n`)
  for (const { pass, entries, ms } of timings)
    say(`${pass}: ${entries} entries in ${(ms / 1000).toFixed(1)} s\n`)
  if (faults.length > 0)
    return say(`Found ${counted(faults.length, "fault")}. ${remedyOf(faults)}\n`)
  const sum = workspaces.reduce((all, { entries }) => all + entries, 0)
  const left = passes.filter((one) => timings.every(({ pass }) => pass !== one))
  say(
    left.length === 0
      ? `Everything is as it was written: ${sum} entries of ${counted(workspaces.length, "workspace")}.\n`
      : `What was checked is as it was written. Not checked: ${left.join(", ")}.\n`,
  )
}

function remedyOf(faults: FsckResult["faults"]): string {
  return faults.every(({ isDerived }) => isDerived)
    ? "The faults are in the index or the search. Run tallystick reindex, which makes both again from the entries."
    : "Keep this data unchanged, and restore a backup in which tallystick fsck finds no fault."
}

function jsonOf({ workspaces, faults, timings }: FsckResult) {
  const perSecond = ({ entries, ms }: FsckResult["timings"][number]) =>
    Math.round(entries / Math.max(ms / 1000, 0.001))
  return {
    good: faults.length === 0,
    workspaces,
    faults,
    timings: timings.map((one) => ({ ...one, ms: Math.round(one.ms), perSecond: perSecond(one) })),
  }
}
