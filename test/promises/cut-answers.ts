import assert from "node:assert/strict"
import { connect, createServer, type Socket } from "node:net"
import type { Fault } from "../crash/faults.ts"
import { startProgram } from "../crash/programs.ts"
import { listening } from "../listening.ts"
import { makeWorkspace, type Client, type Reply, type Service } from "../service.ts"
import { audit, type Audited } from "./audit.ts"
import type { Chance } from "../chance.ts"
import { eventWrite, note, send, type Sending, type Write } from "./writes.ts"

// Connections are cut within the request, between request and answer, and at every byte of the
// answer. The client repeats the request with the same key, and there is one entry.

export interface CutsOptions {
  /** Of each kind: within the request, between request and answer, within the answer. */
  readonly requests: number
  readonly betweens: number
  readonly answers: number
  readonly chance: Chance
  readonly fault?: Fault
}

export interface Cuts extends Audited {
  readonly requests: number
  readonly betweens: number
  readonly answers: number
  /** Writes that were recorded although their client saw no answer, or part of one. */
  readonly recordedUnheard: number
  /** How far into the answer the cuts reached, and its length. */
  readonly lastByte: number
  readonly answerBytes: number
}

export async function cutAgainAndAgain({
  requests,
  betweens,
  answers,
  chance,
  fault,
}: CutsOptions): Promise<Cuts> {
  await using service = await startProgram({}, fault)
  const workspace = await makeWorkspace(service)
  const client = service.client(workspace.writer.bearer)
  const writes: Write[] = []
  let recordedUnheard = 0

  const once = async (plan: (requestBytes: number) => Cut, size: number): Promise<number> => {
    const keys = Array.from({ length: size }, (_, place) => `cut-${writes.length + place}-in-two`)
    const sending = keys.map((key) => eventWrite(workspace.id, key, chance)) as unknown as Sending // one, or more
    writes.push(...sending)
    const request = requestOf(client, sending)
    const cut = plan(request.length)
    const heard = await exchange(service, request, cut)
    // At once: the first one may still be under way.
    const reply = await send(client, sending)
    const { replayed } = note(sending, reply)
    if (cut.in === "request") assert.equal(replayed, 0, "half a request records nothing")
    if (cut.in === "answer")
      assert.equal(
        replayed,
        size,
        "what was about to be acknowledged is recorded, and found by its key",
      )
    recordedUnheard += replayed
    expectHonest(heard, reply)
    return heard.length
  }

  const answerBytes = await once(() => ({ in: "answer", bytes: Infinity, reset: false }), 1)
  const every = Array.from({ length: answers }, (_, place) =>
    Math.floor((place * answerBytes) / answers),
  )
  const reset = (): boolean => chance.percent(50)
  const plans: readonly ((requestBytes: number) => Cut)[] = [
    ...Array.from({ length: requests }, () => (requestBytes: number): Cut => ({
      in: "request",
      bytes: chance.below(requestBytes),
      reset: reset(),
    })),
    ...Array.from({ length: betweens }, () => (): Cut => ({ in: "between", reset: false })),
    ...every.map((bytes) => (): Cut => ({ in: "answer", bytes, reset: reset() })),
  ]
  const waiting = plans.values()
  const lane = async (): Promise<void> => {
    for (const plan of waiting) await once(plan, chance.percent(80) ? 1 : 2 + chance.below(5))
  }
  await Promise.all(Array.from({ length: 8 }, lane))
  const audited = await audit(service, { workspaces: [workspace], writes, chance })
  return {
    ...audited,
    requests,
    betweens,
    answers,
    recordedUnheard,
    lastByte: every.at(-1) ?? 0,
    answerBytes,
  }
}

/** The received bytes must be the beginning of today's answer. */
function expectHonest(heard: Buffer, reply: Reply): void {
  const head = heard.indexOf("\r\n\r\n")
  if (heard.length >= 12) assert.equal(heard.toString("latin1", 0, 12), "HTTP/1.1 202")
  // A batch says of each of its receipts whether it is replayed.
  const again = reply.text.replaceAll(',"replayed":true', "")
  if (head >= 0)
    assert.ok(
      again.startsWith(heard.toString("utf8", head + 4).replace(/�+$/, "")),
      "another receipt is answered now than was begun",
    )
}

/** As bytes, so that it can be cut anywhere. */
function requestOf({ bearer }: Client, sending: Sending): Buffer {
  const [{ route, key, body }] = sending
  const events = sending.map((write) => ({ idempotencyKey: write.key, ...write.body }))
  const isBatch = sending.length > 1
  const content = Buffer.from(JSON.stringify(isBatch ? { events } : body))
  const head = [
    `POST ${isBatch ? "/v1/events/batch" : route} HTTP/1.1`,
    "Host: 127.0.0.1",
    "Connection: close",
    `Authorization: Bearer ${bearer}`,
    "Content-Type: application/json",
    `Content-Length: ${content.length}`,
    ...(isBatch ? [] : [`Idempotency-Key: ${key}`]),
  ]
  return Buffer.concat([Buffer.from(`${head.join("\r\n")}\r\n\r\n`), content])
}

// The proxy ---------------------------------------------------------------------------------------

/**
 * Where the proxy cuts both connections: after some bytes of the request, after all of it, or after
 * some bytes of the answer.
 */
type Cut =
  | { readonly in: "request" | "answer"; readonly bytes: number; readonly reset: boolean }
  | { readonly in: "between"; readonly reset: false }

/** Sends a request through a proxy that cuts it; resolves to the received part of the answer. */
async function exchange(service: Service, request: Buffer, cut: Cut): Promise<Buffer> {
  const { port } = new URL(service.url)
  await using proxy = await listening(
    createServer((near) =>
      handOnUntil(cut, request.length, near, connect(Number(port), "127.0.0.1")),
    ),
  )
  const heard: Buffer[] = []
  const socket = connect(proxy.port, "127.0.0.1", () => socket.write(request))
  socket.on("data", (chunk: Buffer) => heard.push(chunk))
  socket.on("error", () => socket.destroy())
  await new Promise((resolve) => socket.on("close", resolve))
  return Buffer.concat(heard)
}

function handOnUntil(cut: Cut, requestBytes: number, near: Socket, far: Socket): void {
  const sever = (): void => {
    for (const socket of [near, far]) {
      if (cut.reset) socket.resetAndDestroy()
      else socket.destroySoon()
    }
  }
  for (const socket of [near, far]) socket.on("error", sever).on("end", sever)
  handOn(
    near,
    far,
    cut.in === "request" ? cut.bytes : cut.in === "between" ? requestBytes : Infinity,
    sever,
  )
  handOn(far, near, cut.in === "answer" ? cut.bytes : cut.in === "between" ? 0 : Infinity, sever)
}

/** Calls `done` after this many bytes, or at the first byte if none may pass. */
function handOn(from: Socket, to: Socket, bytesMax: number, done: () => void): void {
  let bytes = 0
  from.on("data", (chunk: Buffer) => {
    const part = chunk.subarray(0, bytesMax - bytes)
    bytes += part.length
    if (part.length > 0) to.write(part)
    if (bytes >= bytesMax) done()
  })
}
