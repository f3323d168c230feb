import assert from "node:assert/strict"
import { once } from "node:events"
import { connect, type Socket } from "node:net"
import { after, test } from "node:test"
import { join } from "../people.ts"
import { makeWorkspace } from "../service.ts"
import { startWatched } from "./watched.ts"

// One request begins in a turn, so the order of the answers shows whose turn came when.

const service = await startWatched({ environment: { TALLYSTICK_LIMIT_REQUESTS_PER_TURN: "1" } })
after(() => service[Symbol.asyncDispose]())
const workspace = await makeWorkspace(service)
const others = await makeWorkspace(service)
const { cookie } = await join(service, others.path, "viewer", "viewer@example.com")

const crowdSize = 80

interface Crowd {
  readonly of: string
  readonly pathOf: (connection: number) => string
  readonly header?: string
}

const crowds: readonly Crowd[] = [
  { of: "unknown clients", pathOf: () => "/nothing" },
  {
    of: "a member who names other workspaces",
    pathOf: (connection) => `/v1/workspaces/of-others-${connection}`,
    header: `Cookie: ${cookie}\r\n`,
  },
]

for (const { of, pathOf, header = "" } of crowds)
  test(`a workspace with one request does not wait for eighty requests of ${of}`, async () => {
    const { hostname, port } = new URL(service.url)
    const answered: string[] = []
    const dial = async (name: string): Promise<Socket> => {
      const socket = connect({ host: hostname, port: Number(port) })
      socket.on("data", (bytes) => {
        if (bytes.includes("HTTP/1.1 ")) answered.push(name)
      })
      await once(socket, "connect")
      return socket
    }
    const ask = (socket: Socket, path: string, headers: string): void =>
      void socket.write(`GET ${path} HTTP/1.1\r\nHost: ${hostname}:${port}\r\n${headers}\r\n`)
    const askAsReader = (socket: Socket): void =>
      ask(socket, workspace.path, `Authorization: Bearer ${workspace.reader.bearer}\r\n`)
    const answers = async (count: number): Promise<void> => {
      while (answered.length < count) await new Promise((resolve) => setImmediate(resolve))
    }
    const known = await dial("known")
    askAsReader(known)
    await answers(1)
    const crowd: Socket[] = []
    for (let count = 0; count < crowdSize; count++) crowd.push(await dial("crowd"))
    const askAll = (): void => {
      for (const [at, socket] of crowd.entries()) ask(socket, pathOf(at), header)
    }
    // After its first request, the service knows who is on a connection.
    askAll()
    await answers(crowdSize + 1)
    askAll()
    askAsReader(known)
    await answers(2 * crowdSize + 2)
    const before = answered.lastIndexOf("known") - crowdSize - 1
    assert.ok(before < crowdSize / 2, `${before} requests of the crowd were answered before`)
    for (const socket of [known, ...crowd]) socket.destroy()
  })
