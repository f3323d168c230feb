// Erases a person. First, entries record what will be destroyed, each together with the documents
// that list it; then it is destroyed; then an entry records that. An interrupted erasure is resumed
// from these documents and entries. An erasure covers the entries before its own first one.

import { assert, parseRecord, type Destroyed } from "@tallystick/proof"
import type { ErasurePreview } from "@tallystick/client/wire"
import { isoTime } from "../clock.ts"
import { LedgerError } from "../error.ts"
import { createFairQueue } from "../runtime/fair-queue.ts"
import { createOneAtATime } from "../runtime/one-at-a-time.ts"
import { every } from "../store/all-documents.ts"
import {
  changed,
  created,
  type ErasureDocument,
  type ErasureScope,
  type Person,
  type Document,
  type Workspace,
} from "../store/documents.ts"
import { readState, stateChange } from "../store/retention-state.ts"
import type { ErasedBlock } from "../store/erasures-file.ts"
import { nameOf, recordPlanned, type Act } from "../workspace/admin-entries.ts"
import type { Principal } from "../workspace/permissions.ts"
import { required } from "../workspace/required-document.ts"
import { destroyContent, overwriteCopies } from "./content-destruction.ts"
import { erasedBlocks, stillThere } from "./erased-blocks.ts"
import { partsOf, partWith, type ErasurePart } from "./erasure-parts.ts"
import { handedOut } from "./handed-out.ts"
import { requestAction, type Personal } from "./subject-entries.ts"
import {
  sourceOf,
  survey,
  type ErasureParts,
  type Surveys,
  type WorkingParts,
} from "./erasure-survey.ts"
import { actOf, destroyedIn, ownEntries, sequencesIn, targetOf } from "./erasure-entries.ts"
import { recordEach, recordPart, recordParts } from "./erasure-recording.ts"

export interface ErasureRequest {
  readonly subject: Person
  readonly scope: ErasureScope
  readonly reason: string
  readonly reference?: string | undefined
}

export interface Erasures {
  preview(
    workspace: Workspace,
    request: Pick<ErasureRequest, "subject" | "scope">,
    signal?: AbortSignal,
  ): Promise<ErasurePreview>
  /** Records the request and begins. Resolves before it is carried out. */
  request(
    by: Principal,
    workspace: Workspace,
    request: ErasureRequest,
    signal?: AbortSignal,
  ): Promise<Document<"erasure">>
  /** Carries out the open erasures of a workspace. Resolves when only held ones are left. */
  carryOut(workspace: Workspace, stop?: AbortSignal): Promise<void>
  /**
   * Adds the erasures of other servers to this server's file. Returns whether another server has
   * one open.
   */
  note(workspace: Workspace): Promise<boolean>
  /**
   * Erases again the content that the erasures file lists and that this data, a copy from before,
   * still has. Records it first.
   */
  repeat(workspace: Workspace, id: string, blocks: readonly ErasedBlock[]): Promise<void>
}

const repeatAction = "privacy.erasure.repeat"

