import assert from "node:assert/strict"
import { eventually, type Client } from "../service.ts"
import { untilErased } from "../until.ts"
import {
  namedActions,
  erase,
  isAbout,
  isHeld,
  isThere,
  namedIn,
  newPerson,
  type Model,
  type ModelErasure,
  type ModelHold,
  type Person,
  type Scope,
} from "./ledger-model.ts"
import { membersRestored } from "./members-and-sessions.ts"
import { started, stopped, type OperatedLedger } from "./operated-ledger.ts"

// Holds, erasures, and erasures that wait for holds.

export async function placeHold(ledger: OperatedLedger): Promise<void> {
  const { chance, model, people } = ledger
  const workspace = chance.pick(model.workspaces)
  const own = model.entries.filter((entry) => entry.workspace === workspace)
  const receipts = own.slice(chance.below(own.length + 1)).slice(0, 20)
  const scope: Omit<ModelHold, "workspace" | "id"> = chance.pick([
    { person: chance.pick(people).id },
    { action: chance.pick(namedActions) },
    { receipts: receipts.map(({ receipt }) => receipt.receipt) },
  ])
  if (scope.receipts?.length === 0) return
  const asked =
    scope.person !== undefined
      ? { subject: { id: scope.person } }
      : scope.action !== undefined
        ? { filter: { query: `action:${scope.action}` } }
        : { receiptIds: scope.receipts }
  const { root } = await started(ledger)
  const request = { name: "A case", reason: "a test", ...asked }
  const placed = await root.post(`/v1/workspaces/${workspace}/holds`, request)
  assert.equal(placed.status, 201, placed.text)
  model.holds.push({ workspace, id: placed.json().holdId, ...scope })
}

export async function releaseHold(ledger: OperatedLedger): Promise<void> {
  const { chance, model } = ledger
  const { workspace, id } = chance.pick(model.holds)
  const path = `/v1/workspaces/${workspace}`
  const { root } = await started(ledger)
  const body = { reason: "a test" }
  const released = await root.ask("DELETE", `${path}/holds/${id}`, { body })
  assert.equal(released.status, 200, released.text)
  model.holds = model.holds.filter((hold) => hold.id !== id)
  if (chance.percent(25)) await stopped(ledger, "SIGKILL")
  const own = model.held.filter((erasure) => erasure.workspace === workspace)
  for (const erasure of own.filter((one) => !isErasureHeld(model, one))) {
    model.held = model.held.filter((one) => one !== erasure)
    const service = await started(ledger)
    await untilErased(service.root, path, erasure.id, 120_000)
    carriedOut(ledger, erasure)
  }
}

/** In all workspaces, so that nothing has the person's texts. */
export async function erasePerson(
  ledger: OperatedLedger,
  meanwhile?: () => Promise<void>,
): Promise<void> {
  const { chance, model, gone } = ledger
  // Some are erased again: with another scope, or after a backup brought something back.
  const isAgain = gone.length > 0 && chance.percent(25)
  const person = isAgain ? chance.pick(gone).person : chance.pick(ledger.people)
  if (!isAgain) ledger.people = [...ledger.people.filter(({ id }) => id !== person.id), newPerson()]
  const scope = chance.pick<Scope>(["fields", "entries"])
  const asked = { person, scope, meanwhile }
  for (const workspace of model.workspaces) await eraseIn(ledger, workspace, asked)
  gone.push({ person, scope })
}

interface Asked {
  readonly person: Person
  readonly scope: Scope
  /** May place a hold, too late or not. */
  readonly meanwhile: (() => Promise<void>) | undefined
}

async function eraseIn(
  ledger: OperatedLedger,
  workspace: string,
  { person, scope, meanwhile }: Asked,
): Promise<void> {
  const { chance, model } = ledger
  const path = `/v1/workspaces/${workspace}`
  const { root } = await started(ledger)
  const request = { subject: { id: person.id }, scope, reason: "a test" }
  const ask = () => root.post(`${path}/erasures`, request)
  const [first] = await Promise.all([ask(), meanwhile?.()])
  const asked = first.status === 503 ? await ask() : first
  assert.equal(asked.status, 202, asked.text)
  const entries = model.entries
    .filter((entry) => entry.workspace === workspace && isAbout(entry, person.id))
    .filter((entry) =>
      scope === "entries" ? isThere(entry) : namedIn(entry).some(({ id }) => id === person.id),
    )
    .map(({ receipt }) => receipt.eventHash)
  const erasure = { workspace, id: asked.json().erasureId, person, scope, entries }
  expectHandedOutOf(model, erasure, asked.json().handedOut)
  const state =
    meanwhile === undefined ? asked.json().state : await settledState(root, path, erasure.id)
  const isHeldNow = isErasureHeld(model, erasure)
  if (isHeldNow ? meanwhile === undefined || state === "held" : state === "held") {
    assert.deepEqual([state, isHeldNow], ["held", true], asked.text)
    model.held.push(erasure)
    return
  }
  if (chance.percent(25)) await stopped(ledger, "SIGKILL")
  await untilErased((await started(ledger)).root, path, erasure.id, 120_000)
  carriedOut(ledger, erasure)
}

