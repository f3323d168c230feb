import assert from "node:assert/strict"
import { setTimeout as sleep } from "node:timers/promises"
import type { MintedReceipt } from "../chain.ts"
import type { Workspace } from "../service.ts"
import type { Chance } from "../chance.ts"
import { bodyOf, instantOf, partyOf, timeText } from "./random-questions.ts"
import type { Written } from "./read-model.ts"

// The writes during the questions, with the times at which they were sent and acknowledged.

export interface Writing {
  readonly workspace: Workspace
  readonly written: Written[]
  readonly chance: Chance
}

let keys = 0

/** Writes events together, or one, or a consent. */
export async function write(scene: Writing, count: number): Promise<Written> {
  const { workspace, written, chance } = scene
  const trace = chance.percent(40) ? `Trace/${chance.below(20)}` : undefined
  const headers: Record<string, string> = trace === undefined ? {} : { "x-trace-id": trace }
  if (count === 1 && chance.percent(15)) return writeConsent(scene, trace, headers)
  const sending = Array.from({ length: count }, (): Written => {
    const key = `Key-${++keys}-of-many`
    const body = bodyOf(key, chance)
    return {
      key,
      kind: "event",
      body,
      trace,
      sentMs: performance.now(),
      occurredNs: instantOf(chance),
    }
  })
  const { id: workspaceId, writer } = workspace
  const events = sending.map(({ key, body, occurredNs }) => ({
    idempotencyKey: key,
    workspaceId,
    ...body,
    occurredAt: timeText(occurredNs, chance),
  }))
  written.push(...sending)
  const [first] = events
  assert.ok(first !== undefined)
  const { idempotencyKey, ...alone } = first
  const reply =
    count === 1
      ? await writer.post("/v1/events", alone, { "idempotency-key": idempotencyKey, ...headers })
      : await writer.post("/v1/events/batch", { events }, headers)
  assert.equal(reply.status, 202, reply.text)
  const receipts: readonly Receipt[] =
    count === 1
      ? [reply.json()]
      : reply.json<{ results: { receipt: Receipt }[] }>().results.map(({ receipt }) => receipt)
  for (const [place, one] of sending.entries()) acknowledge(one, receipts[place])
  return sending[0] as Written // it was just made of one or more
}

async function writeConsent(
  { workspace, written, chance }: Writing,
  trace: string | undefined,
  headers: object,
): Promise<Written> {
  const key = `Key-${++keys}-of-many`
  const { id: workspaceId, writer } = workspace
  const [{ id }, policyVersion] = [partyOf(chance), 1 + chance.below(3)]
  const asked = { mode: chance.pick(["explicit", "implicit"]), surface: "web.signup" }
  const subject = { id, email: `${id}@example.com` }
  const one: Written = {
    key,
    kind: "consent",
    body: {
      projectId: "core",
      action: "policy.consent.record",
      actor: { ...subject, type: "subject" },
      target: {
        id: `core:${policyVersion}`,
        type: "policy",
        name: `Policy version ${policyVersion}`,
      },
      source: "api",
      userVisible: true,
      metadata: { key, ...asked, policyVersion },
    },
    trace,
    sentMs: performance.now(),
    occurredNs: 0n,
  }
  written.push(one)
  const reply = await writer.post(
    "/v1/consents",
    { workspaceId, subject, ...asked, policyVersion, metadata: { key } },
    { "idempotency-key": key, ...headers },
  )
  assert.equal(reply.status, 202, reply.text)
  const { receipt } = reply.json<{ receipt: Receipt }>()
  one.occurredNs = BigInt(Date.parse(receipt.receivedAt)) * 1_000_000n
  acknowledge(one, receipt)
  return one
}

interface Receipt extends MintedReceipt {
  readonly eventId: string
  readonly receivedAt: string
}

function acknowledge(one: Written, receipt: Receipt | undefined): void {
  assert.ok(receipt !== undefined)
  one.acked = {
    atMs: performance.now(),
    eventId: receipt.eventId,
    receipt: receipt.receipt,
    eventHash: receipt.eventHash,
  }
}

/** Another workspace that the same service files meanwhile. */
export async function keepBusy(
  { id: workspaceId, writer }: Workspace,
  chance: Chance,
  going: () => boolean,
): Promise<void> {
  while (going()) {
    const events = Array.from({ length: 100 }, () => {
      const key = `Key-${++keys}-of-others`
      return {
        idempotencyKey: key,
        workspaceId,
        ...bodyOf(key, chance),
        occurredAt: timeText(instantOf(chance), chance),
      }
    })
    assert.equal((await writer.post("/v1/events/batch", { events })).status, 202)
    await sleep(100)
  }
}
