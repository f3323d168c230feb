// The types of the JSON in every request and answer, for client and server. The compiler checks
// that the server's shapes are equal to them.
//
// Enumerations in answers are open: a later version may add a value, so a client must expect a
// string that it does not know.

import type { RepeatedFields } from "@tallystick/proof"

/** The values known today of an enumeration that may grow; other strings are possible. */
export type Open<Known extends string> = Known | (string & {})

/**
 * A point in time as `2026-01-31T09:30:00.250Z` or with an offset such as `+02:00`; upper or lower
 * case `T` and `Z`, up to nine digits of a second.
 */
export type Time = string

/** Category of an action, derived from its name and fixed when the entry is recorded. */
export type Lane = "security" | "data" | "policy" | "operations"

/** Storage tier of an entry, by its age. */
export type StorageClass = "hot" | "archive"

/** Origin of an event, as its writer states. */
export type Source = "api" | "automation" | "dashboard" | "system"

/** Kind of an entry. Clients write events and consents; only the service writes the others. */
export type Kind =
  | "event"
  | "consent"
  | "policy"
  | "erasure"
  | "key"
  | "anchor"
  | "retention"
  | "admin"

/**
 * Result of checking an entry; all but `broken` are good. `pending`: no signed checkpoint covers it
 * yet. `erased`, `expired`: the content was removed on purpose, and the hash holds.
 */
export type Integrity = "verified" | "pending" | "erased" | "expired" | "broken"

// Writing -----------------------------------------------------------------------------------------

/**
 * Who did it. May carry further members of the writer's own, which are kept, hashed and returned.
 */
export interface Actor {
  readonly id: string
  readonly type: string
  readonly email?: string
  readonly [further: string]: unknown
}

/**
 * What it was done to. May carry further members of the writer's own, which are kept, hashed and
 * returned.
 */
export interface Target {
  readonly id: string
  readonly type: string
  readonly name?: string
  readonly [further: string]: unknown
}

/** Further data about an event, in members of the writer's own. */
export interface Metadata {
  /** Receipts of entries that this one belongs to. */
  readonly relatedReceiptIds?: readonly string[]
  readonly [further: string]: unknown
}

/** The body of `POST /v1/events`: something happened. */
export interface AuditEvent extends RepeatedFields {
  readonly actor: Actor
  readonly target: Target
  readonly source: Source
  readonly metadata?: Metadata
  /** Whether the actor and target see it in their own activity. Absent: they do not. */
  readonly userVisible?: boolean
}

/** One event of a batch, with the key that makes a retry safe. */
export interface BatchItem extends AuditEvent {
  readonly idempotencyKey: string
}

/** The body of `POST /v1/events/batch`: up to 1,000 events. */
export interface Batch {
  readonly events: readonly BatchItem[]
}

/** Result for one event of a batch: its receipt, or an `error` if it was not recorded. */
export type BatchResult = { readonly receipt: Receipt; readonly replayed?: boolean } | Problem

/** The answer to a batch: one result for each event, in their order. */
export interface BatchAnswer {
  readonly results: readonly BatchResult[]
}

/** The person who gave a consent. */
export interface Subject {
  readonly id: string
  readonly email: string
}

/** Further data about a consent. It may not repeat the consent's own fields. */
export interface ConsentMetadata {
  readonly mode?: never
  readonly surface?: never
  readonly policyVersion?: never
  readonly relatedReceiptIds?: readonly string[]
  readonly [further: string]: unknown
}

/** The body of `POST /v1/consents`: a person agreed to a version of a policy. */
export interface Consent {
  readonly workspaceId: string
  readonly subject: Subject
  readonly mode: "explicit" | "implicit"
  readonly policyVersion: number
  /** Where the person agreed, such as `sign-up form`. */
  readonly surface: string
  /** Absent: `core`. */
  readonly projectId?: string
  readonly metadata?: ConsentMetadata
}

/** The answer to a consent. */
export interface ConsentAnswer {
  readonly receipt: Receipt
}

/** The body of `POST /v1/consents/withdrawals`: a person withdraws a consent. */
export interface ConsentWithdrawal {
  readonly workspaceId: string
  /** The `id` that the consent named. */
  readonly subject: { readonly id: string; readonly email?: string }
  /** This version and all earlier ones. Absent: every version. */
  readonly policyVersion?: number
  /** Where the person withdrew, such as `account settings`. */
  readonly surface: string
  /** Absent: `core`. */
  readonly projectId?: string
  readonly metadata?: ConsentMetadata
}

/** The query of `GET …/consents`. */
export interface ConsentStateQuery {
  /** The id of the person, exactly as in the consents. */
  readonly subject: string
  readonly projectId: string
  /** Absent: now. */
  readonly at?: Time
  /** The reason of the look-up, which is recorded with it. */
  readonly reason?: string
}

/** Whether a person's consent was valid at a time, and the entries that prove it, oldest first. */
export interface ConsentState extends EventsPage {
  readonly workspaceId: string
  readonly projectId: string
  readonly subject: string
  /** The time of the state: the requested one, or now if that is earlier. */
  readonly at: Time
  /** `none`: neither given nor withdrawn. */
  readonly state: "given" | "withdrawn" | "none"
  /**
   * The version of the valid consent, or else of the last one that was given, or else of the
   * withdrawal.
   */
  readonly policyVersion?: number
  readonly mode?: string
  /** From the decisive entry: that consent, or the withdrawal. */
  readonly surface?: string
  readonly receipt?: string
  /** When that entry was recorded. */
  readonly since?: Time
  /** The version `policyVersion`, if it was published at the time `at`. */
  readonly publishedAt?: Time
  readonly sectionHash?: string
  readonly sections?: readonly PolicySection[]
  /** The receipt of the entry that records this look-up. */
  readonly lookupReceiptId: string
}

