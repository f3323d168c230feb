import assert from "node:assert/strict"
import { rm } from "node:fs/promises"
import { join } from "node:path"
import { startProgram } from "../crash/programs.ts"
import { makeWorkspace, type Client, type Reply, type Service, type Workspace } from "../service.ts"
import { audit, type Audited } from "./audit.ts"
import type { Chance } from "../chance.ts"
import { anotherBody, sameBody } from "./bodies.ts"
import { consentWrite, eventWrite, note, send, type Sending, type Write } from "./writes.ts"

// A model of idempotency keys, and a run of the service against it. The model lists all writes: a
// known key with the same body gets the same bytes for ever, with another body it is refused, and
// only a new key makes an entry.

export interface Counts {
  recorded: number
  replayed: number
  reused: number
  /** Concurrent requests with one key. */
  atOnce: number
}

export interface KeysOptions {
  /**
   * Entries that are written first: more than 65,536 put the first keys out of the service's memory
   * and into its index.
   */
  readonly fill: number
  /** After each round the service is stopped or killed, and starts again. */
  readonly rounds: number
  readonly replays: number
  readonly chance: Chance
}

export interface KeysKept extends Audited, Counts {
  readonly restarts: number
}

export async function sendAgainAndAgain({
  fill,
  rounds,
  replays,
  chance,
}: KeysOptions): Promise<KeysKept> {
  const counts: Counts = { recorded: 0, replayed: 0, reused: 0, atOnce: 0 }
  await using first = await startProgram()
  const { data } = first
  const workspaces = [await makeWorkspace(first), await makeWorkspace(first)]
  const models = workspaces.map(createModel)
  for (let count = 0; count < fill; count += 1000)
    await writeThousand(first, chance.pick(models), counts, chance)
  await first.end()

  for (let round = 1; round <= rounds; round++) {
    // Derived files may be lost at any time, and answers stay the same.
    if (round === rounds)
      await Promise.all(
        ["index.db", "index.db-wal", "index.db-shm"].map((file) =>
          rm(join(data, file), { force: true }),
        ),
      )
    await using service = await startProgram({ data })
    for (const model of models) await sendAtOnce(service, model, counts, chance)
    const lane = async (): Promise<void> => {
      while (counts.replayed < (replays * round) / rounds)
        await sendSome(service, chance.pick(models), counts, chance)
    }
    await Promise.all(Array.from({ length: 8 }, lane))
    if (round < rounds) await service.end(chance.pick(["SIGTERM", "SIGKILL"]))
    else {
      const writes = models.flatMap(({ events, consents }) => [...events, ...consents])
      return {
        ...(await audit(service, {
          workspaces,
          writes,
          lookUpsMax: 300,
          replaysMax: 2000,
          chance,
        })),
        ...counts,
        restarts: rounds,
      }
    }
  }
  throw new Error("a run has rounds")
}

/** What was written to a workspace, by route. */
export interface Model {
  readonly workspace: Workspace
  readonly events: Write[]
  readonly consents: Write[]
}

export function createModel(workspace: Workspace): Model {
  return { workspace, events: [], consents: [] }
}

function learn({ events, consents }: Model, writes: readonly Write[]): void {
  for (const write of writes) (write.route === "/v1/events" ? events : consents).push(write)
}

async function writeThousand(
  service: Service,
  model: Model,
  counts: Counts,
  chance: Chance,
): Promise<void> {
  const { id, writer } = model.workspace
  const sending = Array.from({ length: 1000 }, () =>
    eventWrite(id, newKey(), chance),
  ) as unknown as Sending // a thousand
  note(sending, await send(service.client(writer.bearer), sending))
  learn(model, sending)
  counts.recorded += sending.length
}

let keys = 0

function newKey(): string {
  return `a-key-of-its-own-${++keys}`
}

// A few sends, and what the model says of them ----------------------------------------------------

interface Asked {
  /** What the model has under this key. */
  readonly write: Write
  /** What is sent under it now. */
  readonly body: Write["body"]
  readonly expected: "recorded" | "replayed" | "reused"
}

/**
 * Sends a batch or a single write, with old and new keys and with same and other bodies, and
 * compares the answer with the model.
 */
export async function sendSome(
  service: Service,
  model: Model,
  counts: Counts,
  chance: Chance,
): Promise<void> {
  const { id, writer } = model.workspace
  const client = service.client(writer.bearer)
  if (chance.percent(60)) {
    const asked = chance.percent(30)
      ? askConsent(id, model, chance)
      : askEvent(id, model.events, chance)
    await expectOne(client, asked, counts)
    if (asked.expected === "recorded") learn(model, [asked.write])
    return
  }
  const fresh: Write[] = []
  const asked = Array.from({ length: 1 + chance.below(150) }, () => {
    // The same key twice in one batch is two requests, one after the other.
    const one = askEvent(id, fresh.length > 0 && chance.percent(10) ? fresh : model.events, chance)
    if (one.expected === "recorded") fresh.push(one.write)
    return one
  })
  await expectBatch(client, asked, counts)
  learn(model, fresh)
}

function askEvent(workspaceId: string, known: readonly Write[], chance: Chance): Asked {
  return known.length === 0 || chance.percent(12)
    ? askNew(eventWrite(workspaceId, newKey(), chance))
    : askAgain(chance.pick(known), chance)
}

function askConsent(workspaceId: string, { events, consents }: Model, chance: Chance): Asked {
  if (consents.length > 0 && chance.percent(80)) return askAgain(chance.pick(consents), chance)
  // The keys of one route say nothing of those of another.
  const key = events.length > 0 ? `${chance.pick(events).key}` : newKey()
  const isKnown = consents.some((write) => write.key === key)
  return askNew(consentWrite(workspaceId, isKnown ? newKey() : key, chance))
}

