// Derives again everything that is kept of a ledger, from its first byte on, and names what is not as it was written. It believes neither
// the index nor the registry: only what hashes to a record, what a record hashes to, and what a key that the chain announced has signed.

import { equalBytes, openNote, parseCheckpoint, parseVkey, readLineage, toHex } from "@tallystick/proof"
import { allWorkspaces } from "../check-store.ts"
import { checkIndexed, keyedFaults, repeatedFault, type Contents, type Repeated } from "./contents-check.ts"
import { walkChain, type Watched } from "./chain-check.ts"
import { openCrew, type Crew } from "./workers.ts"
import type { Fault } from "./fault.ts"
import { pieceEntries } from "./chain-piece.ts"
import { take } from "./registry-replay.ts"
import { beginRegistered, compareRegistry } from "./registry-check.ts"
import { StartError } from "../../error.ts"
import { epochsOf, type Epoch } from "../../store/epochs.ts"
import { readHeads } from "../../store/heads.ts"
import { sha256 } from "../../runtime/sha256.ts"
import { openWhole } from "../../store/sqlite/whole.ts"
import type { Document } from "../../store/store.ts"
import type { Whole } from "../../store/sqlite/whole.ts"

export interface FsckOptions {
  readonly data: string
  readonly headsPath: string
  /** Undefined: all of them. */
  readonly workspaces: readonly string[] | undefined
  /** Signed notes that were kept elsewhere, which the data must begin with. */
  readonly checkpoints: readonly string[]
  readonly passes: readonly Pass[]
  /** That share the work of a ledger which is larger than a piece or two; 0: none beside this one. */
  readonly threads: number
  readonly progress: (pass: Pass, workspace: string, done: number) => void
}

/** `chain`: records, links, body hashes, the tree and all that was signed. `contents`: the form of each body, what stands beside it, and the registry that the acts make. `index`: what is derived. */
export type Pass = (typeof passes)[number]
export const passes = ["chain", "contents", "index"] as const

export interface Fscked {
  readonly workspaces: readonly { readonly workspace: string; readonly entries: number; readonly root: string }[]
  readonly faults: readonly Fault[]
  /** Credentials and packs that an older version made: whether they are all that they were made as is not known. */
  readonly uncommitted: number
  readonly timings: readonly { readonly pass: Pass; readonly entries: number; readonly ms: number }[]
}

export async function fsck(options: FsckOptions): Promise<Fscked> {
  const whole = openWhole(options.data, { alone: true })
  try {
    const chosen = await chosenOf(whole, options)
    // A thread takes longer to start than a small ledger to be walked.
    const crew = await openCrew(options.data, whole, whole.count() > 2 * pieceEntries ? options.threads : 0)
    try {
      return await fsckWhole(whole, crew, chosen, options)
    } finally {
      await crew.close()
    }
  } finally {
    whole.close()
  }
}

interface Chosen {
  readonly known: readonly Document<"workspace">[]
  readonly chosen: readonly Document<"workspace">[]
  readonly faults: readonly Fault[]
}

/** The workspaces to look at. One that was never here was asked for by mistake; one that left its entries was taken away. */
async function chosenOf(whole: Whole, { data, workspaces: asked }: FsckOptions): Promise<Chosen> {
  const known = await allWorkspaces(whole.registry)
  const ids = new Set(known.map(({ id }) => id))
  const lost = whole.workspaces().filter((id) => !ids.has(id))
  for (const id of asked ?? []) if (!ids.has(id) && !lost.includes(id)) throw new StartError(`there is no workspace ${id} in ${data}`)
  return {
    known,
    chosen: known.filter(({ id }) => asked?.includes(id) ?? true),
    faults: lost.filter((id) => asked?.includes(id) ?? true).map((workspace) => ({ workspace, what: unknown })),
  }
}

const unknown = "it has entries, and the registry does not know it"

/** What a pass found in one workspace. */
interface Found {
  readonly entries: number
  readonly faults: readonly Fault[]
  readonly uncommitted?: number
}

