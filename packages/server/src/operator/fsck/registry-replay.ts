// Rebuilds the registry from administrative entries: each change of the registry is recorded, so
// all of them in order make it again.

import {
  isJsonObject,
  openBody,
  packAction,
  parseRecord,
  readDestroyed,
  type Destroyed,
  type Json,
  type JsonObject,
  type Kind,
} from "@tallystick/proof"
import { disclosuresOf } from "../../store/opened-entry.ts"
import { sha256 } from "../../runtime/sha256.ts"
import { inBlocks, withDestroyed } from "../../store/destroyed.ts"
import { grownRun } from "../../store/retention-state.ts"
import type {
  DestroyedDocument,
  DocumentKind,
  RetentionStateDocument,
  SetupDocument,
} from "../../store/documents.ts"
import { systemProject } from "../../store/search/searchable-fields.ts"
import type { Stored } from "../../store/entries.ts"

/** An administrative entry, which the service itself writes. */
export interface RecordedAct {
  readonly sequence: number
  readonly action: string
  readonly id: string
  readonly by: string
  readonly occurredAt: string
  /** E-mail address of the person that it is about, from a disclosure. */
  readonly email?: string
  readonly metadata: JsonObject
  /** What a hold covers, from a disclosure. */
  readonly scope?: Json
  /** What the entry says was destroyed. */
  readonly destroyed?: Destroyed | undefined
}

/**
 * The act that an entry records. Undefined for entries of callers, whatever their action is named.
 */
export function actOf(entry: Stored, body: JsonObject): RecordedAct | undefined {
  const { projectId, action, actor, target, occurredAt, metadata = {} } = body
  // Callers cannot write to this project. Checking it first saves parsing most records.
  if (projectId !== systemProject) return undefined
  const kind = parseRecord(entry.record)?.kind
  if (kind === undefined || !actKinds.has(kind)) return undefined
  const [id, by] = [target, actor].map((party) => (isJsonObject(party) ? party["id"] : undefined))
  if (typeof action !== "string" || typeof id !== "string" || typeof by !== "string")
    return undefined
  if (!isJsonObject(metadata) || typeof occurredAt !== "string") return undefined
  const opened = openBody(body, disclosuresOf(entry), sha256)
  const openTarget = opened.ok ? opened.value["target"] : undefined
  const email = isJsonObject(openTarget) ? openTarget["email"] : undefined
  const emailed = typeof email === "string" ? { email } : {}
  const scope = isJsonObject(openTarget) ? scopeIn(openTarget) : {}
  const { sequence } = entry
  const destroyed = readDestroyed(kind, sequence, body)
  return { sequence, action, id, by, occurredAt, ...emailed, ...scope, metadata, destroyed }
}

/** Members of a party that the format does not name are sealed as one claim. */
function scopeIn({ other }: JsonObject): { readonly scope?: Json } {
  const scope = isJsonObject(other) ? other["scope"] : undefined
  return scope === undefined ? {} : { scope }
}

/** Kinds that only the service writes, and that change the registry. */
const actKinds: ReadonlySet<Kind> = new Set<Kind>(["admin", "policy", "retention", "erasure"])

export const checkedKinds = [
  "workspace",
  "project",
  "api-key",
  "token",
  "policy",
  "pack",
  "verifier",
  "membership",
  "member",
  "session",
  "setup",
  "keyring",
  "destroyed",
  "erasure",
  "hold",
  "retention-state",
  "archive-segment",
] as const satisfies readonly DocumentKind[]
export type CheckedKind = (typeof checkedKinds)[number]

/**
 * A document as the acts made it: members that it must have, or must not have if undefined, and the
 * last act about it.
 */
export interface ReplayedDocument {
  readonly sequence: number
  readonly members: Readonly<Record<string, Json | undefined>>
}

/** The registry of a workspace as the acts so far made it. */
export interface ReplayedRegistry {
  readonly made: Map<string, ReplayedDocument>
  /**
   * Stored sessions. Others are ignored: there are as many as sign-ins, and expired ones end
   * without an act.
   */
  readonly sessions: ReadonlySet<string>
  readonly speaking: Map<string, Set<string>>
}

/**
 * Applies the next act. Acts that change no document are not kept: there are as many as sign-ins
 * and downloads.
 */
export function applyAct(registered: ReplayedRegistry, act: RecordedAct): void {
  const { made } = registered
  const { sequence, metadata, id } = act
  const making: Making = {
    put(kind, members, of = id) {
      const key = keyOf(kind, of)
      made.set(key, { sequence, members: { ...made.get(key)?.members, ...members } })
    },
    remove: (kind, of = id) => void made.delete(keyOf(kind, of)),
    found: (kind, of = id) => made.get(keyOf(kind, of))?.members,
    committed: { commitment: metadata["commitment"] },
  }
  applyThing(making, act)
  applyHold(making, act)
  applyDestroyed(making, act)
  applyErasure(making, act)
  applyArchived(making, act)
  applyPerson(making, act)
  applySession(making, act, registered)
}

