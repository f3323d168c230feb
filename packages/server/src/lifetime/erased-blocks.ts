// Converts what was erased into the form of the erasures file, which names epochs instead of
// workspaces, and back.

import { eventHash, toBase64, type Destroyed } from "@tallystick/proof"
import { disclosureDigest, sha256 } from "../runtime/sha256.ts"
import { epochAt, epochsOf } from "../store/epochs.ts"
import type { ErasedBlock } from "../store/erasures-file.ts"
import { disclosuresOf } from "../store/opened-entry.ts"
import type { Workspace } from "../store/documents.ts"
import type { Stored } from "../store/entries.ts"
import type { JournalReader } from "../store/store.ts"
import { entriesInBatches } from "./entries-in-batches.ts"
import { namingOf, type Personal } from "./subject-entries.ts"

const recordsAtOnce = 1000

/** One block for each epoch with erased content. */
export async function erasedBlocks(
  journal: Pick<JournalReader, "recordsAt">,
  workspace: Workspace,
  id: string,
  all: readonly Destroyed[],
): Promise<readonly ErasedBlock[]> {
  const epochs = epochsOf(workspace)
  const blocks = new Map<string, { bodies: Body[]; fields: Fields[] }>()
  const placeOf = (sequence: number) => {
    const { origin, before } = epochAt(epochs, sequence)
    const block = blocks.get(origin) ?? { bodies: [], fields: [] }
    blocks.set(origin, block)
    return { block, index: sequence - 1 - before }
  }
  const sequences = all.flatMap(({ bodies }) =>
    bodies.flatMap(({ first, last }) => upTo(first, last)),
  )
  for (let at = 0; at < sequences.length; at += recordsAtOnce) {
    const some = sequences.slice(at, at + recordsAtOnce)
    for (const [place, record] of (await journal.recordsAt(workspace.id, some)).entries()) {
      const { block, index } = placeOf(some[place] ?? 0)
      if (record !== undefined)
        block.bodies.push({ index, hash: toBase64(eventHash(record, sha256)) })
    }
  }
  for (const { sequence, digests } of all.flatMap(({ fields }) => fields)) {
    const { block, index } = placeOf(sequence)
    block.fields.push({ index, digests })
  }
  return [...blocks].map(([origin, block]) => ({ origin, id, ...block }))
}

/** The content of these blocks that a ledger still has, by sequence. */
export async function stillThere(
  journal: Pick<JournalReader, "at">,
  workspace: Workspace,
  blocks: readonly ErasedBlock[],
): Promise<readonly Personal[]> {
  const found: Personal[] = []
  for (const epoch of epochsOf(workspace))
    for (const { bodies, fields } of blocks.filter(({ origin }) => origin === epoch.origin)) {
      const wanted: readonly Wanted[] = [...bodies, ...fields]
      const sequences = wanted.map(({ index = 0 }) => epoch.before + index + 1)
      let place = 0
      for await (const entries of entriesInBatches(journal, workspace.id, sequences))
        for (const entry of entries) {
          const asked = wanted[place++]
          const one = entry && leftOf(entry, asked)
          if (one !== undefined) found.push(one)
        }
    }
  return found.toSorted((one, other) => one.sequence - other.sequence)
}

/** After a loss, another entry may have taken this place; its hash and its digests differ. */
function leftOf(entry: Stored, { hash, digests = [] }: Wanted = {}): Personal | undefined {
  const { sequence, record, body } = entry
  const isBody = hash !== undefined
  const own = disclosuresOf(entry).map(disclosureDigest)
  const left = isBody ? own : own.filter((one) => digests.includes(one))
  const isThere = isBody
    ? body !== undefined && toBase64(eventHash(record, sha256)) === hash
    : left.length > 0
  if (!isThere) return undefined
  const found = { sequence, isBody, digests: left }
  return { ...found, naming: namingOf(entry, found) }
}

type Body = ErasedBlock["bodies"][number]
type Fields = ErasedBlock["fields"][number]
type Wanted = Partial<Body & Fields>

function upTo(first: number, last: number): readonly number[] {
  return Array.from({ length: last - first + 1 }, (_, at) => first + at)
}
