import { path, type Call } from "../call.ts"
import type { CallOptions } from "../exchange.ts"
import type { Given } from "../given.ts"
import { listing } from "../listing.ts"
import type {
  CreatedActivityToken,
  CreatedEvidenceToken,
  CreatedPolicyToken,
  CreatedReceiptToken,
  NewActivityToken,
  NewPolicyToken,
  NewToken,
  Token,
  TokenList,
  TokenListQuery,
} from "../wire.ts"

/**
 * Scoped tokens: each gives access to one resource, for people without a key. An answer to a new one is the
 * only one that shows it.
 */
export function tokenCalls(call: Call) {
  const lists = listing<TokenList, Token, Pick<TokenListQuery, "packId">>(
    call,
    "tokens",
    (page) => page.tokens,
  )
  return Object.assign(lists, {
    /** For the receipt alone, also of a private project. */
    forReceipt: (
      workspaceId: string,
      receiptId: string,
      token: Given<NewToken> = {},
      options?: CallOptions,
    ): Promise<CreatedReceiptToken> =>
      call.post(path`/v1/workspaces/${workspaceId}/receipts/${receiptId}/token`, token, options),

    /** For one version of a project's policy, or all. */
    forPolicy: (
      workspaceId: string,
      token: Given<NewPolicyToken> = {},
      options?: CallOptions,
    ): Promise<CreatedPolicyToken> =>
      call.post(path`/v1/workspaces/${workspaceId}/published-policy/token`, token, options),

    /** For the download of a pack, and the receipts in it. */
    forPack: (
      workspaceId: string,
      packId: string,
      token: Given<NewToken> = {},
      options?: CallOptions,
    ): Promise<CreatedEvidenceToken> =>
      call.post(path`/v1/workspaces/${workspaceId}/evidence-packs/${packId}/token`, token, options),

    /** For one person's own activity in a project. */
    forActivity: (
      workspaceId: string,
      token: Given<NewActivityToken>,
      options?: CallOptions,
    ): Promise<CreatedActivityToken> =>
      call.post(path`/v1/workspaces/${workspaceId}/activity/token`, token, options),

    /** Ends a token. */
    revoke: (workspaceId: string, tokenId: string, options?: CallOptions): Promise<void> =>
      call.delete(path`/v1/workspaces/${workspaceId}/tokens/${tokenId}`, options),
  })
}
