// Evidence packs: entries that somebody has put together for somebody else. Making one, and each download, is an entry of the ledger; the
// one that records its making says the hash of the pack, and so the ledger itself proves what was given out.

import { Readable } from "node:stream"
import { canonicalize, packAction, packForm, parseCheckpoint, parseNote, parseRecord, type JsonObject } from "@tallystick/proof"
import { createAdmission, type Admission } from "../runtime/fair-queue.ts"
import { isoTime, type Clock } from "../clock.ts"
import { openEntry } from "../store/opened-entry.ts"
import { LedgerError } from "../error.ts"
import type { Ledger, Said } from "../ledger/ledger.ts"
import type { Limits } from "../limits.ts"
import type { Pace } from "../runtime/pace.ts"
import { inOrder, jsonOf, manifestFile, manifestOf, measure, zipOf, type Archive } from "../query/pack-archive.ts"
import type { Checkpoints } from "../query/verified-checkpoints.ts"
import { readEntries } from "../query/pack-entries.ts"
import { packFiles, sealFiles, type PackSource } from "../query/pack-files.ts"
import { policyDocumentId, type PackDocument } from "../store/documents.ts"
import { epochNamed, epochsOf } from "../store/epochs.ts"
import type { Document, Listed, ListPlace, Store } from "../store/store.ts"
import { actSaid, recordAct, recordPlanned } from "./admin-entries.ts"
import { mayTouch, type Principal } from "./permissions.ts"
import { commitmentTo } from "./credential-format.ts"
import { signedFor } from "./covering-checkpoint.ts"

export interface PackRequest {
  readonly title: string
  /** Finds the entries: their sequences, from the first to the last. */
  readonly find: () => Promise<readonly number[]>
}

/** A pack from end to end, to be sent. It has its place among those that are being sent until the content is closed. */
export interface Packed {
  readonly bytes: number | undefined
  readonly content: Readable
}

export type PackFormat = "zip" | "json"

export interface Packs {
  /** Neither is begun, nor recorded, for a client whose signal is aborted by then. */
  create(by: Principal, workspace: Document<"workspace">, request: PackRequest, signal?: AbortSignal): Promise<Document<"pack">>
  find(workspace: string, id: string): Promise<Document<"pack"> | undefined>
  list(workspace: string, before: ListPlace | undefined, limit: number): Promise<readonly Listed<"pack">[]>
  /** Makes a pack again, and records that it is given out. */
  download(
    by: Principal,
    workspace: Document<"workspace">,
    pack: Document<"pack">,
    format: PackFormat,
    signal?: AbortSignal,
  ): Promise<Packed>
}

export interface PackParts {
  readonly store: Pick<Store, "journal" | "index" | "registry">
  readonly checkpoints: Pick<Checkpoints, "newest">
  readonly ledger: Ledger
  readonly clock: Clock
  readonly limits: Limits
  readonly pace: Pace
  /** Has a workspace's chain signed to its end. */
  readonly seal: (workspace: string) => Promise<unknown>
}

export function createPacks(parts: PackParts): Packs {
  const { ledger, clock, limits } = parts
  const { registry } = parts.store
  const source = { ...parts.store, pace: parts.pace }
  const { making, sending } = linesFor(clock, limits)

  return {
    find: (workspace, id) => registry.get("pack", workspace, id),
    list: (workspace, before, limit) => registry.list("pack", workspace, before, limit),

    create: (by, workspace, { title, find }, signal) =>
      making.run(workspace.id, signal, async () => {
        const sequences = await find()
        refuseFormer(workspace, sequences)
        const checkpoint = await signedFor(parts, workspace, sequences.at(-1) ?? 0)
        const nowMs = clock.now()
        const packId = ledger.makeId("pack", nowMs)
        const of = await survey(source, workspace, sequences)
        // Asked of the entries themselves, however they were found.
        if (!of.projectIds.every((projectId) => mayTouch(by, projectId))) throw new Error("a pack was asked for that its maker may not see")
        const surveyed = { ...of, title, createdAt: isoTime(nowMs), sequences, checkpoint, form: packForm }
        const { packHash } = manifestOf(
          await measure(await packFiles(source, workspace, { packId, ...surveyed }), limits.packBytesMax, signal),
        )
        // Only a commitment: there may be more projects than an entry holds.
        const projects = commitmentTo(canonicalize(of.projectIds))
        const metadata = { receiptCount: sequences.length, packHash, projects, form: packForm }
        const said = packSaid(by, packAction, packId, title, metadata, nowMs)
        const value: PackDocument = { ...surveyed, packHash }
        const [{ link }] = await recordAct(ledger, workspace, { said: [said], changes: [{ kind: "pack", id: packId, version: 0, value }] })
        const made = await packOf(parts, workspace.id, packId)
        // The pack is recorded, whatever happens now: a refusal would say that it is not. What is missing is made up for by the first download.
        return sealPack(parts, by, workspace, made.id, link.sequence).catch(() => made)
      }),

    download: (by, workspace, pack, format, signal) => {
      const make = async (): Promise<Archive> => {
        const { value } =
          pack.value.seal === undefined ? await sealPack(parts, by, workspace, pack.id, await creationOf(parts, workspace, pack)) : pack
        if (value.seal === undefined) throw new Error("a pack that was sealed has a seal")
        const made = await measure(await packFiles(source, workspace, { packId: pack.id, ...value }), limits.packBytesMax, signal)
        const manifest = manifestOf(made)
        if (manifest.packHash !== value.packHash)
          throw new LedgerError("integrity_failure", "what this pack is made of is not what it was when it was made")
        const others = await measure([manifestFile(manifest), ...(await sealFiles(source, workspace, value.seal))], limits.packBytesMax)
        const { title, packHash } = value
        await ledger.record(workspace, [packSaid(by, "evidence.pack.download", pack.id, title, { packHash, format }, clock.now())])
        const files = inOrder([...made, ...others])
        return format === "zip" ? zipOf(files) : jsonOf(files, manifest)
      }
      // Its place among those that are sent comes first: a workspace with slow clients keeps no place among those that are made.
      return sent(sending, workspace.id, signal, () => making.run(workspace.id, signal, make))
    },
  }
}

