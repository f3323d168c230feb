// A workspace's log as C2SP tlog-tiles, for other verifiers and witnesses. A tile that does not
// exist is 404.

import {
  bundle,
  hashBytes,
  parseTilePath,
  recordBytes,
  tileWidth,
  toHex,
  type Tile,
} from "@tallystick/proof"
import { LedgerError } from "../../error.ts"
import { readRecords, readTile } from "../../store/tree-reads.ts"
import { epochsOf, type Epoch } from "../../store/epochs.ts"
import { logKeys, vkeyOf } from "../../store/log-keys.ts"
import type { Document } from "../../store/store.ts"
import { unknownResource } from "../authenticate.ts"
import type { Incoming } from "../incoming.ts"
import { created, ok } from "../endpoint.ts"
import {
  changeable,
  endpoint,
  permit,
  type Caller,
  type Service,
  type ServiceEndpoint,
} from "../service.ts"
import { Epochs, LogKeyRotated, LogKeys } from "../shapes/entry.ts"
import { Nothing } from "../shapes/member.ts"
import { RecordsQuery } from "../shapes/page.ts"
import {
  Bytes,
  EpochParams,
  EpochTileParams,
  PlainText,
  TileParams,
  WorkspaceParams,
} from "../shapes/path.ts"

/** What all endpoints of a log have in common. */
const ofLog = { method: "GET", access: { action: "read", anonymous: true }, cors: true } as const
const plainText = "text/plain; charset=utf-8"
const noCache = { "cache-control": "no-cache" }
const immutable = { "cache-control": "public, max-age=31536000, immutable" }

export function tlogEndpoints(service: Service): readonly ServiceEndpoint[] {
  return [
    ...checkpointEndpoints(service),
    ...keyEndpoints(service),
    ...tileEndpoints(service),
    recordsEndpoint(service),
    endpoint({
      ...ofLog,
      path: "/v1/workspaces/{workspaceId}/tlog/epochs",
      operation: "listEpochs",
      tag: "Log",
      summary: "List the epochs of a log",
      description:
        "This ledger and those that it continues after a restore: what each began with, and how many entries it kept.",
      params: WorkspaceParams,
      answers: { 200: Epochs },
      async handle({ caller, params }) {
        const epochs = epochsOf(await workspaceFor(service, caller, params.workspaceId))
        return ok({ epochs: epochs.toReversed().map(describe) })
      },
    }),
    endpoint({
      method: "POST",
      path: "/v1/workspaces/{workspaceId}/tlog/keys",
      operation: "rotateLogKey",
      tag: "Log",
      summary: "Rotate the key of a log",
      description:
        "Makes another key that signs checkpoints from now on. The former key signs them too for a while. Each call makes a key.",
      access: { action: "administer" },
      params: WorkspaceParams,
      body: Nothing,
      bodyMayBeAbsent: true,
      answers: { 201: LogKeyRotated },
      async handle({ caller, params }) {
        const workspace = await changeable(service, params.workspaceId)
        const [{ before }] = epochsOf(workspace)
        const { vkey, announced } = await service.logKeys.rotate(caller, workspace)
        // Clients can check the answer at once, with a checkpoint that both keys have signed.
        await Promise.race([
          service.seal(params.workspaceId),
          service.clock.sleep(service.limits.proofWaitMs),
        ])
        return created({
          vkey,
          fromSize: announced.link.sequence - before,
          receiptId: announced.content.receipt,
        })
      },
    }),
  ]
}

function checkpointEndpoints(service: Service): readonly ServiceEndpoint[] {
  const answer = async ({ workspace, epoch }: NamedLog, headers: Record<string, string>) => {
    const checkpoint = await service.source.checkpoints.newest(workspace, epoch)
    if (checkpoint === undefined) throw noResource()
    return { status: 200, body: checkpoint.note, headers } as const
  }
  const ofText = { ...ofLog, answers: { 200: PlainText }, answerType: plainText } as const
  return [
    endpoint({
      ...ofText,
      path: "/v1/workspaces/{workspaceId}/tlog/checkpoint",
      operation: "getCheckpoint",
      tag: "Log",
      summary: "Get the newest checkpoint",
      description: "The newest signed checkpoint, as a c2sp.org/tlog-checkpoint.",
      params: WorkspaceParams,
      handle: async ({ caller, params }) =>
        answer(await logFor(service, caller, params), caller === undefined ? noCache : {}),
    }),
    endpoint({
      ...ofText,
      path: "/v1/workspaces/{workspaceId}/tlog/epochs/{epoch}/checkpoint",
      operation: "getEpochCheckpoint",
      tag: "Log",
      summary: "Get the last checkpoint of an epoch",
      description:
        "The last signed checkpoint of an epoch. Of a former epoch, the last that was kept.",
      params: EpochParams,
      handle: async ({ caller, params }) =>
        answer(await logFor(service, caller, params), caller === undefined ? noCache : {}),
    }),
  ]
}

