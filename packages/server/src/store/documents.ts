// What the registry keeps, one type for each kind of document. A new kind is a line in `Documents`,
// for every driver.

import type { JsonObject, PackForm } from "@tallystick/proof"

export interface Documents {
  readonly workspace: WorkspaceDocument
  readonly project: ProjectDocument
  readonly "api-key": ApiKeyDocument
  readonly "log-key": LogKeyDocument
  readonly token: TokenDocument
  readonly policy: PolicyDocument
  readonly pack: PackDocument
  readonly member: MemberDocument
  readonly membership: MembershipDocument
  readonly session: SessionDocument
  readonly setup: SetupDocument
  readonly keyring: KeyringDocument
}

export type DocumentKind = keyof Documents
/** What a request may name without a workspace. */
export type CredentialDocumentKind = "api-key" | "token" | "setup"

export type Lane = "security" | "data" | "policy" | "operations"
export type Scope = "write" | "read" | "admin"
/** What a member is in a workspace. */
export type Role = "viewer" | "admin"

export interface WorkspaceSettings {
  readonly policyVisibility: "public" | "private"
  readonly projects: "open" | "closed"
  readonly transparency: "public" | "private"
  readonly hotDays: number
  readonly requirePublishedPolicy: boolean
  readonly personalKeys: readonly string[]
  readonly laneRules: readonly { readonly prefix: string; readonly lane: Lane }[]
  /** How many projects it may have; absent: what the service's limit says. */
  readonly projectsMax?: number
}

export interface WorkspaceDocument extends WorkspaceSettings {
  readonly name: string
  readonly createdAt: string
  /** The exact text that hashes to the ledgerId. */
  readonly genesis: string
  readonly ledgerId: string
  readonly origin: string
  /** What stands behind `idem`, sealed. Absent: it is made of the data's first secret. */
  readonly idempotency?: string
  /** The ledgers that this one goes on from, oldest first; absent while it goes on from none. */
  readonly former?: readonly FormerEpoch[]
}

/** What was kept of a ledger whose end was lost. */
export interface FormerEpoch {
  readonly genesis: string
  readonly ledgerId: string
  readonly origin: string
  /** The entries of it that were kept, and the root over them in hex. */
  readonly size: number
  readonly root: string
  /** The last of its checkpoints that was kept. */
  readonly checkpoint?: { readonly note: string; readonly signedMs: number }
}

export interface ProjectDocument {
  readonly name: string
  readonly receipts: "private" | "public"
  readonly activityLinks: boolean
  readonly createdAt: string
  /** The newest version of the project's policy; absent while none was published. */
  readonly policyVersion?: number
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
  /**
   * The private seed, sealed by AES-256-GCM under a key made from the service's secret: nonce,
   * ciphertext, tag, in base64. Empty once destroyed.
   */
  readonly wrapped: string
  readonly createdAt: string
  /**
   * The last entry before the key was put down: the first of kind 05 behind it announces the key.
   * Absent: the workspace's first key.
   */
  readonly announcedAfter?: number
  /** Its successor was announced; it signs beside that one until then. */
  readonly overlapUntil?: string
}

/** What a scoped token opens: one thing, for reading. */
export type TokenBound =
  | { readonly type: "receipt"; readonly receipt: string }
  /** Without a version: every version of the project's policy. */
  | { readonly type: "policy"; readonly projectId: string; readonly version?: number }
  | { readonly type: "activity"; readonly projectId: string; readonly subject: Subject }
  | { readonly type: "evidence"; readonly packId: string }

/**
 * A person, as a writer of events names one: an id, and the types of actor or target that it may
 * stand beside.
 */
export interface Subject {
  readonly id: string
  readonly types: readonly string[]
}

/** A scoped token. It lives no longer than whoever made it. */
export interface TokenDocument {
  readonly bound: TokenBound
  readonly mac: string
  readonly note?: string
  readonly createdAt: string
  readonly expiresAt: string
  readonly revokedAt?: string
  /** `mac` tells which instance key it was. */
  readonly minter:
    | { readonly kind: "instance"; readonly mac: string }
    | { readonly kind: "api-key" | "member"; readonly id: string }
}

/**
 * A published version of a project's policy. Its id is `<projectId>:<version>`; it is never
 * changed.
 */
export interface PolicyDocument {
  readonly policyId: string
  readonly projectId: string
  readonly version: number
  readonly publishedAt: string
  /** SHA-256, in hex, of the RFC 8785 form of `sections`. */
  readonly sectionHash: string
  readonly sections: readonly JsonObject[]
}

/** The id of a policy's document. Neither a project's id nor a number has a colon in it. */
export function policyDocumentId(projectId: string, version: number): string {
  return `${projectId}:${version}`
}

