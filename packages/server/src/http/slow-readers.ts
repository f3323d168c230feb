// Disconnects clients that do not read their answers, because unread answers fill our memory. Node
// disconnects a client that reads nothing for `stillTimeoutMs`. This file handles clients that read
// very slowly, and too many of them at once.

import type { Server, Socket } from "node:net"
import type { Clock } from "../clock.ts"
import type { Limits } from "../limits.ts"

type ReaderLimits = Pick<Limits, "stillTimeoutMs" | "answerBytesPerSecondMin" | "unreadBytesMax">

type Sending = Pick<Socket, "writableLength" | "bytesWritten">

interface Unread<S> {
  readonly socket: S
  readonly bytes: number
  /** Bytes of further answers, which wait behind the one that is being sent. */
  readonly queued: number
  /** How many bytes the client has read, and when that number last changed. */
  readonly taken: number
  readonly sinceMs: number
}

const lookEveryMs = 1000

/** Watches the connections of a server until it is closed. `queuedOn` is `queued` of a connection. */
export function cutSlowReaders(
  server: Server,
  clock: Clock,
  limits: ReaderLimits,
  queuedOn: (socket: Socket) => number,
): void {
  const open = new Set<Socket>()
  let unread: ReadonlyMap<Socket, Unread<Socket>> = new Map()
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
      unread = unreadOf(open, unread, clock.elapsed(), queuedOn)
      for (const { socket } of tooSlow([...unread.values()], clock.elapsed(), limits))
        socket.destroy()
    }
  }
  void look()
}

export function unreadOf<S extends Sending>(
  open: Iterable<S>,
  before: ReadonlyMap<S, Unread<S>>,
  nowMs: number,
  queuedOn: (socket: S) => number,
): ReadonlyMap<S, Unread<S>> {
  const unread = new Map<S, Unread<S>>()
  for (const socket of open) {
    const bytes = socket.writableLength
    const queued = queuedOn(socket)
    if (bytes + queued === 0) continue
    // Node only reports when a large write is complete, so a client has time in proportion to it.
    const taken = socket.bytesWritten - bytes
    const known = before.get(socket)
    const isStill = known !== undefined && known.bytes > 0 && known.taken === taken
    unread.set(socket, {
      socket,
      bytes,
      queued,
      taken,
      sinceMs: isStill ? known.sinceMs : nowMs,
    })
  }
  return unread
}

/**
 * The clients to disconnect: all that are too slow, then the slowest of the others until the rest
 * fits.
 */
export function tooSlow<T extends Omit<Unread<unknown>, "socket">>(
  all: readonly T[],
  nowMs: number,
  limits: ReaderLimits,
): readonly T[] {
  const { stillTimeoutMs, answerBytesPerSecondMin, unreadBytesMax } = limits
  const sizeOf = (one: T): number => one.bytes + one.queued
  let bytes = all.reduce((sum, one) => sum + sizeOf(one), 0)
  return all
    .toSorted((a, b) => a.sinceMs - b.sinceMs || sizeOf(b) - sizeOf(a))
    .filter((one) => {
      const mayTakeMs = stillTimeoutMs + (one.bytes / answerBytesPerSecondMin) * 1000
      // If nothing is being sent, the client waits for us.
      const isSlow = one.bytes > 0 && nowMs - one.sinceMs > mayTakeMs
      if (!isSlow && bytes <= unreadBytesMax) return false
      bytes -= sizeOf(one)
      return true
    })
}
