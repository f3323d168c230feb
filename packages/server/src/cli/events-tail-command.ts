// `tallystick events tail`: prints entries as they are recorded, until it is stopped.

import { TallystickError, type Client } from "@tallystick/client"
import { delay } from "../clock.ts"
import { shownEntry } from "./entry-fields.ts"
import type { Filter } from "./events-list-command.ts"
import { rowPrinter, type Format } from "./rows-output.ts"
import { requireAnswer, userServiceOf, type AskingTerminal } from "./service-calls.ts"
import type { Terminal } from "./terminal.ts"

/** `after` is a sequence. If it is undefined, only new entries are printed. */
export async function tailEvents(
  terminal: Terminal & AskingTerminal,
  workspaceId: string,
  filter: Filter,
  { after, format }: { readonly after: number | undefined; readonly format: Format },
): Promise<never> {
  return await userServiceOf(terminal).ask(async ({ events }) => {
    // A wrong address or key ends the command here, before it begins to retry.
    const newest = await newestIn(events, workspaceId, filter)
    const print = rowPrinter(terminal, format, shownEntry, "usual")
    let last = after ?? newest
    for (let isCut = false; ;) {
      try {
        for await (const entry of events.follow(workspaceId, { ...filter, after: last })) {
          print([entry])
          last = entry.sequence
          isCut = false
        }
      } catch (error) {
        if (!passes(error)) throw error
        if (!isCut) terminal.remark("tallystick: the service does not answer; trying again\n")
        isCut = true
        await delay(retryMs)
      }
    }
  })
}

/** The sequence of the newest entry that could match. Later entries have a higher one. */
async function newestIn(
  events: Client["events"],
  workspaceId: string,
  { projectId = "all", includeSystem = false }: Filter,
): Promise<number> {
  const query = { projectId, includeSystem, storage: "all", limit: 1 } as const
  const { nextCursor } = await events.list(workspaceId, query)
  requireAnswer(typeof nextCursor === "number")
  return nextCursor
}

const retryMs = 1000

/** Whether a retry may help: the service is away or overloaded. */
function passes(error: unknown): boolean {
  if (!(error instanceof TallystickError)) return false
  return error.status === 0
    ? error.code !== "invalid_field"
    : error.status === 429 || error.status >= 500
}
