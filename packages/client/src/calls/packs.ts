import { verifyPack, type PackVerdict } from "@tallystick/proof"
import { path, type Call } from "../call.ts"
import type { CallOptions } from "../exchange.ts"
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

/**
 * A pack of ten thousand entries takes the service a while to make, and a line a while to carry.
 */
const patient: CallOptions = { timeoutMs: 600_000, attemptTimeoutMs: 300_000 }

export function packCalls(call: Call, usualKeys: readonly string[]) {
  const { list, each } = listing(call, "evidence-packs", (page: PackList) => page.packs)
  const download = (
    workspaceId: string,
    packId: string,
    options?: CallOptions,
  ): Promise<Uint8Array> => call.bytes(downloading(workspaceId, packId), { ...patient, ...options })
  return {
    /** Puts entries together in a pack, which can be checked without the service. */
    create: (workspaceId: string, pack: NewPack, options?: CallOptions): Promise<Pack> =>
      call.json(
        { method: "POST", path: path`/v1/workspaces/${workspaceId}/evidence-packs`, body: pack },
        { ...patient, ...options },
      ),

    list,
    each,

    /** What is known of a pack, without its content. */
    get: (workspaceId: string, packId: string, options?: CallOptions): Promise<Pack> =>
      call.json(
        { method: "GET", path: path`/v1/workspaces/${workspaceId}/evidence-packs/${packId}` },
        options,
      ),

    /** What it is made of, as the ledger has it now. */
    entries: (
      workspaceId: string,
      packId: string,
      query: Partial<PackEntriesQuery> = {},
      options?: CallOptions,
    ): Promise<EventsPage> =>
      call.json(
        {
          method: "GET",
          path: path`/v1/workspaces/${workspaceId}/evidence-packs/${packId}/entries`,
          query: { ...query },
        },
        options,
      ),

    /** The pack as a ZIP. */
    download,

    /** The pack as JSON. */
    downloadJson: (
      workspaceId: string,
      packId: string,
      options?: CallOptions,
    ): Promise<PackDownload> =>
      call.json(
        { ...downloading(workspaceId, packId), query: { format: "json" } },
        { ...patient, ...options },
      ),

    /** Downloads a pack and checks it here, from its bytes alone. */
    verify: async (
      workspaceId: string,
      packId: string,
      { trustedKeys = usualKeys, ...options }: VerifyOptions = {},
    ): Promise<PackVerdict> =>
      verifyPack(await download(workspaceId, packId, options), { trustedKeys }),
  }
}

function downloading(workspaceId: string, packId: string) {
  return {
    method: "GET",
    path: path`/v1/workspaces/${workspaceId}/evidence-packs/${packId}/download`,
  } as const
}
