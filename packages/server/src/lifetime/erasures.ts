// Erases a person. First, entries record what will be destroyed, each together with the documents
// that list it; then it is destroyed; then an entry records that. An interrupted erasure is resumed
// from these documents and entries. An erasure covers the entries before its own first one.

import { strict as assert } from "node:assert"
import { digest, parseBody, parseRecord, readDestroyed, type Destroyed } from "@tallystick/proof"
import { isoTime } from "../clock.ts"
import { createFairQueue } from "../runtime/fair-queue.ts"
import type { Pace } from "../runtime/pace.ts"
import { sha256 } from "../runtime/sha256.ts"
import { every } from "../store/all-documents.ts"
import { destroyedChanges } from "../store/destroyed.ts"
import {
  changed,
  created,
  type ErasureDocument,
  type ErasureScope,
  type ErasureSubject,
  type HandedOut,
  type Change,
  type Document,
} from "../store/documents.ts"
import { readState, stateChange } from "../store/retention-state.ts"
import type { ErasedBlock, ErasuresFile } from "../store/erasures-file.ts"
import { disclosuresFor } from "../store/opened-entry.ts"
import type { Stored } from "../store/entries.ts"
import type { Registry, Store } from "../store/store.ts"
import { nameOf, recordPlanned, type Act, type AdminParts } from "../workspace/admin-entries.ts"
import type { Principal } from "../workspace/permissions.ts"
import { required } from "../workspace/required-document.ts"
import { destroyContent, type DestroyingParts } from "./content-destruction.ts"
import { erasedBlocks, stillThere } from "./erased-blocks.ts"
import { idsOf, partJson, partsOf, partWith, type ErasurePart } from "./erasure-parts.ts"
import { handedOut } from "./handed-out.ts"
import {
  personalEntries,
  requestAction,
  sequencesOf,
  type NamingDocument,
  type Personal,
  type SubjectAsked,
} from "./subject-entries.ts"

export interface ErasureRequest {
  readonly subject: ErasureSubject
  readonly scope: ErasureScope
  readonly reason: string
  readonly reference?: string | undefined
}

/** What an erasure would destroy now. */
export interface ErasurePreview {
  readonly entries: number
  readonly fields: number
  readonly holds: readonly string[]
  readonly handedOut: HandedOut
}

export interface Erasures {
  preview(
    workspace: Document<"workspace">,
    request: Pick<ErasureRequest, "subject" | "scope">,
    signal?: AbortSignal,
  ): Promise<ErasurePreview>
  /** Records the request and begins. Resolves before it is carried out. */
  request(
    by: Principal,
    workspace: Document<"workspace">,
    request: ErasureRequest,
    signal?: AbortSignal,
  ): Promise<Document<"erasure">>
  /** Carries out the open erasures of a workspace. Resolves when only held ones are left. */
  carryOut(workspace: Document<"workspace">, stop?: AbortSignal): Promise<void>
  /**
   * Adds the erasures of other servers to this server's file. Returns whether another server has
   * one open.
   */
  note(workspace: Document<"workspace">): Promise<boolean>
  /**
   * Erases again the content that the erasures file lists and that this data, a copy from before,
   * still has. Records it first.
   */
  repeat(
    workspace: Document<"workspace">,
    id: string,
    blocks: readonly ErasedBlock[],
  ): Promise<void>
}

export interface ErasureParts extends AdminParts, Omit<DestroyingParts, "journal"> {
  readonly store: Pick<Store, "journal" | "search" | "registry">
  /** See `FilingBeside.catchUp`. */
  readonly file: (workspace: string) => Promise<void>
  readonly erasuresFile: ErasuresFile
  /** Called for each erasure that is done. */
  readonly erased: (entries: number) => void
  /** The ids of the holds on these entries, or on the person. */
  readonly holdsOn: (
    workspace: string,
    subject: ErasureSubject,
    sequences: readonly number[],
    signal?: AbortSignal,
  ) => Promise<readonly string[]>
  readonly pace: Pace
}

const eraseAction = "privacy.subject.erase"
const waitAction = "privacy.erasure.wait"
const repeatAction = "privacy.erasure.repeat"

/**
 * The findings of requests, so that entries are not read twice; undefined if they are too large.
 */
type Surveys = Map<string, Survey>

