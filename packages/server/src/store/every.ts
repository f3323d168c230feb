// All documents of a kind, page by page, newest first.

import type { DocumentKind } from "./documents.ts"
import type { Listed, Registry } from "./store.ts"

const pageLength = 1000

/** Without a workspace: those of all. */
export async function* every<K extends DocumentKind>(
  registry: Pick<Registry, "list">,
  kind: K,
  workspace: string | undefined,
): AsyncGenerator<Listed<K>> {
  for (let before = Number.MAX_SAFE_INTEGER; ;) {
    const page = await registry.list(kind, workspace, before, pageLength)
    yield* page
    const last = page.at(-1)
    if (last === undefined) return
    before = last.serial
  }
}
