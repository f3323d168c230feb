// Recomputes an entry of a page, and says what is proven of what it shows.

import { toHex, verifyReceipt, type Verdict, type Verify } from "@tallystick/proof"
import type { ListedEntry } from "@tallystick/client/wire"
import { goneText } from "./gone-content.ts"
import type { Recomputed } from "./recompute.ts"

export function recomputeEntry(
  event: ListedEntry,
  trustedKeys: readonly string[],
  verify?: Verify,
): Recomputed {
  const { proof, disclosures, ...entry } = event
  const verdict = verifyReceipt(
    { entry, proof, disclosures },
    { trustedKeys, ...(verify && { verify }) },
  )
  const { record, eventHash, checkpoint } = verdict
  return {
    state: stateOf(verdict, event),
    ...(eventHash !== undefined && { hash: eventHash }),
    ...(record !== undefined && { previousHash: toHex(record.previousHash) }),
    ...(checkpoint !== undefined && { checkpointSize: checkpoint.size }),
    ...(verdict.verdict === "refuted" && {
      failure: verdict.field ?? verdict.failure,
      expected: verdict.expected,
      found: verdict.found,
    }),
  }
}

function stateOf(verdict: Verdict, event: ListedEntry): Recomputed["state"] {
  // The service compares it with more than this page can.
  if (verdict.verdict === "refuted" || event.integrity === "broken") return "broken"
  // Without the content, only an entry that shows none is proven.
  if (verdict.content === undefined && goneText(event) === undefined) return "unproven"
  if (verdict.verdict === "genuine") return "sealed"
  switch (verdict.because) {
    // Of an entry without its content, all that is left is intact.
    case "content_missing":
    case "key_not_trusted":
      return "sealed"
    case "not_sealed":
      return "pending"
    case "proof_missing":
      return "unproven"
  }
}