function askNew(write: Write): Asked {
  return { write, body: write.body, expected: "recorded" }
}

function askAgain(write: Write, chance: Chance): Asked {
  return chance.percent(80)
    ? { write, body: sameBody(write, chance), expected: "replayed" }
    : { write, body: anotherBody(write, chance), expected: "reused" }
}

async function expectOne(
  client: Client,
  { write, body, expected }: Asked,
  counts: Counts,
): Promise<void> {
  // Provenance belongs to the request, not to the event.
  const reply = await client.post(write.route, body, {
    "idempotency-key": write.key,
    "x-trace-id": newKey(),
  })
  if (expected === "reused") expectReused(write, body, reply.status, reply.text)
  else {
    const { replayed } = note([write], reply)
    assert.equal(replayed, expected === "replayed" ? 1 : 0, `${write.key} is ${expected}`)
  }
  counts[expected] += 1
}

async function expectBatch(client: Client, asked: readonly Asked[], counts: Counts): Promise<void> {
  const reply = await client.post("/v1/events/batch", {
    events: asked.map(({ write, body }) => ({ idempotencyKey: write.key, ...body })),
  })
  assert.equal(reply.status, 202, reply.text)
  const { results } = reply.json<{
    results: readonly { receipt?: object; replayed?: true; error?: string }[]
  }>()
  assert.equal(results.length, asked.length)
  for (const [place, { write, body, expected }] of asked.entries()) {
    const result = results[place] ?? {}
    const { receipt, replayed = false } = result
    const text = JSON.stringify(receipt)
    if (expected === "reused") expectReused(write, body, 422, JSON.stringify(result))
    else {
      assert.equal(replayed, expected === "replayed", `${write.key} is ${expected}: ${text}`)
      write.receipt ??= text
      assert.equal(text, write.receipt, `${write.key} is answered differently now`)
    }
    counts[expected] += 1
  }
}

function expectReused(
  { key, body: recorded, receipt = "{}" }: Write,
  body: Write["body"],
  status: number,
  text: string,
): void {
  const said = JSON.parse(text) as { readonly error?: string; readonly detail?: string }
  const { receipt: id } = JSON.parse(receipt) as { readonly receipt: string }
  assert.equal(
    status,
    422,
    `${key} was used for another request: ${JSON.stringify(recorded)}, and now for ${JSON.stringify(body)}: ${text}`,
  )
  assert.equal(
    said.error,
    "idempotency_key_reused",
    `${key} was used for another request: ${JSON.stringify(recorded)}, and now for ${JSON.stringify(body)}`,
  )
  assert.ok(
    said.detail?.includes(id),
    "the refusal names the original receipt to whoever may write there",
  )
}

// Many at once ------------------------------------------------------------------------------------

const atOnce = 100

/**
 * A hundred concurrent requests with one key: a new key, an old one, and a new key with two bodies.
 */
async function sendAtOnce(
  service: Service,
  model: Model,
  counts: Counts,
  chance: Chance,
): Promise<void> {
  const { id, writer } = model.workspace
  const client = service.client(writer.bearer)
  const fresh = eventWrite(id, newKey(), chance)
  for (const write of [fresh, chance.pick(model.events)]) {
    const recorded = write.receipt === undefined ? 1 : 0
    const replies = await Promise.all(
      Array.from({ length: atOnce }, (_, place) => send(client, [write], place % 3 === 0)),
    )
    expectOneReceipt(
      write,
      recorded,
      replies.map((reply, place) => answerIn(write, reply, place % 3 === 0)),
    )
    counts.recorded += recorded
    counts.replayed += atOnce - recorded
    counts.atOnce += atOnce
  }
  learn(model, [fresh, await race(client, id, counts, chance)])
}

/** The first body has the key; the other is refused each time. */
async function race(
  client: Client,
  workspaceId: string,
  counts: Counts,
  chance: Chance,
): Promise<Write> {
  const one = eventWrite(workspaceId, newKey(), chance)
  const other: Write = { ...one, body: anotherBody(one, chance) }
  const replies = await Promise.all(
    Array.from({ length: atOnce }, (_, place) => send(client, [place % 2 === 0 ? one : other])),
  )
  const winner = replies[0]?.status === 202 ? one : other
  const answered = replies.map((reply, place) => ({ reply, write: place % 2 === 0 ? one : other }))
  expectOneReceipt(
    winner,
    1,
    answered.filter(({ write }) => write === winner).map(({ reply }) => answerIn(winner, reply)),
  )
  for (const { write, reply } of answered)
    if (write !== winner) expectReused(winner, write.body, reply.status, reply.text)
  counts.recorded += 1
  counts.replayed += atOnce / 2 - 1
  counts.reused += atOnce / 2
  counts.atOnce += atOnce
  return winner
}

interface Answer {
  readonly receipt: string
  readonly replayed: boolean
}

/** What must hold for every answer. */
function answerIn(write: Write, reply: Reply, asBatch = false): Answer {
  const copy: Write = {
    route: write.route,
    workspaceId: write.workspaceId,
    key: write.key,
    body: write.body,
  }
  const { replayed } = note([copy], reply, asBatch)
  return { receipt: copy.receipt ?? "", replayed: replayed === 1 }
}

function expectOneReceipt(write: Write, recorded: number, answers: readonly Answer[]): void {
  write.receipt ??= answers[0]?.receipt ?? ""
  for (const { receipt } of answers)
    assert.equal(receipt, write.receipt, "all are answered with one receipt")
  assert.equal(
    answers.filter(({ replayed }) => !replayed).length,
    recorded,
    "one of them made the entry, and of an old key none",
  )
}