function linesFor(clock: Clock, limits: Limits): { readonly making: Admission; readonly sending: Admission } {
  const waits = { waitingMax: limits.packsWaitingMax, waitMs: limits.packWaitMs }
  const making = createAdmission(clock, {
    ...waits,
    atOnceMax: limits.packsAtOnceMax,
    perWorkspaceMax: limits.packsOfWorkspaceMax,
    of: "evidence packs to be made",
  })
  const sending = createAdmission(clock, {
    ...waits,
    atOnceMax: limits.packsSentAtOnceMax,
    perWorkspaceMax: limits.packsSentOfWorkspaceMax,
    of: "evidence packs to be sent",
  })
  return { making, sending }
}

/** Makes an archive once it may be sent. The place is given back when the content is closed: at its end, by an error, or because the client left. */
async function sent(sending: Admission, workspace: string, signal: AbortSignal | undefined, make: () => Promise<Archive>): Promise<Packed> {
  const end = await sending.begin(workspace, signal)
  try {
    const { bytes, chunks } = await make()
    signal?.throwIfAborted()
    const content = Readable.from(chunks)
    const leave = (): void => void content.destroy()
    signal?.addEventListener("abort", leave)
    content.once("close", () => {
      signal?.removeEventListener("abort", leave)
      end()
    })
    return { bytes, content }
  } catch (error) {
    end()
    throw error
  }
}

async function packOf({ store: { registry } }: PackParts, workspace: string, id: string): Promise<Document<"pack">> {
  const found = await registry.get("pack", workspace, id)
  if (found === undefined) throw new Error("a pack that was just recorded is not there")
  return found
}

/**
 * Fixes the checkpoint that proves the pack's own entry. It cannot be known before that entry is there, and a document only changes together
 * with an entry: so there is a second one.
 */
async function sealPack(
  parts: PackParts,
  by: Principal,
  workspace: Document<"workspace">,
  packId: string,
  sequence: number,
): Promise<Document<"pack">> {
  const { ledger, clock } = parts
  const checkpoint = await signedFor(parts, workspace, sequence)
  await recordPlanned(ledger, workspace, async () => {
    const { id, version, value } = await packOf(parts, workspace.id, packId)
    // Another download has done it.
    if (value.seal !== undefined) return undefined
    const said = packSaid(by, "evidence.pack.seal", id, value.title, { packHash: value.packHash, sequence }, clock.now())
    return { said: [said], changes: [{ kind: "pack", id, version, value: { ...value, seal: { sequence, checkpoint } } }] }
  })
  return packOf(parts, workspace.id, packId)
}

/** The entry that records a pack stands in the tree of the current epoch, and so must those that are in it: one key has signed for all. */
function refuseFormer(workspace: Document<"workspace">, sequences: readonly number[]): void {
  const [{ before, number }] = epochsOf(workspace)
  if ((sequences[0] ?? 0) > before) return
  throw new LedgerError(
    "invalid_field",
    `an evidence pack has entries of the current epoch only, which is epoch ${number} and begins with entry ${before + 1}; entry ${sequences[0]} is of an earlier one`,
  )
}

/** The projects of the entries, and those of the policies that they name which are published: later ones do not come into the pack. */
async function survey(
  source: PackSource,
  workspace: Document<"workspace">,
  sequences: readonly number[],
): Promise<Pick<PackDocument, "projectIds" | "policies">> {
  const named = new Map<string, { projectId: string; version: number }>()
  const projectIds = new Set<string>()
  for await (const batch of readEntries(source, workspace, sequences)) {
    for (const { body } of batch) {
      const { projectId, policyVersion: version } = body
      if (typeof projectId !== "string") continue
      projectIds.add(projectId)
      if (typeof version === "number") named.set(policyDocumentId(projectId, version), { projectId, version })
    }
  }
  const published = await Promise.all(
    [...named].map(async ([id, policy]) => ((await source.registry.get("policy", workspace.id, id)) === undefined ? [] : [policy])),
  )
  return { projectIds: [...projectIds].toSorted(), policies: published.flat() }
}

/** The place of the entry that records a pack: it follows the checkpoint that the pack was made under. */
async function creationOf(
  { store: { journal }, limits }: PackParts,
  of: Document<"workspace">,
  { id, workspace, value }: Document<"pack">,
): Promise<number> {
  const before = epochNamed(epochsOf(of), value.checkpoint)?.before ?? 0
  let last = before + (parseCheckpoint(parseNote(value.checkpoint)?.text ?? "")?.size ?? 0)
  for (;;) {
    const entries = await journal.after(workspace, last, limits.followEntriesMax)
    for (const entry of entries) {
      last = entry.sequence
      if (parseRecord(entry.record)?.kind !== "admin") continue
      const content = openEntry(entry, [])?.content
      if (content?.action === packAction && content.target.id === id) return entry.sequence
    }
    if (entries.length === 0) throw new Error("a pack has an entry that records it")
  }
}

function packSaid(by: Principal, action: string, packId: string, title: string, metadata: JsonObject, nowMs: number): Said {
  return actSaid(by, action, { id: packId, type: "evidence_pack", name: title }, { packId, title, ...metadata }, nowMs)
}