function settledState(root: Client, path: string, id: string): Promise<string> {
  return eventually("an erasure that is done or held", async () => {
    const { state } = (await root.get(`${path}/erasures/${id}`)).json<{ readonly state: string }>()
    return state !== "running" && state
  })
}

/** Packs and tokens that had what it destroys. */
function expectHandedOutOf(
  model: Model,
  { workspace, person, entries }: ModelErasure,
  said: { readonly packs: readonly string[]; readonly tokens: readonly string[] },
): void {
  const packs = model.packs
    .filter((pack) => pack.workspace === workspace)
    .filter((pack) => pack.entries.some((hash) => entries.includes(hash)))
    .map(({ id }) => id)
  const receipts = model.entries
    .filter(({ receipt }) => entries.includes(receipt.eventHash))
    .map(({ receipt }) => receipt.receipt)
  const shown = [person.id, ...packs, ...receipts]
  const tokens = model.credentials
    .filter((one) => one.workspace === workspace && one.ended !== "unauthorized")
    .filter(({ of }) => of !== undefined && shown.includes(of))
    .map(({ id }) => id)
  // There may be more, that others make at the same time.
  assert.partialDeepStrictEqual(new Set(said.packs), new Set(packs), "packs that had it")
  assert.partialDeepStrictEqual(new Set(said.tokens), new Set(tokens), "tokens that showed it")
}

function isErasureHeld(model: Model, { workspace, person, entries }: ModelErasure): boolean {
  return (
    model.holds.some((hold) => hold.workspace === workspace && hold.person === person.id) ||
    model.entries.some(
      (entry) =>
        entries.includes(entry.receipt.eventHash) && isThere(entry) && isHeld(model, entry),
    )
  )
}

function carriedOut(ledger: OperatedLedger, erasure: ModelErasure): void {
  const { model, erased, done } = ledger
  const { workspace, id, person, scope, entries } = erasure
  done.add(id)
  for (const entry of model.entries) {
    const hash = entry.receipt.eventHash
    // Nothing says any more whose it was, so a backup from before it expired brings it back.
    if (!entries.includes(hash) || entry.content === "expired") continue
    erased.set(hash, [...(erased.get(hash) ?? []), { scope, person }])
    erase(entry, { scope, person })
  }
  if (scope === "fields") return
  for (const token of model.credentials)
    if (token.workspace === workspace && token.of === person.id) {
      done.add(token.id)
      token.ended = "unauthorized"
    }
}

/** After a restore: what was erased is erased again, and what came later is unknown. */
export async function restored(ledger: OperatedLedger, lost: Model): Promise<void> {
  const { model, erased, done } = ledger
  for (const entry of model.entries)
    for (const one of erased.get(entry.receipt.eventHash) ?? []) erase(entry, one)
  const { root } = await started(ledger)
  for (const erasure of model.held) {
    const reply = await root.get(`/v1/workspaces/${erasure.workspace}/erasures/${erasure.id}`)
    const isDone = reply.json().state === "done"
    if (isDone || erasure.entries.length > 0) assert.equal(isDone, done.has(erasure.id), reply.text)
    if (isDone) model.held = model.held.filter((one) => one !== erasure)
  }
  membersRestored(ledger, lost.members)
  const kept = new Set(model.credentials.map(({ id }) => id))
  for (const one of model.credentials) if (done.has(one.id)) one.ended = "unauthorized"
  for (const one of lost.credentials)
    if (!kept.has(one.id)) model.credentials.push({ ...one, ended: "unauthorized" })
}

/** What no file may have: that of the erased which neither a backup nor a hold brought back. */
export function goneTexts({ model, gone }: OperatedLedger): readonly string[] {
  const isNamed = ({ id }: Person) =>
    model.entries.some((entry) => namedIn(entry).some((one) => one.id === id))
  const isIn = ({ id }: Person) =>
    model.entries.some((entry) => isThere(entry) && isAbout(entry, id))
  const isHeldNow = ({ id }: Person) =>
    model.holds.some((hold) => hold.person === id) ||
    model.held.some((erasure) => erasure.person.id === id)
  return gone.flatMap(({ person, scope }) => {
    const { id, email, name } = person
    const sealed = isNamed(person) ? [] : [email, name]
    // A request to erase fields keeps the id.
    const last = gone.findLast((one) => one.person.id === id)
    const isKept =
      scope === "fields" || last?.scope === "fields" || isIn(person) || isHeldNow(person)
    return isKept ? sealed : [...sealed, id]
  })
}
