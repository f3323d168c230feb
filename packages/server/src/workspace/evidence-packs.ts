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
  toHex,
  utf8,
  type JsonObject,
} from "@tallystick/proof"
import { createFairQueue, type FairQueue } from "../runtime/fair-queue.ts"
import { isoTime, type Clock } from "../clock.ts"
import { openEntry } from "../store/opened-entry.ts"
import { LedgerError } from "../error.ts"
import type { Ledger } from "../ledger/ledger.ts"
import type { Limits } from "../limits.ts"
import type { SharedPace } from "../runtime/pace.ts"
import { sha256 } from "../runtime/sha256.ts"
import {
  inOrder,
  jsonOf,
  manifestFile,
  manifestOf,
  measure,
  piecesOf,
  zipOf,
  type Archive,
  type Measure,
} from "../query/pack-archive.ts"
import type { PackEntry } from "../query/pack-entries.ts"
import { entryFiles, fixedFiles, sealFiles, type PackSource } from "../query/pack-files.ts"
import {
  changed,
  created,
  policyDocumentId,
  type PackDocument,
  type Change,
  type Document,
  type Workspace,
} from "../store/documents.ts"
import { epochNamed, epochsOf } from "../store/epochs.ts"
import type { Registry, Store } from "../store/store.ts"
import { recordActs, recordPlanned, type Act } from "./admin-entries.ts"
import { mayTouch, type Principal } from "./permissions.ts"
import { commitmentTo } from "./credential-format.ts"
import { signedFor, type SigningParts } from "./covering-checkpoint.ts"
import { required } from "./required-document.ts"
import { createSending, type Send } from "./sent-content.ts"

export interface PackRequest {
  readonly title: string
  /** Returns the sequences of the entries, ascending. */
  readonly find: () => Promise<readonly number[]>
}

/** A pack to send. It counts against the limit of packs in flight until `content` is closed. */
export interface PackDownload {
  readonly bytes: number | undefined
  readonly content: Readable
}

export type PackFormat = "zip" | "json"

export interface Packs {
  /** Records nothing if the signal is aborted before the pack is complete. */
  create(
    by: Principal,
    workspace: Workspace,
    request: PackRequest,
    signal?: AbortSignal,
  ): Promise<Document<"pack">>
  /**
   * Makes the pack again and records the download. `recheck` throws once the credential is no longer
   * valid.
   */
  download(
    by: Principal,
    workspace: Workspace,
    pack: Document<"pack">,
    format: PackFormat,
    signal?: AbortSignal,
    recheck?: () => Promise<unknown>,
  ): Promise<PackDownload>
}

export interface PackParts extends SigningParts {
  /** The page that new packs carry, which checks them; undefined if it is not built. */
  readonly savedVerifier: () => Promise<string | undefined>
  readonly store: Pick<Store, "journal" | "index" | "registry">
  readonly ledger: Ledger
  readonly limits: Limits
  readonly pace: SharedPace
}

