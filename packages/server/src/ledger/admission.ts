// Admission control for what is written: how many bytes of bodies are in memory, which body the
// thread looks at next, and how many entries wait for storage. What does not fit is refused at
// once, and before its body is read: work that is done in vain is what makes an overload last.

import { LedgerError } from "../error.ts"
import type { Limits } from "../limits.ts"

/** Who shares room with whom. */
export interface Party {
  /** A workspace; the network of a stranger; empty for callers that belong to no workspace. */
  readonly name: string
  /** Nobody knows who it is. */
  readonly isStranger: boolean
  /** Its body becomes entries, of its own workspace if it has one. */
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
 * One workspace may have four times the queue that is free: alone most of it, and however much some
 * send, there is a place left for whoever comes next.
 */
const timesFreeMax = 4
/** Of the room for bodies one party has so much, so that a few cannot take it from all others. */
const shareMax = 1 / 4
/**
 * Of the room, and of a share, what bodies larger than an event's may take: who announces batches
 * and sends nothing stops no single events.
 */
const largeMax = 7 / 8
/** A body of this part of a turn is small; a turn is some two hundred ordinary events. */
const smallParts = 32

export class Admission {
  readonly #limits: AdmissionLimits
  readonly #queue = new Counts()
  readonly #bodies = new Counts()
  /** Strangers must not be able to take the room of those who are known, nor these theirs. */
  readonly #strangersBodies = new Counts()
  /**
   * Workspaces that were refused, until something is written: what comes meanwhile would most
   * likely be refused as well, only later.
   */
  readonly #closed = new Set<string>()
  readonly #later: (act: () => void) => void
  #waiting: Waiting[] = []
  #waitingBytes = 0
  #turnBytes = 0

  /** `later` calls a function when the thread has heard who else is there. */
  constructor(limits: AdmissionLimits, later: (act: () => void) => void = setImmediate) {
    this.#limits = limits
    this.#later = later
  }

  /** A request with a body asks for all that it needs by this; it must `leave` in the end. */
  enter(party: Party): Place {
    return new Place(this, party)
  }

  /** Entries that are being sealed, or wait for their commit. */
  get entries(): number {
    return this.#queue.all
  }

