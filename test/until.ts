import assert from "node:assert/strict"
import { eventually, type Client, type Service } from "./service.ts"

// What the service reaches by itself, and tests wait for.

/** Until it takes writes. */
export async function untilReady(service: Pick<Service, "client">, withinMs?: number) {
  const isReady = async () => (await service.client().get("/readyz")).status === 200
  await eventually("the service to be ready", isReady, withinMs)
}

/** Until a checkpoint covers every entry of the workspace at this path. */
export async function untilSigned(reader: Client, path: string): Promise<void> {
  await eventually("a checkpoint over all entries", async () => {
    const { status, text } = await reader.get(`${path}/integrity`)
    assert.equal(status, 200, text)
    return text.includes('"pending":0,')
  })
}

export interface Erasure {
  readonly erasureId: string
  readonly state: string
  readonly entries: number
  readonly fields: number
  readonly subject?: object
  readonly handedOut: Record<"packs" | "tokens" | "exports", readonly string[]>
}

/** Asks for an erasure in the workspace at this path, and waits until it is done. */
export async function erase(
  admin: Client,
  path: string,
  request: object,
  withinMs?: number,
): Promise<Erasure> {
  const asked = await admin.post(`${path}/erasures`, { reason: "a test", ...request })
  assert.equal(asked.status, 202, asked.text)
  return untilErased(admin, path, asked.json<Erasure>().erasureId, withinMs)
}

export function untilErased(
  admin: Client,
  path: string,
  erasureId: string,
  withinMs?: number,
): Promise<Erasure> {
  const look = async () => {
    const reply = await admin.get(`${path}/erasures/${erasureId}`)
    assert.equal(reply.status, 200, reply.text)
    const erasure = reply.json<Erasure>()
    return erasure.state === "done" && erasure
  }
  return eventually("the erasure is done", look, withinMs)
}

/** Sets rules of retention, with the preview that they need. */
export async function setRetention(
  admin: Client,
  path: string,
  retention: readonly object[],
): Promise<void> {
  const { token } = await eventually("the entries to be counted", async () => {
    const reply = await admin.post(`${path}/retention/preview`, { retention })
    return reply.status !== 202 && reply.json<{ readonly token: string }>()
  })
  const set = await admin.patch(path, { retention, confirm: token })
  assert.equal(set.status, 200, set.text)
}
