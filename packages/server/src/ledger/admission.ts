// Admission control for writes. It limits the bytes of bodies in memory, the bodies that are parsed
// in one turn of the event loop, and the entries that wait for storage. A request that does not fit
// is refused at once, before its body is read: work that is done in vain is what makes an overload
// last.

import { LedgerError } from "../error.ts"
import type { Limits } from "../limits.ts"

/** Whoever a request is counted to. Requests of one sender share its limits. */
export interface Sender {
  /**
   * A workspace, or the network of a caller that names none. Empty for the instance key.
   */
  readonly name: string
  /** Whether it is a network. */
  readonly isStranger: boolean
  /**
   * Whether its body becomes entries. If the sender is a workspace, they are entries of that
   * workspace.
   */
  readonly isWriter: boolean
}

export type AdmissionLimits = Pick<
  Limits,
  | "queuedEventsMax"
  | "bodyBytesAtOnceMax"
  | "anonymousBodyBytesAtOnceMax"
  | "eventBytesMax"
  | "turnBytesMax"
  | "turnsWaitingBytesMax"
>

/**
 * A workspace may have up to four times as many entries in the queue as there are free places. One
 * workspace alone can take most of the queue, but however much some send, places are left for the
 * next one.
 */
const timesFreeMax = 4
/** The share of one sender in the memory for bodies, so that no sender can take all of it. */
const shareMax = 1 / 4
/**
 * The part of the memory, and of a share, for bodies that are larger than an event. So a client
 * that announces batches and sends nothing cannot block single events.
 */
const largeMax = 7 / 8
/** A small body is at most this part of a turn, which is some two hundred ordinary events. */
const smallParts = 32

export class Admission {
  readonly #limits: AdmissionLimits
  readonly #queue = new Counts()
  readonly #bodies = new Counts()
  /**
   * Separate, so that anonymous callers and callers with a credential cannot take each other's
   * memory.
   */
  readonly #strangersBodies = new Counts()
  /**
   * Workspaces that were refused since the last entry was written. Their next request would most
   * likely be refused as well, only later.
   */
  readonly #closed = new Set<string>()
  readonly #later: (act: () => void) => void
  #waiting: Waiting[] = []
  #waitingBytes = 0
  #turnBytes = 0

  /** `later` calls a function in the next turn of the event loop. */
  constructor(limits: AdmissionLimits, later: (act: () => void) => void = setImmediate) {
    this.#limits = limits
    this.#later = later
  }

  /** Admits a request with a body. The caller must finally call `leave`. */
  enter(sender: Sender): Place {
    return new Place(this, sender)
  }

  /** How many entries are being sealed or wait for their commit. */
  get entries(): number {
    return this.#queue.all
  }

