// Every number that bounds something, and why that number. `GET /v1/limits` shows those that a
// caller can meet.

export interface Limits {
  /**
   * An event's body. Four times the largest sensible metadata; what is larger belongs into a file
   * that an event refers to.
   */
  readonly eventBytesMax: number
  /** A batch's body: a thousand ordinary events are half a megabyte. */
  readonly batchBytesMax: number
  readonly batchEventsMax: number
  /**
   * Objects and arrays in a batch: a thousand for each event. The garbage collector copies them
   * all, and holds the thread meanwhile: four million for 100 ms.
   */
  readonly batchObjectsMax: number
  /** A body with a password in it: e-mail, password and set-up token are some hundred bytes. */
  readonly signInBytesMax: number
  /**
   * Bodies in memory, of all callers with a credential together, and of all without one: sixteen of
   * the largest batches; two thousand people who sign in.
   */
  readonly bodyBytesAtOnceMax: number
  readonly anonymousBodyBytesAtOnceMax: number
  /** Nesting of JSON, so that no recursion over it can exhaust the stack. */
  readonly depthMax: number
  readonly stringBytesMax: number
  /**
   * All headers of a request together, and its target: what node and every proxy in front of it
   * accept.
   */
  readonly headersBytesMax: number
  readonly uriBytesMax: number
  /** Of each header that is kept with an event. */
  readonly contextCharactersMax: number
  /**
   * Events that may wait for a commit: a second's work. A longer queue only makes every answer
   * late.
   */
  readonly queuedEventsMax: number
  /** Of one commit: more would hold up those who come while it is written. */
  readonly commitEntriesMax: number
  readonly commitBytesMax: number
  /**
   * How often entries are linked again to a head that has moved before the write is given up as
   * unknown.
   */
  readonly relinksMax: number
  /** For a request's line and headers to arrive, and for the whole of it. */
  readonly headersTimeoutMs: number
  readonly bodyTimeoutMs: number
  /**
   * For a connection to lie idle between requests: longer than a load balancer's, which must not
   * send into one that is being closed.
   */
  readonly keepAliveTimeoutMs: number
  /** For nothing to move on a connection within a request. */
  readonly stillTimeoutMs: number
  /**
   * Bodies of writes that are looked at before the next requests are heard: some ten milliseconds
   * of work.
   */
  readonly turnBytesMax: number
  /** Bodies that have arrived and wait for that: three tenths of a second of work. */
  readonly turnsWaitingBytesMax: number
  /**
   * Work on large bodies, pages and packs that is done before the next requests are heard. What
   * cannot be divided, one event of 256 KiB, takes up to 40 ms.
   */
  readonly pieceMs: number
  /**
   * Connections at once, of some 20 KB each: more than the machines that write to one ledger, fewer
   * than a process may have files.
   */
  readonly connectionsMax: number
  /**
   * Requests of one connection whose client does not wait for answers: more than any program sends
   * ahead, and soon done with.
   */
  readonly pipelinedMax: number
  /** What a client must take of its answers, in the long run: the slowest of telephones does. */
  readonly answerBytesPerSecondMin: number
  /**
   * Answers that lie there because their clients do not take them, all together: what this process
   * can spare.
   */
  readonly unreadBytesMax: number
  /**
   * Storage that is asked whether it can append and has not answered by then is not ready: what
   * asks mostly waits no longer itself.
   */
  readonly readyWithinMs: number
  /** A stop waits this long for what was accepted; the whole of it takes ten seconds at most. */
  readonly drainTimeoutMs: number
  /**
   * Failures that are written to the log whole: what there is to learn of them is in the first few.
   */
  readonly failureLinesPerMinute: number
  /**
   * A stop signs what was followed for so long; thousands of workspaces would take longer than the
   * ten seconds.
   */
  readonly lastSigningMs: number
  /**
   * Left free on the disk, so that a full disk is a refusal before a commit and not an error in
   * one.
   */
  readonly diskReserveBytes: number
  /** An entry may be dated this far ahead of our clock before it is marked. */
  readonly clockAheadMs: number
  /**
   * A follower reads this many entries at a time: some milliseconds of work between two looks at
   * what else is to be done.
   */
  readonly followEntriesMax: number
  /**
   * Entries that are filed in one step: a larger one saves little, and whoever waits for its end
   * waits longer.
   */
  readonly fileEntriesMax: number
  /**
   * New entries are filed at most this often: what is not filed is looked through by every search,
   * and small steps cost more.
   */
  readonly fileEveryMs: number
  /** How long a search waits for the index, when too much is not in it yet to be looked through. */
  readonly findWaitMs: number
  /**
   * For a search to be answered, its turns and the waiting for them included: who types has gone on
   * by then.
   */
  readonly searchTimeoutMs: number
  /**
   * Searches that wait for a turn: a request's memory each, and more than are answered within that
   * time.
   */
  readonly searchesWaitingMax: number
  /**
   * Lists of the index that one step of a search may gather, which nothing can interrupt: between a
   * quarter of a second and one and a half.
   */
  readonly searchListBytesMax: number
  /**
   * Followers hear of new entries at most this often: nobody notices, and a busy ledger is followed
   * in fewer, larger steps.
   */
  readonly pokeEveryMs: number
  /** A workspace's checkpoint is signed at most this often while it is written to. */
  readonly checkpointEveryMs: number
  /** How long a request for a proof waits for the checkpoint that covers its entry. */
  readonly proofWaitMs: number
  /**
   * A signing key signs beside its successor: who trusts it has a week to learn of the other. More
   * than an evidence pack takes to be made.
   */
  readonly keyOverlapMs: number
  /**
   * Entries that are read and hashed again in a second, for ever: a hundredth of a core, and a
   * million entries in less than an hour.
   */
  readonly auditEntriesPerSecond: number
  /** All of them are read again at most this often: a small ledger's disk has a rest. */
  readonly auditRoundEveryMs: number
  /**
   * Tiles of 256 leaves that were held against a signed root and are remembered, 8 KiB each: half a
   * million entries in 16 MiB.
   */
  readonly verifiedTilesMax: number
  /** Entries whose links are computed again at every start. */
  readonly recheckEntries: number
  /**
   * A page of entries ends before it is larger, after one entry at least: what a client takes in a
   * second, and a telephone can hold.
   */
  readonly pageBytesMax: number
  /**
   * Pages, receipts and tiles that are read, in all and of one workspace: more would only share the
   * same thread, and a page holds some megabytes.
   */
  readonly readsAtOnceMax: number
  readonly readsOfWorkspaceMax: number
  /**
   * What waits for that: a request's memory each, some kilobytes; and how long, which is less than
   * a client does.
   */
  readonly readsWaitingMax: number
  readonly readWaitMs: number
  /** Entries of an evidence pack: more are an export. */
  readonly packReceiptsMax: number
  /** Its bytes: what a browser can still check, and far below what a ZIP can say. */
  readonly packBytesMax: number
  /**
   * Packs that are being made, each with some megabytes for seconds; and of one workspace, so that
   * no other waits for it alone.
   */
  readonly packsAtOnceMax: number
  readonly packsOfWorkspaceMax: number
  /**
   * Packs that are being sent, each with a list of its files, five megabytes for 10,000 entries, as
   * long as its client takes; and of one workspace.
   */
  readonly packsSentAtOnceMax: number
  readonly packsSentOfWorkspaceMax: number
  /**
   * Packs that wait for either, and how long: a few packs of others, and less than a client waits.
   */
  readonly packsWaitingMax: number
  readonly packWaitMs: number
  /** Of one scoped token: a person tries again, a program that checks a pack needs it once. */
  readonly packDownloadsPerMinute: number
  /**
   * Projects of a workspace, unless its setting says otherwise: a key that writes can make them,
   * and somebody has to look through their list.
   */
  readonly projectsMax: number
  /**
   * A session ends when it is not used for half a day, and after a week in any case: somebody who
   * is at work again signs in again.
   */
  readonly sessionIdleMs: number
  readonly sessionLifeMs: number
  /** Of one member: more devices than anyone has. The oldest gives way. */
  readonly sessionsMax: number
  /** A set-up token goes through other hands, so it is good for a day only. */
  readonly setupLifeMs: number
  /**
   * Passwords that are hashed at once, 32 MiB and a core each: half of them for networks from which
   * somebody has signed in. Those of each half that may wait for it, four seconds of work; and how
   * long they wait at most.
   */
  readonly passwordsAtOnceMax: number
  readonly passwordsWaitingMax: number
  readonly passwordWaitMs: number
  /** Of one address: a person mistypes a few times, a program that guesses does not stop. */
  readonly failedLoginsPerMinute: number
  /**
   * From the first look-up to a refusal that must not tell whether there is what it names: longer
   * than the look-ups, which take more or less time for what there is, and too short for people to
   * notice.
   */
  readonly refusalMs: number
  /** Of one address without a credential: a page with many receipts, not a copy of all of them. */
  readonly anonymousReadsPerMinute: number
  /** Addresses that are remembered for these rates, some 150 bytes each. */
  readonly rateAddressesMax: number
}