function keyEndpoints(service: Service): readonly ServiceEndpoint[] {
  const { registry } = service.store
  const vkey = async ({ workspace, epoch }: NamedLog) => {
    const checkpoint = await service.source.checkpoints.newest(workspace, epoch)
    return ok(`${await vkeyOf(registry, epoch, checkpoint?.note)}\n`)
  }
  const keys = async ({ epoch }: NamedLog) => ok({ keys: await keysOf(service, epoch) })
  const ofText = { ...ofLog, answers: { 200: PlainText }, answerType: plainText } as const
  return [
    endpoint({
      ...ofText,
      path: "/v1/workspaces/{workspaceId}/tlog/log.vkey",
      operation: "getLogKey",
      tag: "Log",
      summary: "Get the key of a log",
      description:
        "The key that signs checkpoints now, as a verifier key of a signed note. Keep it, to check what it signs later.",
      params: WorkspaceParams,
      handle: async ({ caller, params }) => vkey(await logFor(service, caller, params)),
    }),
    endpoint({
      ...ofText,
      path: "/v1/workspaces/{workspaceId}/tlog/epochs/{epoch}/log.vkey",
      operation: "getEpochKey",
      tag: "Log",
      summary: "Get the last key of an epoch",
      description: "The key that signed the last checkpoint of an epoch.",
      params: EpochParams,
      handle: async ({ caller, params }) => vkey(await logFor(service, caller, params)),
    }),
    endpoint({
      ...ofLog,
      path: "/v1/workspaces/{workspaceId}/tlog/keys",
      operation: "listLogKeys",
      tag: "Log",
      summary: "List the keys of a log",
      description:
        "Every key that has signed checkpoints, newest first, and the sizes of the log for which it signed.",
      params: WorkspaceParams,
      answers: { 200: LogKeys },
      handle: async ({ caller, params }) => keys(await logFor(service, caller, params)),
    }),
    endpoint({
      ...ofLog,
      path: "/v1/workspaces/{workspaceId}/tlog/epochs/{epoch}/keys",
      operation: "listEpochKeys",
      tag: "Log",
      summary: "List the keys of an epoch",
      description:
        "Every key that has signed checkpoints of an epoch, and the sizes for which it signed.",
      params: EpochParams,
      answers: { 200: LogKeys },
      handle: async ({ caller, params }) => keys(await logFor(service, caller, params)),
    }),
  ]
}

function tileEndpoints(service: Service): readonly ServiceEndpoint[] {
  const answer = async (caller: Caller, log: NamedLog, path: string, { signal }: Incoming) => {
    const { epoch } = log
    const tile = parseTilePath(`tile/${path}`)
    if (tile === undefined || !exists(tile, await sizeOf(service, log))) throw noResource()
    const body = await service.reading.run(epoch.workspace, signal, () =>
      tileBytes(service, epoch, tile),
    )
    return { status: 200, body, headers: caller === undefined ? immutable : {} } as const
  }
  const ofTile = {
    ...ofLog,
    answers: { 200: Bytes },
    answerType: "application/octet-stream",
  } as const
  return [
    endpoint({
      ...ofTile,
      path: "/v1/workspaces/{workspaceId}/tlog/tile/{tile*}",
      operation: "getTile",
      tag: "Log",
      summary: "Get a tile",
      description:
        "Hashes of the tree, such as `0/000`, or a bundle of records, such as `entries/000`, as c2sp.org/tlog-tiles. The parameter takes the rest of the path, slashes included.",
      refuses: ["overloaded"],
      params: TileParams,
      handle: async ({ caller, params, incoming }) =>
        answer(caller, await logFor(service, caller, params), params.tile, incoming),
    }),
    endpoint({
      ...ofTile,
      path: "/v1/workspaces/{workspaceId}/tlog/epochs/{epoch}/tile/{tile*}",
      operation: "getEpochTile",
      tag: "Log",
      summary: "Get a tile of an epoch",
      description:
        "Hashes of an epoch's tree, or a bundle of its records. The parameter takes the rest of the path, slashes included.",
      refuses: ["overloaded"],
      params: EpochTileParams,
      handle: async ({ caller, params, incoming }) =>
        answer(caller, await logFor(service, caller, params), params.tile, incoming),
    }),
  ]
}

