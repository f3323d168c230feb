// The files of an evidence pack. They are not stored. The pack's document names its entries and the
// checkpoint that proves them; from these and the journal the same files are made again, piece by
// piece. `@tallystick/proof` defines their formats.

import {
  bodiesPath,
  disclosuresPath,
  epochPath,
  formatBodyLine,
  formatDisclosureLine,
  formatPolicy,
  formatReceiptLine,
  formatTableHeader,
  formatTableRow,
  formatTlogProof,
  formatTrustPolicy,
  packGroup,
  packPaths,
  packVerifierPath,
  parseCheckpoint,
  parseNote,
  policyPath,
  proofPath,
  verifyInclusion,
} from "@tallystick/proof"
import { disclosuresOf } from "../store/opened-entry.ts"
import type { SharedPace } from "../runtime/pace.ts"
import { sha256 } from "../runtime/sha256.ts"
import { policyDocumentId, type PackDocument, type Workspace } from "../store/documents.ts"
import { epochNamed, epochsOf, type Epoch } from "../store/epochs.ts"
import { vkeyOf } from "../store/log-keys.ts"
import type { JournalReader, Registry } from "../store/store.ts"
import { broken, readEntries, type PackEntry } from "./pack-entries.ts"
import { createInclusions } from "./pack-proofs.ts"
import { packReadme } from "./pack-readme.ts"
import type { TreeStore } from "../store/tree-reads.ts"

export interface PackSource extends TreeStore {
  readonly journal: JournalReader
  readonly registry: Registry
  readonly pace: SharedPace
}

/** Determines every byte of a pack except its seal. */
export interface PackContent extends Pick<
  PackDocument,
  "title" | "createdAt" | "sequences" | "policies" | "checkpoint" | "verifier"
> {
  readonly packId: string
}

export interface PackFile {
  readonly path: string
  /** Starts at the first byte at each call. */
  chunks(): AsyncIterable<Buffer>
}

/** The properties of an entry that decide its files. */
interface ListedEntry {
  readonly sequence: number
  readonly receipt: string
  readonly isSealed: boolean
}

/**
 * All files except the manifest and the seal, in no order. `html` is the text of the verifier that
 * the content names.
 */
export async function packFiles(
  source: PackSource,
  workspace: Workspace,
  content: PackContent,
  html: string | undefined,
): Promise<readonly PackFile[]> {
  const { sequences, checkpoint } = content
  const surveyed: ListedEntry[] = []
  for await (const batch of readEntries(source, workspace, sequences)) {
    for (const { sequence, stored } of batch)
      surveyed.push({ sequence, receipt: stored.receipt, isSealed: stored.disclosures !== "" })
  }
  const lines = (
    path: string,
    of: readonly number[],
    lineOf: (read: PackEntry) => string,
    header = "",
  ): PackFile => ({
    path,
    async *chunks() {
      if (header !== "") yield Buffer.from(header)
      for await (const batch of readEntries(source, workspace, of))
        yield Buffer.from(batch.map(lineOf).join(""))
    },
  })
  const epoch = epochFor(workspace, checkpoint)
  const [genesis = "", ...earlier] = epoch.geneses
  const vkey = await vkeyOf(source.registry, epoch, checkpoint)
  return [
    fixed(packPaths.readme, packReadme(epoch, content)),
    ...(html === undefined ? [] : [fixed(packVerifierPath, html)]),
    fixed(packPaths.genesis, genesis),
    ...earlier.map((text, at) => fixed(epochPath(earlier.length - at, packPaths.genesis), text)),
    fixed(packPaths.vkey, `${vkey}\n`),
    fixed(packPaths.policy, formatTrustPolicy(vkey)),
    fixed(packPaths.checkpoint, checkpoint),
    lines(packPaths.receipts, sequences, (read) => `${formatReceiptLine(read)}\n`),
    lines(packPaths.table, sequences, formatTableRow, formatTableHeader()),
    ...groupFiles(surveyed, lines),
    ...proofFiles(source, workspace, epoch, content, surveyed),
    ...(await policyFiles(source, workspace, content)),
  ]
}

/** A pack belongs to one epoch, which may have ended since. */
function epochFor(workspace: Workspace, checkpoint: string): Epoch {
  const epoch = epochNamed(epochsOf(workspace), checkpoint)
  if (epoch === undefined)
    throw new Error(`the checkpoint of a pack of ${workspace.id} is of another ledger`)
  return epoch
}

