import { randomInt } from "node:crypto"
import { createServer } from "node:net"

/** Each process has some to itself: what is free now may be a service's that is about to restart. */
const ports = 100
const first = 10_081 + (process.pid % 200) * ports
let next = randomInt(ports)

/**
 * A free port of 127.0.0.1. It is below the ports that systems give to outgoing connections, one of
 * which could take it while a server restarts, and above 10080, the highest port that fetch refuses.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = first + (next++ % ports)
    const isFree = await new Promise<boolean>((resolve) => {
      const probe = createServer()
      probe.once("error", () => resolve(false))
      probe.listen(port, "127.0.0.1", () => probe.close(() => resolve(true)))
    })
    if (isFree) return port
  }
}