interface Making {
  readonly put: (kind: CheckedKind, members: ReplayedDocument["members"], of?: string) => void
  readonly remove: (kind: CheckedKind, of?: string) => void
  readonly found: (kind: CheckedKind, id?: string) => ReplayedDocument["members"] | undefined
  /** The act's commitment to a credential. */
  readonly committed: ReplayedDocument["members"]
}

function applyThing(making: Making, { action, by, occurredAt, metadata }: RecordedAct): void {
  const { put, committed } = making
  const { scopes, projectIds, expiresAt, projectId, packHash } = metadata
  const { receipts, activityLinks, phrases } = metadata
  const begun = { createdAt: occurredAt, createdBy: by, isRevoked: false, ...committed }
  switch (action) {
    case "workspace.create":
    case "workspace.update": {
      const { genesis: _, vkey: __, name: ___, ...settings } = metadata
      // A setting that the first act does not mention must be absent.
      const absent =
        action === "workspace.create" ? { projectsMax: undefined, retention: undefined } : {}
      if (action === "workspace.update" && "retention" in settings) putState(making, {})
      return put("workspace", { ...absent, ...settings })
    }
    case "project.create":
    case "project.update":
      return put("project", { receipts, activityLinks, phrases })
    case "policy.version.publish": {
      const { policyId, version, sectionHash } = metadata
      if (typeof projectId === "string") put("project", { policyVersion: version }, projectId)
      return put("policy", { policyId, projectId, version, sectionHash })
    }
    case "security.key.create":
      return put("api-key", { scopes, projectIds, expiresAt, ...begun })
    case "security.key.revoke":
      return put("api-key", { isRevoked: true })
    case "security.token.create": {
      const { expiresAt: _, commitment: __, minter, ...bound } = metadata
      const minted = minter === undefined ? {} : { minter }
      return put("token", { bound, expiresAt, ...begun, ...minted })
    }
    case "security.token.revoke":
      return put("token", { isRevoked: true })
    case "security.secret.rotate":
    case "security.secret.retire":
    case "security.instance_key.rotate":
      return put("keyring", { generation: metadata["generation"], ...committed }, "keyring")
    case packAction: {
      const { verifier, projects } = metadata
      if (typeof verifier === "string") put("verifier", {}, verifier)
      return put("pack", { packHash, verifier, projects })
    }
  }
}

function applyHold(
  making: Making,
  { action, by, occurredAt, metadata: { reason }, scope }: RecordedAct,
): void {
  switch (action) {
    case "policy.hold.place": {
      const begun = { createdAt: occurredAt, createdBy: by, isReleased: false }
      making.put("hold", { reason, ...begun, ...(scope !== undefined && { scope }) })
      return putState(making, { holds: stateIn(making).holds + 1 })
    }
    case "policy.hold.release":
      making.put("hold", { isReleased: true })
      return putState(making, { holds: stateIn(making).holds - 1 })
  }
}

function applyDestroyed(
  making: Making,
  { action, id: by, occurredAt, destroyed }: RecordedAct,
): void {
  const { put, found } = making
  const { run } = stateIn(making)
  if (action === "retention.body.expired" && run !== undefined)
    return putState(making, { run: { ...run, doneAt: occurredAt } })
  if (destroyed === undefined) return
  if (action === "retention.body.expire")
    putState(making, { run: grownRun(run, by, destroyed.bodies) })
  for (const [block, part] of inBlocks(destroyed)) {
    // It was put there by this function.
    const before = found("destroyed", block) as DestroyedDocument | undefined
    put("destroyed", { ...withDestroyed(before, part, by) }, block)
  }
}

function applyErasure(making: Making, { action, metadata }: RecordedAct): void {
  const { put, remove } = making
  const { scope, reason, reference, part, tokens } = metadata
  // The holds of that moment decide.
  if (action === "privacy.erasure.request") putState(making, {})
  switch (action) {
    case "privacy.erasure.request":
    case "privacy.erasure.repeat":
      return put("erasure", { scope, reason, reference, parts: 0, isDone: false })
    case "privacy.subject.erase":
      // A token of the person's activity is erased with the entries that name the person.
      for (const token of Array.isArray(tokens) ? tokens : [])
        if (typeof token === "string") remove("token", token)
      return put("erasure", { parts: part })
    case "privacy.erasure.complete":
      return put("erasure", { isDone: true })
  }
}