/** The query of `GET …/consents/summary`. */
export interface ConsentSummaryQuery {
  readonly projectId: string
  readonly from?: Time
  readonly to?: Time
}

/** How many consents were given and withdrawn. */
export interface ConsentCount {
  readonly given: number
  readonly withdrawn: number
}

/** Exact counts of consents, without persons. */
export interface ConsentSummary extends ConsentCount {
  readonly workspaceId: string
  readonly projectId: string
  /** In order; the withdrawals of every version last. */
  readonly versions: readonly VersionConsents[]
  readonly modes: readonly { readonly mode: string; readonly given: number }[]
  /** The 1,000 commonest ones. */
  readonly surfaces: readonly SurfaceConsents[]
  /** The days with consents or withdrawals, in order. */
  readonly days: readonly DayConsents[]
}

export interface VersionConsents extends ConsentCount {
  /** null: every version. */
  readonly policyVersion: number | null
}

export interface SurfaceConsents extends ConsentCount {
  /** In lower case. */
  readonly surface: string
}

export interface DayConsents extends ConsentCount {
  /** A day of UTC, such as `2026-01-31`. */
  readonly day: string
}

/** The body of `POST …/consents/lookup`. */
export interface ConsentLookup {
  /** The id of the person, exactly as in the consents. */
  readonly subject: string
  /** The reason of the look-up, which is recorded with it. */
  readonly reason: string
  /** Only consents below this sequence. Absent: begins at the newest. */
  readonly cursor?: number
  /** Absent: 50. */
  readonly limit?: number
}

/** The consents of one person, newest first. */
export interface ConsentsPage extends EventsPage {
  readonly workspaceId: string
  readonly subject: string
  /** The receipt of the entry that records this look-up. */
  readonly lookupReceiptId: string
}

// Receipts and entries ----------------------------------------------------------------------------

/** An actor or target as a reader sees it, without withheld members. */
export interface Party {
  readonly id: string
  readonly type?: string
  readonly email?: string
  readonly name?: string
  readonly [further: string]: unknown
}

/** Where a write came from: the headers that its client sent, and the key that it used. */
export interface Provenance {
  readonly environment?: string
  readonly server?: string
  readonly requestId?: string
  readonly sessionId?: string
  readonly traceId?: string
  readonly traceparent?: string
  readonly keyId?: string
}

/**
 * The ledger's answer to a write. Anyone can check with it that the entry is in the chain and
 * unchanged.
 */
export interface Receipt {
  readonly accepted: boolean
  readonly eventId: string
  /** The receipt's id. In public projects the id alone gives access. */
  readonly receipt: string
  /** 64 lower-case hex digits: the entry's hash, which is also its leaf in the log's tree. */
  readonly eventHash: string
  /** The hash of the entry before it; of the first entry, the ledger's id. */
  readonly previousHash: string
  /** When the ledger recorded it; never goes back within a workspace. */
  readonly timestamp: Time
  readonly actor: Party
  readonly target: Party
  readonly lane: Open<Lane>
  readonly storageClass: Open<StorageClass>
  readonly verificationUrl: string
  /** Stored, but not in the index yet. Searches find it nevertheless. */
  readonly queued: boolean
  /** When the request arrived. */
  readonly receivedAt?: Time | null
  readonly provenance?: Provenance
  readonly policyVersion?: number
}

/** An entry of the ledger, as queries show it. */
export interface Entry extends RepeatedFields {
  readonly id: string
  /**
   * Its place in the chain, from 1. The service's own entries have places too, so two consecutive
   * entries of a list need not be linked: see `includeSystem`.
   */
  readonly sequence: number
  readonly kind: Open<Kind>
  readonly actor: Party
  readonly target: Party
  readonly source: Open<Source>
  readonly metadata: { readonly [name: string]: unknown }
  readonly userVisible: boolean
  readonly hash: string
  readonly previousHash: string
  readonly receipt: string
  readonly lane: Open<Lane>
  readonly storageTier: Open<StorageClass>
  readonly integrity: Open<Integrity>
  /** A hold keeps its content from expiry and erasure. */
  readonly held?: boolean
  readonly timestamp: Time
  readonly receivedAt?: Time | null
  readonly provenance?: Provenance
  readonly policyVersion?: number
  /** It claims to have occurred more than five minutes after the ledger received it. */
  readonly clockAhead?: boolean
}

/** The data for checking an entry without trusting the service. */
export interface EntryProof {
  /** The 118 bytes that are hashed, in base64. */
  readonly record: string
  /** The exact text that the record commits to. Null once its destruction was recorded. */
  readonly body: string | null
  /** In hex; null with the body. */
  readonly bodySalt: string | null
  /** The key that signs the workspace's checkpoints. */
  readonly vkey: string
  /** A `c2sp.org/tlog-proof@v1`; null while no signed checkpoint covers the entry. */
  readonly tlogProof: string | null
  /**
   * If the ledger continues earlier ones: its genesis and theirs, newest first. The sequence counts
   * their entries too.
   */
  readonly geneses?: readonly string[]
}

