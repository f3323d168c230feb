// Records what an erasure will destroy, in parts: each is an entry, with the documents that list what
// it names. Nothing is destroyed before the last part is recorded.

import { assert } from "@tallystick/proof"
import { disclosureDigest } from "../runtime/sha256.ts"
import { destroyedChanges } from "../store/destroyed.ts"
import { changed, type Change, type Workspace } from "../store/documents.ts"
import { readState, stateChange } from "../store/retention-state.ts"
import { disclosuresFor } from "../store/opened-entry.ts"
import type { Registry } from "../store/store.ts"
import { recordPlanned, type Act } from "../workspace/admin-entries.ts"
import { required } from "../workspace/required-document.ts"
import { idsOf, partJson, partsOf, partWith, type ErasurePart } from "./erasure-parts.ts"
import { personalEntries, type NamingDocument, type SubjectAsked } from "./subject-entries.ts"
import { sourceOf, survey, surveyed, type Survey, type WorkingParts } from "./erasure-survey.ts"
import { actOf, ownEntries } from "./erasure-entries.ts"

const eraseAction = "privacy.subject.erase"
const waitAction = "privacy.erasure.wait"

/** Finds everything that the erasure will destroy, and records it. */
export async function recordParts(
  parts: WorkingParts,
  workspace: Workspace,
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
  const own = named.map(disclosureDigest)
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
export async function recordEach(
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
export async function recordPart(
  parts: WorkingParts,
  workspace: Workspace,
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
      ...(isLast && (value.scope === "entries" || value.forgets) ? nameless : value),
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
    if (erasure === undefined) continue
    const { subject: _, ...nameless } = erasure.value
    const needsName = erasure.value.state === "held" || erasure.value.state === "recording"
    changes.push(changed(erasure, needsName ? { ...erasure.value, forgets: true } : nameless))
  }
  for (const id of idsOf(naming, "hold")) {
    const hold = await registry.get("hold", workspace, id)
    if (hold === undefined) continue
    const isOver = hold.value.released !== undefined
    const without = isOver ? { scope: { receiptIds: [] } } : ({ forgets: true } as const)
    changes.push(changed(hold, { ...hold.value, ...without }))
  }
  return changes
}