/** An evidence pack: enough to make the same bytes again from the journal. */
export interface PackDocument {
  readonly title: string
  readonly createdAt: string
  /** The entries that it holds, by their sequences in order. */
  readonly sequences: readonly number[]
  /** The projects that they belong to. */
  readonly projectIds: readonly string[]
  /**
   * The published policies that its entries name, as far as they were published when it was made.
   */
  readonly policies: readonly { readonly projectId: string; readonly version: number }[]
  /** The signed checkpoint that every proof in it leads to. */
  readonly checkpoint: string
  readonly packHash: string
  /** Which of the forms that packs have had it was made in, and is made in for ever. Absent: 1. */
  readonly form?: PackForm
  /** The entry that records it, and the checkpoint that covers that entry. */
  readonly seal?: { readonly sequence: number; readonly checkpoint: string }
}

/** What a list says of a pack: how many entries it has, and not which. */
export interface ListedPack extends Omit<PackDocument, "sequences" | "policies"> {
  readonly receiptCount: number
}

/**
 * An account: a person who can sign in, as one realm knows them. The realm is the workspace whose
 * admin made it, or the instance; the id is made of both, and of the e-mail. All accounts live in
 * the workspace `instance`.
 */
export interface MemberDocument {
  readonly email: string
  readonly name?: string
  /** What Argon2id makes of it under a key that is not in the database, bound to this account. */
  readonly password: string
  /**
   * Where a sign-in looks for it: the same for all accounts with this e-mail and password. Older
   * accounts have none.
   */
  readonly login?: string
  readonly createdAt: string
  /**
   * The only workspaces that the member can belong to. Whether it still does, the membership there
   * says.
   */
  readonly workspaces: readonly string[]
  /** The ids of the sessions that may still be open, oldest first. */
  readonly sessions: readonly string[]
  /** The id of the set-up token that may replace the password. */
  readonly resetId?: string
}

/**
 * What a member is in the workspace of the document. Its id is the member's, also while nobody has
 * signed in by that name yet.
 */
export interface MembershipDocument {
  readonly email: string
  readonly name?: string
  readonly role: Role
  readonly createdAt: string
  readonly createdBy: string
  /** When the invitation was taken up; before, it gives no rights. */
  readonly joinedAt?: string
  /** The id of the set-up token that takes the invitation up. */
  readonly setupId?: string
}

/**
 * A session of the accounts that one password opened; it lives in the workspace `instance`, and is
 * removed when it ends.
 */
export interface SessionDocument {
  readonly memberIds: readonly string[]
  readonly mac: string
  readonly createdAt: string
  readonly expiresAt: string
}

/**
 * A set-up token: for joining the workspace of the document, or, in the workspace `instance`, for a
 * new password. Removed when it is used.
 */
export interface SetupDocument {
  readonly memberId: string
  readonly purpose: "join" | "password"
  readonly mac: string
  readonly expiresAt: string
}

/**
 * What outlives the secrets that the data has had. There is one, in the workspace `instance`, and
 * none while the first secret holds.
 */
export interface KeyringDocument {
  /** Of the secret that it is sealed under, counted from 1. */
  readonly generation: number
  readonly sealed: string
  /**
   * When the rotation to this generation ended; absent while something may still be sealed under
   * the secret before.
   */
  readonly endedAt?: string
}

/** Where a document stands in the lists of its kind, the newest first. */
export interface ListPlace {
  /** When it was made, in milliseconds; later than all others of its kind and workspace. */
  readonly created: number
  /** Of those that several workspaces made at once, the last comes first. */
  readonly id: string
}

export interface Document<K extends DocumentKind = DocumentKind> extends ListPlace {
  readonly kind: K
  readonly workspace: string
  /** Counts from 1; a change names the version that it replaces. */
  readonly version: number
  readonly value: Documents[K]
}

/** As it stands in a list. */
export interface Listed<K extends DocumentKind = DocumentKind> extends Omit<Document<K>, "value"> {
  readonly value: K extends "pack" ? ListedPack : Documents[K]
}

export type ListedIn<K extends DocumentKind> = K extends "workspace" ? undefined : string

/**
 * Puts a document of the group's workspace, or removes it (`value` null), if it is still at
 * `version`; 0 means that it must not exist.
 */
export type Change = {
  readonly [K in DocumentKind]: {
    readonly kind: K
    readonly id: string
    readonly version: number
    readonly value: Documents[K] | null
  }
}[DocumentKind]

/** The change that creates a document. */
export function created<K extends DocumentKind>(kind: K, id: string, value: Documents[K]): Change {
  return changed({ kind, id, version: 0 }, value)
}

/** The change that gives a document another value; null removes the document. */
export function changed<K extends DocumentKind>(
  { kind, id, version }: Pick<Document<K>, "kind" | "id" | "version">,
  value: Documents[K] | null,
): Change {
  // `kind` and `value` belong together, which TypeScript does not see through a type parameter.
  return { kind, id, version, value } as Change
}