export function createErasures(given: ErasureParts): Erasures {
  const surveys: Surveys = new Map()
  const parts = { ...given, surveys }
  const { registry, ledger, store, limits, clock } = parts
  const counting = createFairQueue(clock, {
    atOnceMax: limits.erasureCountsAtOnceMax,
    // One for each workspace, because each works on the main thread.
    perWorkspaceMax: 1,
    waitingMax: limits.erasureCountsWaitingMax,
    waitMs: limits.erasureCountWaitMs,
    of: "erasures to be counted",
  })
  const inTurn = createOneAtATime()

  return {
    preview: (workspace, { subject, scope }, signal) =>
      counting.run(workspace.id, signal, async () => {
        const upTo = (await store.journal.head(workspace.id))?.sequence ?? 0
        const found = await survey(parts, workspace.id, { subject, scope, upTo }, signal)
        const { entries, fields, sequences } = found
        return {
          entries,
          fields,
          holds: await parts.holdsOn(workspace.id, subject, sequences, signal),
          handedOut: await handedOut(sourceOf(parts), workspace.id, new Set(sequences), subject),
        }
      }),

    request: (by, workspace, request, signal) =>
      counting.run(workspace.id, signal, async () => {
        const { subject, scope, reason, reference } = request
        const upTo = (await store.journal.head(workspace.id))?.sequence ?? 0
        const found = await survey(parts, workspace.id, { subject, scope, upTo }, signal)
        const { entries, fields } = found
        const sequences = new Set(found.sequences)
        const out = await handedOut(sourceOf(parts), workspace.id, sequences, subject)
        const said = { scope, reason, ...(reference !== undefined && { reference }) }
        const { id } = await recordPlanned(parts, workspace, async (nowMs) => {
          const id = ledger.makeId("era", nowMs)
          // A hold that is placed meanwhile changes this document too, and then this is planned
          // again.
          const state = await readState(registry, workspace.id)
          const holds = await parts.holdsOn(workspace.id, subject, found.sequences, signal)
          const value: ErasureDocument = {
            ...(holds.length > 0 ? { state: "held", holds } : { state: "recording" }),
            ...said,
            requestedAt: isoTime(nowMs),
            requestedBy: nameOf(by),
            subject,
            after: 0,
            parts: 0,
            entries,
            fields,
            handedOut: out,
          }
          const types = subject.types === undefined ? {} : { types: [...subject.types] }
          // The person is a member of the target, which is sealed; metadata of these entries is not.
          const target = { ...targetOf(id), subject: { id: subject.id, ...types } }
          const counts = { entries, fields }
          const metadata = { erasureId: id, ...said, counts, holds: [...holds] }
          const changes = [created("erasure", id, value), stateChange(state, state.value)]
          return { by, action: requestAction, target, metadata, changes, id }
        })
        const made = await required(registry, "erasure", workspace.id, id)
        if (made.value.state === "recording") surveys.set(id, found)
        return made
      }),

    note: (workspace) => noteAll(parts, workspace),

    repeat: (...asked) => repeat(parts, ...asked),

    // In turn, so that an erasure does not find what another one destroys.
    carryOut: (workspace, stop) => inTurn(workspace.id, () => carryOutAll(parts, workspace, stop)),
  }
}

async function carryOutAll(
  parts: WorkingParts,
  workspace: Workspace,
  stop: AbortSignal | undefined,
): Promise<void> {
  await eachErasure(parts, workspace, async ({ id, value }) => {
    if (value.state !== "done") await carryOut(parts, workspace, id, stop)
    else if (isUnlisted(parts, id, value)) await note(parts, workspace, id)
  })
}

/** Damage lasts until it is repaired, and the other erasures do not wait for that. */
async function eachErasure(
  { registry }: Pick<WorkingParts, "registry">,
  workspace: Workspace,
  act: (erasure: Document<"erasure">) => Promise<void>,
): Promise<void> {
  let damage: LedgerError | undefined
  for await (const erasure of every(registry, "erasure", workspace.id)) {
    try {
      await act(erasure)
    } catch (error) {
      if (!(error instanceof LedgerError && error.code === "integrity_failure")) throw error
      damage ??= error
    }
  }
  if (damage !== undefined) throw damage
}

/** Continues from its current state. */
async function carryOut(
  parts: WorkingParts,
  workspace: Workspace,
  id: string,
  stop?: AbortSignal,
): Promise<void> {
  for (;;) {
    stop?.throwIfAborted()
    const { value } = await required(parts.registry, "erasure", workspace.id, id)
    switch (value.state) {
      case "held":
        if (!(await begin(parts, workspace, id))) return
        break
      case "recording":
        if (isRepeated(value)) return
        await recordParts(parts, workspace, id)
        break
      case "destroying":
        await destroy(parts, workspace, id)
        break
      case "done":
        return
    }
  }
}

/** Records an erasure that is missing in this data, with its parts, and carries it out. */
async function repeat(
  parts: WorkingParts,
  workspace: Workspace,
  id: string,
  blocks: readonly ErasedBlock[],
): Promise<void> {
  const { registry, store } = parts
  if ((await registry.get("erasure", workspace.id, id)) === undefined) {
    const found = await stillThere(store.journal, workspace, blocks)
    await recordPlanned(parts, workspace, async (nowMs) => repeated(id, found, nowMs))
  }
  const { value } = await required(registry, "erasure", workspace.id, id)
  if (isRepeated(value)) {
    const found = await stillThere(store.journal, workspace, blocks)
    const left = found.filter(({ sequence }) => sequence > value.after)
    let place = value.parts
    const record = (part: ErasurePart, isLast: boolean) =>
      recordPart(parts, workspace, id, { part, place: place++, isLast })
    await recordEach(partsOf([left]), record, (last) => last ?? partWith([]))
  }
  // A hold of this copy ended before the content was destroyed elsewhere.
  await carryOut({ ...parts, holdsOn: async () => [] }, workspace, id)
}

/** It names positions and no person, so only the file can say what is left of it. */
function isRepeated({ state, subject }: ErasureDocument): boolean {
  return state === "recording" && subject === undefined
}

