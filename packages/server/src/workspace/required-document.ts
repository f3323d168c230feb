// Looks up a document that the caller named.

import { LedgerError } from "../error.ts"
import type { Document } from "../store/documents.ts"
import type { Registry } from "../store/store.ts"

const nouns = {
  workspace: "workspace",
  project: "project",
  member: "account",
  membership: "member",
  "api-key": "API key",
  token: "token",
  policy: "policy",
  pack: "evidence pack",
  erasure: "erasure",
  hold: "hold",
} as const

/** Throws `not_found` if the document does not exist. */
export async function required<K extends keyof typeof nouns>(
  registry: Pick<Registry, "get">,
  kind: K,
  workspace: string,
  id: string,
): Promise<Document<K>> {
  const document = await registry.get(kind, workspace, id)
  if (document === undefined) throw new LedgerError("not_found", `there is no such ${nouns[kind]}`)
  return document
}