export function createPacks(parts: PackParts): Packs {
  const { ledger, clock, limits } = parts
  const { packBytesMax } = limits
  const { registry } = parts.store
  const source = { ...parts.store, pace: parts.pace }
  const { making, send } = linesFor(clock, limits)

  return {
    create: (by, workspace, { title, find }, signal) =>
      making.run(workspace.id, signal, async () => {
        const sequences = await find()
        refuseFormer(workspace, sequences)
        const checkpoint = await signedFor(parts, workspace, sequences.at(-1) ?? 0)
        const nowMs = clock.now()
        const packId = ledger.makeId("pack", nowMs)
        const basis = { sequences, checkpoint }
        const [measured, of] = await survey(source, workspace, basis, packBytesMax, signal)
        // The entries themselves are checked, whichever way they were found.
        if (!of.projectIds.every((projectId) => mayTouch(by, projectId)))
          throw new Error("a pack was asked for that its maker may not see")
        const createdAt = isoTime(nowMs)
        const html = await parts.savedVerifier()
        const verifier = html === undefined ? {} : { verifier: toHex(sha256(utf8(html))) }
        const content = { ...of, title, createdAt, ...basis, form: packForm, ...verifier }
        const rest = piecesOf(await fixedFiles(source, workspace, { packId, ...content }, html))
        const { packHash } = manifestOf(await measure(rest, packBytesMax, signal, measured))
        // A commitment only: an entry could not hold a long list of projects.
        const projects = commitmentTo(canonicalize(of.projectIds))
        const act = packAct(by, packAction, packId, title, {
          receiptCount: sequences.length,
          packHash,
          projects,
          form: packForm,
          ...verifier,
        })
        const {
          entries: [{ link }],
        } = await recordPlanned(parts, workspace, async () => ({
          ...act,
          changes: [
            created("pack", packId, { ...content, packHash }),
            ...(await verifierToKeep(registry, workspace.id, content.verifier, html)),
          ],
        }))
        const made = await required(registry, "pack", workspace.id, packId)
        // The pack is recorded, so a failure now must not look like a refusal. The first download
        // seals the pack if this fails.
        return sealPack(parts, by, workspace, made.id, link.sequence).catch(() => made)
      }),

    download: (by, workspace, pack, format, signal, recheck) => {
      const make = async (): Promise<Archive> => {
        const creation = () => creationOf(parts, workspace, pack)
        const { value } =
          pack.value.seal === undefined
            ? await sealPack(parts, by, workspace, pack.id, await creation())
            : pack
        if (value.seal === undefined) throw new Error("a pack that was sealed has a seal")
        const html = await verifierOf(registry, pack)
        const content = { packId: pack.id, ...value }
        const about = entryFiles(source, workspace, content)
        const measured = await measure(about.pieces(), packBytesMax, signal)
        const fixed = await fixedFiles(source, workspace, content, html)
        const own = await measure(piecesOf(fixed), packBytesMax, signal, measured)
        const manifest = manifestOf(own)
        if (manifest.packHash !== value.packHash)
          throw new LedgerError(
            "integrity_failure",
            "the entries or policies of this pack have changed since it was made",
          )
        const others = [manifestFile(manifest), ...(await sealFiles(source, workspace, value.seal))]
        const whole = [...own, ...(await measure(piecesOf(others), packBytesMax))]
        const { title, packHash } = value
        const act = packAct(by, "evidence.pack.download", pack.id, title, { packHash, format })
        await recordActs(ledger, workspace, [act], clock.now())
        const files = inOrder([...fixed, ...about.files(), ...others], new Map(whole))
        return format === "zip" ? zipOf(files) : jsonOf(files, manifest)
      }
      // The place for sending comes first: slow clients of a workspace must not occupy places for
      // making.
      return send(workspace.id, signal, async () => {
        const { bytes, chunks } = await making.run(workspace.id, signal, make)
        signal?.throwIfAborted()
        return { bytes, content: Readable.from(whileValid(chunks, recheck)) }
      })
    },
  }
}

/** A large pack takes hours to be sent to a slow client. */
async function* whileValid<Chunk>(
  chunks: AsyncIterable<Chunk>,
  recheck: (() => Promise<unknown>) | undefined,
): AsyncGenerator<Chunk> {
  for await (const chunk of chunks) {
    await recheck?.()
    yield chunk
  }
}

/** A verifier is stored with the first pack of the workspace that carries it. */
async function verifierToKeep(
  registry: Registry,
  workspace: string,
  id: string | undefined,
  html: string | undefined,
): Promise<readonly Change[]> {
  if (id === undefined || html === undefined) return []
  const kept = await registry.get("verifier", workspace, id)
  return kept === undefined ? [created("verifier", id, { html })] : []
}

async function verifierOf(
  registry: Registry,
  { workspace, value: { verifier } }: Document<"pack">,
): Promise<string | undefined> {
  if (verifier === undefined) return undefined
  return (await registry.get("verifier", workspace, verifier))?.value.html
}