function repeated(id: string, found: readonly Personal[], nowMs: number): Act {
  const fields = found.reduce((sum, { digests }) => sum + digests.length, 0)
  const counts = { entries: found.length, fields }
  const said = {
    scope: found.some(({ isBody }) => isBody) ? "entries" : "fields",
    reason: "erased before this copy of the data was put back",
  } as const
  const value: ErasureDocument = {
    state: "recording",
    ...said,
    ...counts,
    requestedAt: isoTime(nowMs),
    requestedBy: "instance",
    handedOut: { packs: [], tokens: [], exports: [], more: 0 },
    after: 0,
    parts: 0,
  }
  const metadata = { erasureId: id, ...said, counts, holds: [] }
  return { ...actOf(id, repeatAction), metadata, changes: [created("erasure", id, value)] }
}

/** Whether its last hold is released. Of one that is placed meanwhile, the first part decides. */
async function begin(parts: WorkingParts, workspace: Workspace, id: string): Promise<boolean> {
  const { value } = await required(parts.registry, "erasure", workspace.id, id)
  const { subject, scope } = value
  assert(subject !== undefined, "an erasure that is held says of whom")
  const upTo = await requestedAt(parts, workspace.id, id)
  const found = await survey(parts, workspace.id, { subject, scope, upTo })
  const planned = await recordPlanned(parts, workspace, async () => {
    const document = await required(parts.registry, "erasure", workspace.id, id)
    const holds = await parts.holdsOn(workspace.id, subject, found.sequences)
    if (document.value.state !== "held" || holds.length > 0) return undefined
    const { holds: _, ...rest } = document.value
    const change = changed(document, { ...rest, state: "recording" })
    return { ...actOf(id, "privacy.erasure.begin"), changes: [change] }
  })
  if (planned !== undefined) parts.surveys.set(id, found)
  return planned !== undefined
}

/** The sequence before its own first entry. */
async function requestedAt(parts: WorkingParts, workspace: string, id: string): Promise<number> {
  const [first] = await ownEntries(parts, workspace, id)
  assert(first !== undefined, "an erasure has the entry of its request")
  return first.sequence - 1
}

async function destroy(parts: WorkingParts, workspace: Workspace, id: string): Promise<void> {
  const { registry, store } = parts
  const { value } = await required(registry, "erasure", workspace.id, id)
  const own = await ownEntries(parts, workspace.id, id)
  const all = destroyedIn(own)
  const said = own.filter(({ record }) => parseRecord(record)?.kind === "erasure")
  assert(said.length >= value.parts, "every part of an erasure is found")
  await list(parts, workspace, id, all)
  const sequences = new Set(all.flatMap((one) => [...sequencesIn(one)]))
  await destroyContent({ ...parts, journal: store.journal }, workspace.id, all)
  await overwriteCopies(parts)
  // Afterwards, because packs and exports may have been made meanwhile.
  const { subject, handedOut: before } = value
  const out = await handedOut(sourceOf(parts), workspace.id, sequences, subject, before)
  const planned = await recordPlanned(parts, workspace, async (nowMs) => {
    const document = await required(registry, "erasure", workspace.id, id)
    if (document.value.state === "done") return undefined
    const doneAt = isoTime(nowMs)
    const { entries, fields } = document.value
    const metadata = { erasureId: id, counts: { entries, fields } }
    const change = changed(document, { ...document.value, state: "done", doneAt, handedOut: out })
    return {
      ...actOf(id, "privacy.erasure.complete"),
      kind: "erasure",
      metadata,
      changes: [change],
    } as const
  })
  if (planned !== undefined) parts.erased(value.entries)
}

function isUnlisted({ erasuresFile }: WorkingParts, id: string, value: ErasureDocument): boolean {
  return value.state === "done" && value.entries > 0 && !erasuresFile.has(id)
}

async function noteAll(parts: WorkingParts, workspace: Workspace): Promise<boolean> {
  let isOpen = false
  await eachErasure(parts, workspace, async ({ id, value }) => {
    isOpen ||= value.state !== "done"
    if (isUnlisted(parts, id, value)) await note(parts, workspace, id)
  })
  return isOpen
}

/** Adds what was erased to the erasures file, which outlives this data. */
async function note(parts: WorkingParts, workspace: Workspace, id: string): Promise<void> {
  await list(parts, workspace, id, destroyedIn(await ownEntries(parts, workspace.id, id)))
}

async function list(
  { store, erasuresFile }: WorkingParts,
  workspace: Workspace,
  id: string,
  all: readonly Destroyed[],
): Promise<void> {
  erasuresFile.add(await erasedBlocks(store.journal, workspace, id, all))
}
