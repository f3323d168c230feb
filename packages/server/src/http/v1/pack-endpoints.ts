// Evidence packs: create, list, download.

import { Readable } from "node:stream"
import type * as wire from "@tallystick/client/wire"
import { LedgerError } from "../../error.ts"
import type { CountRequest } from "../../query/entry-queries.ts"
import { epochsOf } from "../../store/epochs.ts"
import { systemProject } from "../../store/search/searchable-fields.ts"
import type { Wanted } from "../../store/search/search.ts"
import type { Document, Listed, Workspace } from "../../store/documents.ts"
import { mayTouch, reachOf, type Principal } from "../../workspace/permissions.ts"
import { recordConsentLookup } from "../../workspace/recorded-reads.ts"
import { withPublications, sequencesOf } from "../../workspace/pack-selection.ts"
import { createRecognise } from "../authenticate.ts"
import { created, ok } from "../endpoint.ts"
import {
  changeable,
  endpoint,
  listAnswer,
  permitProject,
  permitWriting,
  type Service,
  type ServiceEndpoint,
} from "../service.ts"
import { ListQuery } from "../shapes/list.ts"
import { DownloadQuery, newPackOf, Pack, PackDownload, PackList } from "../shapes/pack.ts"
import { EventsPage, PackEntriesQuery } from "../shapes/page.ts"
import { Bytes } from "../shapes/path.ts"
import { consentsOf } from "./consent-state-endpoints.ts"
import { filteredFor, pageJson, wantedOf } from "./query-endpoints.ts"

/** A receipt's id in quotes, with a comma and some white space. */
const idBytes = 64

const ofDownloads = { action: "read", isRecorded: true, tokens: ["evidence"] } as const

export function packEndpoints(service: Service): readonly ServiceEndpoint[] {
  const recognise = createRecognise(service)
  const { eventBytesMax, packReceiptsMax } = service.limits
  return [
    endpoint({
      route: "POST /v1/workspaces/{workspaceId}/evidence-packs",
      operation: "createPack",
      summary: "Create an evidence pack",
      description:
        "Packs the entries of these receipts, or those that match a filter, or a person's consents and withdrawals. A pack is fixed when it is made: every download has the same bytes.",
      access: { action: "read" },
      body: newPackOf(packReceiptsMax),
      bodyBytesMax: Math.max(eventBytesMax, packReceiptsMax * idBytes),
      refuses: ["content_gone"],
      answers: { 201: Pack },
      async handle({ caller, params: { workspaceId }, body, incoming: { signal } }) {
        const workspace = await changeable(service, workspaceId)
        const { title, projectId } = body
        if (projectId !== undefined) permitProject(caller, projectId)
        const find = () => findFor(service, caller, workspace, body, signal)
        return created(
          packJson(await service.packs.create(caller, workspace, { title, find }, signal)),
        )
      },
    }),
    endpoint({
      route: "GET /v1/workspaces/{workspaceId}/evidence-packs",
      operation: "listPacks",
      summary: "List the evidence packs",
      description: "The evidence packs whose projects the credential can access, newest first.",
      access: { action: "read" },
      query: ListQuery,
      answers: { 200: PackList },
      async handle(call) {
        const { caller } = call
        const sees =
          reachOf(caller) === undefined
            ? undefined
            : (pack: Listed<"pack">) => reaches(caller, pack)
        const show = (packs: readonly Listed<"pack">[]) => packs.map(packJson)
        return listAnswer(service, "pack", "packs", call, { sees, show })
      },
    }),
    endpoint({
      route: "GET /v1/workspaces/{workspaceId}/evidence-packs/{packId}",
      operation: "getPack",
      summary: "Get an evidence pack",
      description: "An evidence pack without its content.",
      access: { action: "read" },
      answers: { 200: Pack },
      async handle({ caller, params: { workspaceId, packId } }) {
        await service.workspaces.get(workspaceId)
        return ok(packJson(await packFor(service, caller, workspaceId, packId)))
      },
    }),
    endpoint({
      route: "GET /v1/workspaces/{workspaceId}/evidence-packs/{packId}/entries",
      operation: "listPackEntries",
      summary: "List the entries of an evidence pack",
      description:
        "The entries of a pack in their present state, newest first. Nothing is recorded, because the credential could read these entries anyway.",
      refuses: ["overloaded"],
      access: { action: "read" },
      query: PackEntriesQuery,
      answers: { 200: EventsPage },
      async handle({ caller, params: { workspaceId, packId }, query, incoming: { signal } }) {
        const { cursor, limit, include } = query
        const workspace = await service.workspaces.get(workspaceId)
        const { sequences } = (await packFor(service, caller, workspaceId, packId)).value
        const below = cursor === 0 ? sequences : sequences.filter((each) => each < cursor)
        const wanted = below.slice(-limit).toReversed()
        const page = await service.queries.read(workspace, wanted, {
          wanted: { system: "with" },
          isProven: include !== undefined,
          signal,
        })
        const returned = page.events.length
        const about = {
          ...page,
          total: sequences.length,
          nextCursor: wanted[returned - 1] ?? 0,
          hasMore: returned < below.length,
        }
        return ok(pageJson(about, {}))
      },
    }),
    endpoint({
      route: "GET /v1/workspaces/{workspaceId}/evidence-packs/{packId}/download",
      operation: "downloadPack",
      summary: "Download an evidence pack",
      description:
        "A ZIP file that `tallystick verify` checks without the service, or with `format=json` the same files in JSON. The ledger records each download.",
      refuses: ["content_gone"],
      access: ofDownloads,
      query: DownloadQuery,
      answers: { 200: Bytes },
      answerType: "application/zip",
      alsoAnswers: [{ type: "application/json", shape: PackDownload }],
      async handle({ caller, params: { workspaceId, packId }, query: { format }, incoming }) {
        const { method, signal } = incoming
        const workspace = await service.workspaces.get(workspaceId)
        const pack = await packFor(service, caller, workspaceId, packId)
        permitWriting(service, workspaceId)
        const headers =
          format === "zip"
            ? {
                "content-type": "application/zip",
                "content-disposition": `attachment; filename="${packId}.zip"`,
              }
            : { "content-type": "application/json; charset=utf-8" }
        // HEAD sends no content, so nothing is made or recorded, and the size is unknown.
        if (method === "HEAD") return { status: 200, body: Readable.from([]), headers }
        if (caller.kind === "token") service.rates.downloads.take(caller.id)
        const { bytes, content } = await service.packs.download(
          caller,
          workspace,
          pack,
          format,
          signal,
          () => recognise(incoming, { access: ofDownloads }),
        )
        return {
          status: 200,
          body: content,
          headers: {
            ...headers,
            ...(bytes === undefined ? {} : { "content-length": String(bytes) }),
          },
        }
      },
    }),
  ]
}

