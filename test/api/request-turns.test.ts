import assert from "node:assert/strict"
import { once } from "node:events"
import { connect, type Socket } from "node:net"
import { test } from "node:test"
import { makeWorkspace } from "../service.ts"
import { startWatched } from "./watched.ts"

// One request begins in a turn, so the order of the answers shows whose turn came when.

const strangers = 80

test("a workspace with one request does not wait for eighty requests of unknown clients", async () => {
  await using service = await startWatched({
    environment: { TALLYSTICK_LIMIT_REQUESTS_PER_TURN: "1" },
  })
  const workspace = await makeWorkspace(service)
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
  const ask = (socket: Socket, path: string, header = ""): void =>
    void socket.write(`GET ${path} HTTP/1.1\r\nHost: ${hostname}:${port}\r\n${header}\r\n`)
  const askAsReader = (socket: Socket): void =>
    ask(socket, workspace.path, `Authorization: Bearer ${workspace.reader.bearer}\r\n`)
  const answers = async (count: number): Promise<void> => {
    while (answered.length < count) await new Promise((resolve) => setImmediate(resolve))
  }
  const known = await dial("known")
  askAsReader(known)
  await answers(1)
  const crowd: Socket[] = []
  for (let count = 0; count < strangers; count++) crowd.push(await dial("stranger"))
  for (const socket of crowd) ask(socket, "/nothing")
  askAsReader(known)
  await answers(strangers + 2)
  const before = answered.lastIndexOf("known") - 1
  assert.ok(before < strangers / 2, `${before} requests of unknown clients were answered before`)
  for (const socket of [known, ...crowd]) socket.destroy()
})
