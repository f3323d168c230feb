import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import { browserOf, goodPassword, join, signIn, type Person } from "../people.ts"
import type { Service } from "../service.ts"
import type { ModelMember } from "./ledger-model.ts"
import { dayMs, nowOf, started, type OperatedLedger } from "./operated-ledger.ts"

// Members of workspaces, their roles and their sessions.

const sessionLifeMs = 7 * dayMs
const roles = ["viewer", "admin"] as const

export async function inviteMember(ledger: OperatedLedger): Promise<void> {
  const { chance, model } = ledger
  const service = await started(ledger)
  const [workspace, role] = [chance.pick(model.workspaces), chance.pick(roles)]
  const email = `${randomUUID()}@example.com`
  const person = await join(service, `/v1/workspaces/${workspace}`, role, email)
  const member = { id: person.id, email, password: goodPassword, roles: { [workspace]: role } }
  model.members.push({ ...member, sessions: [sessionOf(ledger, person)] })
}

function sessionOf(ledger: OperatedLedger, { cookie }: Person) {
  return { cookie, expiresMs: nowOf(ledger) + sessionLifeMs, isEnded: false }
}

/** Some of its sessions are open meanwhile. */
export async function changeMember(ledger: OperatedLedger): Promise<void> {
  const { chance, model } = ledger
  const service = await started(ledger)
  const member = chance.pick(model.members)
  const workspace = chance.pick(model.workspaces)
  const role = chance.pick(roles)
  const path = `/v1/workspaces/${workspace}/members/${member.id}`
  const isMember = member.roles[workspace] !== undefined
  const isAnywhere = Object.keys(member.roles).length > 0
  const open = openSessions(ledger, member)
  const [session] = open
  switch (chance.pick(["remove", "role", "sign in", "sign out", "password"] as const)) {
    case "remove": {
      assert.equal((await service.root.delete(path)).status, 204)
      const { [workspace]: _, ...others } = member.roles
      member.roles = others
      for (const token of model.credentials)
        if (token.by === member.id && token.workspace === workspace) token.ended ??= "token_revoked"
      if (Object.keys(others).length === 0) for (const one of member.sessions) one.isEnded = true
      break
    }
    case "role": {
      const reply = await service.root[isMember ? "patch" : "post"](path, { role })
      assert.equal(reply.status, isMember ? 200 : isAnywhere ? 201 : 404, reply.text)
      if (isAnywhere) member.roles = { ...member.roles, [workspace]: role }
      break
    }
    case "sign in":
      if (!isAnywhere) break
      // Removes those that have ended, also for a clock that goes back.
      for (const one of member.sessions) one.isEnded ||= !open.includes(one)
      member.sessions.push(sessionOf(ledger, await signIn(service, member.email, member.password)))
      break
    case "sign out": {
      if (session === undefined) break
      const reply = await browserOf(service.client(), session.cookie).delete("/v1/session")
      assert.equal(reply.status, 204, reply.text)
      session.isEnded = true
      break
    }
    case "password": {
      if (session === undefined) break
      const fresh = `a new password ${randomUUID()}`
      const asked = { old: member.password, new: fresh }
      const browser = browserOf(service.client(), session.cookie)
      const reply = await browser.post("/v1/session/password", asked)
      assert.ok(reply.status < 300, reply.text)
      member.password = fresh
      for (const other of member.sessions) if (other !== session) other.isEnded = true
    }
  }
}

export function openSessions(ledger: OperatedLedger, { sessions }: ModelMember) {
  const soonMs = nowOf(ledger) + 60_000
  return sessions.filter(({ isEnded, expiresMs }) => !isEnded && expiresMs > soonMs)
}

// Checks ------------------------------------------------------------------------------------------

export async function expectMember(service: Service, ledger: OperatedLedger): Promise<void> {
  const { chance, model } = ledger
  const member = chance.pick(model.members)
  const session = chance.pick(member.sessions)
  const leftMs = session.expiresMs - nowOf(ledger)
  if (Math.abs(leftMs) < 60_000) return
  const workspace = chance.pick(model.workspaces)
  const role = member.roles[workspace]
  const isOpen = leftMs > 0 && !session.isEnded
  const browser = browserOf(service.client(), session.cookie)
  for (const [what, needed] of [
    ["events?limit=1", "viewer"],
    ["members", "admin"],
  ] as const) {
    const reply = await browser.get(`/v1/workspaces/${workspace}/${what}`)
    const expected = !isOpen
      ? 401
      : role === undefined || (needed === "admin" && role !== "admin")
        ? 403
        : 200
    assert.equal(reply.status, expected, `${what}, ${role}: ${reply.text.slice(0, 400)}`)
  }
}

/** As it was at the backup; who came later is unknown. */
export function membersRestored({ model }: OperatedLedger, lost: readonly ModelMember[]): void {
  for (const { id, sessions, ...other } of lost) {
    const kept = model.members.find((one) => one.id === id)
    const had = new Set(kept?.sessions.map(({ cookie }) => cookie))
    const ended = sessions
      .filter(({ cookie }) => !had.has(cookie))
      .map((one) => ({ ...one, isEnded: true }))
    if (kept !== undefined) kept.sessions.push(...ended)
    else model.members.push({ id, ...other, roles: {}, sessions: ended })
  }
}
