// Every number that bounds something, and its reason. `GET /v1/limits` shows those that a caller
// can meet.

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
   * Bodies in memory, for all callers with a credential together, and for all without one: sixteen
   * of the largest batches; two thousand people who sign in.
   */
  bodyBytesAtOnceMax: 128 * 1024 * 1024,
  anonymousBodyBytesAtOnceMax: 8 * 1024 * 1024,
  /** Nesting of JSON. Recursion over a body must not exhaust the stack. */
  depthMax: 32,
  stringBytesMax: 64 * 1024,
  /** All headers of a request together, and its target: what node and common proxies accept. */
  headersBytesMax: 16 * 1024,
  uriBytesMax: 8 * 1024,
  /** Each header that is kept with an event. */
  contextCharactersMax: 1024,
  /** Events that wait for a commit: a second's work. A longer queue only makes every answer late. */
  queuedEventsMax: 5000,
  /** One commit. A larger one delays those who come while it is written. */
  commitEntriesMax: 2000,
  commitBytesMax: 8 * 1024 * 1024,
  /**
   * How often entries are linked again after the head has moved. Then the write is unknown. An
   * engine to which several servers append links most of them itself.
   */
  relinksMax: 10,
  /** Connections to PostgreSQL of the thread that serves. The other threads have 13 together, those of exports 6. */
  databaseConnectionsMax: 10,
  /** For a request's line and headers to arrive, and for the whole request. */
  headersTimeoutMs: 10_000,
  bodyTimeoutMs: 30_000,
  /**
   * An idle connection between requests: longer than load balancers keep one, so that they do not
   * send a request into a connection that is being closed.
   */
  keepAliveTimeoutMs: 72_000,
  /** A connection on which nothing moves during a request. */
  stillTimeoutMs: 60_000,
  /** Bodies of writes that are parsed before other requests are heard: some ten milliseconds. */
  turnBytesMax: 128 * 1024,
  /** Bodies that have arrived and wait to be parsed: three tenths of a second of work. */
  turnsWaitingBytesMax: 4 * 1024 * 1024,
  /**
   * Work on large bodies, pages and packs before other requests are heard. One event of 256 KiB
   * cannot be divided and takes up to 40 ms.
   */
  pieceMs: 10,
  /**
   * Connections at once, some 20 KB each: more than the machines that write to one ledger, fewer
   * than the files that a process may open.
   */
  connectionsMax: 10_000,
  /** Requests that one connection sends ahead without waiting for answers. */
  pipelinedMax: 100,
  /** Requests that begin in a turn of the event loop, some three milliseconds of work. */
  requestsPerTurn: 64,
  /** How fast a client must read its answers on average. The slowest mobile networks are faster. */
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
  /** Failures that are logged in full. The first few show what there is to learn. */
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
   * What a merge of segments holds of what it has made. A larger one is stored in pieces of this:
   * a segment of a million entries has some 60 MB.
   */
  mergedBytesMax: 4 * 1024 * 1024,
  /** How often the thread that makes segments hears of new entries: it needs thousands for one. */
  fileEveryMs: 250,
  /**
   * Entries that wait for a segment of the search are packed at this age without one: a workspace
   * may never have enough of them.
   */
  packAfterMs: 86_400_000,
  /** How often the archiver looks for entries that are due: they have waited for days. */
  archiveEveryMs: 60_000,
  /** Entries of an archive segment: some megabytes, which are read back before they are dropped. */
  archiveEntriesMax: 16_384,
  /** An archive segment that is not full waits so long for more entries: one file a day at most. */
  archivePartialMs: 86_400_000,
  /** How long a search waits for segments if more entries are in none than it can look through. */
  findWaitMs: 2000,
  /** How long a search may take, with its waiting: somebody who types has typed on by then. */
  searchTimeoutMs: 2000,
  /** Searches that wait: a request's memory each, and more than are answered within that time. */
  searchesWaitingMax: 1000,
  /**
   * What each of the two threads that search remembers: parts of segments, and entries that are in
   * none yet. Searches of a busy ledger read the same ones again and again.
   */
  searchCacheBytesMax: 64 * 1024 * 1024,
  /** Different values of a field that are counted: each is held until all entries were looked at. */
  countedValuesMax: 100_000,
  /** How often followers hear of new entries at most. A busy ledger is followed in larger steps. */
  pokeEveryMs: 50,
  /** The same where each step asks a database, and there may be a hundred busy workspaces. */
  pokeDatabaseEveryMs: 250,
  /**
   * Followers of feeds that wait, some 30 KB each with their connections, in all and of one
   * workspace: fewer than half of all connections, and half of them for other workspaces.
   */
  followersMax: 4000,
  followersOfWorkspaceMax: 2000,
  /** How often followers of feeds hear of new entries at most: each costs a write to a socket. */
  feedEveryMs: 100,
  /** How often a waiting follower is looked after: whether its credential holds, and its time. */
  feedBeatMs: 1000,
  /** How often a silent stream says that it is alive: proxies often close one after 30 s or 60 s. */
  feedCommentMs: 15_000,
  /** Bytes of entries that a stream is given at once: each follower may have as many unread. */
  feedBytesMax: 64 * 1024,
  /** How often a workspace's checkpoint is signed at most, while it is written to. */
  checkpointEveryMs: 900,
  /** How long a request for a proof waits for the checkpoint that covers its entry. */
  proofWaitMs: 2000,
  /**
   * How long a replaced signing key keeps signing. Whoever trusts it has a week to learn of the new
   * key. Making an evidence pack takes less.
   */
  keyOverlapMs: 7 * 86_400_000,
  /** Entries that the auditor hashes again: a hundredth of a core, a million entries in an hour. */
  auditEntriesPerSecond: 500,
  /** How often the auditor begins again at most: the disk of a small ledger rests meanwhile. */
  auditRoundEveryMs: 60_000,
  /** Verified tiles of 256 leaves in memory, 8 KiB each: a million entries in 32 MiB. */
  verifiedTilesMax: 4096,
  /** Entries whose links every start checks. */
  recheckEntries: 1000,
  /** A page of entries, which has one entry at least: a client downloads it in a second. */
  pageBytesMax: 4 * 1024 * 1024,
  /**
   * Pages, receipts and tiles that are read at once, in all and for one workspace. More would share
   * the same thread, and a page holds some megabytes.
   */
  readsAtOnceMax: 8,
  readsOfWorkspaceMax: 4,
  /** Reads that wait, some kilobytes each; and how long: less than a client waits. */
  readsWaitingMax: 2000,
  readWaitMs: 5000,
  /** Entries of an evidence pack. For more, use an export. */
  packReceiptsMax: 10_000,
  /** Holds of a workspace that were not released: each costs time for every entry that is read. */
  holdsMax: 100,
  /** Receipts that one hold names. For more, it is given a filter. */
  holdReceiptsMax: 1000,
  /**
   * Requests for an erasure that look for a person's entries at once: each reads all of them, which
   * takes seconds of a large ledger. Of one workspace it is one, so others get on.
   */
  erasureCountsAtOnceMax: 4,
  /** Requests that wait for that; and how long: less than a client waits. */
  erasureCountsWaitingMax: 256,
  erasureCountWaitMs: 20_000,
  /** How often the service looks whether content has passed its time: days begin at midnight. */
  expiryEveryMs: 3_600_000,
  /** How long a preview of retention counts before it says how far it came. */
  previewWaitMs: 10_000,
  /** Phrases of a project: more actions than people are shown. Each page of activity has all. */
  phrasesMax: 200,
  /** The bytes of a pack: what a browser can still check, and far below the limit of ZIP. */
  packBytesMax: 1024 * 1024 * 1024,
  /** Packs that are made at once, some megabytes each; and for one workspace, so others get on. */
  packsAtOnceMax: 4,
  packsOfWorkspaceMax: 2,
  /**
   * Packs that are sent at once, as long as their clients take; and for one workspace. The list of
   * files of 10,000 entries has five megabytes.
   */
  packsSentAtOnceMax: 32,
  packsSentOfWorkspaceMax: 4,
  /** Packs that wait to be made or sent; and how long: less than a client waits. */
  packsWaitingMax: 256,
  packWaitMs: 20_000,
  /** Downloads with one scoped token. A person retries; a program that checks a pack needs one. */
  packDownloadsPerMinute: 20,
  /**
   * Exports that are sent at once, as long as their clients take; and of one workspace. One as
   * Parquet has some tens of megabytes in memory.
   */
  exportsAtOnceMax: 8,
  exportsOfWorkspaceMax: 2,
  /** Exports that wait to begin; and how long: less than a client waits. */
  exportsWaitingMax: 256,
  exportWaitMs: 20_000,
  /** How long an export that has begun waits to go on when there is too much to do. */
  exportPatienceMs: 60_000,
  /**
   * Projects of a workspace, unless its setting says otherwise. A key with the scope `write` can
   * create them, and people read their list.
   */
  projectsMax: 1000,
  /** A session ends if it is unused for half a day, and after a week in any case. */
  sessionIdleMs: 12 * 3_600_000,
  sessionLifeMs: 7 * 86_400_000,
  /** Sessions of one member: more devices than anyone has. A new one ends the oldest. */
  sessionsMax: 20,
  /** A set-up token passes through other hands, so it is valid for one day. */
  setupLifeMs: 86_400_000,
  /**
   * Passwords that are hashed at once, 32 MiB and a core each: half of them for networks from which
   * somebody has signed in. Passwords of each half that wait: four seconds of work. How long they
   * wait at most.
   */
  passwordsAtOnceMax: 2,
  passwordsWaitingMax: 32,
  passwordWaitMs: 5000,
  /** From one address. A person mistypes a few times; a program that guesses does not stop. */
  failedLoginsPerMinute: 10,
  /**
   * The time of a refusal that must not reveal whether a resource exists. It is longer than the
   * look-ups, whose time differs, and too short for people to notice.
   */
  refusalMs: 20,
  /** From one address without a credential: a page with many receipts, not a copy of all. */
  anonymousReadsPerMinute: 600,
  /** Addresses that are remembered for these rates, some 150 bytes each. */
  rateAddressesMax: 50_000,
} as const

export type Limits = { readonly [Name in keyof typeof defaultLimits]: number }
