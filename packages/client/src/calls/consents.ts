import { path, type Call } from "../call.ts"
import type { CallOptions } from "../exchange.ts"
import type { Given, Optional } from "../given.ts"
import type {
  Consent,
  ConsentAnswer,
  ConsentLookup,
  ConsentsPage,
  ConsentState,
  ConsentStateQuery,
  ConsentSummary,
  ConsentSummaryQuery,
  ConsentWithdrawal,
} from "../wire.ts"
import { writeOne, type WriteOptions, type Writing, type Written } from "../write.ts"

export type ConsentStateAsked = Optional<ConsentStateQuery> & Pick<ConsentStateQuery, "subject">

export function consentCalls(call: Call, writing: Writing) {
  return {
    /** Records that a person agreed to a version of a policy. */
    record: (consent: Given<Consent>, options?: WriteOptions): Promise<Written> =>
      writeOne(
        call,
        writing,
        "/v1/consents",
        consent,
        ({ receipt }: ConsentAnswer) => receipt,
        options,
      ),

    /** Records that a person agrees no more. */
    withdraw: (withdrawal: Given<ConsentWithdrawal>, options?: WriteOptions): Promise<Written> =>
      writeOne(
        call,
        writing,
        "/v1/consents/withdrawals",
        withdrawal,
        ({ receipt }: ConsentAnswer) => receipt,
        options,
      ),

    /**
     * Whether a person's consent stands, or stood at a time. Each call is recorded in the ledger.
     */
    state: (
      workspaceId: string,
      asked: ConsentStateAsked,
      options?: CallOptions,
    ): Promise<ConsentState> =>
      call.get(path`/v1/workspaces/${workspaceId}/consents`, { ...asked }, options),

    /** How many consents were given and withdrawn, by version, mode, surface and day. */
    summary: (
      workspaceId: string,
      asked: Optional<ConsentSummaryQuery> = {},
      options?: CallOptions,
    ): Promise<ConsentSummary> =>
      call.get(path`/v1/workspaces/${workspaceId}/consents/summary`, { ...asked }, options),

    /** The consents of one person, newest first. Each call is recorded in the ledger. */
    lookUp: (
      workspaceId: string,
      asked: Given<ConsentLookup>,
      options?: CallOptions,
    ): Promise<ConsentsPage> =>
      call.post(path`/v1/workspaces/${workspaceId}/consents/lookup`, asked, options),
  }
}
