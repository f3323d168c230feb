import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import { verifyReceipt, type AuditEvent, type Receipt } from "@tallystick/client"
import { expectChain } from "../chain.ts"
import type { Chance } from "../chance.ts"
import { eventFor, eventually, type Client, type Reply, type Service } from "../service.ts"

// What a ledger must say after its operator's commands, as a plain list of entries, and the checks
// that compare the two. It is data alone, so that a backup has a copy of it.

export interface Person {
  readonly id: string
  readonly email: string
  readonly name: string
}

export interface Write {
  readonly workspace: string
  readonly key: string
  readonly person: Person
  /** Whom it was done to, if that is somebody. */
  readonly target?: Person
  /** What the ledger shows of it. */
  readonly event: Pick<AuditEvent, "action" | "actor" | "metadata">
  /** How a consent or a withdrawal is sent; absent for an event. */
  readonly consent?: { readonly path: string; readonly body: object; readonly version?: number }
}

/** `nameless`: the sealed fields but the target's were erased, and the rest is there. */
type Content = "whole" | "nameless" | "erased" | "expired"

export interface ModelEntry extends Write {
  readonly receipt: Receipt
  content: Content
  /** The target's sealed fields were erased. */
  isTargetNameless?: boolean
}

/** Covers what its person, its action or its receipts name. */
export interface ModelHold {
  readonly workspace: string
  readonly id: string
  readonly person?: string
  readonly action?: string
  readonly receipts?: readonly string[]
}

export type Scope = "fields" | "entries"

export interface Erased {
  readonly scope: Scope
  readonly person: Person
}

export interface ModelErasure {
  readonly workspace: string
  readonly id: string
  readonly person: Person
  readonly scope: Scope
  /** Hashes of the person's entries before it. */
  readonly entries: readonly string[]
}

export interface ModelPack {
  readonly workspace: string
  readonly id: string
  readonly packHash: string
  readonly vkey: string
  /** Hashes of its entries. */
  readonly entries: readonly string[]
}

/** A key or a token. `ended`: the error that it meets. */
export interface Credential {
  readonly workspace: string
  readonly id: string
  readonly bearer: string
  readonly type: "write" | "read" | "receipt" | "evidence" | "activity"
  /** Its receipt, pack or person. */
  readonly of?: string
  /** The key or the member that made it. */
  readonly by?: string
  readonly expiresMs: number
  ended?: "token_revoked" | "unauthorized"
}

/** Somebody who signs in, with the sessions that were opened. */
export interface ModelMember {
  readonly id: string
  readonly email: string
  password: string
  roles: Readonly<Record<string, "viewer" | "admin">>
  sessions: { readonly cookie: string; readonly expiresMs: number; isEnded: boolean }[]
}

export interface Model {
  workspaces: readonly string[]
  readonly entries: ModelEntry[]
  holds: ModelHold[]
  /** Erasures that wait for holds. */
  held: ModelErasure[]
  readonly packs: ModelPack[]
  readonly credentials: Credential[]
  members: ModelMember[]
  /** Section hashes of the versions of each workspace. */
  readonly policies: Record<string, readonly string[]>
}

export const actions = ["billing.invoice.approve", "auth.login", "document.share"]
/** What holds and rules of retention name. */
export const namedActions = [...actions, "policy.consent.record"]

let made = 0

/** Each text is of one person alone, so that it can be looked for. */
export function newPerson(): Person {
  const name = `${randomUUID().replaceAll("-", "").replaceAll(/\d/g, "x")}n${++made}`
  return { id: `usr_${name}`, email: `${name}@example.com`, name: `name-${name}` }
}

export function newWrite(workspace: string, people: readonly Person[], chance: Chance): Write {
  const person = chance.pick(people)
  const other = chance.percent(30) ? chance.pick(people) : person
  const target = other === person ? undefined : other
  const event = eventFor(workspace, {
    ...(target && { target: { ...target, type: "user" } }),
    action: chance.pick(actions),
    actor: { ...person, type: "user" },
    metadata: { tag: `t${chance.below(5)}`, more: "x".repeat(chance.below(300)) },
  })
  return { workspace, key: randomUUID(), person, ...(target && { target }), event }
}

