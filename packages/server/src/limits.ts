// Every limit and its reason. `GET /v1/limits` shows those that a caller can reach.

export const defaultLimits = {
  /**
   * The body of one event: four times the largest sensible metadata. Larger content belongs into a
   * file that the event refers to.
   */
  eventBytesMax: 256 * 1024,
  /** The body of a batch. A thousand ordinary events have half a megabyte. */
  batchBytesMax: 8 * 1024 * 1024,
  batchEventsMax: 1000,
  /**
   * Objects and arrays in a batch: a thousand per event. The garbage collector copies all of them
   * and blocks the thread: four million take 100 ms.
   */
  batchObjectsMax: 1_000_000,
  /** A body with a password. E-mail, password and set-up token have some hundred bytes. */
  signInBytesMax: 4096,
  /**
   * Bytes of bodies in memory. For all callers with a credential together: sixteen of the largest
   * batches. For all without one: two thousand people who sign in.
   */
  bodyBytesAtOnceMax: 128 * 1024 * 1024,
  anonymousBodyBytesAtOnceMax: 8 * 1024 * 1024,
  /** Nesting of JSON, including the outermost. Recursion over a body must not exhaust the stack. */
  depthMax: 32,
  /** A string in UTF-8, names of members included. */
  stringBytesMax: 64 * 1024,
  /** All headers of a request together, and its target: what node and common proxies accept. */
  headersBytesMax: 16 * 1024,
  uriBytesMax: 8 * 1024,
  /** Each header that is kept with an event. */
  contextCharactersMax: 1024,
  /** Events that wait for a commit: a second's work. A longer queue only makes every answer late. */
  queuedEventsMax: 5000,
  /** One commit. A larger one delays requests that arrive while it is written. */
  commitEntriesMax: 2000,
  commitBytesMax: 8 * 1024 * 1024,
  /**
   * How often entries are relinked after the head has moved. After that, the outcome of the write
   * is unknown. An engine to which several servers append relinks most entries itself.
   */
  relinksMax: 10,
  /** Connections to PostgreSQL of the thread that serves. The other threads have 13 together, those of exports 6. */
  databaseConnectionsMax: 10,
  /** Time for a request's line and headers to arrive, and for the whole request. */
  headersTimeoutMs: 10_000,
  bodyTimeoutMs: 30_000,
  /**
   * An idle connection between requests: longer than load balancers keep one, so that they do not
   * send a request into a connection that is being closed.
   */
  keepAliveTimeoutMs: 72_000,
  /** A connection that is idle during a request, unless its answer is still being made. */
  stillTimeoutMs: 60_000,
  /** Bodies of writes that are parsed before other requests run: some ten milliseconds of work. */
  turnBytesMax: 128 * 1024,
  /** Bodies that have arrived and wait to be parsed: three tenths of a second of work. */
  turnsWaitingBytesMax: 4 * 1024 * 1024,
  /**
   * Work on large bodies, pages and packs before other requests run: each of them waits for it once
   * or twice. Shorter pieces would cost more turns of the event loop. One event of 256 KiB cannot be
   * divided and takes up to 40 ms.
   */
  pieceMs: 3,
  /**
   * Connections at once, some 20 KB each: more than the machines that write to one ledger, fewer
   * than the files that a process may open.
   */
  connectionsMax: 10_000,
  /**
   * Requests that one connection sends ahead without waiting for answers, and those of all
   * connections of a network: 4 KB each, or 20 with the largest headers. A further one is refused, and
   * the connection ends with it.
   */
  pipelinedMax: 100,
  pipelinedOfNetworkMax: 1000,
  /** Requests that begin in a turn of the event loop, some three milliseconds of work. */
  requestsPerTurn: 64,
  /**
   * How fast a client must read its answers on average. Even the slowest mobile networks are
   * faster.
   */
  answerBytesPerSecondMin: 1024,
  /** Answers that clients have not read yet, all together: memory that this process can spare. */
  unreadBytesMax: 256 * 1024 * 1024,
  /** Storage that does not answer within this time is not ready. Most monitors wait no longer. */
  readyWithinMs: 1000,
  /** How long a stop waits for accepted requests. The whole stop takes ten seconds at most. */
  drainTimeoutMs: 8_000,
  /**
   * How long a stop signs checkpoints. Thousands of workspaces would take longer than the ten
   * seconds.
   */
  lastSigningMs: 1500,
  /** Failures that are logged in full. The first few of them show the cause. */
  failureLinesPerMinute: 20,
  /** Left free on the disk, so that a full disk refuses a commit instead of breaking one. */
  diskReserveBytes: 64 * 1024 * 1024,
  /** An event dated further ahead of our clock than this is marked. */
  clockAheadMs: 5 * 60_000,
  /** Entries that a follower reads at a time: some milliseconds of work. */
  followEntriesMax: 1000,
  /** Entries of a segment that are read in one step. Larger steps save little and delay others. */
  fileEntriesMax: 2000,
  /**
   * The part of its result that a merge of segments holds in memory. It stores a larger result in
   * pieces of this size: a segment of a million entries has some 60 MB.
   */
  mergedBytesMax: 4 * 1024 * 1024,
  /** How often the thread that makes segments is told of new entries: a segment needs hundreds. */
  fileEveryMs: 250,
  /**
   * Entries are packed at this age even if the 4,096 that they belong to are not full: a workspace
   * may never have so many.
   */
  packAfterMs: 86_400_000,
  /** How often the archiver looks for due entries: they have waited for days already. */
  archiveEveryMs: 60_000,
  /** Entries of an archive segment: some megabytes, which are read back before they are dropped. */
  archiveEntriesMax: 16_384,
  /**
   * How long an archive segment that is not full waits for more entries: at most one such file a
   * day.
   */
  archivePartialMs: 86_400_000,
  /** How long a search waits for segments if more entries are in no segment than it can scan. */
  findWaitMs: 2000,
  /** How long a search may take, including its waiting: a user who types has typed more by then. */
  searchTimeoutMs: 2000,
  /**
   * Searches that wait. Each takes the memory of a request, and these are more than are answered
   * within that time.
   */
  searchesWaitingMax: 1000,
  /**
   * The cache of each of the two search threads: parts of segments, and entries that are in no
   * segment yet. Searches of a busy ledger read the same ones repeatedly.
   */
  searchCacheBytesMax: 64 * 1024 * 1024,
  /** Different values of a field that are counted: all are in memory until every entry was read. */
  countedValuesMax: 100_000,
  /**
   * How often followers are told of new entries at most. A busy ledger is followed in larger steps.
   */
  pokeEveryMs: 50,
  /**
   * The same for a database, where each step costs a query and there may be a hundred busy
   * workspaces.
   */
  pokeDatabaseEveryMs: 250,
  /**
   * Clients that follow a feed, some 30 KB each with their connections: in all fewer than half of
   * all connections, and for one workspace half of that.
   */
  followersMax: 4000,
  followersOfWorkspaceMax: 2000,
  /**
   * How often clients that follow a feed get new entries at most: each time costs a write to a
   * socket.
   */
  feedEveryMs: 100,
  /** How often a waiting client is checked: whether its credential is still valid, and its time. */
  feedBeatMs: 1000,
  /**
   * How often an idle stream sends a comment: proxies often close an idle one after 30 s or 60 s.
   */
  feedCommentMs: 15_000,
  /**
   * Bytes of entries that are written to a stream at once: each client may leave as many unread.
   */
  feedBytesMax: 64 * 1024,
  /** The shortest time between two checkpoints of a busy workspace. */
  checkpointEveryMs: 900,
  /** How long a request for a proof waits for the checkpoint that covers its entry. */
  proofWaitMs: 2000,
  /**
   * How long a replaced signing key keeps signing. Those who trust it have a week to learn of the
   * new key. Making an evidence pack takes less.
   */
  keyOverlapMs: 7 * 86_400_000,
  /** Entries that the auditor hashes again: a hundredth of a core, a million entries in an hour. */
  auditEntriesPerSecond: 500,
  /**
   * The shortest time between two rounds of the auditor: the disk of a small ledger is idle
   * meanwhile.
   */
  auditRoundEveryMs: 60_000,
  /**
   * Verified tiles of 256 leaves in memory, 8 KiB each, for proofs: a quarter of a million entries in
   * 8 MiB. To read and verify another one takes 0.1 ms.
   */
  verifiedTilesMax: 1024,
  /** Entries whose links every start checks. */
  recheckEntries: 1000,
  /** A page of entries, which has at least one entry: a client downloads it in a second. */
  pageBytesMax: 4 * 1024 * 1024,
  /**
   * Pages, lists, receipts and tiles that are read at once, in all and for one workspace. More would share
   * the same thread, and a page holds some megabytes.
   */
  readsAtOnceMax: 8,
  readsOfWorkspaceMax: 4,
  /** Reads that wait, some kilobytes each; and how long: less than a client waits. */
  readsWaitingMax: 2000,
  readWaitMs: 5000,
  /** Entries of an evidence pack. For more, use an export. */
  packReceiptsMax: 10_000,
  /** Active holds of a workspace: each costs time for every entry that is read. */
  holdsMax: 100,
  /** Receipts that one hold names. For more, use a filter. */
  holdReceiptsMax: 1000,
  /**
   * Requests for an erasure that search a person's entries at once: each reads all of them, which
   * takes seconds in a large ledger. At most one of a workspace runs at a time, so that others
   * proceed.
   */
  erasureCountsAtOnceMax: 4,
  /** Requests that wait for that; and how long: less than a client waits. */
  erasureCountsWaitingMax: 256,
  erasureCountWaitMs: 20_000,
  /**
   * How often the service looks for expired content. Retention is counted in days, which end at
   * midnight.
   */
  expiryEveryMs: 3_600_000,
  /** How long a request for a retention preview waits before it answers 202. */
  previewWaitMs: 10_000,
  /**
   * Phrases of a project: more than the actions that people see. Each page of activity contains
   * all.
   */
  phrasesMax: 200,
  /** The bytes of a pack: a browser can still check it, and it is far below the limit of ZIP. */
  packBytesMax: 1024 * 1024 * 1024,
  /**
   * Packs that are made at once, some megabytes each; in all, and for one workspace, so that others
   * proceed.
   */
  packsAtOnceMax: 4,
  packsOfWorkspaceMax: 2,
  /**
   * Packs that are sent at once, however slow their clients are; in all, and for one workspace. The
   * list of files for 10,000 entries has five megabytes.
   */
  packsSentAtOnceMax: 32,
  packsSentOfWorkspaceMax: 4,
  /** Packs that wait to be made or sent; and how long: less than a client waits. */
  packsWaitingMax: 256,
  packWaitMs: 20_000,
  /** Downloads with one scoped token. A person retries; a program that checks a pack needs one. */
  packDownloadsPerMinute: 20,
  /**
   * Exports that are sent at once, however slow their clients are; in all, and for one workspace.
   * An export as Parquet takes some tens of megabytes of memory.
   */
  exportsAtOnceMax: 8,
  exportsOfWorkspaceMax: 2,
  /** Exports that wait to begin; and how long: less than a client waits. */
  exportsWaitingMax: 256,
  exportWaitMs: 20_000,
  /**
   * How long a client may read nothing of a pack or an export while another workspace waits for its
   * place: less than that one waits.
   */
  contestedStillMs: 10_000,
  /** How long a running export retries while the service is overloaded. */
  exportPatienceMs: 60_000,
  /**
   * Projects of a workspace, unless its setting says otherwise. A key with the scope `write` can
   * create them, and people read their list.
   */
  projectsMax: 1000,
  /**
   * API keys of a workspace, revoked ones too: thirty a day for nine years. A revocation with
   * `cascade` reads all of them.
   */
  apiKeysMax: 100_000,
  /**
   * Scoped tokens of a workspace, ended ones too: three thousand people a day for nine years, each
   * with a link of their own. An erasure reads all of them.
   */
  tokensMax: 10_000_000,
  /** Policy versions of a project: one an hour for eleven years. */
  policyVersionsMax: 100_000,
  /** A session ends if it is unused for half a day, and after a week in any case. */
  sessionIdleMs: 12 * 3_600_000,
  sessionLifeMs: 7 * 86_400_000,
  /** Sessions of one member: more devices than anyone has. A new one ends the oldest. */
  sessionsMax: 20,
  /** A set-up token passes through other hands, so it is valid for one day. */
  setupLifeMs: 86_400_000,
  /**
   * Passwords that are hashed at once, 32 MiB and a core each. Half of these places are for
   * networks from which somebody has signed in. Then the passwords of each half that wait: four
   * seconds of work. Then how long they wait at most.
   */
  passwordsAtOnceMax: 2,
  passwordsWaitingMax: 32,
  passwordWaitMs: 5000,
  /**
   * Failed log-ins from one address. A person mistypes a few times, and a guessing program does not
   * stop.
   */
  failedLoginsPerMinute: 10,
  /**
   * The time of a refusal that must not reveal whether a resource exists. It is longer than the
   * look-ups, whose times differ, and too short for people to notice.
   */
  refusalMs: 20,
  /**
   * Reads from one address without a credential: enough for a page with many receipts, but not for
   * a copy of all.
   */
  anonymousReadsPerMinute: 600,
  /** Addresses that are stored for these rates, some 150 bytes each. */
  rateAddressesMax: 50_000,
} as const

export type Limits = { readonly [Name in keyof typeof defaultLimits]: number }
