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
  // By kind, then workspace, then id. Promises, so that an answer from here costs no object; a credential's workspace is not known yet.
  const known = new Map<string, Map<string, Promise<Document | undefined>>>()
  let size = 0

  const remember = (shelf: string, id: string, read: () => Promise<Document | undefined>): Promise<Document | undefined> => {
    const documents = known.get(shelf) ?? new Map<string, Promise<Document | undefined>>()
    if (documents.size === 0) known.set(shelf, documents)
    const seen = documents.get(id)
    if (seen !== undefined) return seen
    if (size >= documentsMax) {
      known.clear()
      size = 0
      return read()
    }
    const asked = read()
    documents.set(id, asked)
    size += 1
    // What is not there, or could not be read, is asked for again.
    const forgetIt = () => {
      if (documents.get(id) === asked && documents.delete(id)) size -= 1
    }
    asked.then((document) => document === undefined && forgetIt(), forgetIt)
    return asked
  }

  return {
    // A document's kind is the one that was asked for, so its value has that kind's type.
    get: <K extends DocumentKind>(kind: K, workspace: string, id: string) =>
      remember(shelfOf(kind, workspace), id, () => registry.get(kind, workspace, id)) as Promise<Document<K> | undefined>,
    find: <K extends DocumentKind>(kind: K, id: string) =>
      remember(shelfOf(kind), id, () => registry.find(kind, id)) as Promise<Document<K> | undefined>,
    list: (kind, workspace, before, limit) => registry.list(kind, workspace, before, limit),
    count: (kind, workspace) => registry.count(kind, workspace),
    forget(made) {
      for (const { kind, workspace, id } of made) {
        for (const shelf of [shelfOf(kind, workspace), shelfOf(kind)]) if (known.get(shelf)?.delete(id)) size -= 1
      }
    },
  }
}

function shelfOf(kind: DocumentKind, workspace = ""): string {
  return `${kind}/${workspace}`
}
