import type { ServiceEndpoint } from "./service.ts"

/** The groups of endpoints, in the order in which the description shows them. */
export const tags = {
  Writing: "Recording events and consents.",
  Reading: "Searching entries, and entries about one person.",
  Receipts: "Verifying recorded entries.",
  Log: "The transparency log of a workspace, as C2SP tlog-tiles. It holds no content.",
  Policies: "Published versions of policies, which never change.",
  "Evidence packs": "Collections of entries for others, who can verify them without the service.",
  Erasures: "Destroying the data of a person, while all proofs stay valid.",
  Tokens: "Scoped tokens: each gives access to one resource, for people without a key.",
  "API keys": "Credentials of programs.",
  Members: "People, and their sessions.",
  Workspaces: "Workspaces and their projects.",
  Retention: "How long contents are kept, and holds that keep them longer.",
  Service: "The service itself.",
} as const

export type Tag = keyof typeof tags

export type TaggedEndpoint = ServiceEndpoint & { readonly tag: Tag }

export function tagged(tag: Tag, endpoints: readonly ServiceEndpoint[]): readonly TaggedEndpoint[] {
  return endpoints.map((endpoint) => ({ ...endpoint, tag }))
}
