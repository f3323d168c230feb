// Every number that bounds something, and why that number. `GET /v1/limits` shows those that a caller can meet.

export interface Limits {
  /** An event's body. Four times the largest sensible metadata; what is larger belongs into a file that an event refers to. */
  readonly eventBytesMax: number
  /** A batch's body: a thousand ordinary events are half a megabyte. */
  readonly batchBytesMax: number
  readonly batchEventsMax: number
  /** Nesting of JSON, so that no recursion over it can exhaust the stack. */
  readonly depthMax: number
  readonly stringBytesMax: number
  /** All headers of a request together, and its target: what node and every proxy in front of it accept. */
  readonly headersBytesMax: number
  readonly uriBytesMax: number
  /** Of each header that is kept with an event. */
  readonly contextCharactersMax: number
  /** Events that may wait for a commit: a second's work. A longer queue only makes every answer late. */
  readonly queuedEventsMax: number
  /** Of one commit: more would hold up those who come while it is written. */
  readonly commitEntriesMax: number
  readonly commitBytesMax: number
  /** How often entries are linked again to a head that has moved before the write is given up as unknown. */
  readonly relinksMax: number
  /** For a request's line and headers to arrive, and for the whole of it. */
  readonly headersTimeoutMs: number
  readonly bodyTimeoutMs: number
  /** For a connection to lie idle between requests: longer than a load balancer's, which must not send into one that is being closed. */
  readonly keepAliveTimeoutMs: number
  /** For nothing to move on a connection within a request. */
  readonly stillTimeoutMs: number
  /** A stop waits this long for what was accepted; the whole of it takes ten seconds at most. */
  readonly drainTimeoutMs: number
  /** Left free on the disk, so that a full disk is a refusal before a commit and not an error in one. */
  readonly diskReserveBytes: number
  /** An entry may be dated this far ahead of our clock before it is marked. */
  readonly clockAheadMs: number
  /** A follower reads this many entries at a time: some milliseconds of work between two looks at what else is to be done. */
  readonly followEntriesMax: number
  /** Followers hear of new entries at most this often: nobody notices, and a busy ledger is followed in fewer, larger steps. */
  readonly pokeEveryMs: number
  /** A workspace's checkpoint is signed at most this often while it is written to. */
  readonly checkpointEveryMs: number
  /** How long a request for a proof waits for the checkpoint that covers its entry. */
  readonly proofWaitMs: number
  /** Entries whose links are computed again at every start. */
  readonly recheckEntries: number
}

export const defaultLimits: Limits = {
  eventBytesMax: 256 * 1024,
  batchBytesMax: 8 * 1024 * 1024,
  batchEventsMax: 1000,
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
  drainTimeoutMs: 8_000,
  diskReserveBytes: 64 * 1024 * 1024,
  clockAheadMs: 5 * 60_000,
  followEntriesMax: 1000,
  pokeEveryMs: 50,
  checkpointEveryMs: 900,
  proofWaitMs: 2000,
  recheckEntries: 1000,
}
