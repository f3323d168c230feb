import { randomBytes } from "node:crypto"
import { createServer } from "node:net"

/**
 * A free port of 127.0.0.1. It is below the ports that systems give to outgoing connections, one of
 * which could take it while a server restarts, and above 10080, the highest port that fetch refuses.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = 10_081 + (randomBytes(2).readUInt16BE() % 20_000)
    const isFree = await new Promise<boolean>((resolve) => {
      const probe = createServer()
      probe.once("error", () => resolve(false))
      probe.listen(port, "127.0.0.1", () => probe.close(() => resolve(true)))
    })
    if (isFree) return port
  }
}
