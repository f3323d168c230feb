// A test aid: what calls write, and how they fail.

import { TallystickError } from "./index.ts"

export const event = {
  workspaceId: "acme",
  projectId: "core",
  action: "billing.invoice.approve",
  actor: { id: "usr_1", type: "user" },
  target: { id: "inv_9", type: "invoice" },
  occurredAt: "2026-01-31T09:30:00Z",
  source: "api",
} as const

/** The error with which a call fails. */
export async function failure(call: Promise<unknown>): Promise<TallystickError> {
  const thrown: unknown = await call.then(
    () => "the call did not fail",
    (error: unknown) => error,
  )
  if (thrown instanceof TallystickError) return thrown
  throw new Error(String(thrown), { cause: thrown })
}
