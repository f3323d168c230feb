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
import { bufferOf } from "../../runtime/buffer-of.ts"
import { LedgerError } from "../../error.ts"
import { readRecords, readTile } from "../../store/tree-reads.ts"
import { epochsOf, type Epoch } from "../../store/epochs.ts"
import { logKeys, vkeyOf } from "../../store/log-keys.ts"
import type { Workspace } from "../../store/documents.ts"
import { turnOf, unknownResource } from "../authenticate.ts"
import { created, ok, type Answer, type Call } from "../endpoint.ts"
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
import { Bytes, PlainText } from "../shapes/path.ts"

/** Fields that all endpoints of a log share. */
const ofLog = {
  access: { action: "read", anonymous: true },
  cors: true,
} as const
const ofText = {
  ...ofLog,
  answers: { 200: PlainText },
  answerType: "text/plain; charset=utf-8",
} as const
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
      route: "GET /v1/workspaces/{workspaceId}/tlog/epochs",
      operation: "listEpochs",
      summary: "List the epochs of a log",
      description:
        "This ledger and those that it continues after a restore, with the genesis of each and the number of its entries that were kept.",
      answers: { 200: Epochs },
      async handle({ caller, params }) {
        const epochs = epochsOf(await workspaceFor(service, caller, params.workspaceId))
        return ok({ epochs: epochs.toReversed().map(describe) })
      },
    }),
    endpoint({
      route: "POST /v1/workspaces/{workspaceId}/tlog/keys",
      operation: "rotateLogKey",
      summary: "Rotate the key of a log",
      description:
        "Creates a new key that signs checkpoints from now on. The former key also signs them for a week. Each call creates a key.",
      access: { action: "administer" },
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

type LogCall = Pick<Call<Caller, LogParams>, "caller" | "params">
type KeysCall = Pick<Call<Caller, LogParams>, "caller" | "params" | "incoming">
type TileCall = Pick<
  Call<Caller, LogParams & { readonly tile: string }>,
  "caller" | "params" | "incoming"
>

/** Each exists twice: for the current epoch, and for a named epoch. */
function checkpointEndpoints(service: Service): readonly ServiceEndpoint[] {
  const ofCheckpoint = {
    ...ofText,
    async handle({ caller, params }: LogCall): Promise<Answer> {
      const { workspace, epoch } = await logFor(service, caller, params)
      const checkpoint = await service.source.checkpoints.newest(workspace, epoch)
      if (checkpoint === undefined) throw noResource()
      return { ...ok(checkpoint.note), headers: caller === undefined ? noCache : {} }
    },
  } as const
  return [
    endpoint({
      ...ofCheckpoint,
      route: "GET /v1/workspaces/{workspaceId}/tlog/checkpoint",
      operation: "getCheckpoint",
      summary: "Get the newest checkpoint",
      description: "The newest signed checkpoint, as a c2sp.org/tlog-checkpoint.",
    }),
    endpoint({
      ...ofCheckpoint,
      route: "GET /v1/workspaces/{workspaceId}/tlog/epochs/{epoch}/checkpoint",
      operation: "getEpochCheckpoint",
      summary: "Get the last checkpoint of an epoch",
      description:
        "The last signed checkpoint of an epoch. For a former epoch, the last one that was kept.",
    }),
  ]
}

function keyEndpoints(service: Service): readonly ServiceEndpoint[] {
  const ofKey = {
    ...ofText,
    async handle({ caller, params }: LogCall): Promise<Answer> {
      const { workspace, epoch } = await logFor(service, caller, params)
      const checkpoint = await service.source.checkpoints.newest(workspace, epoch)
      return ok(`${await vkeyOf(service.store.registry, epoch, checkpoint?.note)}\n`)
    },
  } as const
  const ofKeys = {
    ...ofLog,
    refuses: ["overloaded"],
    answers: { 200: LogKeys },
    async handle({ caller, params, incoming }: KeysCall): Promise<Answer> {
      const { epoch } = await logFor(service, caller, params)
      const turn = turnOf(caller, params.workspaceId, incoming)
      const keys = await service.reading.run(turn, incoming.signal, () => keysOf(service, epoch))
      return ok({ keys })
    },
  } as const
  return [
    endpoint({
      ...ofKey,
      route: "GET /v1/workspaces/{workspaceId}/tlog/log.vkey",
      operation: "getLogKey",
      summary: "Get the key of a log",
      description:
        "The key that signs checkpoints now, as a verifier key of a signed note. Keep it to verify later checkpoints.",
    }),
    endpoint({
      ...ofKey,
      route: "GET /v1/workspaces/{workspaceId}/tlog/epochs/{epoch}/log.vkey",
      operation: "getEpochKey",
      summary: "Get the last key of an epoch",
      description: "The key that signed the last checkpoint of an epoch.",
    }),
    endpoint({
      ...ofKeys,
      route: "GET /v1/workspaces/{workspaceId}/tlog/keys",
      operation: "listLogKeys",
      summary: "List the keys of a log",
      description:
        "Every key that has signed checkpoints, oldest first, and the sizes of the log for which it signed.",
    }),
    endpoint({
      ...ofKeys,
      route: "GET /v1/workspaces/{workspaceId}/tlog/epochs/{epoch}/keys",
      operation: "listEpochKeys",
      summary: "List the keys of an epoch",
      description:
        "Every key that has signed checkpoints of an epoch, and the sizes for which it signed.",
    }),
  ]
}

function tileEndpoints(service: Service): readonly ServiceEndpoint[] {
  const ofTile = {
    ...ofLog,
    refuses: ["overloaded"],
    answers: { 200: Bytes },
    answerType: "application/octet-stream",
    async handle({ caller, params, incoming }: TileCall): Promise<Answer> {
      const log = await logFor(service, caller, params)
      const { epoch } = log
      const tile = parseTilePath(`tile/${params.tile}`)
      if (tile === undefined || !exists(tile, await sizeOf(service, log))) throw noResource()
      const turn = turnOf(caller, epoch.workspace, incoming)
      const body = await service.reading.run(turn, incoming.signal, () =>
        tileBytes(service, epoch, tile),
      )
      return { ...ok(body), headers: caller === undefined ? immutable : {} }
    },
  } as const
  return [
    endpoint({
      ...ofTile,
      route: "GET /v1/workspaces/{workspaceId}/tlog/tile/{tile*}",
      operation: "getTile",
      summary: "Get a tile",
      description:
        "Hashes of the tree, such as `0/000`, or a bundle of records, such as `entries/000`, as c2sp.org/tlog-tiles. The parameter takes the rest of the path, slashes included.",
    }),
    endpoint({
      ...ofTile,
      route: "GET /v1/workspaces/{workspaceId}/tlog/epochs/{epoch}/tile/{tile*}",
      operation: "getEpochTile",
      summary: "Get a tile of an epoch",
      description:
        "Hashes of an epoch's tree, or a bundle of its records. The parameter takes the rest of the path, slashes included.",
    }),
  ]
}

/**
 * A tile has only 256 entries, so reading a whole log by tiles would take thousands of requests.
 */
function recordsEndpoint(service: Service): ServiceEndpoint {
  return endpoint({
    ...ofLog,
    route: "GET /v1/workspaces/{workspaceId}/tlog/epochs/{epoch}/records",
    operation: "getRecords",
    summary: "Get records of an epoch",
    description:
      "The signed records of an epoch after the first `after`, concatenated, 118 bytes each. There are fewer than `limit` only at the end.",
    refuses: ["overloaded"],
    query: RecordsQuery,
    answers: { 200: Bytes },
    answerType: "application/octet-stream",
    async handle({ caller, params, query: { after, limit }, incoming }) {
      const log = await logFor(service, caller, params)
      const count = Math.max(0, Math.min(limit, (await sizeOf(service, log)) - after))
      const turn = turnOf(caller, params.workspaceId, incoming)
      const records = await service.reading.run(turn, incoming.signal, () =>
        readRecords(service.store.journal, log.epoch, after, count),
      )
      const body = bufferOf(records)
      // The last records are an incomplete piece, to which more may be added.
      const headers = count < limit ? noCache : immutable
      return { status: 200, body, headers: caller === undefined ? headers : {} }
    },
  })
}

/**
 * The number of entries that are served. A former epoch serves all its entries, also those after
 * its last checkpoint, because the next epoch commits to them.
 */
async function sizeOf(service: Service, { workspace, epoch }: NamedLog): Promise<number> {
  if (epoch.end !== undefined) return epoch.end - epoch.before
  return (await service.source.checkpoints.newest(workspace, epoch))?.size ?? 0
}

async function workspaceFor({ store }: Service, caller: Caller, id: string): Promise<Workspace> {
  const workspace = await store.registry.get("workspace", id, id)
  if (workspace?.value.transparency === "public") return workspace
  permit(caller, "read", id)
  if (workspace === undefined) throw unknownResource(caller)
  return workspace
}

interface LogParams {
  readonly workspaceId: string
  readonly epoch?: string
}

interface NamedLog {
  readonly workspace: Workspace
  readonly epoch: Epoch
}

/** The log of the epoch in the path, or of the current epoch. */
async function logFor(
  service: Service,
  caller: Caller,
  { workspaceId, epoch }: LogParams,
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
