import assert from "node:assert/strict"
import { eventFor, type Client, type Reply } from "../service.ts"
import type { Chance } from "../chance.ts"

// What clients wrote, and the receipts that they hold for it. A receipt is kept as the bytes that
// were answered, because every later answer to the same key must be these bytes again.

export interface Write {
  readonly route: "/v1/events" | "/v1/consents"
  readonly workspaceId: string
  readonly key: string
  readonly body: Readonly<Record<string, unknown>>
  /** Absent until the write was acknowledged. */
  receipt?: string
}

/** One request: a write by itself, or events together. */
export type Sending = readonly [Write, ...Write[]]

/** Sends it. A single write may also go as a batch. */
export function send(
  client: Client,
  sending: Sending,
  asBatch = sending.length > 1,
): Promise<Reply> {
  const [{ route, key, body }] = sending
  if (!asBatch) return client.post(route, body, { "idempotency-key": key })
  return client.post("/v1/events/batch", {
    events: sending.map((write) => ({ idempotencyKey: write.key, ...write.body })),
  })
}

/** Repeats it, as every client should, while the service answers that the outcome is unknown. */
export async function sendUntilKnown(
  client: Client,
  sending: Sending,
  asBatch?: boolean,
): Promise<{ readonly reply: Reply; readonly unknown: number }> {
  for (let unknown = 0; ; unknown++) {
    const reply = await send(client, sending, asBatch)
    if (reply.status !== 503 || reply.json().error !== "ledger_unavailable")
      return { reply, unknown }
    assert.ok(unknown < unknownMax, "the service does not come to know")
  }
}

const unknownMax = 100

export interface Noted {
  /** Writes that the service said were recorded before. */
  readonly replayed: number
}

/** Takes the receipts of a 202. A write that has one must get the same bytes again, as a replay. */
export function note(sending: Sending, reply: Reply, asBatch = sending.length > 1): Noted {
  const answers = asBatch ? answersOfBatch(reply) : [answerOfOne(sending[0], reply)]
  assert.equal(answers.length, sending.length)
  let replayed = 0
  for (const [place, write] of sending.entries()) {
    const answer = answers[place]
    assert.ok(answer !== undefined)
    if (answer.replayed) replayed += 1
    if (write.receipt === undefined) write.receipt = answer.receipt
    else {
      assert.equal(
        answer.receipt,
        write.receipt,
        `${write.key} was acknowledged, and is answered differently now: what was acknowledged is lost`,
      )
      assert.ok(answer.replayed, `${write.key} was acknowledged, and is said to be new`)
    }
  }
  return { replayed }
}

interface Answered {
  readonly receipt: string
  readonly replayed: boolean
}

function answerOfOne({ route }: Write, reply: Reply): Answered {
  assert.equal(reply.status, 202, reply.text)
  const replayed = reply.headers.get("idempotency-replayed") === "true"
  return {
    receipt: route === "/v1/events" ? reply.text : reply.text.slice('{"receipt":'.length, -1),
    replayed,
  }
}

function answersOfBatch(reply: Reply): readonly Answered[] {
  assert.equal(reply.status, 202, reply.text)
  const { results } = reply.json<{ results: readonly { receipt?: object; replayed?: true }[] }>()
  const answers = results.map(({ receipt, replayed = false }) => ({
    receipt: JSON.stringify(receipt),
    replayed,
  }))
  const whole = answers
    .map(({ receipt, replayed }) => `{"receipt":${receipt}${replayed ? ',"replayed":true' : ""}}`)
    .join(",")
  // JSON.parse keeps the order of members, but for names that are numbers: nobody here has such.
  assert.ok(
    reply.text === `{"results":[${whole}]}`,
    `not every item has its receipt, or more is said: ${reply.text.slice(0, 2000)}`,
  )
  return answers
}

// What to write -----------------------------------------------------------------------------------

export function eventWrite(workspaceId: string, key: string, chance: Chance): Write {
  const person = chance.below(1000)
  const actor = {
    id: `usr_${person}`,
    type: "user",
    ...(chance.percent(60) && { email: `person${person}@example.com`, name: "Zoë – 名前" }),
  }
  const body = eventFor(workspaceId, {
    projectId: chance.pick(["core", "core", "billing", "shop"]),
    action: chance.pick([
      "billing.invoice.approve",
      "auth.login",
      "document.share",
      "stock.item.move",
    ]),
    actor: { ...actor, ...(chance.percent(20) && { department: { floor: chance.below(9) } }) },
    target: {
      id: `thing_${chance.below(10_000)}`,
      type: "thing",
      ...(chance.percent(50) && { name: `Thing "${key}"` }),
    },
    ...(chance.percent(80) && {
      metadata: { key, amount: chance.below(1_000_000) / 100, list: [null, true, "…"] },
    }),
    ...(chance.percent(50) && { userVisible: chance.percent(50) }),
  })
  return { route: "/v1/events", workspaceId, key, body: { ...body } }
}

export function consentWrite(workspaceId: string, key: string, chance: Chance): Write {
  const person = chance.below(1000)
  const subject = { id: `usr_${person}`, email: `person${person}@example.com` }
  const body = {
    workspaceId,
    subject,
    mode: "explicit",
    policyVersion: 1 + chance.below(5),
    surface: "sign-up",
    metadata: { key },
  }
  return { route: "/v1/consents", workspaceId, key, body }
}
