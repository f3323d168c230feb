// The documents of the registry, one type per kind. A new kind is a line in `Documents`, for every
// driver.

import {
  parseJson,
  type DestroyedWhy,
  type JsonObject,
  type SequenceRange,
} from "@tallystick/proof"
import type { StoredDocument } from "./offline.ts"

export interface Documents {
  readonly workspace: WorkspaceDocument
  readonly project: ProjectDocument
  readonly "api-key": ApiKeyDocument
  readonly "log-key": LogKeyDocument
  readonly token: TokenDocument
  readonly policy: PolicyDocument
  readonly pack: PackDocument
  readonly verifier: VerifierDocument
  readonly member: MemberDocument
  readonly membership: MembershipDocument
  readonly session: SessionDocument
  readonly setup: SetupDocument
  readonly keyring: KeyringDocument
  readonly destroyed: DestroyedDocument
  readonly "archive-segment": ArchiveSegmentDocument
  readonly erasure: ErasureDocument
  readonly hold: HoldDocument
  readonly "retention-state": RetentionStateDocument
}

export type DocumentKind = keyof Documents
/** Credentials, which a request presents without naming a workspace. */
export type CredentialDocumentKind = "api-key" | "token" | "setup"

export const lanes = ["security", "data", "policy", "operations"] as const
export type Lane = (typeof lanes)[number]
export type Scope = "write" | "read" | "admin"
export type Role = "viewer" | "admin"

export interface WorkspaceSettings {
  readonly policyVisibility: "public" | "private"
  readonly projects: "open" | "closed"
  readonly transparency: "public" | "private"
  readonly hotDays: number
  readonly requirePublishedPolicy: boolean
  readonly personalKeys: readonly string[]
  readonly laneRules: readonly { readonly prefix: string; readonly lane: Lane }[]
  /** The most projects of the workspace. Absent: the service's limit. */
  readonly projectsMax?: number
  /** How long contents are kept: the first rule that matches an entry holds. Absent: for ever. */
  readonly retention?: readonly RetentionRule[]
}

/** Matches an entry that has all that is given. */
export type RetentionRule = {
  readonly projectId?: string
  readonly lane?: Lane
  /** The first segments of an action. */
  readonly action?: string
  readonly days: number
}

export interface WorkspaceDocument extends WorkspaceSettings {
  readonly name: string
  readonly createdAt: string
  /** The exact text that hashes to the ledgerId. */
  readonly genesis: string
  readonly ledgerId: string
  readonly origin: string
  /** The key of `idem`, sealed. Absent: derived from the first secret of the data. */
  readonly idempotency?: string
  /** The former epochs, oldest first; absent if there are none. */
  readonly former?: readonly FormerEpoch[]
}

/** An epoch whose end was lost. */
export interface FormerEpoch extends Pick<WorkspaceDocument, "genesis" | "ledgerId" | "origin"> {
  /** The surviving entries, and the root over them in hex. */
  readonly size: number
  readonly root: string
  /** The last checkpoint that the surviving entries match. */
  readonly checkpoint?: { readonly note: string; readonly signedMs: number }
}

export interface ProjectDocument {
  readonly name: string
  readonly receipts: "private" | "public"
  readonly activityLinks: boolean
  /** The phrases for actions in a person's activity. Absent: there were never any. */
  readonly phrases?: readonly { readonly action: string; readonly text: string }[]
  readonly createdAt: string
  /** The newest version of the project's policy; absent before the first. */
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
   * The private seed, sealed with AES-256-GCM under a key derived from the secret: nonce,
   * ciphertext and tag in base64. Empty once destroyed.
   */
  readonly wrapped: string
  readonly createdAt: string
  /**
   * The last entry before this document was written. The first entry of kind 05 after it announces
   * the key. Absent: the workspace's first key.
   */
  readonly announcedAfter?: number
  /** A newer key was announced. This key signs too until then. */
  readonly overlapUntil?: string
}

/** The resource that a scoped token gives read access to. */
export type TokenBound =
  | { readonly type: "receipt"; readonly receipt: string }
  /** Without a version: every version of the project's policy. */
  | { readonly type: "policy"; readonly projectId: string; readonly version?: number }
  | { readonly type: "activity"; readonly projectId: string; readonly subject: Subject }
  | { readonly type: "evidence"; readonly packId: string }

/** A person as events name them: an id, and the types of actor or target that the id belongs to. */
export interface Subject {
  readonly id: string
  readonly types: readonly string[]
}

/** A scoped token. It ends with its maker. */
export interface TokenDocument {
  readonly bound: TokenBound
  readonly mac: string
  readonly note?: string
  readonly createdAt: string
  readonly expiresAt: string
  readonly revokedAt?: string
  /** `mac` identifies the instance key. */
  readonly minter:
    | { readonly kind: "instance"; readonly mac: string }
    | { readonly kind: "api-key" | "member"; readonly id: string }
}

/**
 * A published version of a project's policy, under the id `<projectId>:<version>`. It never
 * changes.
 */
