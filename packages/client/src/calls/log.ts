import { path, type Call } from "../call.ts"
import type { CallOptions } from "../exchange.ts"
import type { LogKeyRotated, LogKeys } from "../wire.ts"

/** A workspace's transparency log, as C2SP tlog-tiles: hashes and signatures, no content. */
export function logCalls(call: Call) {
  return {
    /** The newest signed checkpoint: a signed note. */
    checkpoint: (workspaceId: string, options?: CallOptions): Promise<string> =>
      call.text({ method: "GET", path: path`/v1/workspaces/${workspaceId}/tlog/checkpoint` }, options),

    /** The key that signs checkpoints now. Keep it: what it signed later can be checked against it. */
    vkey: async (workspaceId: string, options?: CallOptions): Promise<string> =>
      (await call.text({ method: "GET", path: path`/v1/workspaces/${workspaceId}/tlog/log.vkey` }, options)).trimEnd(),

    /** Every key that has signed checkpoints, and for which sizes of the log. */
    keys: (workspaceId: string, options?: CallOptions): Promise<LogKeys> =>
      call.json({ method: "GET", path: path`/v1/workspaces/${workspaceId}/tlog/keys` }, options),

    /** Has another key sign from now on. Not sent again by itself: each call makes a key. */
    rotateKey: (workspaceId: string, options?: CallOptions): Promise<LogKeyRotated> =>
      call.json({ method: "POST", path: path`/v1/workspaces/${workspaceId}/tlog/keys` }, options),

    /** A tile, such as `0/000`, or a bundle of records, such as `entries/000`. */
    tile: (workspaceId: string, tile: string, options?: CallOptions): Promise<Uint8Array> => {
      const segments = tile.split("/").map((segment) => path`/${segment}`)
      return call.bytes({ method: "GET", path: path`/v1/workspaces/${workspaceId}/tlog/tile` + segments.join("") }, options)
    },
  }
}