/** The answer of `GET …/receipts/{receiptId}`. */
export interface ReceiptAnswer {
  readonly receipt: Receipt
  readonly entry: Entry
  /** The stored bytes were hashed again, and their link and their place in the tree are right. */
  readonly verified: boolean
  readonly proof?: EntryProof
  /** RFC 9901 disclosures of the sealed fields that the reader may see. */
  readonly disclosures?: readonly string[]
}

// Reading -----------------------------------------------------------------------------------------

/** An entry of a page. With `include=proof` it has the data for checking it. */
export interface ListedEntry extends Entry {
  readonly proof?: EntryProof
  readonly disclosures?: readonly string[]
}

/** The filter for lists and counts of entries. */
export interface EventsFilter {
  /**
   * One project; `all` the caller may see, or `system` for the entries that the service writes
   * about itself.
   */
  readonly projectId: string
  /** A search, such as `approve target:inv_9 -"test run"`. */
  readonly query?: string
  readonly lane?: "all" | Lane
  readonly storage?: "all" | StorageClass
  /** Without `storage`: look through the archive as well. */
  readonly includeArchive: boolean
  readonly userVisible?: boolean
  /** Only entries that occurred at this time or later. */
  readonly from?: Time
  /** Only entries that occurred before this time. */
  readonly to?: Time
  /**
   * Show the entries that the service writes about itself as well: with `projectId` and `storage`
   * `all`, that is the whole chain.
   */
  readonly includeSystem: boolean
}

/** The query of `GET …/events`. */
export interface EventsQuery extends EventsFilter {
  /** Only entries below this sequence; 0 begins at the newest. */
  readonly cursor: number
  readonly limit: number
  readonly include?: "proof"
}

/** The query of `GET …/events/feed`. */
export interface FeedQuery extends EventsFilter {
  /** Only entries above this sequence; 0 begins at the oldest. */
  readonly after: number
  readonly limit: number
  /** Seconds to wait for a match, if there is none yet. */
  readonly wait: number
}

/** How the entries of an export are written. */
export type ExportFormat = "jsonl" | "csv" | "parquet"

/** The query of `GET …/events/export`. */
export interface EventsExportQuery extends EventsFilter {
  readonly format: ExportFormat
  /** Only entries above this sequence, to continue an interrupted export. */
  readonly after: number
  /** Only with `jsonl`. */
  readonly include?: "proof"
}

/** The last line of an export as `jsonl`: without it, lines are missing. */
export interface ExportEnd {
  readonly end: {
    /** The number of lines before it. */
    readonly count: number
    /** How many of them differ from what was recorded. */
    readonly broken: number
    /** The sequence of the last entry that was recorded when the export began. */
    readonly sequence: number
    /** The hash of all bytes before it, in hex. */
    readonly sha256: string
  }
}

/** Records of an epoch. */
export interface RecordsQuery {
  /** How many records are skipped. 0 begins with the first. */
  readonly after: number
  readonly limit: number
}

/** Entries as they are recorded, oldest first. */
export interface EventsFeed {
  readonly events: readonly ListedEntry[]
  /** The `after` of the next request. It also skips entries that do not match. */
  readonly nextAfter: number
  /** More entries exist already. */
  readonly hasMore: boolean
}

/** The query of `GET …/events/timeline`. */
export interface TimelineQuery extends Omit<EventsFilter, "from" | "to"> {
  readonly from: Time
  readonly to: Time
  /** The maximum number of buckets. */
  readonly buckets: number
  readonly by: "lane" | "project"
}

/**
 * Counts of entries by time. Consecutive buckets begin at `from`. The last one may end after `to`.
 */
export interface Timeline {
  readonly from: Time
  readonly to: Time
  readonly bucketSeconds: number
  readonly buckets: readonly {
    readonly start: Time
    readonly total: number
    /** By lane or project; those without an entry are absent. */
    readonly counts: Readonly<Record<string, number>>
  }[]
}

/** The query of `GET …/events/values`. */
export interface ValuesQuery extends EventsFilter {
  /** A field of the grammar of searches, such as `actor` or `metadata.currency`. */
  readonly field: string
  readonly limit: number
}

/** The commonest values of a field, in lower case, and how many entries have each. */
export interface FieldValues {
  readonly values: readonly { readonly value: string; readonly count: number }[]
}

/** A page of entries, newest first. */
export interface EventsPage {
  readonly events: readonly ListedEntry[]
  readonly returned: number
  /** Number of matches on all pages. */
  readonly total: number
  /** The sequence of the last entry of the page; 0 when it is empty. */
  readonly nextCursor: number
  readonly hasMore: boolean
  /** Every entry of the page was hashed again, and is linked to the one before it. */
  readonly verified: boolean
}

/** The query of `GET …/activity`. */
export interface ActivityQuery extends Pick<EventsQuery, "query" | "cursor" | "limit" | "include"> {
  /** An activity token, where the Authorization header cannot be set. */
  readonly token?: string
}

/** A page of the entries about one person that this person may see. */
export interface ActivityPage extends EventsPage {
  readonly workspaceId: string
  readonly projectId: string
  readonly subject: string
  readonly query: string | null
  /** The newest published version of the project's policy; 0 when there is none. */
  readonly policyVersion: number
  /** The phrases of the project. Absent: it never had any. */
  readonly phrases?: readonly Phrase[]
}