export interface PolicyDocument {
  readonly policyId: string
  readonly projectId: string
  readonly version: number
  readonly publishedAt: string
  /** The SHA-256 of the RFC 8785 form of `sections`, in hex. */
  readonly sectionHash: string
  readonly sections: readonly JsonObject[]
}

/** The id of a policy's document. Project ids contain no colon. */
export function policyDocumentId(projectId: string, version: number): string {
  return `${projectId}:${version}`
}

/** An evidence pack. The same bytes can be made again from it and the journal. */
export interface PackDocument {
  readonly title: string
  readonly createdAt: string
  /** The sequences of its entries, ascending. */
  readonly sequences: readonly number[]
  readonly projectIds: readonly string[]
  /** The policies that its entries name, if they were published when the pack was made. */
  readonly policies: readonly { readonly projectId: string; readonly version: number }[]
  /** The signed checkpoint that all its proofs lead to. */
  readonly checkpoint: string
  readonly packHash: string
  /** The form of the pack, which never changes: `packForm`. */
  readonly form: number
  /** The id of the verifier that the pack carries. Absent: it carries none. */
  readonly verifier?: string
  /** The entry that records the pack, and a checkpoint that covers the entry. */
  readonly seal?: { readonly sequence: number; readonly checkpoint: string }
}

/**
 * A verifier that packs of the workspace carry. Its id is the SHA-256 of its text, in hex, so that
 * these packs stay the same bytes when the service comes with another one.
 */
export interface VerifierDocument {
  readonly html: string
}

/** A pack in a list: the number of its entries instead of the entries. */
export interface ListedPack extends Omit<PackDocument, "sequences" | "policies"> {
  readonly receiptCount: number
}

/**
 * An account: a person who can sign in, in one realm. The realm is the instance, or the workspace
 * whose admin created the account; the id is derived from realm and e-mail. All accounts are in the
 * workspace `instance`.
 */
export interface MemberDocument {
  readonly email: string
  readonly name?: string
  /** The Argon2id hash under a key that is not in the database, bound to this account. */
  readonly password: string
  /** The index key of a sign-in: the same for all accounts with this e-mail and password. */
  readonly login: string
  readonly createdAt: string
  /** The workspaces that the member may belong to. The membership there decides. */
  readonly workspaces: readonly string[]
  /** The ids of the sessions that may still be open, oldest first. */
  readonly sessions: readonly string[]
  /** The set-up token that can replace the password. */
  readonly resetId?: string
}

/**
 * The membership of a person in the workspace of the document, under the id that the account has or
 * will have.
 */
export interface MembershipDocument {
  readonly email: string
  readonly name?: string
  readonly role: Role
  readonly createdAt: string
  readonly createdBy: string
  /** When the invitation was accepted. Before, the membership gives no rights. */
  readonly joinedAt?: string
  /** The set-up token that accepts the invitation. */
  readonly setupId?: string
}

/** A session, in the workspace `instance`. It is removed when it ends. */
export interface SessionDocument {
  readonly memberIds: readonly string[]
  readonly mac: string
  readonly createdAt: string
  readonly expiresAt: string
}

/**
 * A set-up token: to join the workspace of the document, or, in the workspace `instance`, to set a
 * new password. It is removed when it is used.
 */
export interface SetupDocument {
  readonly memberId: string
  readonly purpose: "join" | "password"
  readonly mac: string
  readonly expiresAt: string
}

/**
 * The keys that outlive former secrets: one document, in the workspace `instance`. It does not
 * exist before the first rotation.
 */
export interface KeyringDocument {
  /** The generation of the secret that it is sealed under, counted from 1. */
  readonly generation: number
  readonly sealed: string
  /** When the rotation to this generation ended; absent during the rotation. */
  readonly endedAt?: string
}

/** The entries that a hold protects from expiry and erasure. */
export type HoldScope =
  /** A filter of entries, in the form of the API. */
  | { readonly filter: JsonObject }
  | { readonly subject: Person }
  | { readonly receiptIds: readonly string[] }

/** Every actor and target with this id, of any type if `types` is absent. */
export interface Person {
  readonly id: string
  readonly types?: readonly string[]
}

export interface HoldDocument {
  readonly name: string
  readonly reason: string
  readonly scope: HoldScope
  readonly createdAt: string
  readonly createdBy: string
  /** Its person was erased: it loses the scope once it is released. */
  readonly forgets?: true
  readonly released?: { readonly at: string; readonly by: string; readonly reason: string }
}

/**
 * One document of a workspace, under the id `state`. Every decision about what may be destroyed
 * changes this document: holds, rules, and each step of expiry. So no step can act on outdated
 * decisions.
 */
export interface RetentionStateDocument {
  /** Holds that were not released. */
  readonly holds: number
  /** The last run of expiry; absent before the first. */
  readonly run?: ExpiryRun
}

/** Its ranges are in the documents of kind `destroyed` that name it. */
export interface ExpiryRun {
  readonly id: string
  /** The first and the last entry whose body it destroys, and how many there are. */
  readonly first: number
  readonly last: number
  readonly entries: number
  /** When all was destroyed. Absent: some content may still exist. */
  readonly doneAt?: string
}

