import { path, type Call } from "../call.ts"
import type { CallOptions } from "../exchange.ts"
import { objectOf, type Optional } from "../given.ts"
import type { ChainState, Epochs, LogKeyRotated, LogKeys, RecordsQuery } from "../wire.ts"

export interface LogOptions extends CallOptions {
  /** Which epoch is asked for; without it, the one that grows. */
  readonly epoch?: number | undefined
}

/** A workspace's transparency log, as C2SP tlog-tiles: hashes and signatures, no content. */
export function logCalls(call: Call) {
  const at = (workspaceId: string, given: LogOptions | undefined) => {
    const { epoch, ...options } = objectOf(given, "options")
    const log = path`/v1/workspaces/${workspaceId}/tlog`
    return {
      log: epoch === undefined ? log : `${log}${path`/epochs/${String(epoch)}`}`,
      options,
    }
  }
  return {
    /** How far the chain is signed and was checked again, and where it is broken. */
    integrity: (workspaceId: string, options?: CallOptions): Promise<ChainState> =>
      call.get(path`/v1/workspaces/${workspaceId}/integrity`, {}, options),

    /** The newest signed checkpoint: a signed note. */
    checkpoint: async (workspaceId: string, given?: LogOptions): Promise<string> => {
      const { log, options } = at(workspaceId, given)
      return await call.text(`${log}/checkpoint`, options)
    },

    /**
     * The key that signs checkpoints now. Keep it: what it signed later can be checked against it.
     */
    vkey: async (workspaceId: string, given?: LogOptions): Promise<string> => {
      const { log, options } = at(workspaceId, given)
      return (await call.text(`${log}/log.vkey`, options)).trimEnd()
    },

    /** Every key that has signed checkpoints, and for which sizes of the log. */
    keys: async (workspaceId: string, given?: LogOptions): Promise<LogKeys> => {
      const { log, options } = at(workspaceId, given)
      return await call.get(`${log}/keys`, {}, options)
    },

    /**
     * The ledgers that this one goes on from, after a restore that lost the end of each, and
     * itself.
     */
    epochs: (workspaceId: string, options?: CallOptions): Promise<Epochs> =>
      call.get(path`/v1/workspaces/${workspaceId}/tlog/epochs`, {}, options),

    /** Has another key sign from now on. Not sent again by itself: each call makes a key. */
    rotateKey: (workspaceId: string, options?: CallOptions): Promise<LogKeyRotated> =>
      call.post(path`/v1/workspaces/${workspaceId}/tlog/keys`, undefined, options),

    /** A tile, such as `0/000`, or a bundle of records, such as `entries/000`. */
    tile: async (workspaceId: string, tile: string, given?: LogOptions): Promise<Uint8Array> => {
      const { log, options } = at(workspaceId, given)
      return await call.bytes(`${log}/tile${path`/${tile}`.replaceAll("%2F", "/")}`, {}, options)
    },

    /**
     * Records of an epoch, one behind the other, 118 bytes each: those after the first `after`, at
     * most `limit`, as far as they are signed.
     */
    records: (
      workspaceId: string,
      epoch: number,
      range?: Optional<RecordsQuery>,
      options?: CallOptions,
    ): Promise<Uint8Array> =>
      call.bytes(
        path`/v1/workspaces/${workspaceId}/tlog/epochs/${String(epoch)}/records`,
        { ...range },
        options,
      ),
  }
}
