import { path, type Call } from "../call.ts"
import type { CallOptions } from "../exchange.ts"
import type { Consent, ConsentAnswer, ConsentLookup, ConsentsPage } from "../wire.ts"
import { writeOne, type WriteOptions, type Writing, type Written } from "../write.ts"

export function consentCalls(call: Call, writing: Writing) {
  return {
    /** Records that a person agreed to a version of a policy. */
    record: (consent: Consent, options?: WriteOptions): Promise<Written> =>
      writeOne(
        call,
        writing,
        "/v1/consents",
        consent,
        ({ receipt }: ConsentAnswer) => receipt,
        options,
      ),

    /** The consents of one person, newest first. Each call is recorded in the ledger. */
    lookUp: (
      workspaceId: string,
      asked: ConsentLookup,
      options?: CallOptions,
    ): Promise<ConsentsPage> =>
      call.json(
        {
          method: "POST",
          path: path`/v1/workspaces/${workspaceId}/consents/lookup`,
          body: asked,
        },
        options,
      ),
  }
}