/** Where a tile is 256 entries, a whole log would be thousands of requests. */
function recordsEndpoint(service: Service): ServiceEndpoint {
  return endpoint({
    ...ofLog,
    path: "/v1/workspaces/{workspaceId}/tlog/epochs/{epoch}/records",
    operation: "getRecords",
    tag: "Log",
    summary: "Get records of an epoch",
    description:
      "The signed records of an epoch after the first `after`, one behind the other, 118 bytes each. Fewer than `limit` only at the end.",
    refuses: ["overloaded"],
    params: EpochParams,
    query: RecordsQuery,
    answers: { 200: Bytes },
    answerType: "application/octet-stream",
    async handle({ caller, params, query: { after, limit }, incoming: { signal } }) {
      const log = await logFor(service, caller, params)
      const count = Math.max(0, Math.min(limit, (await sizeOf(service, log)) - after))
      const records = await service.reading.run(params.workspaceId, signal, () =>
        readRecords(service.store.journal, log.epoch, after, count),
      )
      const body = Buffer.from(records.buffer, records.byteOffset, records.length)
      // The last ones may become more.
      const headers = count < limit ? noCache : immutable
      return { status: 200, body, headers: caller === undefined ? headers : {} }
    },
  })
}

/**
 * How many entries are served. Of a former epoch all, also those after its last checkpoint: the
 * next epoch commits to them.
 */
async function sizeOf(service: Service, { workspace, epoch }: NamedLog): Promise<number> {
  if (epoch.end !== undefined) return epoch.end - epoch.before
  return (await service.source.checkpoints.newest(workspace, epoch))?.size ?? 0
}

async function workspaceFor(
  { store }: Service,
  caller: Caller,
  id: string,
): Promise<Document<"workspace">> {
  const workspace = await store.registry.get("workspace", id, id)
  if (workspace?.value.transparency === "public") return workspace
  permit(caller, "read", id)
  if (workspace === undefined) throw unknownResource(caller)
  return workspace
}

interface NamedLog {
  readonly workspace: Document<"workspace">
  readonly epoch: Epoch
}

/** The log of the epoch in the path, or of the current epoch. */
async function logFor(
  service: Service,
  caller: Caller,
  { workspaceId, epoch }: { readonly workspaceId: string; readonly epoch?: string },
): Promise<NamedLog> {
  const workspace = await workspaceFor(service, caller, workspaceId)
  const epochs = epochsOf(workspace)
  const found =
    epoch === undefined ? epochs[0] : epochs.find(({ number }) => String(number) === epoch)
  if (found === undefined) throw noResource()
  return { workspace, epoch: found }
}

function describe({ number, origin, ledgerId, geneses: [genesis = ""], before, end }: Epoch) {
  return {
    epoch: number,
    origin,
    ledgerId: toHex(ledgerId),
    genesis,
    earlierEntries: before,
    size: end === undefined ? null : end - before,
  }
}

function noResource(): LedgerError {
  return new LedgerError("not_found", "the log has no such resource, or not yet")
}

/** A tile exists once a signed tree has all of its hashes. A partial tile stays after that. */
function exists({ level, index, width }: Tile, size: number): boolean {
  const hashes = Math.floor(size / tileWidth ** (level === "entries" ? 0 : level))
  return index * tileWidth + width <= hashes
}

async function tileBytes(
  { store }: Service,
  epoch: Epoch,
  { level, index, width }: Tile,
): Promise<Buffer> {
  if (level !== "entries") {
    const hashes = await readTile(store, epoch, level, index, width)
    // The tiles of a former epoch are being rebuilt.
    if (hashes.length < width * hashBytes) throw noResource()
    return Buffer.from(hashes)
  }
  const records = await readRecords(store.journal, epoch, index * tileWidth, width)
  return Buffer.from(
    bundle(
      Array.from({ length: records.length / recordBytes }, (_, at) =>
        records.subarray(at * recordBytes, (at + 1) * recordBytes),
      ),
    ),
  )
}

async function keysOf({ store }: Service, epoch: Epoch) {
  const keys = (await logKeys(store, epoch)).toReversed()
  return keys.map(({ vkey, fromSize }, at) => ({
    vkey,
    fromSize,
    toSize: keys[at + 1]?.fromSize ?? null,
  }))
}