async function fsckWhole(whole: Whole, crew: Crew, { known, chosen, faults: lost }: Chosen, options: FsckOptions): Promise<Fscked> {
  const { headsPath, workspaces, checkpoints, passes: asked, progress } = options
  const { watched, faults } = watchedOf(known, await readHeads(headsPath), checkpoints, workspaces === undefined)
  faults.push(...lost)
  const walked: Fscked["workspaces"][number][] = []
  const timings: Fscked["timings"][number][] = []
  let uncommitted = 0
  const timed = async (pass: Pass, act: (workspace: Document<"workspace">) => Promise<Found>): Promise<void> => {
    if (!asked.includes(pass)) return
    const started = performance.now()
    let entries = 0
    for (const workspace of chosen) {
      const found = await act(workspace)
      entries += found.entries
      uncommitted += found.uncommitted ?? 0
      faults.push(...found.faults)
    }
    if (pass === "index") faults.push(...(await checkNames(whole, crew, chosen)), ...(await checkStrays(crew, workspaces)))
    timings.push({ pass, entries, ms: performance.now() - started })
  }
  await timed("chain", async (workspace) => {
    const found = await walkEpochs(crew, whole, workspace, watched, (done) => progress("chain", workspace.id, done))
    walked.push({ workspace: workspace.id, entries: found.entries, root: toHex(found.root) })
    return { entries: found.entries, faults: [...genesisFaults(workspace), ...found.faults] }
  })
  await timed("contents", (workspace) => checkAllContents(whole, crew, workspace, (done) => progress("contents", workspace.id, done)))
  await timed("index", async (workspace) => ({ entries: whole.last(workspace.id), faults: checkIndexed(whole, workspace) }))
  return { workspaces: walked, faults: faults.toSorted(byPlace), uncommitted, timings }
}

/** What bodies that do not hold say of the registry is worth nothing. */
async function checkAllContents(
  whole: Whole,
  crew: Crew,
  workspace: Document<"workspace">,
  progress: (done: number) => void,
): Promise<Found> {
  const last = whole.last(workspace.id)
  const registered = await beginRegistered(whole.registry, workspace.id)
  for await (const { upTo, acts, fault } of crew.each("contents", stepsOf(workspace.id, last))) {
    if (fault !== undefined) return { entries: upTo, faults: [fault] }
    for (const act of acts) take(registered, act)
    progress(upTo)
  }
  return { entries: last, ...(await compareRegistry(whole.registry, workspace, registered)) }
}

function* stepsOf(workspace: string, last: number): Generator<Contents> {
  for (let after = 0; after < last; after += pieceEntries) yield { workspace, after, upTo: Math.min(after + pieceEntries, last) }
}

/** Names that stand for one entry each, and the index of them. */
async function checkNames(whole: Whole, crew: Crew, chosen: readonly Document<"workspace">[]): Promise<readonly Fault[]> {
  const faults: Fault[] = []
  const names = chosen.flatMap(({ id }): Repeated[] => [
    { workspace: id, what: "receipt" },
    { workspace: id, what: "idem" },
  ])
  let at = 0
  for await (const sequence of crew.each("repeated", names)) faults.push(...repeatedFault(names[at++], sequence))
  const ids = new Set(chosen.map(({ id }) => id))
  for await (const keyed of crew.each("keyed", whole.index?.runs() ?? [])) if (keyed !== undefined) faults.push(...keyedFaults(keyed, ids))
  return faults
}

/** What belongs to no entry. Where only some workspaces were asked for: what is theirs of it, or nobody's. */
async function checkStrays(crew: Crew, workspaces: readonly string[] | undefined): Promise<readonly Fault[]> {
  const faults: Fault[] = []
  for await (const strays of crew.each("strays", ["search", "journal", "index"]))
    faults.push(...strays.filter(({ workspace }) => workspace === undefined || (workspaces?.includes(workspace) ?? true)))
  return faults
}

/** The epochs of a workspace, the oldest first: behind one that does not hold, nothing can be said of the next. */
async function walkEpochs(
  crew: Crew,
  whole: Whole,
  workspace: Document<"workspace">,
  watched: ReadonlyMap<string, readonly Watched[]>,
  progress: (done: number) => void,
): Promise<Found & { readonly root: Uint8Array }> {
  const faults: Fault[] = []
  let entries = 0
  let root: Uint8Array = new Uint8Array()
  for (const epoch of epochsOf(workspace).toReversed()) {
    const signed = watched.get(epoch.origin) ?? []
    const found = await walkChain(crew, whole, epoch, signed, progress)
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
