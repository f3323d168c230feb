import { definedOf, verifyPack, type PackVerdict } from "@tallystick/proof"
import { path, type Call } from "../call.ts"
import { callOptionsOf, type CallOptions } from "../exchange.ts"
import { objectOf, type Given, type Optional } from "../given.ts"
import { vkeysOf } from "../trusted-keys.ts"
import { listing } from "../listing.ts"
import type {
  EventsPage,
  NewPack,
  Pack,
  PackDownload,
  PackEntriesQuery,
  PackList,
} from "../wire.ts"
import type { VerifyOptions } from "./receipts.ts"

/** Making and downloading a pack of ten thousand entries takes a while. */
function patient(options: CallOptions | undefined): CallOptions {
  const given = definedOf(callOptionsOf(options))
  return { timeoutMs: 600_000, attemptTimeoutMs: 300_000, ...given }
}

export function packCalls(call: Call, usualKeys: readonly string[]) {
  const download = async (
    workspaceId: string,
    packId: string,
    options?: CallOptions,
  ): Promise<Uint8Array> =>
    await call.bytes(downloadPath(workspaceId, packId), {}, patient(options))
  const lists = listing(call, "evidence-packs", (page: PackList) => page.packs)
  return Object.assign(lists, {
    /** Makes a pack of entries, which can be verified without the service. */
    create: async (
      workspaceId: string,
      pack: Given<NewPack>,
      options?: CallOptions,
    ): Promise<Pack> =>
      await call.post(path`/v1/workspaces/${workspaceId}/evidence-packs`, pack, patient(options)),

    /** The data about a pack, without its content. */
    get: (workspaceId: string, packId: string, options?: CallOptions): Promise<Pack> =>
      call.get(path`/v1/workspaces/${workspaceId}/evidence-packs/${packId}`, {}, options),

    /** The entries of the pack, in their present state. */
    entries: (
      workspaceId: string,
      packId: string,
      query: Optional<PackEntriesQuery> = {},
      options?: CallOptions,
    ): Promise<EventsPage> =>
      call.get(
        path`/v1/workspaces/${workspaceId}/evidence-packs/${packId}/entries`,
        { ...query },
        options,
      ),

    /** The pack as a ZIP. */
    download,

    /** The pack as JSON. */
    downloadJson: async (
      workspaceId: string,
      packId: string,
      options?: CallOptions,
    ): Promise<PackDownload> =>
      await call.get(downloadPath(workspaceId, packId), { format: "json" }, patient(options)),

    /** Downloads a pack and checks it here, from its bytes alone, and that it is this pack. */
    verify: async (
      workspaceId: string,
      packId: string,
      given?: VerifyOptions,
    ): Promise<PackVerdict> => {
      const { trustedKeys: keys = usualKeys, ...options } = objectOf(given, "options")
      const trustedKeys = vkeysOf(keys)
      const pack = await download(workspaceId, packId, options)
      return verifyPack(pack, { trustedKeys, packId, workspaceId })
    },
  })
}

function downloadPath(workspaceId: string, packId: string): string {
  return path`/v1/workspaces/${workspaceId}/evidence-packs/${packId}/download`
}
