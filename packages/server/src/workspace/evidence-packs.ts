// Evidence packs: selected entries with their proofs, for somebody outside. Making a pack and each
// download are recorded as entries. The entry of its making contains the pack's hash, so the ledger
// proves what was given out.

import { Readable } from "node:stream"
import {
  canonicalize,
  packAction,
  packForm,
  parseCheckpoint,
  parseNote,
  parseRecord,
  type JsonObject,
} from "@tallystick/proof"
import { createAdmission, type Admission } from "../runtime/fair-queue.ts"
import { isoTime, type Clock } from "../clock.ts"
import { openEntry } from "../store/opened-entry.ts"
import { LedgerError } from "../error.ts"
import type { Ledger, Draft } from "../ledger/ledger.ts"
import type { Limits } from "../limits.ts"
import type { Pace } from "../runtime/pace.ts"
import {
  inOrder,
  jsonOf,
  manifestFile,
  manifestOf,
  measure,
  zipOf,
  type Archive,
} from "../query/pack-archive.ts"
import type { Checkpoints } from "../query/verified-checkpoints.ts"
import { readEntries } from "../query/pack-entries.ts"
import { packFiles, sealFiles, type PackSource } from "../query/pack-files.ts"
import { policyDocumentId, type PackDocument } from "../store/documents.ts"
import { epochNamed, epochsOf } from "../store/epochs.ts"
import type { Document, Listed, ListPlace, Store } from "../store/store.ts"
import { adminDraft, recordAct, recordPlanned } from "./admin-entries.ts"
import { mayTouch, type Principal } from "./permissions.ts"
import { commitmentTo } from "./credential-format.ts"
import { signedFor } from "./covering-checkpoint.ts"

export interface PackRequest {
  readonly title: string
  /** Returns the sequences of the entries, ascending. */
  readonly find: () => Promise<readonly number[]>
}

/** A pack to send. It counts against the limit of packs in flight until `content` is closed. */
export interface Packed {
  readonly bytes: number | undefined
  readonly content: Readable
}

export type PackFormat = "zip" | "json"

export interface Packs {
  /** Records nothing if the signal is aborted before the pack is complete. */
  create(
    by: Principal,
    workspace: Document<"workspace">,
    request: PackRequest,
    signal?: AbortSignal,
  ): Promise<Document<"pack">>
  find(workspace: string, id: string): Promise<Document<"pack"> | undefined>
  list(
    workspace: string,
    before: ListPlace | undefined,
    limit: number,
  ): Promise<readonly Listed<"pack">[]>
  /** Makes the pack again and records the download. */
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
  /** Signs a workspace's chain to its end. */
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
        // The entries themselves are checked, whichever way they were found.
        if (!of.projectIds.every((projectId) => mayTouch(by, projectId)))
          throw new Error("a pack was asked for that its maker may not see")
        const surveyed = {
          ...of,
          title,
          createdAt: isoTime(nowMs),
          sequences,
          checkpoint,
          form: packForm,
        }
        const { packHash } = manifestOf(
          await measure(
            await packFiles(source, workspace, { packId, ...surveyed }),
            limits.packBytesMax,
            signal,
          ),
        )
        // A commitment only: an entry could not hold a long list of projects.
        const projects = commitmentTo(canonicalize(of.projectIds))
        const metadata = { receiptCount: sequences.length, packHash, projects, form: packForm }
        const said = packSaid(by, packAction, packId, title, metadata, nowMs)
        const value: PackDocument = { ...surveyed, packHash }
        const [{ link }] = await recordAct(ledger, workspace, {
          said: [said],
          changes: [{ kind: "pack", id: packId, version: 0, value }],
        })
        const made = await packOf(parts, workspace.id, packId)
        // The pack is recorded, so a failure now must not look like a refusal. The first download
        // seals the pack if this fails.
        return sealPack(parts, by, workspace, made.id, link.sequence).catch(() => made)
      }),

    download: (by, workspace, pack, format, signal) => {
      const make = async (): Promise<Archive> => {
        const { value } =
          pack.value.seal === undefined
            ? await sealPack(
                parts,
                by,
                workspace,
                pack.id,
                await creationOf(parts, workspace, pack),
              )
            : pack
        if (value.seal === undefined) throw new Error("a pack that was sealed has a seal")
        const made = await measure(
          await packFiles(source, workspace, { packId: pack.id, ...value }),
          limits.packBytesMax,
          signal,
        )
        const manifest = manifestOf(made)
        if (manifest.packHash !== value.packHash)
          throw new LedgerError(
            "integrity_failure",
            "what this pack is made of is not what it was when it was made",
          )
        const others = await measure(
          [manifestFile(manifest), ...(await sealFiles(source, workspace, value.seal))],
          limits.packBytesMax,
        )
        const { title, packHash } = value
        await ledger.record(workspace, [
          packSaid(by, "evidence.pack.download", pack.id, title, { packHash, format }, clock.now()),
        ])
        const files = inOrder([...made, ...others])
        return format === "zip" ? zipOf(files) : jsonOf(files, manifest)
      }
      // The place for sending comes first: slow clients of a workspace must not occupy places for
      // making.
      return sent(sending, workspace.id, signal, () => making.run(workspace.id, signal, make))
    },
  }
}