export const defaultLimits: Limits = {
  eventBytesMax: 256 * 1024,
  batchBytesMax: 8 * 1024 * 1024,
  batchEventsMax: 1000,
  batchObjectsMax: 1_000_000,
  signInBytesMax: 4096,
  bodyBytesAtOnceMax: 128 * 1024 * 1024,
  anonymousBodyBytesAtOnceMax: 8 * 1024 * 1024,
  depthMax: 32,
  stringBytesMax: 64 * 1024,
  headersBytesMax: 16 * 1024,
  uriBytesMax: 8 * 1024,
  contextCharactersMax: 1024,
  queuedEventsMax: 5000,
  commitEntriesMax: 2000,
  commitBytesMax: 8 * 1024 * 1024,
  relinksMax: 8,
  headersTimeoutMs: 10_000,
  bodyTimeoutMs: 30_000,
  keepAliveTimeoutMs: 72_000,
  stillTimeoutMs: 60_000,
  turnBytesMax: 128 * 1024,
  turnsWaitingBytesMax: 4 * 1024 * 1024,
  pieceMs: 10,
  connectionsMax: 10_000,
  pipelinedMax: 100,
  answerBytesPerSecondMin: 1024,
  unreadBytesMax: 256 * 1024 * 1024,
  readyWithinMs: 1000,
  drainTimeoutMs: 8_000,
  lastSigningMs: 1500,
  failureLinesPerMinute: 20,
  diskReserveBytes: 64 * 1024 * 1024,
  clockAheadMs: 5 * 60_000,
  followEntriesMax: 1000,
  fileEntriesMax: 2000,
  fileEveryMs: 250,
  findWaitMs: 2000,
  searchTimeoutMs: 2000,
  searchesWaitingMax: 1000,
  searchListBytesMax: 64 * 1024 * 1024,
  pokeEveryMs: 50,
  checkpointEveryMs: 900,
  proofWaitMs: 2000,
  keyOverlapMs: 7 * 86_400_000,
  auditEntriesPerSecond: 500,
  auditRoundEveryMs: 60_000,
  verifiedTilesMax: 2048,
  recheckEntries: 1000,
  pageBytesMax: 4 * 1024 * 1024,
  readsAtOnceMax: 8,
  readsOfWorkspaceMax: 4,
  readsWaitingMax: 2000,
  readWaitMs: 5000,
  packReceiptsMax: 10_000,
  packBytesMax: 1024 * 1024 * 1024,
  packsAtOnceMax: 4,
  packsOfWorkspaceMax: 2,
  packsSentAtOnceMax: 32,
  packsSentOfWorkspaceMax: 4,
  packsWaitingMax: 256,
  packWaitMs: 20_000,
  packDownloadsPerMinute: 20,
  projectsMax: 1000,
  sessionIdleMs: 12 * 3_600_000,
  sessionLifeMs: 7 * 86_400_000,
  sessionsMax: 20,
  setupLifeMs: 86_400_000,
  passwordsAtOnceMax: 2,
  passwordsWaitingMax: 32,
  passwordWaitMs: 5000,
  failedLoginsPerMinute: 10,
  refusalMs: 20,
  anonymousReadsPerMinute: 600,
  rateAddressesMax: 50_000,
}
