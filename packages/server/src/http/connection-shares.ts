// Bounds the open connections. A connection beyond the limit is closed. But if another network has
// more connections than the newcomer's, one of that network's is closed instead. So nobody can keep
// others out by holding connections.

import type { Socket } from "node:net"
import { networkOf } from "./rates.ts"

export class ConnectionShares {
  readonly #max: number
  readonly #isIdle: (socket: Socket) => boolean
  /** By network, the oldest connection first. */
  readonly #open = new Map<string, Set<Socket>>()
  #count = 0

  constructor(max: number, isIdle: (socket: Socket) => boolean) {
    this.#max = max
    this.#isIdle = isIdle
  }

  add(socket: Socket): void {
    const network = networkOf(socket.remoteAddress ?? "")
    const own = this.#open.get(network) ?? new Set()
    this.#open.set(network, own.add(socket))
    this.#count++
    socket.once("close", () => this.#remove(network, socket))
    if (this.#count <= this.#max) return
    const [most, those] = this.#largest()
    if (those.size <= own.size) this.#close(network, socket)
    else this.#close(most, firstOf(those, this.#isIdle) ?? socket)
  }

  #largest(): readonly [network: string, connections: ReadonlySet<Socket>] {
    let largest: [string, ReadonlySet<Socket>] = ["", new Set()]
    for (const one of this.#open) if (one[1].size > largest[1].size) largest = one
    return largest
  }

  #close(network: string, socket: Socket): void {
    this.#remove(network, socket)
    socket.destroy()
  }

  #remove(network: string, socket: Socket): void {
    const own = this.#open.get(network)
    if (own?.delete(socket) !== true) return
    this.#count--
    if (own.size === 0) this.#open.delete(network)
  }
}

/** The first idle one, or else the first. */
function firstOf(
  sockets: ReadonlySet<Socket>,
  isIdle: (socket: Socket) => boolean,
): Socket | undefined {
  for (const socket of sockets) if (isIdle(socket)) return socket
  return sockets.values().next().value
}
