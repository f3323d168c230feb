// What the service's own entries say that is administered: each change of the registry is an act, so all acts in their order make it again.

import { isJsonObject, packAction, parseRecord, type Json, type JsonObject } from "@tallystick/proof"
import type { DocumentKind, SetupDocument } from "../store/documents.ts"
import type { Stored } from "../store/store.ts"
import { systemProject } from "../workspace/acts.ts"

/** An entry of the service's own. */
export interface RecordedAct {
  readonly sequence: number
  readonly action: string
  readonly id: string
  /** Whose act it is. */
  readonly by: string
  readonly metadata: JsonObject
}

/** The act that an entry records; undefined for what others say, whatever they call it. */
export function actOf({ sequence, record }: Pick<Stored, "sequence" | "record">, body: JsonObject): RecordedAct | undefined {
  const { projectId, action, actor, target, metadata = {} } = body
  // No caller can choose this project: the record, which costs more to read, is asked of few.
  if (projectId !== systemProject) return undefined
  const kind = parseRecord(record)?.kind
  if (kind !== "admin" && kind !== "policy") return undefined
  const [id, by] = [target, actor].map((party) => (isJsonObject(party) ? party["id"] : undefined))
  if (typeof action !== "string" || typeof id !== "string" || typeof by !== "string" || !isJsonObject(metadata)) return undefined
  return { sequence, action, id, by, metadata }
}

export const looked = [
  "workspace",
  "project",
  "api-key",
  "token",
  "policy",
  "pack",
  "membership",
  "member",
  "session",
  "setup",
  "keyring",
] as const satisfies readonly DocumentKind[]
export type Looked = (typeof looked)[number]

/** What acts have made of a document: the members that must be as they are here, or absent, and the last of the acts. */
export interface Made {
  readonly sequence: number
  readonly members: Readonly<Record<string, Json | undefined>>
}

/** What the acts of a workspace have made so far, by document. */
export interface Registered {
  readonly made: Map<string, Made>
  /** The sessions that are there. Of the others there are as many acts as sign-ins, and they end without one. */
  readonly sessions: ReadonlySet<string>
}

/** Acts come in their order, and those that change nothing here are forgotten: there are as many of them as of sign-ins and downloads. */
export function take(registered: Registered, act: RecordedAct): void {
  const { made } = registered
  const { sequence, metadata, id } = act
  const making: Making = {
    put(kind, members, of = id) {
      const key = keyOf(kind, of)
      made.set(key, { sequence, members: { ...made.get(key)?.members, ...members } })
    },
    remove: (kind, of = id) => void made.delete(keyOf(kind, of)),
    found: (kind) => made.get(keyOf(kind, id))?.members,
    committed: "commitment" in metadata ? { commitment: metadata["commitment"] } : {},
  }
  takeThing(making, act)
  takePerson(making, act, registered.sessions)
}

interface Making {
  readonly put: (kind: Looked, members: Made["members"], of?: string) => void
  readonly remove: (kind: Looked, of?: string) => void
  readonly found: (kind: Looked) => Made["members"] | undefined
  /** What the act says of how a credential is recognised; older ones say nothing. */
  readonly committed: Made["members"]
}

function takeThing({ put, committed }: Making, { action, by, metadata }: RecordedAct): void {
  switch (action) {
    case "workspace.create":
    case "workspace.update": {
      const { genesis: _, vkey: __, name: ___, ...settings } = metadata
      return put("workspace", settings)
    }
    case "project.create":
    case "project.update":
      return put("project", { receipts: metadata["receipts"], activityLinks: metadata["activityLinks"] })
    case "policy.version.publish": {
      const { policyId, projectId, version, sectionHash } = metadata
      if (typeof projectId === "string") put("project", { policyVersion: version }, projectId)
      return put("policy", { policyId, projectId, version, sectionHash })
    }
    case "security.key.create":
      return put("api-key", {
        scopes: metadata["scopes"],
        projectIds: metadata["projectIds"],
        expiresAt: metadata["expiresAt"],
        createdBy: by,
        isRevoked: false,
        ...committed,
      })
    case "security.key.revoke":
      return put("api-key", { isRevoked: true })
    case "security.token.create": {
      const { expiresAt, commitment: _, ...bound } = metadata
      return put("token", { bound, expiresAt, createdBy: by, isRevoked: false, ...committed })
    }
    case "security.token.revoke":
      return put("token", { isRevoked: true })
    case "security.secret.rotate":
    case "security.secret.retire":
    case "security.instance_key.rotate":
      return put("keyring", { generation: metadata["generation"], ...committed }, "keyring")
    case packAction:
      return put("pack", { packHash: metadata["packHash"] })
  }
}

/** Accounts, who belongs where, and sessions. */
function takePerson(
  { put, remove, found, committed }: Making,
  { action, id, by, metadata }: RecordedAct,
  sessions: ReadonlySet<string>,
): void {
  const putSetup = (purpose: SetupDocument["purpose"]): void => {
    const named = "setupId" in metadata ? { id: metadata["setupId"] } : {}
    put("setup", { ...named, expiresAt: metadata["expiresAt"], ...committed }, setupOf(id, purpose))
  }
  switch (action) {
    case "security.member.invite":
      putSetup("join")
      return put("membership", {
        role: metadata["role"],
        hasJoined: false,
        ...(found("membership") === undefined ? { createdBy: by } : {}),
      })
    case "security.member.join":
      remove("setup", setupOf(id, "join"))
      return put("membership", { hasJoined: true })
    case "security.member.update":
      return put("membership", { role: metadata["role"] })
    case "security.member.remove":
      remove("setup", setupOf(id, "join"))
      return remove("membership")
    case "security.member.create":
      // The first one is a member of the instance at once; others join when they have an account.
      if (metadata["first"] === true) put("membership", { role: metadata["role"], hasJoined: true, createdBy: by })
      remove("setup", setupOf(id, "password"))
      return put("member", committed)
    case "security.password.offer":
      return putSetup("password")
    case "security.password.change":
    case "security.password.replace":
      remove("setup", setupOf(id, "password"))
      return put("member", committed)
    case "security.password.bind":
    case "security.password.reseal": {
      // What was exchanged before it was bound, or sealed, is not what was recorded.
      const before = found("member")?.["commitment"]
      return before === undefined || before === metadata["before"] ? put("member", committed) : undefined
    }
    case "security.account.remove":
      remove("setup", setupOf(id, "password"))
      return remove("member")
    case "security.session.create":
      if (sessions.has(id))
        put("session", {
          ...("memberIds" in metadata ? { memberIds: metadata["memberIds"] } : { memberId: by }),
          expiresAt: metadata["expiresAt"],
          ...committed,
        })
  }
}

/** There is one set-up token for each member and purpose, and older acts do not name it. */
export function setupOf(memberId: string, purpose: SetupDocument["purpose"]): string {
  return `${memberId} ${purpose === "join" ? "to join" : "for another password"}`
}

export function keyOf(kind: Looked, id: string): string {
  return `${kind} ${id}`
}

export function partsOf(key: string): [kind: Looked, id: string] {
  const at = key.indexOf(" ")
  // Only keyOf makes them, and no kind has a space.
  return [key.slice(0, at) as Looked, key.slice(at + 1)]
}
