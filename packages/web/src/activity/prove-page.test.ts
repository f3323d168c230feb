import assert from "node:assert/strict"
import test from "node:test"
import type { ActivityPage } from "@tallystick/client/wire"
import { genuineEntry, logKey, withoutBody } from "../../../../test/shown-entry.ts"
import { provePage } from "./prove-page.ts"

test("an entry is proven only by its content and a checkpoint", () => {
  const { proof } = genuineEntry
  const events = [
    genuineEntry,
    withoutBody(),
    withoutBody({}, false),
    { ...genuineEntry, proof: proof && { ...proof, tlogProof: null } },
    { ...genuineEntry, action: "billing.invoice.reject" },
  ]
  // Nothing else of the page is used.
  const page = { events, subject: "usr_2" } as unknown as ActivityPage
  for (const trustedKeys of [[], [logKey]])
    assert.deepEqual(
      provePage(page, trustedKeys).map(({ state }) => state),
      ["sealed", "unproven", "unproven", "pending", "broken"],
    )
})
