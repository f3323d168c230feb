// Derives again everything that is kept of a ledger, from its first byte on, and names what is not as it was written. It believes neither
// the index nor the registry: only what hashes to a record, what a record hashes to, and what a key that the chain announced has signed.

import { equalBytes, openNote, parseCheckpoint, parseVkey, readLineage, toHex } from "@tallystick/proof"
import { allWorkspaces } from "./check-store.ts"
import { checkBeside, checkContents, checkIndexed, checkKeyed } from "./fsck-beside.ts"
import { walkChain, type Watched } from "./fsck-chain.ts"
import { epochsOf, type Epoch } from "./store/epochs.ts"
import { readHeads } from "./store/heads.ts"
import { sha256 } from "./sha256.ts"
import { openWhole } from "./store/open.ts"
import type { Document, Whole } from "./store/store.ts"

export interface FsckOptions {
  readonly data: string
  readonly headsPath: string
  /** Undefined: all of them. */
  readonly workspaces: readonly string[] | undefined
  /** Signed notes that were kept elsewhere, which the data must begin with. */
  readonly checkpoints: readonly string[]
  readonly passes: readonly Pass[]
  readonly progress: (pass: Pass, workspace: string, done: number) => void
}

/** `chain`: records, links, body hashes, the tree and all that was signed. `contents`: the form of each body, and what stands beside it. `index`: what is derived. */
export type Pass = (typeof passes)[number]
export const passes = ["chain", "contents", "index"] as const

/** Something that is not as it was written: a sentence, and the first entry that it is about. With `upTo`, one of the entries from there to here. */
export interface Fault {
  readonly workspace?: string
  readonly sequence?: number
  readonly upTo?: number
  readonly what: string
}

export interface Fscked {
  readonly workspaces: readonly { readonly workspace: string; readonly entries: number; readonly root: string }[]
  readonly faults: readonly Fault[]
  readonly timings: readonly { readonly pass: Pass; readonly entries: number; readonly ms: number }[]
}

export async function fsck(options: FsckOptions): Promise<Fscked> {
  const whole = openWhole(options.data, { alone: true })
  try {
    return await fsckWhole(whole, options)
  } finally {
    whole.close()
  }
}

async function fsckWhole(whole: Whole, { headsPath, workspaces, checkpoints, passes: asked, progress }: FsckOptions): Promise<Fscked> {
  const known = await allWorkspaces(whole.registry)
  const chosen = workspaces === undefined ? known : known.filter(({ id }) => workspaces.includes(id))
  const { watched, faults } = watchedOf(known, readHeads(headsPath).heads, checkpoints, workspaces === undefined)
  if (workspaces === undefined) faults.push(...strangers(whole, known))
  for (const id of workspaces ?? [])
    if (!known.some((one) => one.id === id)) faults.push({ workspace: id, what: "there is no such workspace" })

  const walked: Fscked["workspaces"][number][] = []
  const timings: Fscked["timings"][number][] = []
  const timed = (
    pass: Pass,
    act: (workspace: Document<"workspace">) => { readonly entries: number; readonly faults: readonly Fault[] },
  ) => {
    if (!asked.includes(pass)) return
    const started = performance.now()
    let entries = 0
    for (const workspace of chosen) {
      const found = act(workspace)
      entries += found.entries
      faults.push(...found.faults)
    }
    if (pass === "index") faults.push(...checkKeyed(whole, chosen))
    timings.push({ pass, entries, ms: performance.now() - started })
  }
  timed("chain", (workspace) => {
    const found = walkEpochs(whole, workspace, watched, (done) => progress("chain", workspace.id, done))
    walked.push({ workspace: workspace.id, entries: found.entries, root: toHex(found.root) })
    return { entries: found.entries, faults: [...genesisFaults(workspace), ...found.faults] }
  })
  timed("contents", (workspace) => checkContents(whole, workspace, (done) => progress("contents", workspace.id, done)))
  timed("index", (workspace) => ({
    entries: walked.find((one) => one.workspace === workspace.id)?.entries ?? 0,
    faults: [...checkBeside(whole, workspace), ...checkIndexed(whole, workspace)],
  }))
  return { workspaces: walked, faults: faults.toSorted(byPlace), timings }
}

/** The epochs of a workspace, the oldest first: behind one that does not hold, nothing can be said of the next. */
function walkEpochs(
  whole: Whole,
  workspace: Document<"workspace">,
  watched: ReadonlyMap<string, readonly Watched[]>,
  progress: (done: number) => void,
): { readonly entries: number; readonly root: Uint8Array; readonly faults: readonly Fault[] } {
  const faults: Fault[] = []
  let entries = 0
  let root: Uint8Array = new Uint8Array()
  for (const epoch of epochsOf(workspace).toReversed()) {
    const signed = watched.get(epoch.origin) ?? []
    const found = walkChain(whole, epoch, signed, progress)
    const notes = signed.flatMap(({ note }) => note ?? [])
    faults.push(...found.faults, ...signatureFaults(epoch, notes, found))
    entries += found.entries
    root = found.root
    if (found.isBroken) break
  }
  return { entries, root, faults }
}