/**
 * The destroyed content of one block of entries, under the block's number (store/destroyed.ts). It
 * commits with the entry that records it, before anything is destroyed.
 */
export interface DestroyedDocument {
  /** Whole bodies, with everything sealed in them: ascending, without overlap. */
  readonly bodies: readonly (SequenceRange & {
    readonly why: DestroyedWhy
    /** The id of the target of the entry that records it. */
    readonly by: string
  })[]
  /** Erased fields of entries that still have their bodies, by their digests, ascending. */
  readonly fields: readonly {
    readonly sequence: number
    readonly digests: readonly string[]
    readonly by: string
  }[]
}

/**
 * An archive file with bodies of entries. A rewritten file gets a new document under a new id, so
 * that a reader of an older list notices the change.
 */
export interface ArchiveSegmentDocument {
  readonly ledgerId: string
  /** The sequences of its first and its last entry. */
  readonly first: number
  readonly last: number
  /** Its name in the archive. */
  readonly file: string
  readonly bytes: number
  /** The SHA-256 of the file, in hex. */
  readonly sha256: string
  /** Length of its lines, unpacked. */
  readonly textBytes: number
}

/** The id of a segment's document. */
export function segmentDocumentId({
  first,
  sha256,
}: Pick<ArchiveSegmentDocument, "first" | "sha256">): string {
  return `${String(first).padStart(12, "0")}-${sha256.slice(0, 16)}`
}

/**
 * `fields`: sealed fields about the person. `entries`: in addition, the whole bodies of the events
 * and consents in which the person is actor or target.
 */
export type ErasureScope = "fields" | "entries"

/** A request to erase a person, and how far it has come (lifetime/erasures.ts). */
export interface ErasureDocument {
  /**
   * `held`: nothing is recorded until its holds are released. `recording`: entries record what will
   * be destroyed. `destroying`: everything is recorded. `done`: everything is destroyed.
   */
  readonly state: "held" | "recording" | "destroying" | "done"
  readonly scope: ErasureScope
  readonly reason: string
  readonly reference?: string
  readonly requestedAt: string
  readonly requestedBy: string
  /**
   * Removed once everything is recorded, if whole entries are erased: the ledger forgets the id.
   */
  readonly subject?: Person
  /** Another erasure has erased whole entries of its subject, which is removed in the same way. */
  readonly forgets?: true
  /** The ids of the holds that it waits for. */
  readonly holds?: readonly string[]
  /** Entries up to this sequence have been looked at. */
  readonly after: number
  /** The number of entries that record the erasure, and of the erased entries and sealed fields. */
  readonly parts: number
  readonly entries: number
  readonly fields: number
  /** Who may have a copy. */
  readonly handedOut: HandedOut
  readonly doneAt?: string
}

/**
 * Copies of a person's content that left the ledger: at most a hundred ids of each kind, and `more`
 * for the number of others.
 */
export interface HandedOut {
  readonly packs: readonly string[]
  readonly tokens: readonly string[]
  /** The receipts of the entries that record them. */
  readonly exports: readonly string[]
  readonly more: number
}

/** The place of a document in lists of its kind, which begin with the newest. */
export interface ListPlace {
  /** The time of creation in milliseconds, which is unique within kind and workspace. */
  readonly created: number
  /** Orders documents of several workspaces that have the same time. */
  readonly id: string
}

export interface Document<K extends DocumentKind = DocumentKind> extends ListPlace {
  readonly kind: K
  readonly workspace: string
  /** Counts from 1. A change names the version that it replaces. */
  readonly version: number
  readonly value: Documents[K]
}

/** A document of a row, by the names of its columns. Its value is text. */
export function storedDocument(row: Readonly<Record<string, unknown>>): StoredDocument {
  return {
    kind: String(row["kind"]),
    workspace: String(row["workspace"]),
    id: String(row["id"]),
    version: Number(row["version"]),
    created: Number(row["created"]),
    value: String(row["value"]),
  }
}

export function documentOf(row: Readonly<Record<string, unknown>>): Document {
  const stored = storedDocument(row)
  // The column is written from a DocumentKind only, and the value with it.
  const kind = stored.kind as DocumentKind
  return { ...stored, kind, value: parseJson(stored.value) as unknown as Documents[DocumentKind] }
}

export type Workspace = Document<"workspace">
export type Account = Document<"member">
export type Membership = Document<"membership">

export interface Listed<K extends DocumentKind = DocumentKind> extends Omit<Document<K>, "value"> {
  readonly value: K extends "pack" ? ListedPack : Documents[K]
}

/** The value of a document as a list shows it. */
export function listedValue(value: Documents[DocumentKind]): Listed["value"] {
  if (!("sequences" in value)) return value
  const { sequences, policies: _, ...pack } = value
  return { ...pack, receiptCount: sequences.length }
}

export type ListedIn<K extends DocumentKind> = K extends "workspace" ? undefined : string

/**
 * Replaces a document of the group's workspace, or removes it (`value` is null), if its version is
 * `version`. 0 means that it must not exist.
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
  // `kind` and `value` match, but TypeScript cannot see that through a type parameter.
  return { kind, id, version, value } as Change
}
