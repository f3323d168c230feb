// All documents of a kind, page by page, newest first.

import type { DocumentKind, ListedIn, Listed, ListPlace } from "./documents.ts"
import type { Registry } from "./store.ts"

const pageLength = 1000

export async function* every<K extends DocumentKind>(
  registry: Pick<Registry, "list">,
  kind: K,
  workspace: ListedIn<K>,
): AsyncGenerator<Listed<K>> {
  for (let before: ListPlace | undefined; ;) {
    const page = await registry.list(kind, workspace, before, pageLength)
    yield* page
    const last = page.at(-1)
    if (last === undefined) return
    before = last
  }
}
