// Compares the registry with the entries that record its changes. No hash covers a document: anyone
// who can write the file could add a key or raise a role without touching the chain. But every such
// change is an act, and the acts make the registry again (registry-replay.ts). They commit to
// credentials without containing them.

import { canonicalize, equalJson, toHex, utf8, type Json, type JsonObject } from "@tallystick/proof"
import { sha256 } from "../../runtime/sha256.ts"
import type { TokenDocument, Listed, Workspace } from "../../store/documents.ts"
import { every } from "../../store/all-documents.ts"
import type { Registry } from "../../store/store.ts"
import { commitmentTo } from "../../workspace/credential-format.ts"
import type { Fault } from "./fault.ts"
import {
  keyOf,
  checkedKinds,
  partsOf,
  setupOf,
  type CheckedKind,
  type ReplayedDocument,
  type ReplayedRegistry,
} from "./registry-replay.ts"

const nouns: Readonly<Record<CheckedKind, string>> = {
  workspace: "the workspace",
  project: "project",
  "api-key": "API key",
  token: "token",
  policy: "policy",
  pack: "evidence pack",
  verifier: "verifier",
  membership: "member",
  member: "account",
  session: "session",
  setup: "set-up token of",
  keyring: "the",
  "archive-segment": "archive segment",
  destroyed: "the list of what was destroyed in block",
  erasure: "erasure",
  hold: "hold",
  "retention-state": "the retention",
}

export async function beginReplay(
  registry: Pick<Registry, "list">,
  workspace: string,
): Promise<ReplayedRegistry> {
  const sessions = new Set(
    await Array.fromAsync(every(registry, "session", workspace), ({ id }) => id),
  )
  return { made: new Map(), sessions, speaking: new Map() }
}

/** Everything that differs from what the acts made. Empties `made`. */
export async function compareRegistry(
  registry: Pick<Registry, "list">,
  workspace: Workspace,
  { made }: ReplayedRegistry,
): Promise<Fault[]> {
  const faults: Fault[] = []
  for (const kind of checkedKinds) {
    for await (const document of kind === "workspace"
      ? [workspace]
      : every(registry, kind, workspace.id)) {
      const place = placeOf(document)
      const key = keyOf(kind, place)
      const found = made.get(key)
      made.delete(key)
      if (found === undefined)
        faults.push({
          workspace: workspace.id,
          what: `${nouns[kind]} ${place} is in the registry, and no entry records it`,
        })
      else {
        const member = otherMember(found, document)
        if (member !== undefined)
          faults.push({
            workspace: workspace.id,
            sequence: found.sequence,
            what: `${nouns[kind]} ${place} differs from what this entry recorded: ${member}`,
          })
      }
    }
  }
  for (const [key, { sequence }] of made) {
    const [kind, id] = partsOf(key)
    faults.push({
      workspace: workspace.id,
      sequence,
      what: `it records ${nouns[kind]} ${id}, which is missing in the registry`,
    })
  }
  return faults
}

function placeOf({ id, value }: Listed): string {
  return "purpose" in value ? setupOf(value.memberId, value.purpose) : id
}

/** The first member that differs from what the acts made. */
function otherMember({ members }: ReplayedDocument, { id, value }: Listed): string | undefined {
  // Every document was read as JSON.
  const kept = value as unknown as JsonObject
  const now: Readonly<Record<string, Json | undefined>> = {
    ...kept,
    id,
    isRevoked: "revokedAt" in kept,
    isDone: "doneAt" in kept,
    isReleased: "released" in kept,
    hasJoined: "joinedAt" in kept,
    isEnded: false,
    ...derived(value),
  }
  const other = Object.entries(members).find(([name, made]) => {
    const is = now[name]
    return made === undefined || is === undefined ? made !== is : !equalJson(made, is)
  })
  if (other !== undefined) return other[0]
  // The acts of a policy and of a verifier have only the hash of its text.
  const [text, hash] =
    "sections" in value
      ? [canonicalize(value.sections), value.sectionHash]
      : "html" in value
        ? [value.html, id]
        : []
  return text !== undefined && toHex(sha256(utf8(text))) !== hash ? "text" : undefined
}

function derived(value: Listed["value"]): Readonly<Record<string, Json>> {
  const recognisedBy =
    "mac" in value
      ? value.mac
      : "password" in value
        ? value.password
        : "sealed" in value
          ? value.sealed
          : undefined
  return {
    ...(recognisedBy === undefined ? {} : { commitment: commitmentTo(recognisedBy) }),
    ...("minter" in value ? minterOf(value.minter) : {}),
    ...("packHash" in value ? { projects: commitmentTo(canonicalize(value.projectIds)) } : {}),
  }
}

function minterOf(minter: TokenDocument["minter"]): Readonly<Record<string, Json>> {
  return minter.kind === "instance"
    ? { createdBy: "instance", minter: commitmentTo(minter.mac) }
    : { createdBy: minter.id }
}
