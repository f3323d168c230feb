// The registry, read from the journal's file.

import type { DatabaseSync } from "node:sqlite"
import { countDocuments } from "../counted-documents.ts"
import type { Registry } from "../store.ts"
import { documentReads } from "./reads.ts"

export function registryOf(journal: DatabaseSync): Registry {
  const documents = documentReads(journal)
  return {
    staleMsMax: 0,
    // A document's kind is the one that was asked for, so its value has that kind's type.
    get: async (kind, workspace, id) => documents.get(kind, workspace, id) as never,
    workspaceOf: async (kind, id) => documents.workspaceOf(kind, id),
    list: async (kind, workspace, before, limit) =>
      documents.list(kind, workspace, before, limit) as never,
    count: (...asked) => countDocuments(async (...some) => documents.countAfter(...some), ...asked),
  }
}