/**
 * The answer of `GET …/tlog/keys`: every key that ever signed the workspace's checkpoints, and for
 * which sizes of the log.
 */
export interface LogKeys {
  readonly keys: readonly {
    readonly vkey: string
    readonly fromSize: number
    readonly toSize: number | null
  }[]
}

/**
 * The answer of `GET …/tlog/epochs`: the ledgers that the workspace's ledger continues, oldest
 * first, and itself.
 */
export interface Epochs {
  readonly epochs: readonly {
    /** From 1. */
    readonly epoch: number
    readonly origin: string
    readonly ledgerId: string
    /** The text that hashes to the ledgerId. */
    readonly genesis: string
    /** The number of entries in earlier epochs, which the sequences of this one count too. */
    readonly earlierEntries: number
    /** Number of its entries that were kept; null while it grows. */
    readonly size: number | null
  }[]
}

/**
 * The answer of `POST …/tlog/keys`: the key that signs from now on, and the entry that announces
 * it, which both keys sign for.
 */
export interface LogKeyRotated {
  readonly vkey: string
  readonly fromSize: number
  readonly receiptId: string
}

/** The answer of `GET …/integrity`: the state of a workspace's chain. */
export interface ChainState {
  readonly workspaceId: string
  /** Number of entries: the newest has this sequence. */
  readonly size: number
  /** The newest signed checkpoint. Absent: nothing is signed yet. */
  readonly checkpoint?: {
    /** The last entry that it covers. */
    readonly sequence: number
    /** The size of the tree in the checkpoint, without the entries of earlier epochs. */
    readonly size: number
    readonly signedAt: Time
    /** The key that signed it, which begins with its name. */
    readonly vkey: string
  }
  /** Number of entries above the checkpoint. */
  readonly pending: number
  /** Number of archived entries, which are the first of the chain. The others are hot. */
  readonly archived: number
  /**
   * The entries that the auditor has re-verified, oldest first. Entries in no range were not
   * checked since they were written.
   */
  readonly checked: readonly CheckedRange[]
  /** The auditor is checking this chain now: the first range still grows. */
  readonly checking: boolean
  /**
   * Where the chain is broken. No entry after a fault counts as checked, nor does the one before
   * it.
   */
  readonly faults: readonly ChainFault[]
}

/** Entries that were checked again, both ends included. */
export interface CheckedRange {
  readonly from: number
  readonly to: number
  /** Each of them was checked at this time or later. */
  readonly checkedAt: Time
}

/** A place where a chain is broken. */
export interface ChainFault {
  /** The first broken entry. 1 if only the tree shows the fault, and the entry is unknown. */
  readonly sequence: number
  /** The fault, as a sentence. */
  readonly detail: string
  readonly foundAt: Time
}

// Administration ----------------------------------------------------------------------------------

/** Actions that begin with `prefix`, by whole segments, go to `lane`. */
export interface LaneRule {
  readonly prefix: string
  readonly lane: Lane
}

/** The answer about a workspace. */
export interface Workspace {
  readonly id: string
  readonly name?: string
  readonly createdAt: Time
  /** The hash of the ledger's genesis, which is the `previousHash` of its first entry. */
  readonly ledgerId: string
  /** The name under which the workspace's log signs its checkpoints. */
  readonly origin: string
  readonly policyVisibility: Open<"public" | "private">
  /** `open`: an event for an unknown project creates it. */
  readonly projects: Open<"open" | "closed">
  /** `public`: anyone may read the log of hashes. */
  readonly transparency: Open<"public" | "private">
  /** Days after which an entry goes to the archive. */
  readonly hotDays: number
  readonly requirePublishedPolicy: boolean
  /** Members of metadata with personal data, sealed from now on; `["*"]` for all. */
  readonly personalKeys: readonly string[]
  readonly laneRules: readonly { readonly prefix: string; readonly lane: Open<Lane> }[]
  /** Maximum number of projects: an event for one more is refused. */
  readonly projectsMax: number
  /** How long contents are kept: the first matching rule applies. Without one, for ever. */
  readonly retention: readonly RetentionRule[]
}

/**
 * Matches entries that have all given values. `action` is the first segments of an action. Entries
 * of the service, policies and consents match only rules with `action`.
 */
export type RetentionRule = {
  readonly projectId?: string
  readonly lane?: Lane
  readonly action?: string
  /** Whole days of UTC after the day on which the entry was recorded. */
  readonly days: number
}

/** The body of `PATCH /v1/workspaces/{workspaceId}`: absent members keep their values. */
export interface WorkspaceChange {
  readonly name?: string
  readonly policyVisibility?: "public" | "private"
  readonly projects?: "open" | "closed"
  readonly transparency?: "public" | "private"
  readonly hotDays?: number
  readonly requirePublishedPolicy?: boolean
  readonly personalKeys?: readonly string[]
  readonly laneRules?: readonly LaneRule[]
  readonly projectsMax?: number
  readonly retention?: readonly RetentionRule[]
  /** The token of a preview of `retention`, if these rules would expire entries that exist. */
  readonly confirm?: string
}

/** The body of `POST /v1/workspaces`. */
export interface NewWorkspace extends Omit<WorkspaceChange, "confirm"> {
  readonly id: string
}