/** Sends a batch of one workspace, or one consent. */
export function send({ root }: Service, writes: readonly Write[]): Promise<Reply> {
  const [first] = writes
  if (first?.consent !== undefined) return sendAlone(root, first)
  const events = writes.map(({ key, event }) => ({ idempotencyKey: key, ...event }))
  return root.post("/v1/events/batch", { events })
}

function sendAlone(root: Client, { key, event, consent }: Write): Promise<Reply> {
  if (consent === undefined) return root.write(event, key)
  return root.post(consent.path, consent.body, { "idempotency-key": key })
}

/** Adds writes that were answered. A repeated one has its first receipt. */
export function add(model: Model, writes: readonly Write[], reply: Reply): void {
  assert.equal(reply.status, 202, reply.text)
  const said = reply.json<{ results?: readonly { readonly receipt?: Receipt }[] }>()
  const results = said.results ?? [said as { readonly receipt?: Receipt }]
  for (const [at, write] of writes.entries()) {
    const receipt = results[at]?.receipt
    assert.ok(receipt !== undefined, reply.text)
    model.entries.push({ ...write, receipt, content: "whole" })
  }
}

export function erase(entry: ModelEntry, { scope, person: { id } }: Erased): void {
  if (!isThere(entry)) return
  if (scope === "entries") entry.content = "erased"
  else if (entry.person.id === id) entry.content = "nameless"
  else entry.isTargetNameless = true
}

/** Of whom it has an e-mail and a name. */
export function namedIn(entry: ModelEntry): readonly Person[] {
  const { content, person, target, isTargetNameless } = entry
  const isTargetNamed = target !== undefined && isThere(entry) && isTargetNameless !== true
  return [...(content === "whole" ? [person] : []), ...(isTargetNamed ? [target] : [])]
}

export function isAbout({ person, target }: ModelEntry, id: string): boolean {
  return person.id === id || target?.id === id
}

export function isThere({ content }: Pick<ModelEntry, "content">): boolean {
  return content === "whole" || content === "nameless"
}

export function isHeld({ holds }: Model, entry: ModelEntry): boolean {
  return holds.some(
    ({ workspace, person, action, receipts }) =>
      workspace === entry.workspace &&
      ((person !== undefined && isAbout(entry, person)) ||
        action === entry.event.action ||
        receipts?.includes(entry.receipt.receipt) === true),
  )
}

// Checks ------------------------------------------------------------------------------------------

const sampled = 8

/** Counts, searches, a sample of the entries, and repeated writes. */
export async function expectModel(service: Service, model: Model, chance: Chance): Promise<void> {
  for (const workspace of model.workspaces) {
    const own = model.entries.filter((entry) => entry.workspace === workspace)
    if (own.length === 0) continue
    await expectFound(service, workspace, own, chance)
    for (let at = 0; at < sampled; at++) {
      const entry = chance.pick(own)
      await expectShown(service, entry, isHeld(model, entry))
      await expectRepeated(service, entry)
    }
  }
}

async function expectFound(
  { root }: Service,
  workspace: string,
  own: readonly ModelEntry[],
  chance: Chance,
): Promise<void> {
  const { person: actor, target = actor, event } = chance.pick(own)
  const person = chance.pick([actor, target])
  const found = async (query: string, isExpected: (entry: ModelEntry) => boolean) => {
    const path = `/v1/workspaces/${workspace}/events?storage=all&limit=1&query=${query}`
    const total = await eventually("a search that is not overloaded", async () => {
      const reply = await root.get(path)
      if (reply.status === 503 && reply.json().error === "overloaded") return undefined
      assert.equal(reply.status, 200, reply.text)
      return reply.json<{ total: number }>().total
    })
    assert.equal(total, own.filter(isExpected).length, `${workspace}: entries for "${query}"`)
  }
  await found("", () => true)
  await found(`email:${person.email}`, (one) => namedIn(one).some(({ id }) => id === person.id))
  await found(`target:${person.id}`, (one) => isThere(one) && one.target?.id === person.id)
  await found(`actor:${person.id}`, (one) => isThere(one) && one.person.id === person.id)
  await found(`action:${event.action}`, (one) => isThere(one) && one.event.action === event.action)
}

