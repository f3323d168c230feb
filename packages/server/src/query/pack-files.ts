// The files of an evidence pack. They are not stored. The pack's document names its entries and the
// checkpoint that proves them; from these and the journal the same files are made again, piece by
// piece: all at once to measure them, because verifying an entry takes most of the time, and one
// after another to send them. `@tallystick/proof` defines their formats.

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
import { broken, readAgain, readEntries, type PackEntry } from "./pack-entries.ts"
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

/** A part of a file. Those of one file come in order. */
export interface Piece {
  readonly path: string
  readonly chunk: Buffer
}

/** The files that are about entries. */
export interface EntryFiles {
  /** All files, made at once. Each entry is verified, once, and shown to `see`. */
  readonly pieces: (see?: (entry: PackEntry) => void) => AsyncGenerator<Piece>
  /** The same files one by one, once `pieces` has ended. */
  readonly files: () => readonly PackFile[]
}

interface Lines {
  readonly sequences: number[]
  readonly lineOf: LineOf
}

type LineOf = (entry: PackEntry) => string

export function entryFiles(
  source: PackSource,
  workspace: Workspace,
  { sequences, checkpoint }: Pick<PackContent, "sequences" | "checkpoint">,
): EntryFiles {
  const epoch = epochFor(workspace, checkpoint)
  const inclusions = createInclusions(source, epoch)
  const proofOf = (entry: PackEntry) => proofText(source, epoch, checkpoint, entry, inclusions)
  const lines = new Map<string, Lines>()
  const proofs = new Map<string, number>()

  function* piecesAbout(entry: PackEntry, group: number): Generator<Piece> {
    for (const [path, lineOf] of linesOf(entry, group)) {
      const file = lines.get(path) ?? { sequences: [], lineOf }
      lines.set(path, file)
      file.sequences.push(entry.sequence)
      yield { path, chunk: Buffer.from(lineOf(entry)) }
    }
  }

  return {
    async *pieces(see = () => {}) {
      yield { path: packPaths.table, chunk: Buffer.from(formatTableHeader()) }
      let count = 0
      for await (const batch of readEntries(source, workspace, sequences)) {
        for (const entry of batch) {
          see(entry)
          yield* piecesAbout(entry, Math.floor(count++ / packGroup))
          const path = proofPath(entry.stored.receipt)
          proofs.set(path, entry.sequence)
          yield { path, chunk: Buffer.from(await proofOf(entry)) }
        }
      }
    },
    files: () => [
      ...[...lines].map(([path, { sequences, lineOf }]) => ({
        path,
        async *chunks() {
          if (path === packPaths.table) yield Buffer.from(formatTableHeader())
          for await (const batch of readAgain(source, workspace, sequences))
            yield Buffer.from(batch.map(lineOf).join(""))
        },
      })),
      ...proofFiles([...proofs], (some) => readAgain(source, workspace, some), proofOf),
    ],
  }
}

/** The files with a line about an entry. Sealed fields that were erased have none. */
function linesOf({ stored }: PackEntry, group: number): readonly (readonly [string, LineOf])[] {
  return [
    [packPaths.receipts, receiptLineOf],
    [packPaths.table, formatTableRow],
    [bodiesPath(group), bodyLineOf],
    ...(stored.disclosures === "" ? [] : [[disclosuresPath(group), disclosureLineOf] as const]),
  ]
}

/**
 * All other files except the manifest and the seal, in no order. `html` is the text of the verifier
 * that the content names.
 */
export async function fixedFiles(
  source: PackSource,
  workspace: Workspace,
  content: PackContent,
  html: string | undefined,
): Promise<readonly PackFile[]> {
  const { checkpoint } = content
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
    return [fixed(packPaths.seal, bodyLineOf(read).trimEnd()), fixed(packPaths.sealProof, text)]
  }
  throw broken(seal.sequence)
}

function receiptLineOf(entry: PackEntry): string {
  return `${formatReceiptLine(entry)}\n`
}

function bodyLineOf({ record: { index }, salt, bodyText }: PackEntry): string {
  return `${formatBodyLine({ index, salt, body: bodyText })}\n`
}

/** Empty if the disclosures were erased since the files were measured. */
function disclosureLineOf({ record: { index }, stored }: PackEntry): string {
  const disclosures = disclosuresOf(stored)
  return disclosures.length === 0 ? "" : `${formatDisclosureLine({ index, disclosures })}\n`
}

/** Proofs are sent by receipt, nearly the order of the chain, so a batch shares its reads. */
function proofFiles(
  proofs: readonly (readonly [path: string, sequence: number])[],
  read: (sequences: readonly number[]) => AsyncIterable<readonly PackEntry[]>,
  proofOf: (entry: PackEntry) => Promise<string>,
): readonly PackFile[] {
  const batch = 32
  const ordered = proofs.toSorted(([a], [b]) => (a < b ? -1 : 1))
  let held: { readonly from: number; readonly texts: readonly string[] } = { from: 0, texts: [] }
  const textAt = async (at: number): Promise<string> => {
    const from = at - (at % batch)
    if (held.from !== from || held.texts.length === 0) {
      const texts: string[] = []
      const sequences = ordered.slice(from, from + batch).map(([, sequence]) => sequence)
      for await (const entries of read(sequences))
        for (const entry of entries) texts.push(await proofOf(entry))
      held = { from, texts }
    }
    return held.texts[at - from] ?? ""
  }
  return ordered.map(([path], at) => ({
    path,
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