/** The text that a person's activity shows instead of the name of an action. */
export interface Phrase {
  readonly action: string
  readonly text: string
}

/** The answer about a project. */
export interface Project {
  readonly id: string
  readonly workspaceId: string
  readonly name?: string
  readonly createdAt: Time
  /** `public`: anyone with a receipt's id may read it. */
  readonly receipts: Open<"private" | "public">
  /** Whether activity tokens may be made and used. */
  readonly activityLinks: boolean
  readonly phrases: readonly Phrase[]
}

/** The body of `PATCH …/projects/{projectId}`: absent members keep their values. */
export interface ProjectChange {
  readonly name?: string
  readonly receipts?: "private" | "public"
  readonly activityLinks?: boolean
  readonly phrases?: readonly Phrase[]
}

/** The body of `POST …/projects`. */
export interface NewProject extends ProjectChange {
  readonly id: string
}

/**
 * What an API key may do: `write` events, `read` everything, `admin`ister (which includes reading).
 */
export type Scope = "write" | "read" | "admin"

/** The body of `POST …/api-keys`. */
export interface NewApiKey {
  readonly name: string
  readonly scopes: readonly Scope[]
  /** The only projects that the key reaches. Absent: all. */
  readonly projectIds?: readonly string[]
  readonly expiresInSeconds?: number
}

/** Who made something. */
export interface Maker {
  readonly type: Open<"instance" | "api_key" | "member">
  /** Of the key or the member. */
  readonly id?: string
  /** Of the key, or of a member who has one. */
  readonly name?: string
  /** Of a member whose account is still there. */
  readonly email?: string
}

/** The answer about an API key, which never shows its secret. */
export interface ApiKey {
  readonly keyId: string
  readonly workspaceId: string
  readonly name: string
  readonly scopes: readonly Open<Scope>[]
  readonly projectIds?: readonly string[]
  readonly createdAt: Time
  readonly createdBy: Maker
  readonly expiresAt?: Time
  readonly revokedAt?: Time
  /** The time of the last request with it, even a refused one. Absent: no use is known. */
  readonly lastUsedAt?: Time
  /** The client's address in that request. */
  readonly lastUsedFrom?: string
}

/** The answer to a new API key, and the only one that shows the key. */
export interface CreatedApiKey extends ApiKey {
  readonly key: string
}

/** Parameters of `DELETE …/api-keys/{keyId}`. */
export interface RevokeQuery {
  /** Also ends the keys and members that the key made, directly or indirectly. */
  readonly cascade: boolean
}

/**
 * The keys and members that an ended key made, directly or indirectly, and that were still valid.
 * Tokens are not listed: they end with their makers.
 */
export interface MadeByKey {
  /** Whether this call ended these, too. It ends the key itself in any case. */
  readonly revoked: boolean
  readonly apiKeys: readonly ApiKey[]
  /** Members invited by the key, including those who have joined. */
  readonly members: readonly Member[]
}

/** The kind of resource that a scoped token gives access to. */
export type TokenType = "receipt" | "policy" | "activity" | "evidence"

/**
 * The body of `POST …/receipts/{receiptId}/token`, and of `POST …/evidence-packs/{packId}/token`.
 */
export interface NewToken {
  /** At least 60. A token ends no later than the key or member that made it. */
  readonly expiresInSeconds?: number
  /** A note on its purpose, shown in lists. */
  readonly note?: string
}

/** The body of `POST …/published-policy/token`. */
export interface NewPolicyToken extends NewToken {
  /** Absent: `core`. */
  readonly projectId?: string
  /** Absent: every version. */
  readonly version?: number
}

/** The person whose activity is meant: an id, and the types of actor or target with that id. */
export interface ActivitySubject {
  readonly id: string
  /** Absent: `user`, `subject`, `person`, `member`, `customer`, `account`. */
  readonly types?: readonly string[]
}

/** The body of `POST …/activity/token`. */
export interface NewActivityToken extends NewToken {
  readonly projectId: string
  readonly subject: string | ActivitySubject
}

/** Members of every scoped token. */
export interface TokenFields {
  readonly tokenId: string
  readonly workspaceId: string
  readonly type: Open<TokenType>
  readonly note?: string
  readonly createdAt: Time
  readonly expiresAt: Time
}

/** Members of a new token, shown only once. */
export interface CreatedTokenFields extends TokenFields {
  readonly token: string
  /** The address that a program calls with the token as its bearer. */
  readonly apiUrl: string
}

/** The answer about a token, which never shows its secret. Its members depend on its type. */
export interface Token extends TokenFields {
  readonly receipt?: string
  readonly projectId?: string
  readonly version?: number
  readonly packId?: string
  readonly subject?: { readonly id: string; readonly types: readonly string[] }
  readonly revokedAt?: Time
  /** Whether it still works; `revoked` also if its maker was revoked. */
  readonly state: Open<"live" | "revoked" | "expired">
  readonly mintedBy: Maker
  /** The time of the last request with it. Absent: no use is known. */
  readonly lastUsedAt?: Time
}

/** The answer to a new receipt token. */
export interface CreatedReceiptToken extends CreatedTokenFields {
  readonly receipt: string
  /** The address of a page for people, with the token in its fragment. */
  readonly verificationUrl: string
}

/** The answer to a new policy token. */
export interface CreatedPolicyToken extends CreatedTokenFields {
  readonly projectId: string
  readonly version?: number
  /** The address of a page for people, with the token in its fragment. */
  readonly policyUrl: string
}

