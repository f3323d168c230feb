// `tallystick erasures`: lists, shows and requests the erasures of a workspace through the running
// service, with the instance key. Each request is an entry of the ledger.

import type { Erasure, HandedOut, NewErasure } from "@tallystick/client"
import { asked, type AskingTerminal } from "./service-calls.ts"
import { tableOf } from "./table.ts"
import { counted, jsonText } from "./terminal.ts"

export async function listErasures(
  terminal: AskingTerminal,
  workspaceId: string,
  json: boolean,
): Promise<void> {
  const all = await asked(terminal, ({ erasures }) =>
    Array.fromAsync(erasures.each(workspaceId, { limit: 100 })),
  )
  terminal.say(json ? jsonText(all) : tableOf(rowsOf(all)))
}

export async function showErasure(
  terminal: AskingTerminal,
  workspaceId: string,
  erasureId: string,
): Promise<void> {
  terminal.say(
    jsonText(await asked(terminal, ({ erasures }) => erasures.get(workspaceId, erasureId))),
  )
}

/** Prints the id of the erasure alone on standard output, so that a script can take it. */
export async function requestErasure(
  terminal: AskingTerminal,
  workspaceId: string,
  { dryRun = false, ...request }: NewErasure,
): Promise<void> {
  if (dryRun) {
    const preview = await asked(terminal, ({ erasures }) => erasures.preview(workspaceId, request))
    terminal.remark(`tallystick: ${foundIn(preview)} would be erased; nothing was.\n`)
    sayRest(terminal, preview)
    return
  }
  const made = await asked(terminal, ({ erasures }) => erasures.request(workspaceId, request))
  terminal.say(`${made.erasureId}\n`)
  terminal.remark(
    `tallystick: ${foundIn(made)} will be erased; \`tallystick erasures show\` says when it is done.\n`,
  )
  sayRest(terminal, made)
}

function foundIn({ entries, fields }: Pick<Erasure, "entries" | "fields">): string {
  return `${counted(fields, "sealed field")} in ${counted(entries, "entry", "entries")}`
}

/** The holds that the erasure waits for, and the copies that it cannot reach. */
function sayRest(
  { remark }: AskingTerminal,
  { holds = [], handedOut }: Pick<Erasure, "holds" | "handedOut">,
): void {
  if (holds.length > 0)
    remark(`tallystick: it waits until these holds are released: ${holds.join(", ")}\n`)
  const copies = copiesIn(handedOut)
  if (copies > 0)
    remark(
      `tallystick: packs, tokens and exports that had some of it: ${copies}. What was handed out cannot be recalled.\n`,
    )
}

function copiesIn({ packs, tokens, exports, more }: HandedOut): number {
  return packs.length + tokens.length + exports.length + more
}

function rowsOf(all: readonly Erasure[]): readonly (readonly string[])[] {
  const rows = all.map(
    ({ erasureId, state, scope, entries, fields, requestedAt, doneAt = "-", reference = "-" }) => [
      erasureId,
      state,
      scope,
      String(entries),
      String(fields),
      requestedAt,
      doneAt,
      reference,
    ],
  )
  return [
    ["ERASURE", "STATE", "SCOPE", "ENTRIES", "FIELDS", "REQUESTED", "DONE", "REFERENCE"],
    ...rows,
  ]
}
