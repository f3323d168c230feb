import { verifyReceipt, type Verdict } from "@tallystick/proof"
import { path, type Call } from "../call.ts"
import { TallystickError } from "../error.ts"
import type { CallOptions } from "../exchange.ts"
import { objectOf } from "../given.ts"
import { vkeysOf } from "../trusted-keys.ts"
import type { ReceiptAnswer } from "../wire.ts"

export interface VerifyOptions extends CallOptions {
  /** Vkeys of the log that you got before, and keep. Over those of the client. */
  readonly trustedKeys?: readonly string[] | undefined
}

export function receiptCalls(call: Call, usualKeys: readonly string[]) {
  const get = (
    workspaceId: string,
    receiptId: string,
    options?: CallOptions,
  ): Promise<ReceiptAnswer> =>
    call.get(path`/v1/workspaces/${workspaceId}/receipts/${receiptId}`, {}, options)
  const proof = (workspaceId: string, receiptId: string, options?: CallOptions): Promise<string> =>
    call.text(path`/v1/workspaces/${workspaceId}/receipts/${receiptId}/proof`, options)
  return {
    /** A receipt, the entry behind it, and what is needed to check them without the service. */
    get,

    /**
     * The proof as a text of its own, for any reader of transparency logs. Waits until the log is
     * signed up to the entry.
     */
    proof,

    /**
     * Gets a receipt and checks it here: nothing that the service says of itself is believed, only
     * bytes, hashes, and signatures by the trusted keys. Without any, the best verdict is
     * `unconfirmed`.
     */
    verify: async (
      workspaceId: string,
      receiptId: string,
      given?: VerifyOptions,
    ): Promise<Verdict> => {
      const { trustedKeys: keys = usualKeys, ...options } = objectOf(given, "options")
      const trustedKeys = vkeysOf(keys)
      const check = async (): Promise<Verdict> =>
        verifyReceipt(await get(workspaceId, receiptId, options), {
          receiptId,
          workspaceId,
          trustedKeys,
        })
      const verdict = await check()
      if (verdict.verdict !== "unconfirmed" || verdict.because !== "not_sealed") return verdict
      // The service signs its log up to here when it is asked for the proof; that of an epoch that
      // ended is signed no more.
      const isSealed = await proof(workspaceId, receiptId, options).then(
        () => true,
        unlessThereIsNone,
      )
      return isSealed ? await check() : verdict
    },
  }
}

function unlessThereIsNone(error: unknown): false {
  if (error instanceof TallystickError && error.code === "not_found") return false
  throw error
}
