// Keeps the documents that requests ask for again and again. A change that this program made is seen at once.

import type { DocumentKind } from "./documents.ts"
import type { Change, Document, Registry } from "./store.ts"

/** Beyond this many documents everything is forgotten and read again: a bound, not a policy. */
const documentsMax = 100_000

export interface CachedRegistry extends Registry {
  /** These changes are on the disk: what was known of their documents is not true any more. */
  forget(changes: readonly Change[]): void
}

export function cacheRegistry(registry: Registry): CachedRegistry {
  const known = new Map<string, Document>()
  // An answer that was asked for before a change must not be remembered after it.
  let changes = 0

  const remember = async (key: string, read: () => Promise<Document | undefined>): Promise<Document | undefined> => {
    const seen = known.get(key)
    if (seen !== undefined) return seen
    const before = changes
    const document = await read()
    if (document !== undefined && before === changes) {
      if (known.size >= documentsMax) known.clear()
      known.set(key, document)
    }
    return document
  }

  return {
    // A document's kind is the one that was asked for, so its value has that kind's type.
    get: <K extends DocumentKind>(kind: K, workspace: string, id: string) =>
      remember(`${kind}/${workspace}/${id}`, () => registry.get(kind, workspace, id)) as Promise<Document<K> | undefined>,
    find: <K extends DocumentKind>(kind: K, id: string) =>
      remember(`${kind}//${id}`, () => registry.find(kind, id)) as Promise<Document<K> | undefined>,
    list: (kind, workspace, before, limit) => registry.list(kind, workspace, before, limit),
    forget(made) {
      changes += 1
      for (const { kind, workspace, id } of made) {
        known.delete(`${kind}/${workspace}/${id}`)
        known.delete(`${kind}//${id}`)
      }
    },
  }
}