function stateIn({ found }: Making): RetentionStateDocument {
  // It was put there by putState.
  return (found("retention-state", "state") as RetentionStateDocument | undefined) ?? { holds: 0 }
}

function putState(making: Making, change: Partial<RetentionStateDocument>): void {
  const { run, ...others } = { ...stateIn(making), ...change }
  making.put("retention-state", { ...others, ...(run && { run: { ...run } }) }, "state")
}

function applyArchived({ put, remove }: Making, { action, metadata }: RecordedAct): void {
  const { replaces, ...segment } = metadata
  if (action === "ledger.archive.remove") remove("archive-segment")
  if (action !== "ledger.archive.segment") return
  if (typeof replaces === "string") remove("archive-segment", replaces)
  put("archive-segment", segment)
}

function applyPerson(
  { put, remove, found, committed }: Making,
  { action, id, by, occurredAt, email, metadata }: RecordedAct,
): void {
  const emailed = email === undefined ? {} : { email }
  const { role } = metadata
  const putSetup = (purpose: SetupDocument["purpose"]): void => {
    const { setupId, expiresAt } = metadata
    put("setup", { id: setupId, expiresAt, ...committed }, setupOf(id, purpose))
  }
  const putJoined = (): void => {
    const at = { createdAt: occurredAt, joinedAt: occurredAt }
    put("membership", { role, hasJoined: true, createdBy: by, ...at, ...emailed })
  }
  switch (action) {
    case "security.member.invite": {
      putSetup("join")
      const isFirst = found("membership") === undefined
      const begun = isFirst ? { createdBy: by, createdAt: occurredAt } : {}
      return put("membership", { role, hasJoined: false, ...emailed, ...begun })
    }
    case "security.member.join":
      remove("setup", setupOf(id, "join"))
      return put("membership", { hasJoined: true, joinedAt: occurredAt })
    case "security.member.add":
      return putJoined()
    case "security.member.update":
      return put("membership", { role })
    case "security.member.remove":
      remove("setup", setupOf(id, "join"))
      return remove("membership")
    case "security.member.create":
      // The first account is a member of the instance at once. Others join with an act of their
      // own.
      if (metadata["first"] === true) putJoined()
      remove("setup", setupOf(id, "password"))
      return put("member", { ...emailed, ...committed })
    case "security.password.offer":
      return putSetup("password")
    case "security.password.change":
    case "security.password.replace":
      remove("setup", setupOf(id, "password"))
      return put("member", committed)
    case "security.password.reseal": {
      // The act must replace the recorded password. Otherwise somebody changed it in the database
      // before.
      return found("member")?.["commitment"] === metadata["before"]
        ? put("member", committed)
        : undefined
    }
    case "security.account.remove":
      remove("setup", setupOf(id, "password"))
      return remove("member")
  }
}

/** Applies acts that begin or end sessions. Expired and surplus sessions end without an act. */
function applySession(
  { put, committed }: Making,
  { action, id, metadata }: RecordedAct,
  { sessions, speaking }: Pick<ReplayedRegistry, "sessions" | "speaking">,
): void {
  const end = (ended: string): void => put("session", { isEnded: true }, ended)
  switch (action) {
    case "security.session.create": {
      if (!sessions.has(id)) return
      const { memberIds, expiresAt } = metadata
      const named = Array.isArray(memberIds) ? memberIds : []
      speaking.set(id, new Set(named.filter((one) => typeof one === "string")))
      return put("session", { memberIds, expiresAt, isEnded: false, ...committed })
    }
    case "security.session.end":
      return speaking.has(id) ? end(id) : undefined
    case "security.password.change":
    case "security.password.replace": {
      const kept = metadata["sessionId"]
      for (const [session, members] of speaking)
        if (session !== kept && members.has(id)) end(session)
      return
    }
    case "security.account.remove":
    case "security.member.create":
      // A session of several accounts continues for the others.
      for (const [session, members] of speaking)
        if (members.delete(id) && members.size === 0) end(session)
  }
}

/** Each member has one set-up token per purpose. */
export function setupOf(memberId: string, purpose: SetupDocument["purpose"]): string {
  return `${memberId} ${purpose === "join" ? "to join" : "for another password"}`
}

export function keyOf(kind: CheckedKind, id: string): string {
  return `${kind} ${id}`
}

export function partsOf(key: string): [kind: CheckedKind, id: string] {
  const at = key.indexOf(" ")
  // keyOf makes all keys, and no kind contains a space.
  return [key.slice(0, at) as CheckedKind, key.slice(at + 1)]
}
