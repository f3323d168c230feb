import type { Call } from "../call.ts"
import type { Consent, ConsentAnswer } from "../wire.ts"
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
  }
}
