// Derives everything again from the stored bytes and reports what differs. It trusts neither the
// index nor the registry, only hashes and what a key announced in the chain has signed.

import { randomBytes } from "node:crypto"
import { parseCheckpoint, toHex } from "@tallystick/proof"
import { allWorkspaces } from "../check-store.ts"
import { checkIndexed, keyedFaults, repeatedFault, type Contents } from "./contents-check.ts"
import { walkChain, type Watched } from "./chain-check.ts"
import { blocksOf, type SegmentOf } from "./segment-check.ts"
import { openWorkers, type Workers } from "./workers.ts"
import type { Fault } from "./fault.ts"
import { pieceEntries } from "./chain-piece.ts"
import { applyAct } from "./registry-replay.ts"
import { beginReplay, compareRegistry } from "./registry-check.ts"
import { StartError } from "../../error.ts"
import { closing } from "../../runtime/closing.ts"
import { epochsOf, isAsBorn } from "../../store/epochs.ts"
import { lastOf } from "../../store/search/segment-plan.ts"
import { openWhole } from "../../store/open-offline.ts"
import { placeName, readSignedHeads, type ListedHeads, type StorePlace } from "../../store/open.ts"
import type { UnpackedContent, Whole } from "../../store/whole-ledger.ts"
import type { Workspace } from "../../store/documents.ts"

export interface FsckOptions extends StorePlace {
  readonly heads: string
  /** Undefined: all of them. */
  readonly workspaces: readonly string[] | undefined
  /** Checkpoints that were kept elsewhere. The data must begin with what they cover. */
  readonly checkpoints: readonly string[]
  readonly passes: readonly Pass[]
  /** Worker threads for a ledger of more than two pieces. 0: none. */
  readonly threads: number
  readonly progress: (pass: Pass, workspace: string, done: number) => void
}

/**
 * `chain`: records, links, bodies, the tree and everything signed. `contents`: the form of bodies,
 * and the registry. `index`: derived data.
 */
export type Pass = (typeof passes)[number]
export const passes = ["chain", "contents", "index"] as const

export interface FsckResult {
  readonly workspaces: readonly {
    readonly workspace: string
    readonly entries: number
    readonly root: string
  }[]
  readonly faults: readonly Fault[]
  readonly timings: readonly {
    readonly pass: Pass
    readonly entries: number
    readonly ms: number
  }[]
}

export async function fsck(options: FsckOptions): Promise<FsckResult> {
  const { data, databaseUrl, archive } = options
  const place = { data, databaseUrl, archive }
  await using whole = closing(await openWhole(place, { alone: true }))
  const chosen = await chosenOf(whole, options)
  // Starting a thread takes longer than checking a small ledger.
  const threads = (await whole.count()) > 2 * pieceEntries ? options.threads : 0
  await using workers = closing(await openWorkers(place, whole, threads))
  return await fsckWhole(whole, workers, chosen, options)
}

interface ChosenWorkspaces {
  readonly known: readonly Workspace[]
  readonly chosen: readonly Workspace[]
  readonly faults: readonly Fault[]
}

/**
 * The workspaces to check. Throws for one that never existed, and reports one whose entries remain
 * without a document.
 */
async function chosenOf(
  whole: Whole,
  { workspaces: asked, ...place }: FsckOptions,
): Promise<ChosenWorkspaces> {
  const known = await allWorkspaces(whole.registry)
  const ids = new Set(known.map(({ id }) => id))
  const lost = (await whole.workspaces()).filter((id) => !ids.has(id))
  for (const id of asked ?? [])
    if (!ids.has(id) && !lost.includes(id))
      throw new StartError(`there is no workspace ${id} in ${placeName(place)}`)
  return {
    known,
    chosen: known.filter(({ id }) => asked?.includes(id) ?? true),
    faults: lost
      .filter((id) => asked?.includes(id) ?? true)
      .map((workspace) => ({ workspace, what: unknown })),
  }
}

const unknown = "it has entries, but it is not in the registry"

/** Result of a pass over one workspace. */
interface PassResult {
  readonly entries: number
  readonly faults: readonly Fault[]
}