/** The sequences of the entries for a new pack, ascending. */
async function findFor(
  service: Service,
  caller: Principal,
  workspace: Workspace,
  { title, projectId, receiptIds, consents, filter = {} }: wire.NewPack,
  signal: AbortSignal,
): Promise<readonly number[]> {
  const source = { ...service.store, pace: service.pace }
  if (receiptIds !== undefined)
    return sequencesOf(source, caller, workspace.id, receiptIds, projectId)
  const matches = (name: string, found: Pick<CountRequest, "wanted" | "storage">, least = 1) =>
    matchesOf(service, workspace, { ...found, signal }, name, least)
  if (consents === undefined) {
    const asked = { ...filter, projectId: projectOf("filter", filter, projectId) }
    return matches("filter", filteredFor(caller, asked))
  }
  const { subject } = consents
  const wanted = consentsOf(caller, subject, projectOf("consents", consents, projectId))
  await recordConsentLookup(service, caller, workspace, { subject, reason: title })
  const found = await matches("consents", { wanted, storage: "all" })
  // The entries of publications belong to no project, so a key for some projects must not see them.
  if (reachOf(caller) !== undefined) return found
  const [{ before }] = epochsOf(workspace)
  const ofThisEpoch = { ...publications(caller), firstSequence: before + 1 }
  const published = await matches("consents", { wanted: ofThisEpoch, storage: "all" }, 0)
  return withPublications(source, workspace, found, published)
}

function publications(caller: Principal): Wanted {
  return wantedOf(caller, {
    projectId: systemProject,
    query: "kind:policy action:policy.version.publish",
    includeArchive: true,
    includeSystem: false,
  })
}

/** The project that the pack and its filter agree on. */
function projectOf(
  name: string,
  { projectId: own }: Pick<wire.EntryFilter, "projectId">,
  ofPack: string | undefined,
): string {
  if (ofPack !== undefined && own !== undefined && own !== ofPack)
    throw new LedgerError(
      "invalid_field",
      `${name}.projectId must be the project that projectId names`,
    )
  return own ?? ofPack ?? "all"
}

/** The sequences of all matches, ascending. Throws if they are more than a pack may have. */
async function matchesOf(
  { queries, limits }: Service,
  workspace: Workspace,
  request: CountRequest,
  name: string,
  least: number,
): Promise<readonly number[]> {
  const most = limits.packReceiptsMax
  const { sequences, total } = await queries.all(workspace, request, most)
  if (total < least)
    throw new LedgerError(
      "invalid_field",
      `${name} must match one entry at least, and matches none`,
    )
  if (total > most)
    throw new LedgerError(
      "invalid_field",
      `${name} must match ${most} entries at most, and matches ${total}`,
    )
  return sequences
}

/** A pack that the caller may see. A forbidden one is answered like a missing one. */
export async function packFor(
  service: Service,
  caller: Principal,
  workspaceId: string,
  packId: string,
): Promise<Document<"pack">> {
  if (
    caller.kind === "token" &&
    !(caller.bound.type === "evidence" && caller.bound.packId === packId)
  )
    throw new LedgerError("insufficient_scope", "the token is for another evidence pack")
  const pack = await service.store.registry.get("pack", workspaceId, packId)
  if (pack === undefined || !(caller.kind === "token" || reaches(caller, pack)))
    throw new LedgerError("not_found", "there is no such evidence pack")
  return pack
}

function reaches(
  caller: Principal,
  { value: { projectIds } }: Document<"pack"> | Listed<"pack">,
): boolean {
  return projectIds.every((projectId) => mayTouch(caller, projectId))
}

function packJson({ id, workspace, value }: Document<"pack"> | Listed<"pack">): wire.Pack {
  const { title, projectIds, packHash, createdAt, seal } = value
  const receiptCount = "sequences" in value ? value.sequences.length : value.receiptCount
  return {
    packId: id,
    workspaceId: workspace,
    title,
    receiptCount,
    projectIds,
    packHash,
    ...(seal !== undefined && { sequence: seal.sequence }),
    createdAt,
  }
}
