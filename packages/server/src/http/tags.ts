/** The groups of endpoints, in the order in which the description shows them. */
export const tags = {
  Writing: "What happened, and who agreed to what.",
  Reading: "Finding entries, and what concerns one person.",
  Receipts: "Checking what was recorded.",
  Log: "The transparency log of a workspace, as C2SP tlog-tiles. It holds no content.",
  Policies: "Published versions of policies, which never change.",
  "Evidence packs": "Entries put together for somebody else, to be checked without the service.",
  Erasures: "Destroying what the ledger has about a person, so that it stays provable.",
  Tokens: "Scoped tokens: each opens one thing, for somebody who has no key.",
  "API keys": "Credentials of programs.",
  Members: "People, and their sessions.",
  Workspaces: "Workspaces and their projects.",
  Retention: "How long contents are kept, and what keeps them longer.",
  Service: "The service itself.",
} as const

export type Tag = keyof typeof tags