/** The answer to a new evidence token. */
export interface CreatedEvidenceToken extends CreatedTokenFields {
  readonly packId: string
  readonly receiptCount: number
  /** The ZIP, for a program that sends the token as its bearer. */
  readonly downloadUrl: string
  /** The address of a page for people, with the token in its fragment. */
  readonly pageUrl: string
}

/** The answer to a new activity token. */
export interface CreatedActivityToken extends CreatedTokenFields {
  readonly projectId: string
  readonly subject: { readonly id: string; readonly types: readonly string[] }
  /** The address of a page for people, with the token in its fragment. */
  readonly activityUrl: string
}

/** The query of a list. */
export interface ListQuery {
  readonly limit: number
  /** The `nextCursor` of the previous page. */
  readonly cursor?: string
}

/** The query of the list of tokens. */
export interface TokenListQuery extends ListQuery {
  /** Only tokens for this pack. */
  readonly packId?: string
}

/** A page of workspaces, newest first. */
export interface WorkspaceList {
  readonly workspaces: readonly Workspace[]
  readonly nextCursor: string | null
}

/** The body of `POST …/exports`. */
export interface NewExport {
  /** How many entries, from the first on, are exported. */
  readonly entries: number
}

/** A page of projects, newest first. */
export interface ProjectList {
  readonly projects: readonly Project[]
  readonly nextCursor: string | null
}

/** A page of API keys, newest first. */
export interface ApiKeyList {
  readonly apiKeys: readonly ApiKey[]
  readonly nextCursor: string | null
}

// Published policies ------------------------------------------------------------------------------

/**
 * A part of a policy. May carry further members of the publisher's own, which are kept, hashed and
 * returned.
 */
export interface PolicySection {
  readonly id: string
  readonly title: string
  readonly body: string
  readonly [further: string]: unknown
}

/** The body of `POST …/published-policy`. */
export interface NewPolicy {
  /** Absent: `core`. */
  readonly projectId?: string
  readonly sections: readonly PolicySection[]
  /**
   * The number of the new version, one more than the newest. If another one was published
   * meanwhile, the answer is `conflict`.
   */
  readonly version?: number
}

/** A published version of a project's policy, without its text. */
export interface PolicyVersion {
  readonly id: string
  readonly workspaceId: string
  readonly projectId: string
  readonly version: number
  readonly publishedAt: Time
  /** SHA-256, in hex, of the RFC 8785 form of the sections. */
  readonly sectionHash: string
}

/** A published version of a project's policy. It never changes. */
export interface Policy extends PolicyVersion {
  readonly sections: readonly PolicySection[]
}

/** The answer about a version of a policy. */
export interface PolicyAnswer {
  readonly policy: Policy
}

/** A page of versions, newest first. */
export interface PolicyList {
  readonly policies: readonly PolicyVersion[]
  readonly nextCursor: string | null
}

/** A page of scoped tokens, newest first. */
export interface TokenList {
  readonly tokens: readonly Token[]
  readonly nextCursor: string | null
}

// Members and sessions ----------------------------------------------------------------------------

/** The role of a member in a workspace: a `viewer` reads, and an `admin` administers too. */
export type Role = "viewer" | "admin"

/** The body of `POST …/members`. */
export interface NewMember {
  /** Compared without regard to case. */
  readonly email: string
  readonly name?: string
  readonly role: Role
}

/** The body of `POST` and `PATCH …/members/{memberId}`. */
export interface MemberChange {
  readonly role: Role
}

/** The answer about a member of a workspace. */
export interface Member {
  readonly id: string
  readonly workspaceId: string
  readonly email: string
  readonly name?: string
  readonly role: Open<Role>
  readonly createdAt: Time
  /** Who invited the member; the first member is their own maker. */
  readonly createdBy: Maker
  /** When the member accepted the invitation, or was added. Absent: not yet. */
  readonly joinedAt?: Time
}

/**
 * The answer to an invitation. The page's address has a token in its fragment, is shown once, and
 * is valid for a day.
 */
export interface InvitedMember {
  readonly member: Member
  readonly setupUrl: string
}

/** A page of members, newest first. */
export interface MemberList {
  readonly members: readonly Member[]
  readonly nextCursor: string | null
}

/** The body of `POST /v1/setup`. */
export interface Setup {
  readonly token: string
  /** Required for the first member. For others it is the invited address. */
  readonly email?: string
  readonly name?: string
  /** A new password, or the existing one of a person who has an account already. */
  readonly password: string
}

/** The body of `POST /v1/session`. */
export interface Login {
  readonly email: string
  readonly password: string
}

/** The body of `POST /v1/session/password`. */
export interface PasswordChange {
  readonly old: string
  readonly new: string
}

/** Somebody who has signed in. */
export interface Account {
  readonly id: string
  readonly email: string
  readonly name?: string
  /** May administer every workspace, and create workspaces. */
  readonly instanceAdmin: boolean
}

/** The answer about a session. */
export interface Session {
  readonly member: Account
  /** The member's workspaces and roles. */
  readonly workspaces: readonly { readonly id: string; readonly role: Open<Role> }[]
}

// Retention and holds -----------------------------------------------------------------------------

/** The body of `POST …/retention/preview`: the rules to try. Absent: those of the workspace. */
export interface RetentionPreviewRequest {
  readonly retention?: readonly RetentionRule[]
}