function linesFor(
  clock: Clock,
  limits: Limits,
): { readonly making: FairQueue; readonly send: Send } {
  const waits = { waitingMax: limits.packsWaitingMax, waitMs: limits.packWaitMs }
  const making = createFairQueue(clock, {
    ...waits,
    atOnceMax: limits.packsAtOnceMax,
    perWorkspaceMax: limits.packsOfWorkspaceMax,
    of: "evidence packs to be made",
  })
  const send = createSending(clock, {
    ...waits,
    atOnceMax: limits.packsSentAtOnceMax,
    perWorkspaceMax: limits.packsSentOfWorkspaceMax,
    of: "evidence packs to be sent",
    stillMs: limits.contestedStillMs,
  })
  return { making, send }
}

/**
 * Stores the checkpoint that proves the pack's own entry. The checkpoint comes after that entry,
 * and a document changes only together with an entry, so there is a second entry.
 */
async function sealPack(
  parts: PackParts,
  by: Principal,
  workspace: Workspace,
  packId: string,
  sequence: number,
): Promise<Document<"pack">> {
  const { registry } = parts.store
  const checkpoint = await signedFor(parts, workspace, sequence)
  await recordPlanned(parts, workspace, async () => {
    const pack = await required(registry, "pack", workspace.id, packId)
    const { title, packHash, seal } = pack.value
    // Another request has sealed it.
    if (seal !== undefined) return undefined
    return {
      ...packAct(by, "evidence.pack.seal", packId, title, { packHash, sequence }),
      changes: [changed(pack, { ...pack.value, seal: { sequence, checkpoint } })],
    }
  })
  return required(registry, "pack", workspace.id, packId)
}

/**
 * Packs contain entries of the current epoch only, like the entry that records them: one key must
 * have signed everything in a pack.
 */
function refuseFormer(workspace: Workspace, sequences: readonly number[]): void {
  const [{ before, number }] = epochsOf(workspace)
  if ((sequences[0] ?? 0) > before) return
  throw new LedgerError(
    "invalid_field",
    `an evidence pack has entries of the current epoch only, which is epoch ${number} and begins with entry ${before + 1}; entry ${sequences[0]} is of an earlier one`,
  )
}

/**
 * The measures of the files about the entries, the projects of these, and the policies that they
 * name, as far as those are published now.
 */
async function survey(
  source: PackSource,
  workspace: Workspace,
  basis: Pick<PackDocument, "sequences" | "checkpoint">,
  bytesMax: number,
  signal: AbortSignal | undefined,
): Promise<readonly [ReadonlyMap<string, Measure>, Pick<PackDocument, "projectIds" | "policies">]> {
  const named = new Map<string, { projectId: string; version: number }>()
  const projectIds = new Set<string>()
  const see = ({ body: { projectId, policyVersion: version } }: PackEntry): void => {
    if (typeof projectId !== "string") return
    projectIds.add(projectId)
    if (typeof version === "number")
      named.set(policyDocumentId(projectId, version), { projectId, version })
  }
  const pieces = entryFiles(source, workspace, basis).pieces(see)
  const measured = await measure(pieces, bytesMax, signal)
  const published = await Promise.all(
    [...named].map(async ([id, policy]) =>
      (await source.registry.get("policy", workspace.id, id)) === undefined ? [] : [policy],
    ),
  )
  return [measured, { projectIds: [...projectIds].toSorted(), policies: published.flat() }]
}

/** The sequence of the entry that records a pack. It comes after the pack's checkpoint. */
async function creationOf(
  { store: { journal }, limits }: PackParts,
  of: Workspace,
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

function packAct(
  by: Principal,
  action: string,
  packId: string,
  title: string,
  metadata: JsonObject,
): Act {
  const target = { id: packId, type: "evidence_pack", name: title }
  return { by, action, target, metadata: { packId, title, ...metadata } }
}