/** The entry that records a pack, and its proof. */
export async function sealFiles(
  source: PackSource,
  workspace: Workspace,
  seal: NonNullable<PackDocument["seal"]>,
): Promise<readonly PackFile[]> {
  for await (const [read] of readEntries(source, workspace, [seal.sequence])) {
    if (read === undefined) break
    const text = await proofText(
      source,
      epochFor(workspace, seal.checkpoint),
      seal.checkpoint,
      read,
    )
    return [fixed(packPaths.seal, bodyLineOf(read)), fixed(packPaths.sealProof, text)]
  }
  throw broken(seal.sequence)
}

/** The bodies in groups, and the disclosures of each group if there are any. */
function groupFiles(
  surveyed: readonly ListedEntry[],
  lines: (path: string, of: readonly number[], lineOf: (read: PackEntry) => string) => PackFile,
): readonly PackFile[] {
  return Array.from({ length: Math.ceil(surveyed.length / packGroup) }, (_, group) => {
    const members = surveyed.slice(group * packGroup, (group + 1) * packGroup)
    const sequencesOf = (some: readonly ListedEntry[]) => some.map(({ sequence }) => sequence)
    const sealed = sequencesOf(members.filter(({ isSealed }) => isSealed))
    return [
      lines(bodiesPath(group), sequencesOf(members), (read) => `${bodyLineOf(read)}\n`),
      ...(sealed.length === 0 ? [] : [lines(disclosuresPath(group), sealed, disclosureLineOf)]),
    ]
  }).flat()
}

function bodyLineOf({ record: { index }, salt, bodyText }: PackEntry): string {
  return formatBodyLine({ index, salt, body: bodyText })
}

/** Empty if the disclosures were erased since the files were listed. */
function disclosureLineOf({ record: { index }, stored }: PackEntry): string {
  const disclosures = disclosuresOf(stored)
  return disclosures.length === 0 ? "" : `${formatDisclosureLine({ index, disclosures })}\n`
}

/** Proofs are sorted by receipt, nearly the order of the chain, so a batch shares its reads. */
function proofFiles(
  source: PackSource,
  workspace: Workspace,
  epoch: Epoch,
  { checkpoint }: PackContent,
  surveyed: readonly ListedEntry[],
): readonly PackFile[] {
  const batch = 32
  const ordered = surveyed.toSorted((a, b) => (a.receipt < b.receipt ? -1 : 1))
  const inclusions = createInclusions(source, epoch)
  let held: { readonly from: number; readonly texts: readonly string[] } = { from: 0, texts: [] }
  const textAt = async (at: number): Promise<string> => {
    const from = at - (at % batch)
    if (held.from !== from || held.texts.length === 0) {
      const texts: string[] = []
      const sequences = ordered.slice(from, from + batch).map(({ sequence }) => sequence)
      for await (const reads of readEntries(source, workspace, sequences))
        for (const read of reads)
          texts.push(await proofText(source, epoch, checkpoint, read, inclusions))
      held = { from, texts }
    }
    return held.texts[at - from] ?? ""
  }
  return ordered.map(({ receipt }, at) => ({
    path: proofPath(receipt),
    async *chunks() {
      yield Buffer.from(await textAt(at))
    },
  }))
}

async function proofText(
  source: PackSource,
  epoch: Epoch,
  checkpoint: string,
  { stored, record: { index }, eventHash, sequence }: PackEntry,
  inclusions = createInclusions(source, epoch),
): Promise<string> {
  const signed = parseCheckpoint(parseNote(checkpoint)?.text ?? "")
  if (
    signed?.origin !== epoch.origin ||
    index >= signed.size ||
    sequence !== epoch.before + index + 1
  )
    throw new Error(`the checkpoint of a pack of ${epoch.workspace} does not cover it`)
  const hashes = await inclusions.prove(index, signed.size)
  if (
    !verifyInclusion(Buffer.from(eventHash, "hex"), index, signed.size, hashes, signed.root, sha256)
  )
    throw broken(sequence)
  return formatTlogProof({ extra: stored.record, index, hashes, checkpoint })
}

async function policyFiles(
  { registry }: PackSource,
  { id }: Workspace,
  { policies }: PackContent,
): Promise<readonly PackFile[]> {
  return Promise.all(
    policies.map(async ({ projectId, version }) => {
      const policy = await registry.get("policy", id, policyDocumentId(projectId, version))
      if (policy === undefined) throw new Error(`a policy that a pack of ${id} has is not there`)
      const { policyId, publishedAt, sectionHash, sections } = policy.value
      return fixed(
        policyPath(projectId, version),
        formatPolicy({ id: policyId, projectId, version, publishedAt, sectionHash, sections }),
      )
    }),
  )
}

function fixed(path: string, text: string): PackFile {
  return {
    path,
    async *chunks() {
      yield Buffer.from(text)
    },
  }
}