export interface RetentionCount {
  readonly entries: number
  /** Bodies and sealed fields, as they are stored without compression. */
  readonly bytes: number
}

export interface RetentionCountOfRule extends RetentionCount {
  readonly rule: number
}

export interface RetentionCountOfLane extends RetentionCount {
  readonly lane: Open<Lane>
}

export interface RetentionCountOfProject extends RetentionCount {
  readonly projectId: string
}

export interface RetentionCountOfMonth extends RetentionCount {
  readonly month: string
}

/** The contents that rules would expire today. Nothing was changed. */
export interface RetentionPreview extends RetentionCount {
  /** Expired entries that a hold protects. The other numbers do not include them. */
  readonly held: number
  /** By the place of the rule, from 0. */
  readonly rules: readonly RetentionCountOfRule[]
  readonly lanes: readonly RetentionCountOfLane[]
  readonly projects: readonly RetentionCountOfProject[]
  /** By the month in which they were recorded, such as `2026-01`. */
  readonly months: readonly RetentionCountOfMonth[]
  /** Confirms these rules today and tomorrow: `confirm` of `PATCH /v1/workspaces/{workspaceId}`. */
  readonly token: string
}

/** With 202: the entries are still being counted. Ask again. */
export interface RetentionCounting {
  readonly counted: number
  readonly of: number
}

/** The answer of `POST …/retention/run`. */
export interface RetentionRun {
  /** With 202: the run takes longer and continues. Ask again to wait for its end. */
  readonly isRunning: boolean
  /** Entries whose contents the run has destroyed. */
  readonly entries: number
  /** Expired entries that a hold protects. */
  readonly held: number
}

/** The scope of a hold: one of these three. */
export interface HoldScope {
  /** Matching entries, also later ones. */
  readonly filter?: HoldFilter
  /** Entries with this actor or target, also later ones. */
  readonly subject?: ErasureSubject
  readonly receiptIds?: readonly string[]
}

export type HoldFilter = Omit<EntryFilter, "storage" | "includeArchive">

/** The body of `POST …/holds`. */
export interface NewHold extends HoldScope {
  readonly name: string
  readonly reason: string
}

export interface Hold extends HoldScope {
  readonly holdId: string
  readonly name: string
  readonly reason: string
  readonly createdAt: Time
  readonly createdBy: Maker
  readonly state: Open<"active" | "released">
  readonly releasedAt?: Time
  readonly releaseReason?: string
}

export interface HoldList {
  readonly holds: readonly Hold[]
  readonly nextCursor: string | null
}

/** The body of `DELETE …/holds/{holdId}`. */
export interface HoldRelease {
  readonly reason: string
}

// The archive -------------------------------------------------------------------------------------

/** An archive file with the bodies of consecutive entries. */
export interface ArchiveSegment {
  readonly ledgerId: string
  readonly firstSequence: number
  readonly lastSequence: number
  /** Its name in the archive. */
  readonly file: string
  readonly bytes: number
  /** The SHA-256 of the file, in hex. */
  readonly sha256: string
  /** The length of its lines, unpacked. */
  readonly textBytes: number
}

/** The answer to `GET …/segments`. */
export interface ArchiveSegmentList {
  readonly segments: readonly ArchiveSegment[]
  readonly nextCursor: string | null
}

// Evidence packs ----------------------------------------------------------------------------------

/** All entries that match a query with these parameters. */
export type EntryFilter = Partial<EventsFilter>

/** A person, as the actor or target of events. Without types, it matches any type. */
export interface ErasureSubject {
  readonly id: string
  readonly types?: readonly string[]
}

export interface NewErasure {
  readonly subject: ErasureSubject
  /** Why. It stays readable for ever, so it must not name the person. */
  readonly reason: string
  /** Such as the number of a letter. It stays readable too. */
  readonly reference?: string
  /**
   * `fields` (default): all sealed fields about the person. `entries`: in addition, the whole
   * content of the events and consents in which they are actor or target, with their id.
   */
  readonly scope?: "fields" | "entries"
  /** Says what would be erased, and erases nothing. */
  readonly dryRun?: boolean
}

/** Copies of the person's content that left the ledger. Nobody can recall them. */
export interface HandedOut {
  /** The ids of evidence packs. New downloads do not have the erased content. */
  readonly packs: readonly string[]
  /** The ids of tokens that show it, or once did. */
  readonly tokens: readonly string[]
  /** The receipts of exports that were made after the person's first entry. */
  readonly exports: readonly string[]
  /** The number of others. At most a hundred of each kind are listed. */
  readonly more: number
}

export interface ErasurePreview {
  readonly entries: number
  readonly fields: number
  /** The ids of the holds that it would wait for. */
  readonly holds: readonly string[]
  readonly handedOut: HandedOut
}

export interface Erasure {
  readonly erasureId: string
  readonly workspaceId: string
  /** `held`: it waits until its holds are released. */
  readonly state: Open<"held" | "running" | "done">
  readonly scope: Open<"fields" | "entries">
  readonly reason: string
  readonly reference?: string
  /** Absent if whole entries are erased, once the entries are known. */
  readonly subject?: ErasureSubject
  /** How many entries lose something, and how many sealed fields are destroyed. */
  readonly entries: number
  readonly fields: number
  readonly holds?: readonly string[]
  readonly handedOut: HandedOut
  readonly requestedAt: Time
  readonly requestedBy: string
  readonly doneAt?: Time
}