  /** Throws `overloaded` if the queue has no room for so many entries. */
  takeEntries(workspace: string, entries: number): void {
    if (!this.#hasQueue(workspace, entries)) this.#refuse(workspace)
    this.#queue.add(workspace, entries)
  }

  /** Called when entries were written or failed. */
  giveBackEntries(workspace: string, entries: number): void {
    this.#queue.add(workspace, -entries)
    // Clearing an empty set would allocate a new table.
    if (this.#closed.size > 0) this.#closed.clear()
  }

  /** Called by a `Place`, whose body has taken `held` bytes already. */
  takeBytes(sender: Sender, bytes: number, held: number): void {
    this.#checkQueue(sender)
    if (!this.#hasRoom(sender, bytes, held))
      throw new LedgerError("overloaded", "too many bodies are being sent; nothing was recorded")
    this.#bodiesOf(sender).add(sender.name, bytes)
  }

  /** For a `Place`. */
  giveBackBytes(sender: Sender, bytes: number): void {
    if (bytes > 0) this.#bodiesOf(sender).add(sender.name, -bytes)
  }

  /** For a `Place`. Undefined if the body may be parsed now. */
  turn(sender: Sender, bytes: number): Promise<void> | undefined {
    if (!sender.isWriter) return undefined
    this.#checkQueue(sender)
    const { turnBytesMax, turnsWaitingBytesMax } = this.#limits
    // Small bodies go before large ones, until they have used one turn.
    const isSmall = bytes * smallParts <= turnBytesMax
    if (this.#turnBytes < (isSmall ? 2 : this.#waiting.length === 0 ? 1 : 0) * turnBytesMax) {
      this.#begin(bytes)
      return undefined
    }
    if (this.#waiting.length > 0 && this.#waitingBytes + bytes > turnsWaitingBytesMax)
      throw new LedgerError(
        "overloaded",
        "more bodies arrive than can be parsed; nothing was recorded",
      )
    this.#waitingBytes += bytes
    return new Promise((resolve, reject) =>
      this.#waiting.push({ sender, bytes, begin: resolve, refuse: reject }),
    )
  }

  #begin(bytes: number): void {
    if (this.#turnBytes === 0) this.#later(() => this.#nextTurn())
    // A large body is parsed in slices, of which only the first belongs to this turn.
    this.#turnBytes += Math.min(bytes, this.#limits.turnBytesMax)
  }

  #nextTurn(): void {
    this.#turnBytes = 0
    const waiting = this.#waiting
    this.#waiting = []
    this.#waitingBytes = 0
    for (const one of waiting) {
      try {
        this.#checkQueue(one.sender)
      } catch (refusal) {
        one.refuse(refusal)
        continue
      }
      if (this.#turnBytes < this.#limits.turnBytesMax) {
        this.#begin(one.bytes)
        one.begin()
      } else {
        this.#waiting.push(one)
        this.#waitingBytes += one.bytes
      }
    }
  }

  #bodiesOf({ isStranger }: Sender): Counts {
    return isStranger ? this.#strangersBodies : this.#bodies
  }

  #hasRoom(sender: Sender, bytes: number, held: number): boolean {
    const { bodyBytesAtOnceMax, anonymousBodyBytesAtOnceMax, eventBytesMax } = this.#limits
    const counts = this.#bodiesOf(sender)
    const [all, mine] = [counts.all, counts.of(sender.name)]
    const isFirst = mine === held
    const most = sender.isStranger ? anonymousBodyBytesAtOnceMax : bodyBytesAtOnceMax
    const fits = (part: number): boolean =>
      all + bytes <= most * part && (isFirst || mine + bytes <= most * part * shareMax)
    // A client that sends one event at a time is never refused, and no network can keep the others
    // from signing in: only connections are limited then.
    return held + bytes > eventBytesMax ? fits(largeMax) : isFirst || fits(1)
  }

  #hasQueue(workspace: string, entries: number): boolean {
    const free = this.#limits.queuedEventsMax - this.#queue.all
    const mine = this.#queue.of(workspace)
    return entries <= free && (mine === 0 || mine + entries <= free * timesFreeMax)
  }

  /** Throws `overloaded` for a body whose entries would have no room. */
  #checkQueue({ name, isWriter }: Sender): void {
    // A caller without a workspace names one in the body, which was not read yet.
    if (isWriter && name !== "" && (this.#closed.has(name) || !this.#hasQueue(name, 1)))
      this.#refuse(name)
  }

  #refuse(workspace: string): never {
    const { all } = this.#queue
    // If the queue is empty, no write would reopen the workspace.
    if (all > 0) this.#closed.add(workspace)
    const limit = `the limit is ${this.#limits.queuedEventsMax}, and no workspace may have all of it`
    throw new LedgerError(
      "overloaded",
      `${all} events wait to be written, ${this.#queue.of(workspace)} of this workspace; ${limit}; nothing was recorded`,
    )
  }
}

interface Waiting {
  readonly sender: Sender
  readonly bytes: number
  begin(): void
  refuse(reason: unknown): void
}

/** The resources of one request until it is answered. */
export class Place {
  readonly #admission: Admission
  readonly #sender: Sender
  #bytes = 0

  constructor(admission: Admission, sender: Sender) {
    this.#admission = admission
    this.#sender = sender
  }

  get sender(): string {
    return this.#sender.name
  }

  /**
   * Reserves memory for more bytes of the body. Throws `overloaded` if there is none, or if the
   * queue has no place for an entry.
   */
  take(bytes: number): void {
    this.#admission.takeBytes(this.#sender, bytes, this.#bytes)
    this.#bytes += bytes
  }

  /** Resolves when the body may be parsed. Undefined if it may be parsed now. */
  turn(): Promise<void> | undefined {
    return this.#admission.turn(this.#sender, this.#bytes)
  }

  leave(): void {
    this.#admission.giveBackBytes(this.#sender, this.#bytes)
    this.#bytes = 0
  }
}

/** An amount, in total and by sender. */
class Counts {
  readonly #of = new Map<string, number>()
  all = 0

  of(sender: string): number {
    return this.#of.get(sender) ?? 0
  }

  /** The amount may be negative. */
  add(sender: string, count: number): void {
    const of = this.of(sender) + count
    if (of === 0) this.#of.delete(sender)
    else this.#of.set(sender, of)
    this.all += count
  }
}
