// What the registry says, held against the entries that record its changes. No record hashes a document: whoever can write the file could
// let a key in, or raise a role, and leave the chain as it is. But every such change is an act, and the acts make the registry again.
// What no act records is not known here: above all what a credential is recognised by.

import { canonicalize, equalJson, isJsonObject, packAction, parseRecord, toHex, utf8, type Json, type JsonObject } from "@tallystick/proof"
import { sha256 } from "../sha256.ts"
import type { DocumentKind } from "../store/documents.ts"
import type { Document, Registry, Stored } from "../store/store.ts"
import { systemProject } from "../workspace/acts.ts"
import type { Fault } from "./fault.ts"

/** An entry of the service's own. */
export interface RecordedAct {
  readonly sequence: number
  readonly action: string
  readonly id: string
  readonly metadata: JsonObject
}

/** The act that an entry records; undefined for what others say, whatever they call it. */
export function actOf({ sequence, record }: Pick<Stored, "sequence" | "record">, body: JsonObject): RecordedAct | undefined {
  const { projectId, action, target, metadata = {} } = body
  // No caller can choose this project: the record, which costs more to read, is asked of few.
  if (projectId !== systemProject) return undefined
  const kind = parseRecord(record)?.kind
  if (kind !== "admin" && kind !== "policy") return undefined
  const id = isJsonObject(target) ? target["id"] : undefined
  return typeof action === "string" && typeof id === "string" && isJsonObject(metadata) ? { sequence, action, id, metadata } : undefined
}

const looked = [
  "workspace",
  "project",
  "api-key",
  "token",
  "policy",
  "pack",
  "membership",
  "member",
] as const satisfies readonly DocumentKind[]
type Looked = (typeof looked)[number]

const nouns: Readonly<Record<Looked, string>> = {
  workspace: "the workspace",
  project: "project",
  "api-key": "API key",
  token: "token",
  policy: "policy",
  pack: "evidence pack",
  membership: "member",
  member: "account",
}

/** What acts have made of a document: the members that must be as they are here, or absent, and the last of the acts. */
interface Made {
  readonly sequence: number
  readonly members: Readonly<Record<string, Json | undefined>>
}

/** What the acts of a workspace have made so far, by document. */
export type Registered = Map<string, Made>

/** Everything that is not as all the acts of the workspace made it; `made` is used up. */
export async function registryFaults(registry: Registry, workspace: Document<"workspace">, made: Registered): Promise<readonly Fault[]> {
  const faults: Fault[] = []
  for (const kind of looked) {
    for await (const document of kind === "workspace" ? [workspace] : all(registry, kind, workspace.id)) {
      const key = keyOf(kind, document.id)
      const found = made.get(key)
      made.delete(key)
      if (found === undefined) faults.push({ workspace: workspace.id, what: `no entry records ${nouns[kind]} ${document.id}` })
      else {
        const member = otherMember(found, document)
        if (member !== undefined)
          faults.push({
            workspace: workspace.id,
            sequence: found.sequence,
            what: `${nouns[kind]} ${document.id} is not as it was recorded: ${member}`,
          })
      }
    }
  }
  for (const [key, { sequence }] of made) {
    const [kind, id] = partsOf(key)
    faults.push({ workspace: workspace.id, sequence, what: `${nouns[kind]} ${id}, which it records, is not there` })
  }
  return faults
}

/** The first member that is not what the acts made it. */
function otherMember({ members }: Made, { value }: Document): string | undefined {
  // Whatever kind a document is of, it was read as JSON.
  const kept = value as unknown as JsonObject
  const now: Readonly<Record<string, Json | undefined>> = { ...kept, isRevoked: "revokedAt" in kept, hasJoined: "joinedAt" in kept }
  const other = Object.entries(members).find(([name, made]) => {
    const is = now[name]
    return made === undefined || is === undefined ? made !== is : !equalJson(made, is)
  })
  if (other !== undefined) return other[0]
  // What was published was announced by its hash.
  return "sections" in value && toHex(sha256(utf8(canonicalize(value.sections)))) !== value.sectionHash ? "text" : undefined
}

/** Acts come in their order, and those that change nothing here are forgotten: there are as many of them as of sign-ins and downloads. */
export function take(made: Registered, { sequence, action, id, metadata }: RecordedAct): void {
  const put = (kind: Looked, members: Made["members"], of = id): void => {
    const key = keyOf(kind, of)
    made.set(key, { sequence, members: { ...made.get(key)?.members, ...members } })
  }
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
        isRevoked: false,
      })
    case "security.key.revoke":
      return put("api-key", { isRevoked: true })
    case "security.token.create": {
      const { expiresAt, ...bound } = metadata
      return put("token", { bound, expiresAt, isRevoked: false })
    }
    case "security.token.revoke":
      return put("token", { isRevoked: true })
    case packAction:
      return put("pack", { packHash: metadata["packHash"] })
    case "security.member.invite":
      return put("membership", { role: metadata["role"], hasJoined: false })
    case "security.member.join":
      return put("membership", { hasJoined: true })
    case "security.member.update":
      return put("membership", { role: metadata["role"] })
    case "security.member.remove":
      made.delete(keyOf("membership", id))
      return
    case "security.member.create":
      // The first one is a member of the instance at once; others join when they have an account.
      if (metadata["first"] === true) put("membership", { role: metadata["role"], hasJoined: true })
      return put("member", {})
  }
}

function keyOf(kind: Looked, id: string): string {
  return `${kind} ${id}`
}

function partsOf(key: string): [kind: Looked, id: string] {
  const at = key.indexOf(" ")
  // Only keyOf makes them, and no kind has a space.
  return [key.slice(0, at) as Looked, key.slice(at + 1)]
}

const perPage = 1000

async function* all(registry: Registry, kind: Looked, workspace: string): AsyncGenerator<Document> {
  for (let before = Number.MAX_SAFE_INTEGER; ;) {
    const page = await registry.list(kind, workspace, before, perPage)
    yield* page
    const last = page.at(-1)
    if (last === undefined || page.length < perPage) return
    before = last.serial
  }
}