async function fsckWhole(
  whole: Whole,
  workers: Workers,
  { known, chosen, faults: lost }: ChosenWorkspaces,
  options: FsckOptions,
): Promise<FsckResult> {
  const { heads, workspaces, checkpoints, passes: asked, progress } = options
  const { watched, faults } = watchedOf(
    known,
    await readSignedHeads(heads, options),
    checkpoints,
    workspaces === undefined,
  )
  faults.push(...lost)
  const walked: FsckResult["workspaces"][number][] = []
  const timings: FsckResult["timings"][number][] = []
  const timed = async (
    pass: Pass,
    act: (workspace: Workspace) => Promise<PassResult>,
  ): Promise<void> => {
    if (!asked.includes(pass)) return
    const started = performance.now()
    let entries = 0
    for (const workspace of chosen) {
      const found = await act(workspace)
      entries += found.entries
      faults.push(...found.faults)
    }
    if (pass === "index") {
      // What is asked first takes longest.
      const [segments, names] = await Promise.all([
        checkSegments(whole, workers, chosen),
        checkNames(whole, workers, chosen),
      ])
      faults.push(...segments.faults, ...names)
      faults.push(...(await checkStrays(workers, workspaces, segments.unpacked)))
    }
    timings.push({ pass, entries, ms: performance.now() - started })
  }
  await timed("chain", async (workspace) => {
    const found = await walkEpochs(workers, whole, workspace, watched, (done) =>
      progress("chain", workspace.id, done),
    )
    walked.push({ workspace: workspace.id, entries: found.entries, root: toHex(found.root) })
    return { entries: found.entries, faults: [...genesisFaults(workspace), ...found.faults] }
  })
  await timed("contents", (workspace) =>
    checkAllContents(whole, workers, workspace, (done) => progress("contents", workspace.id, done)),
  )
  await timed("index", async (workspace) => ({
    entries: await whole.last(workspace.id),
    faults: await checkIndexed(whole, workspace),
  }))
  return { workspaces: walked, faults: faults.toSorted(byPlace), timings }
}

/** Compares the registry only if every body is good: broken ones say nothing reliable about it. */
async function checkAllContents(
  whole: Whole,
  workers: Workers,
  workspace: Workspace,
  progress: (done: number) => void,
): Promise<PassResult> {
  const last = await whole.last(workspace.id)
  const registered = await beginReplay(whole.registry, workspace.id)
  for await (const { upTo, acts, fault } of workers.each("contents", stepsOf(workspace.id, last))) {
    if (fault !== undefined) return { entries: upTo, faults: [fault] }
    for (const act of acts) applyAct(registered, act)
    progress(upTo)
  }
  return { entries: last, faults: await compareRegistry(whole.registry, workspace, registered) }
}

function* stepsOf(workspace: string, last: number): Generator<Contents> {
  for (let after = 0; after < last; after += pieceEntries)
    yield { workspace, after, upTo: Math.min(after + pieceEntries, last) }
}

/** Receipts and idempotency keys, of which each names one entry, and their index. */
async function checkNames(
  whole: Whole,
  workers: Workers,
  chosen: readonly Workspace[],
): Promise<readonly Fault[]> {
  const ids = new Set(chosen.map(({ id }) => id))
  const faults: Fault[] = []
  const runs = (await whole.index?.runs()) ?? []
  let isRight = runs.length > 0 && runs.every((run, at) => run === at)
  for await (const keyed of workers.each("keyed", runs)) {
    if (keyed === undefined) continue
    isRight &&= keyed.wrong === undefined && keyed.isWhole
    faults.push(...keyedFaults(keyed, ids))
  }
  const asked = { workspaces: [...ids], isIndexRight: isRight }
  for await (const repeated of workers.each("repeated", [asked]))
    for (const name of repeated) if (ids.has(name.workspace)) faults.push(repeatedFault(name))
  return faults
}

/** The search, compared with the entries; and what was unpacked of these. */
async function checkSegments(
  whole: Whole,
  workers: Workers,
  chosen: readonly Workspace[],
): Promise<{ readonly faults: readonly Fault[]; readonly unpacked: UnpackedContent }> {
  const faults: Fault[] = []
  const unpacked = { frames: [] as number[], disclosures: [] as number[] }
  const note = ({ frames, disclosures }: UnpackedContent): void => {
    // One by one: earlier passes may have left very many.
    for (const number of frames) unpacked.frames.push(number)
    for (const number of disclosures) unpacked.disclosures.push(number)
  }
  const secret = randomBytes(32)
  const all: SegmentOf[] = []
  for (const { id: workspace } of chosen) {
    const last = await whole.last(workspace)
    for (const row of await whole.segments(workspace))
      if (lastOf(row) <= last) all.push({ workspace, row, secret })
  }
  const check = async (given: readonly SegmentOf[]): Promise<void> => {
    for await (const read of workers.each("segment", given)) {
      if (read.found !== undefined) faults.push(read.found)
      note(read.unpacked)
    }
  }
  const isLarge = (one: SegmentOf): boolean => blocksOf(one).length > 1
  // All threads read the entries of a large segment, and one of them the segment.
  const checkLarge = async (one: SegmentOf): Promise<void> => {
    const said = await Array.fromAsync(workers.each("block", blocksOf(one)))
    for (const read of said) note(read.unpacked)
    await check([{ ...one, blocks: said.map(({ found }) => found) }])
  }
  const others = all.filter((one) => !isLarge(one))
  await Promise.all([
    ...all.filter(isLarge).map(checkLarge),
    check(others.toSorted((a, b) => b.row.level - a.row.level)),
  ])
  return { faults, unpacked }
}