  /** Throws `overloaded` when the queue has no room for so many entries more. */
  takeEntries(workspace: string, entries: number): void {
    if (!this.#hasQueue(workspace, entries)) this.#refuse(workspace)
    this.#queue.add(workspace, entries)
  }

  /** They were written, or refused. */
  giveBackEntries(workspace: string, entries: number): void {
    this.#queue.add(workspace, -entries)
    this.#closed.clear()
  }

  /** For a `Place`, of whose body `held` bytes are there. */
  takeBytes(party: Party, bytes: number, held: number): void {
    this.#checkQueue(party)
    if (!this.#hasRoom(party, bytes, held))
      throw new LedgerError(
        "overloaded",
        "too many bodies are sent at this moment; nothing was recorded",
      )
    this.#bodiesOf(party).add(party.name, bytes)
  }

  /** For a `Place`. */
  giveBackBytes(party: Party, bytes: number): void {
    if (bytes > 0) this.#bodiesOf(party).add(party.name, -bytes)
  }

  /** For a `Place`. Undefined: the body may be looked at now. */
  turn(party: Party, bytes: number): Promise<void> | undefined {
    if (!party.isWriter) return undefined
    this.#checkQueue(party)
    const { turnBytesMax, turnsWaitingBytesMax } = this.#limits
    // What is small goes before what is large, as long as it takes no more than a turn of its own.
    const isSmall = bytes * smallParts <= turnBytesMax
    if (this.#turnBytes < (isSmall ? 2 : this.#waiting.length === 0 ? 1 : 0) * turnBytesMax) {
      this.#begin(bytes)
      return undefined
    }
    if (this.#waiting.length > 0 && this.#waitingBytes + bytes > turnsWaitingBytesMax)
      throw new LedgerError(
        "overloaded",
        "more is sent than can be looked at; nothing was recorded",
      )
    this.#waitingBytes += bytes
    return new Promise((resolve, reject) =>
      this.#waiting.push({ party, bytes, begin: resolve, refuse: reject }),
    )
  }

  #begin(bytes: number): void {
    if (this.#turnBytes === 0) this.#later(() => this.#nextTurn())
    this.#turnBytes += bytes
  }

  #nextTurn(): void {
    this.#turnBytes = 0
    const waiting = this.#waiting
    this.#waiting = []
    this.#waitingBytes = 0
    for (const one of waiting) {
      try {
        this.#checkQueue(one.party)
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

  #bodiesOf({ isStranger }: Party): Counts {
    return isStranger ? this.#strangersBodies : this.#bodies
  }

  #hasRoom(party: Party, bytes: number, held: number): boolean {
    const { bodyBytesAtOnceMax, anonymousBodyBytesAtOnceMax, eventBytesMax } = this.#limits
    const counts = this.#bodiesOf(party)
    const [all, mine] = [counts.all, counts.of(party.name)]
    const isFirst = mine === held
    const fits = (most: number): boolean =>
      all + bytes <= most && (isFirst || mine + bytes <= most * shareMax)
    if (party.isStranger) return fits(anonymousBodyBytesAtOnceMax)
    if (held + bytes > eventBytesMax) return fits(bodyBytesAtOnceMax * largeMax)
    // Whoever sends one event at a time goes on, whatever the others do.
    return isFirst || fits(bodyBytesAtOnceMax)
  }

  #hasQueue(workspace: string, entries: number): boolean {
    const free = this.#limits.queuedEventsMax - this.#queue.all
    const mine = this.#queue.of(workspace)
    return entries <= free && (mine === 0 || mine + entries <= free * timesFreeMax)
  }

  /** Throws `overloaded` for a body whose entries would have no room. */
  #checkQueue({ name, isWriter }: Party): void {
    // Who belongs to no workspace says in the body which one is meant.
    if (isWriter && name !== "" && (this.#closed.has(name) || !this.#hasQueue(name, 1)))
      this.#refuse(name)
  }

  #refuse(workspace: string): never {
    const { all } = this.#queue
    // With nothing to be written, nothing would open it again.
    if (all > 0) this.#closed.add(workspace)
    const limit = `the limit is ${this.#limits.queuedEventsMax}, and no workspace may have all of it`
    throw new LedgerError(
      "overloaded",
      `${all} events wait to be written, ${this.#queue.of(workspace)} of this workspace; ${limit}; nothing was recorded`,
    )
  }
}

interface Waiting {
  readonly party: Party
  readonly bytes: number
  begin(): void
  refuse(reason: unknown): void
}

/** What one request has been admitted with. */
export class Place {
  readonly #admission: Admission
  readonly #party: Party
  #bytes = 0

  constructor(admission: Admission, party: Party) {
    this.#admission = admission
    this.#party = party
  }

  /**
   * Takes room for so many bytes more of the body, before they are read. Throws `overloaded` if
   * there is none, or none for the entries that the body would become.
   */
  take(bytes: number): void {
    this.#admission.takeBytes(this.#party, bytes, this.#bytes)
    this.#bytes += bytes
  }

  /** Resolves when the thread may look at the body; undefined says that it may now. */
  turn(): Promise<void> | undefined {
    return this.#admission.turn(this.#party, this.#bytes)
  }

  leave(): void {
    this.#admission.giveBackBytes(this.#party, this.#bytes)
    this.#bytes = 0
  }
}

/** How much there is of something, in all and of each party. */
class Counts {
  readonly #of = new Map<string, number>()
  all = 0

  of(party: string): number {
    return this.#of.get(party) ?? 0
  }

  /** Less than nothing takes away. */
  add(party: string, count: number): void {
    const of = this.of(party) + count
    if (of === 0) this.#of.delete(party)
    else this.#of.set(party, of)
    this.all += count
  }
}
