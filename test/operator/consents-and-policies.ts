import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import type { Chance } from "../chance.ts"
import { make, type Service } from "../service.ts"
import { isThere, namedActions, type ModelEntry, type Person, type Write } from "./ledger-model.ts"
import { answered, nowOf, sent, started, type OperatedLedger } from "./operated-ledger.ts"

// Consents, withdrawals, the policies that they name, and what look-ups and counts say of them.

const [recorded, withdrawn] = [namedActions.at(-1) ?? "", "policy.consent.withdraw"]
const versionsMax = 4

/** Of several people at once, some while a version is published. */
export async function recordConsents(ledger: OperatedLedger): Promise<void> {
  const { chance, model, people } = ledger
  const service = await started(ledger)
  const workspace = chance.pick(model.workspaces)
  const some = new Set(Array.from({ length: 1 + chance.below(6) }, () => chance.pick(people)))
  const sending = sent(
    service,
    [...some].map((person) => [newConsent(workspace, person, chance)]),
  )
  if (chance.percent(40)) await publishPolicy(ledger, workspace)
  await answered(ledger, sending)
}

function newConsent(workspace: string, person: Person, chance: Chance): Write {
  const { id, email } = person
  const isWithdrawal = chance.percent(30)
  const version = isWithdrawal && chance.percent(30) ? undefined : 1 + chance.below(versionsMax)
  const named = { surface: chance.pick(["form", "settings"]), policyVersion: version }
  const said = isWithdrawal ? named : { ...named, mode: chance.pick(["explicit", "implicit"]) }
  const metadata = JSON.parse(JSON.stringify(said))
  const [action, path] = isWithdrawal
    ? [withdrawn, "/v1/consents/withdrawals"]
    : [recorded, "/v1/consents"]
  const body = { workspaceId: workspace, subject: { id, email }, ...metadata }
  const event = { action, actor: { id, email, type: "subject" }, metadata }
  const sent = { path, body, ...(version !== undefined && { version }) }
  return { workspace, key: randomUUID(), person, event, consent: sent }
}

export async function publishPolicy(
  ledger: OperatedLedger,
  workspace = ledger.chance.pick(ledger.model.workspaces),
): Promise<void> {
  const { policies } = ledger.model
  const { root } = await started(ledger)
  const sections = [{ id: "use", title: "Use", body: randomUUID() }]
  const path = `/v1/workspaces/${workspace}/published-policy`
  const { policy } = await make(root, path, { sections })
  const before = policies[workspace] ?? []
  assert.equal(policy.version, before.length + 1)
  policies[workspace] = [...before, policy.sectionHash]
}

// Checks ------------------------------------------------------------------------------------------

/** Of somebody who was not erased, because a look-up names its person. */
export async function expectConsents({ root }: Service, ledger: OperatedLedger): Promise<void> {
  const { chance, model, people } = ledger
  const workspace = chance.pick(model.workspaces)
  const path = `/v1/workspaces/${workspace}`
  const all = model.entries.filter(
    (entry) => entry.workspace === workspace && entry.consent !== undefined && isThere(entry),
  )
  const counted = await root.get(`${path}/consents/summary`)
  assert.equal(counted.status, 200, counted.text)
  const given = all.filter(({ event }) => event.action === recorded).length
  const { given: saidGiven, withdrawn: saidWithdrawn } = counted.json()
  assert.deepEqual([saidGiven, saidWithdrawn], [given, all.length - given], "counts of consents")

  const known = people.filter(({ id }) => all.some(({ person }) => person.id === id))
  const { id } = chance.pick(known.length > 0 ? known : people)
  const own = all.filter(({ person }) => person.id === id)
  // A later time, which entries have once the clock was set back, is taken for the present.
  const past = own.filter(({ receipt }) => Date.parse(receipt.timestamp) < nowOf(ledger))
  const at = past.length > 0 && chance.percent(50) ? chance.pick(past).receipt.timestamp : undefined
  const acts = own.filter(({ receipt }) => at === undefined || receipt.timestamp <= at)
  const reply = await root.get(`${path}/consents?subject=${id}${at ? `&at=${at}` : ""}`)
  assert.equal(reply.status, 200, reply.text)
  const { state, policyVersion, receipt, sectionHash, total } = reply.json()
  const expected = stateOf(acts)
  assert.deepEqual([state, receipt], [expected.state, expected.by?.receipt.receipt], reply.text)
  if (expected.state === "given") assert.equal(policyVersion, expected.by?.consent?.version)
  assert.ok(expected.state === "none" || total >= 1, reply.text)
  if (at === undefined && sectionHash !== undefined)
    assert.equal(sectionHash, model.policies[workspace]?.[policyVersion - 1], reply.text)
  if (at === undefined && expected.state === "given")
    assert.equal(sectionHash, model.policies[workspace]?.[policyVersion - 1], reply.text)
}

/** From the oldest act on: a withdrawal ends the consents to its version and to earlier ones. */
function stateOf(acts: readonly ModelEntry[]) {
  let standing: readonly ModelEntry[] = []
  for (const act of acts)
    standing =
      act.event.action === recorded
        ? [...standing, act]
        : standing.filter(
            ({ consent }) => (consent?.version ?? 0) > (act.consent?.version ?? Infinity),
          )
  const by = standing.at(-1)
  if (by !== undefined) return { state: "given", by }
  const last = acts.findLast(({ event }) => event.action === withdrawn)
  return last === undefined ? { state: "none" } : { state: "withdrawn", by: last }
}
