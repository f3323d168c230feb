// Clients that ask and do not take their answers, which then lie in our memory. One that takes
// nothing at all is cut off by Node, after `stillTimeoutMs`; here are those that take a byte now
// and then, and those that are too many.

import type { Server, Socket } from "node:net"
import type { Clock } from "../clock.ts"

export interface ReaderLimits {
  readonly stillTimeoutMs: number
  /**
   * What lies there for a client must be taken at this pace, once it was given `stillTimeoutMs`.
   */
  readonly answerBytesPerSecondMin: number
  /**
   * Of all answers together. Above it the clients that have waited longest to take something are
   * cut off.
   */
  readonly unreadBytesMax: number
}

interface Unread {
  readonly socket: Socket
  readonly bytes: number
  /** How much was taken in all, and when that last changed. */
  readonly taken: number
  readonly sinceMs: number
}

const lookEveryMs = 1000

/** Looks after the connections of a server until it is closed. */
export function cutSlowReaders(server: Server, clock: Clock, limits: ReaderLimits): void {
  const open = new Set<Socket>()
  let unread: ReadonlyMap<Socket, Unread> = new Map()
  let closed = false
  server.on("connection", (socket: Socket) => {
    open.add(socket)
    socket.once("close", () => open.delete(socket))
  })
  server.once("close", () => {
    closed = true
  })

  const look = async (): Promise<void> => {
    while (!closed) {
      await clock.sleep(lookEveryMs)
      unread = unreadOf(open, unread, clock.elapsed())
      for (const { socket } of tooSlow([...unread.values()], clock.elapsed(), limits))
        socket.destroy()
    }
  }
  void look()
}

function unreadOf(
  open: ReadonlySet<Socket>,
  before: ReadonlyMap<Socket, Unread>,
  nowMs: number,
): ReadonlyMap<Socket, Unread> {
  const unread = new Map<Socket, Unread>()
  for (const socket of open) {
    const bytes = socket.writableLength
    if (bytes === 0) continue
    // Of one large write it is known only when all of it was taken; so the time for it goes by its
    // size.
    const taken = socket.bytesWritten - bytes
    const known = before.get(socket)
    unread.set(socket, {
      socket,
      bytes,
      taken,
      sinceMs: known?.taken === taken ? known.sinceMs : nowMs,
    })
  }
  return unread
}

/**
 * Those to let go of: each that is too slow by itself; then the slowest, until the others' answers
 * are not too much.
 */
export function tooSlow<T extends Omit<Unread, "socket">>(
  all: readonly T[],
  nowMs: number,
  limits: ReaderLimits,
): readonly T[] {
  const { stillTimeoutMs, answerBytesPerSecondMin, unreadBytesMax } = limits
  let bytes = all.reduce((sum, one) => sum + one.bytes, 0)
  return all
    .toSorted((a, b) => a.sinceMs - b.sinceMs || b.bytes - a.bytes)
    .filter((one) => {
      const mayTakeMs = stillTimeoutMs + (one.bytes / answerBytesPerSecondMin) * 1000
      if (nowMs - one.sinceMs <= mayTakeMs && bytes <= unreadBytesMax) return false
      bytes -= one.bytes
      return true
    })
}