interface Survey {
  readonly entries: number
  readonly fields: number
  readonly sequences: readonly number[]
  readonly found: readonly Personal[] | undefined
  readonly upTo: number
}

interface WorkingParts extends ErasureParts {
  readonly surveys: Surveys
}

/** Beyond this, findings are not remembered: some megabytes of digests. */
const keptMax = 20_000

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
  const running = new Map<string, Promise<void>>()

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

    async carryOut(workspace, stop) {
      // One at a time for each workspace, so that an erasure does not find what another one
      // destroys.
      const before = running.get(workspace.id) ?? Promise.resolve()
      const next = before.catch(() => undefined).then(() => carryOutAll(parts, workspace, stop))
      running.set(workspace.id, next)
      try {
        await next
      } finally {
        if (running.get(workspace.id) === next) running.delete(workspace.id)
      }
    },
  }
}

async function carryOutAll(
  parts: WorkingParts,
  workspace: Document<"workspace">,
  stop: AbortSignal | undefined,
): Promise<void> {
  for await (const { id, value } of every(parts.registry, "erasure", workspace.id))
    if (value.state !== "done") await carryOut(parts, workspace, id, stop)
    else if (isUnlisted(parts, id, value)) await note(parts, workspace, id)
}

/** Continues from its current state. */
async function carryOut(
  parts: WorkingParts,
  workspace: Document<"workspace">,
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
  workspace: Document<"workspace">,
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

interface Asked extends Omit<SubjectAsked, "workspace" | "after"> {
  readonly after?: number
}

/** Everything that an erasure would destroy. */
async function survey(
  parts: WorkingParts,
  workspace: string,
  asked: Asked,
  signal?: AbortSignal,
): Promise<Survey> {
  const sequences: number[] = []
  const found: Personal[] = []
  let fields = 0
  for await (const batch of personalEntries(sourceOf(parts), { workspace, after: 0, ...asked })) {
    signal?.throwIfAborted()
    for (const one of batch) {
      sequences.push(one.sequence)
      fields += one.digests.length
      if (found.length <= keptMax) found.push(one)
    }
  }
  const { upTo } = asked
  const isWhole = found.length === sequences.length
  return {
    entries: sequences.length,
    fields,
    sequences,
    found: isWhole ? found : undefined,
    upTo,
  }
}

/** The findings of the request, and those in the entries between them and its own first entry. */
async function* surveyed(
  parts: WorkingParts,
  asked: SubjectAsked,
  { found = [], upTo }: Survey,
): AsyncGenerator<readonly Personal[]> {
  yield found
  yield* personalEntries(sourceOf(parts), { ...asked, after: upTo })
}

/** Whether its last hold is released. */
async function begin(
  parts: WorkingParts,
  workspace: Document<"workspace">,
  id: string,
): Promise<boolean> {
  const { value } = await required(parts.registry, "erasure", workspace.id, id)
  const { subject, scope } = value
  assert(subject !== undefined, "an erasure that is held says of whom")
  const upTo = await requestedAt(parts, workspace.id, id)
  const found = await survey(parts, workspace.id, { subject, scope, upTo })
  const planned = await recordPlanned(parts, workspace, async () => {
    const document = await required(parts.registry, "erasure", workspace.id, id)
    const state = await readState(parts.registry, workspace.id)
    const holds = await parts.holdsOn(workspace.id, subject, found.sequences)
    if (document.value.state !== "held" || holds.length > 0) return undefined
    const { holds: _, ...rest } = document.value
    const change = changed(document, { ...rest, state: "recording" })
    const changes = [change, stateChange(state, state.value)]
    return { ...actOf(id, "privacy.erasure.begin"), changes }
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

async function recordParts(
  parts: WorkingParts,
  workspace: Document<"workspace">,
  id: string,
): Promise<void> {
  const { value } = await required(parts.registry, "erasure", workspace.id, id)
  const { subject, scope, after } = value
  assert(subject !== undefined, "an erasure that is not recorded yet says of whom")
  const [request] = await ownEntries(parts, workspace.id, id)
  assert(request !== undefined, "an erasure has the entry of its request")
  const upTo = request.sequence - 1
  const asked = { workspace: workspace.id, subject, scope, after, upTo }
  // The scope `entries` erases the id too, so the request must not keep it either.
  const named = scope === "entries" ? disclosuresFor(request, "target") : []
  const own = named.map((one) => digest(one, sha256))
  const known = parts.surveys.get(id)
  parts.surveys.delete(id)
  const all =
    after === 0 && known?.found !== undefined
      ? surveyed(parts, asked, known)
      : personalEntries(sourceOf(parts), asked)
  const lastOf = (last: ErasurePart | undefined) => withOwn(last, request.sequence, own)
  const sequences = value.parts === 0 ? await allSequences(parts, asked, known) : []
  const holdsNow = () => parts.holdsOn(workspace.id, subject, sequences)
  let place = value.parts
  const record = (part: ErasurePart, isLast: boolean) =>
    recordPart(parts, workspace, id, { part, place: place++, isLast, holdsNow })
  await recordEach(partsOf(all), record, lastOf)
}

/** The sequences of all entries that an erasure will change. */
async function allSequences(
  parts: WorkingParts,
  { workspace, ...asked }: SubjectAsked,
  known: Survey | undefined,
): Promise<readonly number[]> {
  const after = known?.upTo ?? 0
  const later = await survey(parts, workspace, { ...asked, after })
  return [...(known?.sequences ?? []), ...later.sequences]
}

/**
 * The last part is always recorded, even if it is empty: it marks the end. Stops early if a part
 * must not be recorded now.
 */
async function recordEach(
  all: AsyncIterable<ErasurePart>,
  record: (part: ErasurePart, isLast: boolean) => Promise<boolean>,
  lastOf: (part: ErasurePart | undefined) => ErasurePart,
): Promise<void> {
  let waiting: ErasurePart | undefined
  for await (const part of all) {
    if (waiting !== undefined && !(await record(waiting, false))) return
    waiting = part
  }
  await record(lastOf(waiting), true)
}

function withOwn(
  part: ErasurePart = partWith([]),
  sequence: number,
  digests: readonly string[],
): ErasurePart {
  if (digests.length === 0) return part
  const fields = [...part.destroyed.fields, { sequence, digests }]
  return { ...part, destroyed: { ...part.destroyed, fields } }
}

interface RecordedPart {
  readonly part: ErasurePart
  /** The number of parts before it. */
  readonly place: number
  readonly isLast: boolean
  /** The ids of the holds on anything that the erasure will destroy. */
  readonly holdsNow?: () => Promise<readonly string[]>
}

/**
 * Records a part, with all its changes of the registry. The first part decides for all: if a hold
 * was placed since the request, nothing is recorded, and the erasure is held. Returns whether to
 * record the next part: not if another process continues the erasure.
 */
async function recordPart(
  parts: WorkingParts,
  workspace: Document<"workspace">,
  id: string,
  { part, place, isLast, holdsNow }: RecordedPart,
): Promise<boolean> {
  const { registry } = parts
  const planned = await recordPlanned(parts, workspace, async (): Promise<Act | undefined> => {
    const document = await required(registry, "erasure", workspace.id, id)
    const { value } = document
    if (value.state !== "recording" || value.parts !== place) return undefined
    const state = await readState(registry, workspace.id)
    const isFirst = value.parts === 0 && holdsNow !== undefined
    const holds = isFirst ? await holdsNow() : []
    const decided = isFirst ? [stateChange(state, state.value)] : []
    if (holds.length > 0) {
      const change = changed(document, { ...value, state: "held", holds })
      const changes = [change, ...decided]
      return { ...actOf(id, waitAction), metadata: { holds: [...holds] }, changes }
    }
    const { subject: _, ...nameless } = value
    const change = changed(document, {
      ...(isLast && value.scope === "entries" ? nameless : value),
      state: isLast ? "destroying" : "recording",
      after: Math.max(value.after, part.last),
      parts: value.parts + 1,
    })
    return {
      ...actOf(id, eraseAction),
      kind: "erasure",
      metadata: partJson(id, value.parts + 1, part),
      changes: [
        change,
        ...decided,
        ...(await destroyedChanges(registry, workspace.id, part.destroyed, id)),
        ...(await withoutName(registry, workspace.id, part.naming)),
      ],
    }
  })
  return planned?.action === eraseAction
}

/** The changes that remove the person from these documents. */
async function withoutName(
  registry: Registry,
  workspace: string,
  naming: readonly NamingDocument[],
): Promise<readonly Change[]> {
  const changes: Change[] = []
  for (const id of idsOf(naming, "token")) {
    const token = await registry.get("token", workspace, id)
    if (token !== undefined) changes.push(changed(token, null))
  }
  for (const id of idsOf(naming, "erasure")) {
    const erasure = await registry.get("erasure", workspace, id)
    // An open erasure still needs its subject, and its turn is next.
    if (erasure?.value.state !== "done") continue
    const { subject: _, ...nameless } = erasure.value
    changes.push(changed(erasure, nameless))
  }
  for (const id of idsOf(naming, "hold")) {
    const hold = await registry.get("hold", workspace, id)
    if (hold?.value.released === undefined) continue
    changes.push(changed(hold, { ...hold.value, scope: { receiptIds: [] } }))
  }
  return changes
}

async function destroy(
  parts: WorkingParts,
  workspace: Document<"workspace">,
  id: string,
): Promise<void> {
  const { registry, store } = parts
  const { value } = await required(registry, "erasure", workspace.id, id)
  const own = await ownEntries(parts, workspace.id, id)
  const all = saidIn(own)
  const said = own.filter(({ record }) => parseRecord(record)?.kind === "erasure")
  assert(said.length >= value.parts, "every part of an erasure is found")
  await list(parts, workspace, id, all)
  const sequences = new Set(all.flatMap((one) => [...sequencesIn(one)]))
  const out = await handedOut(sourceOf(parts), workspace.id, sequences, value.subject)
  await destroyContent({ ...parts, journal: store.journal }, workspace.id, all)
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

async function noteAll(parts: WorkingParts, workspace: Document<"workspace">): Promise<boolean> {
  let isOpen = false
  for await (const { id, value } of every(parts.registry, "erasure", workspace.id)) {
    if (isUnlisted(parts, id, value)) await note(parts, workspace, id)
    isOpen ||= value.state !== "done"
  }
  return isOpen
}

/** Adds what was erased to the erasures file, which outlives this data. */
async function note(
  parts: WorkingParts,
  workspace: Document<"workspace">,
  id: string,
): Promise<void> {
  await list(parts, workspace, id, saidIn(await ownEntries(parts, workspace.id, id)))
}

async function list(
  { store, erasuresFile }: WorkingParts,
  workspace: Document<"workspace">,
  id: string,
  all: readonly Destroyed[],
): Promise<void> {
  for (const block of await erasedBlocks(store.journal, workspace, id, all)) erasuresFile.add(block)
}

function saidIn(own: readonly Stored[]): readonly Destroyed[] {
  return own.flatMap((entry) => destroyedBy(entry) ?? [])
}

function* sequencesIn({ bodies, fields }: Destroyed): Generator<number> {
  for (const [first, last] of bodies)
    for (let sequence = first; sequence <= last; sequence++) yield sequence
  for (const { sequence } of fields) yield sequence
}

/** Its own entries, which all have it as their target, oldest first. */
async function ownEntries(
  parts: WorkingParts,
  workspace: string,
  id: string,
): Promise<readonly Stored[]> {
  const term = { kind: "field", field: "target", not: false, value: id, isPrefix: false } as const
  const wanted = { system: "only", query: { terms: [term] } } as const
  const sequences: number[] = []
  for await (const some of sequencesOf(sourceOf(parts), workspace, wanted)) sequences.push(...some)
  sequences.reverse()
  const entries: Stored[] = []
  while (entries.length < sequences.length) {
    const some = await parts.store.journal.at(
      workspace,
      sequences.slice(entries.length),
      ownBytesMax,
    )
    for (const entry of some) {
      assert(entry !== undefined, "what a search finds is stored")
      entries.push(entry)
    }
  }
  return entries
}

const ownBytesMax = 4 * 1024 * 1024

function destroyedBy({ workspace, record, sequence, body }: Stored): Destroyed | undefined {
  const kind = parseRecord(record)?.kind
  const read = body === undefined ? undefined : parseBody(body, workspace)
  if (kind === undefined || read === undefined || typeof read === "string") return undefined
  return readDestroyed(kind, sequence, read)
}

function actOf(id: string, action: string): Pick<Act, "by" | "action" | "target"> {
  return { by: { kind: "instance" }, action, target: targetOf(id) }
}

function targetOf(id: string) {
  return { id, type: "erasure" }
}

function sourceOf({ store, file, pace }: WorkingParts) {
  return { ...store, file, pace }
}
