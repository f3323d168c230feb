// What the registry keeps, one type for each kind of document. A new kind is a line in `Documents`, for every driver.

export interface Documents {
  readonly workspace: WorkspaceDocument
  readonly project: ProjectDocument
  readonly "api-key": ApiKeyDocument
  readonly "log-key": LogKeyDocument
}

export type DocumentKind = keyof Documents

export type Lane = "security" | "data" | "policy" | "operations"
export type Scope = "write" | "read" | "admin"

export interface WorkspaceSettings {
  readonly policyVisibility: "public" | "private"
  readonly projects: "open" | "closed"
  readonly transparency: "public" | "private"
  readonly hotDays: number
  readonly requirePublishedPolicy: boolean
  readonly personalKeys: readonly string[]
  readonly laneRules: readonly { readonly prefix: string; readonly lane: Lane }[]
}

export interface WorkspaceDocument extends WorkspaceSettings {
  readonly name: string
  readonly createdAt: string
  /** The exact text that hashes to the ledgerId. */
  readonly genesis: string
  readonly ledgerId: string
  readonly origin: string
}

export interface ProjectDocument {
  readonly name: string
  readonly receipts: "private" | "public"
  readonly activityLinks: boolean
  readonly createdAt: string
}

export interface ApiKeyDocument {
  readonly name: string
  readonly scopes: readonly Scope[]
  readonly projectIds?: readonly string[]
  /** HMAC-SHA-256 of the secret under the service's pepper, in hex. */
  readonly mac: string
  readonly createdAt: string
  readonly createdBy: string
  readonly expiresAt?: string
  readonly revokedAt?: string
}

/** A key that signs a workspace's checkpoints. Its id is the note key id in hex. */
export interface LogKeyDocument {
  readonly vkey: string
  /** The private seed, sealed by AES-256-GCM under a key made from the service's secret: nonce, ciphertext, tag, in base64. */
  readonly wrapped: string
  readonly createdAt: string
  /** The key signs trees from this size on. */
  readonly fromSize: number
}