function linesFor(
  clock: Clock,
  limits: Limits,
): { readonly making: Admission; readonly sending: Admission } {
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

/**
 * Makes an archive when there is a place for sending. The place is free again when the content is
 * closed: at its end, on an error or a disconnect.
 */
async function sent(
  sending: Admission,
  workspace: string,
  signal: AbortSignal | undefined,
  make: () => Promise<Archive>,
): Promise<Packed> {
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

async function packOf(
  { store: { registry } }: PackParts,
  workspace: string,
  id: string,
): Promise<Document<"pack">> {
  const found = await registry.get("pack", workspace, id)
  if (found === undefined) throw new Error("a pack that was just recorded is not there")
  return found
}

/**
 * Stores the checkpoint that proves the pack's own entry. The checkpoint comes after that entry,
 * and a document changes only together with an entry, so there is a second entry.
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
    // Another request has sealed it.
    if (value.seal !== undefined) return undefined
    const said = packSaid(
      by,
      "evidence.pack.seal",
      id,
      value.title,
      { packHash: value.packHash, sequence },
      clock.now(),
    )
    return {
      said: [said],
      changes: [{ kind: "pack", id, version, value: { ...value, seal: { sequence, checkpoint } } }],
    }
  })
  return packOf(parts, workspace.id, packId)
}

/**
 * Packs contain entries of the current epoch only, like the entry that records them: one key must
 * have signed everything in a pack.
 */
function refuseFormer(workspace: Document<"workspace">, sequences: readonly number[]): void {
  const [{ before, number }] = epochsOf(workspace)
  if ((sequences[0] ?? 0) > before) return
  throw new LedgerError(
    "invalid_field",
    `an evidence pack has entries of the current epoch only, which is epoch ${number} and begins with entry ${before + 1}; entry ${sequences[0]} is of an earlier one`,
  )
}

/**
 * The projects of the entries, and the policies that they name, as far as those are published now.
 */
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
      if (typeof version === "number")
        named.set(policyDocumentId(projectId, version), { projectId, version })
    }
  }
  const published = await Promise.all(
    [...named].map(async ([id, policy]) =>
      (await source.registry.get("policy", workspace.id, id)) === undefined ? [] : [policy],
    ),
  )
  return { projectIds: [...projectIds].toSorted(), policies: published.flat() }
}

/** The sequence of the entry that records a pack. It comes after the pack's checkpoint. */
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

function packSaid(
  by: Principal,
  action: string,
  packId: string,
  title: string,
  metadata: JsonObject,
  nowMs: number,
): Draft {
  return adminDraft(
    by,
    action,
    { id: packId, type: "evidence_pack", name: title },
    { packId, title, ...metadata },
    nowMs,
  )
}