/** By the workspace's registry, which any who can write the file could have changed: its genesis must be what every record names. */
function genesisFaults(workspace: Document<"workspace">): readonly Fault[] {
  const epochs = epochsOf(workspace)
  const lineage = readLineage(epochs[0].geneses, sha256)
  const holds = epochs.every(({ origin, ledgerId }, at) => {
    const born = lineage?.[at]
    return born?.genesis.origin === origin && born.genesis.workspaceId === workspace.id && equalBytes(born.ledgerId, ledgerId)
  })
  // How much of an epoch was kept is what the next one's genesis says.
  const goesOn = epochs.every(({ before, end, root }, at) => {
    const successor = lineage?.[at - 1]?.genesis.continues
    return end === undefined || (successor?.size === end - before && root !== undefined && successor.root === toHex(root))
  })
  return holds && goesOn ? [] : [{ workspace: workspace.id, what: "the genesis that the registry has is not that of its ledger" }]
}

function watchedOf(
  known: readonly Document<"workspace">[],
  heads: ReadonlyMap<string, { readonly size: number; readonly root: Uint8Array }>,
  checkpoints: readonly string[],
  all: boolean,
): { readonly watched: ReadonlyMap<string, readonly Watched[]>; readonly faults: Fault[] } {
  const epochs = known.flatMap((workspace) => epochsOf(workspace))
  const watched = new Map<string, Watched[]>(epochs.map(({ origin }) => [origin, []]))
  const former = new Set(epochs.filter(({ end }) => end !== undefined).map(({ origin }) => origin))
  const faults: Fault[] = []
  const strange = (what: string, origin: string): void => {
    if (all) faults.push({ what: `${what} is of the log ${origin}, and no workspace here has it` })
  }
  for (const [origin, head] of heads) {
    const list = watched.get(origin)
    // What was signed and lost is said by the epoch that goes on without it.
    if (former.has(origin)) continue
    if (list === undefined) strange("a line of the heads file", origin)
    else list.push({ ...head, by: "the heads file" })
  }
  for (const note of checkpoints) {
    const { origin, size, root } = parseNoteText(note)
    const list = watched.get(origin)
    if (list === undefined) faults.push({ what: `the given checkpoint is of the log ${origin}, and no workspace here has it` })
    else list.push({ size, root, by: "the given checkpoint", note })
  }
  return { watched, faults }
}

/** Throws what cannot be read as a checkpoint at all: that is a wrong file, and not a ledger that was changed. */
export function parseNoteText(note: string): { readonly origin: string; readonly size: number; readonly root: Uint8Array } {
  const checkpoint = parseCheckpoint(note.slice(0, note.lastIndexOf("\n\n") + 1))
  if (checkpoint === undefined) throw new CheckpointError("the file given with --checkpoint is no checkpoint")
  return checkpoint
}

export class CheckpointError extends Error {
  override readonly name = "CheckpointError"
}

function signatureFaults(
  { workspace, origin }: Epoch,
  notes: readonly string[],
  { vkeys }: { readonly vkeys: readonly string[] },
): readonly Fault[] {
  const keys = vkeys.map((vkey) => parseVkey(vkey)).filter((key) => key !== undefined && key.name === origin)
  return notes.flatMap((note) => {
    const opened = openNote(
      note,
      keys.filter((key) => key !== undefined),
    )
    if (opened.ok) return []
    return [{ workspace, what: `the given checkpoint is not signed by a key that the ledger announced (${opened.reason})` }]
  })
}

/** Entries of a workspace that the registry does not know: somebody took it away. */
function strangers(whole: Whole, known: readonly Document<"workspace">[]): readonly Fault[] {
  const ids = new Set(known.map(({ id }) => id))
  return whole
    .workspaces()
    .filter((id) => !ids.has(id))
    .map((workspace) => ({ workspace, what: "it has entries, and the registry does not know it" }))
}

function byPlace(one: Fault, other: Fault): number {
  return (one.workspace ?? "").localeCompare(other.workspace ?? "") || (one.sequence ?? 0) - (other.sequence ?? 0)
}

/** For people: what is wrong, and where. */
export function sentenceOf({ workspace, sequence, upTo, what }: Fault): string {
  const entries = upTo === undefined || upTo === sequence ? `entry ${sequence}` : `entries ${sequence} to ${upTo}`
  return [workspace === undefined ? undefined : `workspace ${workspace}`, sequence === undefined ? undefined : entries]
    .filter((part) => part !== undefined)
    .join(", ")
    .concat(workspace === undefined && sequence === undefined ? what : `: ${what}`)
}
