// Has a copy of a ledger go on as the ledger, if nothing that was signed would be lost by it: then it is the same history, and nobody can
// tell. Where something was lost, going on would make a second history under the same name, and nothing is changed.

import { allWorkspaces } from "./check-store.ts"
import { lossOf, rehash, type Rehashed } from "./rehash.ts"
import { readHeads } from "./store/heads.ts"
import { openStopped } from "./store/open.ts"

export type Resumed =
  | { readonly kind: "resumed"; readonly workspaces: number; readonly entries: number; readonly strangers: readonly string[] }
  /** It was no copy, and has all that was signed. */
  | { readonly kind: "needless" }
  | { readonly kind: "refused"; readonly reasons: readonly string[] }

export async function resume(data: string, headsPath: string, progress: (workspace: string, done: number) => void): Promise<Resumed> {
  const store = openStopped(data)
  try {
    const { heads } = readHeads(headsPath)
    const workspaces = await allWorkspaces(store.registry)
    const all: Rehashed[] = []
    for (const workspace of workspaces) all.push(await rehash(store.journal, workspace, heads.get(workspace.value.origin), progress))
    const reasons = all
      .map((one) => one.broken ?? lossOf(one) ?? (store.isCopy ? doubtOf(one) : undefined))
      .filter((one) => one !== undefined)
    if (reasons.length > 0) return { kind: "refused", reasons }
    if (!store.isCopy) return { kind: "needless" }
    store.takeOffMark()
    const known = new Set(workspaces.map(({ value }) => value.origin))
    return {
      kind: "resumed",
      workspaces: all.length,
      entries: all.reduce((sum, { entries }) => sum + entries, 0),
      strangers: [...heads.keys()].filter((origin) => !known.has(origin)),
    }
  } finally {
    await store.close()
  }
}

/** A copy goes on from exactly what was signed last: whoever cannot say what that was cannot say either that nothing is missing. */
function doubtOf({ workspace, entries, signed, standing }: Rehashed): string | undefined {
  if (signed === undefined) return `the heads file knows nothing of workspace ${workspace}`
  return standing === "equal"
    ? undefined
    : `workspace ${workspace} has ${entries} entries, and the heads file knows of ${signed.size}: it is older than the copy, or of another service`
}