/**
 * Orphan rows, which belong to no entry: those of the chosen workspaces, and those of no workspace.
 */
async function checkStrays(
  workers: Workers,
  workspaces: readonly string[] | undefined,
  right: UnpackedContent,
): Promise<readonly Fault[]> {
  const faults: Fault[] = []
  const asked = (["journal", "search", "index"] as const).map((of) => ({ of, right }))
  let at = 0
  for await (const strays of workers.each("strays", asked)) {
    const derived = asked[at++]?.of === "journal" ? {} : ({ isDerived: true } as const)
    for (const stray of strays)
      if (stray.workspace === undefined || (workspaces?.includes(stray.workspace) ?? true))
        faults.push({ ...stray, ...derived })
  }
  return faults
}

/**
 * Checks the epochs of a workspace, the oldest first. After a broken one, nothing can be said about
 * the next.
 */
async function walkEpochs(
  workers: Workers,
  whole: Whole,
  workspace: Workspace,
  watched: ReadonlyMap<string, readonly Watched[]>,
  progress: (done: number) => void,
): Promise<PassResult & { readonly root: Uint8Array }> {
  const faults: Fault[] = []
  let entries = 0
  let root: Uint8Array = new Uint8Array()
  for (const epoch of epochsOf(workspace).toReversed()) {
    const found = await walkChain(workers, whole, epoch, watched.get(epoch.origin) ?? [], progress)
    faults.push(...found.faults)
    entries += found.entries
    root = found.root
    if (found.isBroken) break
  }
  return { entries, root, faults }
}

/**
 * The genesis comes from the registry, which anyone who can write the file can change: it must be
 * the one that the records name.
 */
function genesisFaults(workspace: Workspace): readonly Fault[] {
  return isAsBorn(workspace)
    ? []
    : [
        {
          workspace: workspace.id,
          what: "the registry has another genesis than the entries name",
        },
      ]
}

function watchedOf(
  known: readonly Workspace[],
  signed: readonly ListedHeads[],
  checkpoints: readonly string[],
  all: boolean,
): { readonly watched: ReadonlyMap<string, readonly Watched[]>; readonly faults: Fault[] } {
  const epochs = known.flatMap((workspace) => epochsOf(workspace))
  const watched = new Map<string, Watched[]>(epochs.map(({ origin }) => [origin, []]))
  const former = new Set(epochs.filter(({ end }) => end !== undefined).map(({ origin }) => origin))
  const faults: Fault[] = []
  const strange = (what: string, origin: string): void => {
    if (all)
      faults.push({
        what: `${ownerless(what, origin)}; if this workspace was given up, remove the line`,
      })
  }
  for (const { by, heads } of signed)
    for (const [origin, head] of heads) {
      const list = watched.get(origin)
      // The next epoch says what was signed and lost.
      if (former.has(origin)) continue
      if (list === undefined) strange(`a line of ${by}`, origin)
      else list.push({ ...head, by })
    }
  for (const note of checkpoints) {
    const { origin, size, root } = parseNoteText(note)
    const list = watched.get(origin)
    if (list === undefined)
      faults.push({
        what: ownerless("the given checkpoint", origin),
      })
    else list.push({ size, root, by: "the given checkpoint", note })
  }
  return { watched, faults }
}

function ownerless(what: string, origin: string): string {
  return `${what} belongs to the log ${origin}, and no workspace has this log: a workspace is missing, or the file is of other data`
}

/** Throws for a file that is not a checkpoint: that is a wrong file, not a changed ledger. */
function parseNoteText(note: string): {
  readonly origin: string
  readonly size: number
  readonly root: Uint8Array
} {
  const checkpoint = parseCheckpoint(note.slice(0, note.lastIndexOf("\n\n") + 1))
  if (checkpoint === undefined)
    throw new StartError("the file given with --checkpoint is not a checkpoint")
  return checkpoint
}

function byPlace(one: Fault, other: Fault): number {
  return (
    (one.workspace ?? "").localeCompare(other.workspace ?? "") ||
    (one.sequence ?? 0) - (other.sequence ?? 0)
  )
}

/** One sentence for people: where the fault is, and what it is. */
export function sentenceOf({ workspace, sequence, upTo, what }: Fault): string {
  const entries =
    upTo === undefined || upTo === sequence ? `entry ${sequence}` : `entries ${sequence} to ${upTo}`
  return [
    workspace === undefined ? undefined : `workspace ${workspace}`,
    sequence === undefined ? undefined : entries,
  ]
    .filter((part) => part !== undefined)
    .join(", ")
    .concat(workspace === undefined && sequence === undefined ? what : `: ${what}`)
}
