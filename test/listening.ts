import { once } from "node:events"
import type { AddressInfo, Server } from "node:net"

/** A server of a test, on a free port of this machine, until it is disposed of. */
export async function listening(server: Server) {
  await once(server.listen(0, "127.0.0.1"), "listening")
  const { port } = server.address() as AddressInfo // of TCP
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    [Symbol.asyncDispose]: async () => void server.close(),
  }
}
