// A workspace's log as C2SP tlog-tiles, for verifiers and witnesses that are not ours. What does not exist is 404, and nothing else.

import { bundle, parseTilePath, recordBytes, tileWidth, type Tile } from "@tallystick/proof"
import { LedgerError } from "../../error.ts"
import { readTile } from "../../query/tree-reads.ts"
import type { Document } from "../../store/store.ts"
import { unknownResource } from "../authenticate.ts"
import { endpoint, permit, type Caller, type Service, type ServiceEndpoint } from "../service.ts"
import { LogKeys } from "../shapes/entry.ts"
import { Bytes, PlainText, TileParams, WorkspaceParams } from "../shapes/path.ts"

/** Keys that a log has had: more are not listed. */
const keysMax = 1000

/** What every endpoint of a log has in common. */
const ofLog = { method: "GET", access: { action: "read", anonymous: true }, cors: true } as const
const plainText = "text/plain; charset=utf-8"

export function tlogEndpoints(service: Service): readonly ServiceEndpoint[] {
  return [
    endpoint({
      ...ofLog,
      path: "/v1/workspaces/{workspaceId}/tlog/checkpoint",
      summary: "The newest signed checkpoint",
      params: WorkspaceParams,
      answers: { 200: PlainText },
      answerType: plainText,
      async handle({ caller, params }) {
        const workspace = await logFor(service, caller, params.workspaceId)
        const checkpoint = await service.store.index.checkpoint(workspace.id)
        if (checkpoint === undefined) throw noResource()
        return { status: 200, body: checkpoint.note, headers: caller === undefined ? { "cache-control": "no-cache" } : {} }
      },
    }),
    endpoint({
      ...ofLog,
      path: "/v1/workspaces/{workspaceId}/tlog/log.vkey",
      summary: "The key that signs checkpoints now",
      params: WorkspaceParams,
      answers: { 200: PlainText },
      answerType: plainText,
      async handle({ caller, params }) {
        const workspace = await logFor(service, caller, params.workspaceId)
        return { status: 200, body: `${await newestVkey(service, workspace.id)}\n` }
      },
    }),
    endpoint({
      ...ofLog,
      path: "/v1/workspaces/{workspaceId}/tlog/keys",
      summary: "Every key that has signed checkpoints, and for which sizes of the log",
      params: WorkspaceParams,
      answers: { 200: LogKeys },
      async handle({ caller, params }) {
        const workspace = await logFor(service, caller, params.workspaceId)
        return { status: 200, body: { keys: await keysOf(service, workspace.id) } }
      },
    }),
    endpoint({
      ...ofLog,
      path: "/v1/workspaces/{workspaceId}/tlog/tile/{tile*}",
      summary: "A tile of the tree, or a bundle of records (C2SP tlog-tiles)",
      params: TileParams,
      answers: { 200: Bytes },
      answerType: "application/octet-stream",
      async handle({ caller, params }) {
        const workspace = await logFor(service, caller, params.workspaceId)
        const checkpoint = await service.store.index.checkpoint(workspace.id)
        const tile = parseTilePath(`tile/${params.tile}`)
        if (tile === undefined || !exists(tile, checkpoint?.size ?? 0)) throw noResource()
        const headers = caller === undefined ? { "cache-control": "public, max-age=31536000, immutable" } : {}
        return { status: 200, body: await tileBytes(service, workspace.id, tile), headers }
      },
    }),
  ]
}

/** The key that a workspace's log is signed with now. */
export async function newestVkey({ store }: Pick<Service, "store">, workspace: string): Promise<string> {
  const [newest] = await store.registry.list("log-key", workspace, Number.MAX_SAFE_INTEGER, 1)
  if (newest === undefined) throw new Error("a workspace has a key")
  return newest.value.vkey
}

async function logFor({ store }: Service, caller: Caller, id: string): Promise<Document<"workspace">> {
  const workspace = await store.registry.get("workspace", id, id)
  if (workspace?.value.transparency === "public") return workspace
  permit(caller, "read", id)
  if (workspace === undefined) throw unknownResource(caller)
  return workspace
}

function noResource(): LedgerError {
  return new LedgerError("not_found", "the log has no such resource, or not yet")
}

/** A tile exists once a signed tree has all of its hashes; a partial one goes on to exist. */
function exists({ level, index, width }: Tile, size: number): boolean {
  const hashes = Math.floor(size / tileWidth ** (level === "entries" ? 0 : level))
  return index * tileWidth + width <= hashes
}

async function tileBytes({ store }: Service, workspace: string, { level, index, width }: Tile): Promise<Buffer> {
  if (level !== "entries") return Buffer.from(await readTile(store, workspace, level, index, width))
  const records = await store.journal.records(workspace, index * tileWidth + 1, width)
  return Buffer.from(
    bundle(Array.from({ length: records.length / recordBytes }, (_, at) => records.subarray(at * recordBytes, (at + 1) * recordBytes))),
  )
}

async function keysOf({ store }: Service, workspace: string) {
  const keys = (await store.registry.list("log-key", workspace, Number.MAX_SAFE_INTEGER, keysMax)).toReversed()
  return keys.map(({ value: { vkey, fromSize } }, at) => ({ vkey, fromSize, toSize: keys[at + 1]?.value.fromSize ?? null }))
}