export interface ErasureList {
  readonly erasures: readonly Erasure[]
  readonly nextCursor: string | null
}

/**
 * The body of `POST …/evidence-packs`: the entries of a new pack, by their receipts or by a filter.
 */
export interface NewPack {
  readonly title: string
  /** The project that all of them must belong to. */
  readonly projectId?: string
  readonly receiptIds?: readonly string[]
  readonly filter?: EntryFilter
  /** The consents and withdrawals of this person. */
  readonly consents?: PackConsents
}

/** The consents of a person. */
export interface PackConsents {
  readonly subject: string
  /** Absent: in every project that the caller may see. */
  readonly projectId?: string
}

/** The answer about an evidence pack. */
export interface Pack {
  readonly packId: string
  readonly workspaceId: string
  readonly title: string
  readonly receiptCount: number
  /** The projects that its entries belong to. */
  readonly projectIds: readonly string[]
  /** SHA-256, in hex, of its `manifest.json`. An entry of the ledger records it. */
  readonly packHash: string
  /** The entry that records the hash. Absent in lists, and before the pack is sealed. */
  readonly sequence?: number
  readonly createdAt: Time
}

/** The query of `GET …/evidence-packs/{packId}/entries`. */
export type PackEntriesQuery = Pick<EventsQuery, "cursor" | "limit" | "include">

/** A page of evidence packs, newest first. */
export interface PackList {
  readonly packs: readonly Pack[]
  readonly nextCursor: string | null
}

/** An evidence pack as JSON, from `GET …/download?format=json`. */
export interface PackDownload {
  /** The SHA-256, in hex, of its files by their paths, except disclosures and seal. */
  readonly manifest: { readonly [path: string]: string }
  /** The files themselves by their paths, in base64. */
  readonly files: { readonly [path: string]: string }
}

// Operations --------------------------------------------------------------------------------------

/** The answer of `GET /healthz`: the process runs. */
export interface Health {
  readonly status: string
}

/** The answer of `GET /readyz`: whether the ledger can append, and if not, why. */
export interface Readiness {
  readonly ready: boolean
  readonly reason?: string
  /** With `?verbose`: the result of each check. */
  readonly checks?: readonly {
    readonly name: string
    readonly ok: boolean
    readonly detail?: string
  }[]
}

/** The answer of `GET /v1/system`: the overview for an operator. */
export interface System {
  readonly version: string
  readonly node: string
  readonly startedAt: Time
  readonly data: {
    readonly engine: Open<"sqlite" | "postgres">
    /** Of all files together, or of the database. */
    readonly bytes: number
    readonly files: readonly { readonly name: string; readonly bytes: number }[]
    /** Free space on the disk. Absent: unknown. */
    readonly freeBytes?: number
    /** Writes are refused when less is left. */
    readonly reserveBytes: number
    /**
     * The last run of `tallystick backup`, and when it began. Absent: there was none, or it could
     * not be noted.
     */
    readonly lastBackup?: { readonly at: Time; readonly entries: number }
  }
  readonly writing: {
    /** Events that wait for a commit. */
    readonly queued: number
    readonly queuedMax: number
    /**
     * The number of commits in these statistics, at most the last thousand. Without commits there
     * are no durations.
     */
    readonly commits: number
    /** In microseconds. */
    readonly medianUs?: number
    readonly p99Us?: number
  }
  /** Entries that each follower has not taken yet, of the workspace where they are most. */
  readonly followers: readonly { readonly follower: string; readonly entries: number }[]
  /** The round of the auditor. Absent: it has not begun. */
  readonly audit?: {
    readonly round: number
    readonly entries: number
    /** The entries that this round has not checked yet were checked at this time or later. */
    readonly since: Time
    /** Workspaces that could not be read to their end. */
    readonly unread: number
  }
  /** Workspaces whose chain is broken. */
  readonly broken: readonly string[]
  /** All settings and limits, by the names of their variables; of a secret, where it is kept. */
  readonly settings: readonly { readonly name: string; readonly value: string }[]
}

/** The answer of `GET /v1/limits`: every number that bounds a request. */
export interface Limits {
  readonly eventBytesMax: number
  readonly batchBytesMax: number
  readonly batchEventsMax: number
  readonly batchObjectsMax: number
  readonly depthMax: number
  readonly stringBytesMax: number
  readonly headersBytesMax: number
  readonly uriBytesMax: number
  readonly headersTimeoutMs: number
  readonly bodyTimeoutMs: number
  readonly queuedEventsMax: number
  readonly projectsMax: number
  readonly apiKeysMax: number
  readonly tokensMax: number
  readonly policyVersionsMax: number
  readonly packReceiptsMax: number
  readonly phrasesMax: number
  readonly packBytesMax: number
  readonly packDownloadsPerMinute: number
  readonly pageBytesMax: number
  readonly anonymousReadsPerMinute: number
  readonly failedLoginsPerMinute: number
  readonly [further: string]: unknown
}

/**
 * Every answer that is not a success: a code for programs, and a sentence for people that names the
 * field and the rule.
 */
export interface Problem {
  readonly error: string
  readonly detail: string
  /**
   * With `idempotency_key_reused`: the receipt of the entry that has the key, if the caller may
   * write to its project.
   */
  readonly receipt?: Receipt
}
