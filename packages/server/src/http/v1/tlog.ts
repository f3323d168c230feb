// A workspace's log as C2SP tlog-tiles, for verifiers and witnesses that are not ours. What does not exist is 404, and nothing else.

import { bundle, parseTilePath, recordBytes, tileWidth, type Tile } from "@tallystick/proof"
import { LedgerError } from "../../error.ts"
import { readTile } from "../../query/tree-reads.ts"
import { logKeys, vkeyOf } from "../../store/log-keys.ts"
import type { Document } from "../../store/store.ts"
import { unknownResource } from "../authenticate.ts"
import { endpoint, permit, permitWriting, type Caller, type Service, type ServiceEndpoint } from "../service.ts"
import { LogKeyRotated, LogKeys } from "../shapes/entry.ts"
import { Nothing } from "../shapes/member.ts"
import { Bytes, PlainText, TileParams, WorkspaceParams } from "../shapes/path.ts"

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
        const checkpoint = await service.store.index.checkpoint(workspace.id)
        return { status: 200, body: `${await vkeyOf(service.store.registry, workspace, checkpoint?.note)}\n` }
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
      method: "POST",
      path: "/v1/workspaces/{workspaceId}/tlog/keys",
      summary: "Have another key sign from now on; the one before signs beside it for a while",
      access: { action: "administer" },
      params: WorkspaceParams,
      body: Nothing,
      bodyMayBeAbsent: true,
      answers: { 201: LogKeyRotated },
      async handle({ caller, params }) {
        permit(caller, "administer", params.workspaceId)
        permitWriting(service, params.workspaceId)
        const { vkey, announced } = await service.logKeys.rotate(caller, await service.workspaces.get(params.workspaceId))
        // What is answered can be looked at at once, under a checkpoint that both keys have signed.
        await Promise.race([service.seal(params.workspaceId), service.clock.sleep(service.limits.proofWaitMs)])
        return { status: 201, body: { vkey, fromSize: announced.link.sequence, receiptId: announced.content.receipt } }
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
  const keys = (await logKeys(store, workspace)).toReversed()
  return keys.map(({ vkey, fromSize }, at) => ({ vkey, fromSize, toSize: keys[at + 1]?.fromSize ?? null }))
}