async function expectShown({ root }: Service, entry: ModelEntry, held: boolean): Promise<void> {
  const { workspace, receipt, content, event } = entry
  const reply = await root.get(`/v1/workspaces/${workspace}/receipts/${receipt.receipt}`)
  const about = `${content}: ${reply.status} ${reply.text.slice(0, 800)}`
  assert.equal(reply.status, 200, about)
  const { entry: shown, proof } = reply.json()
  assert.equal(shown.hash, receipt.eventHash, about)
  if (shown.integrity !== "pending") assert.equal(shown.integrity, integrityOf(entry), about)
  assert.equal(proof.body === null, content === "erased" || content === "expired", about)
  if (proof.body === null) return
  assert.equal(shown.held === true, held, about)
  const { id, email, name } = shown.actor
  const sealed =
    content === "whole" ? [event.actor.email, event.actor["name"]] : [undefined, undefined]
  assert.deepEqual([id, email, name], [event.actor.id, ...sealed], about)
  assert.deepEqual(shown.metadata, event.metadata, about)
  if (entry.target === undefined) return
  const named = namedIn(entry).find((one) => one === entry.target)
  const { id: targetId, email: targetEmail } = shown.target
  assert.deepEqual([targetId, targetEmail], [entry.target.id, named?.email], about)
}

function integrityOf({ content, isTargetNameless }: ModelEntry): string {
  if (!isThere({ content })) return content
  return content === "nameless" || isTargetNameless === true ? "erased" : "verified"
}

async function expectRepeated({ root }: Service, entry: ModelEntry): Promise<void> {
  const { receipt, content } = entry
  const reply = await sendAlone(root, entry)
  const about = `a repeated write, ${content}: ${reply.status} ${reply.text}`
  if (content === "erased" || content === "expired") {
    assert.deepEqual([reply.status, reply.json().error], [410, "content_gone"], about)
    return
  }
  assert.equal(reply.status, 202, about)
  const { eventHash, receipt: id } =
    entry.consent === undefined ? reply.json<Receipt>() : reply.json<{ receipt: Receipt }>().receipt
  assert.deepEqual([eventHash, id], [receipt.eventHash, receipt.receipt], about)
}

const receiptsOfChain = 60

/** The whole chain of each workspace, with some receipts. */
export async function expectWholeModel(
  service: Service,
  model: Model,
  chance: Chance,
): Promise<void> {
  for (const workspace of model.workspaces) {
    const own = model.entries.filter((entry) => entry.workspace === workspace)
    const some = new Set(own.slice(-receiptsOfChain))
    for (let at = 0; own.length > 0 && at < receiptsOfChain; at++) some.add(chance.pick(own))
    const receipts = [...some].map(({ receipt }) => receipt)
    const chain = await expectChain(service.root, workspace, receipts, (answer, { epochs }, id) => {
      const trustedKeys = epochs.map(({ vkey }) => vkey)
      const { verdict, ...said } = verifyReceipt(answer, { trustedKeys, receiptId: id })
      const { body, tlogProof } = answer["proof"]
      const isWhole = body !== null && tlogProof !== null
      assert.equal(verdict, isWhole ? "genuine" : "unconfirmed", `${id}: ${JSON.stringify(said)}`)
    })
    assert.ok(chain.size > own.length, "the chain has all entries, and the service's own")
    const { faults } = (await service.root.get(`/v1/workspaces/${workspace}/integrity`)).json()
    assert.deepEqual(faults, [])
  }
}
