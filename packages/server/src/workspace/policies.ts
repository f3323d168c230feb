// Policies: the versions that a project has published. They are numbered 1, 2, 3… and never change.

import { canonicalize, toHex, utf8, type JsonObject } from "@tallystick/proof"
import { isoTime } from "../clock.ts"
import { LedgerError } from "../error.ts"
import type { Pace } from "../runtime/pace.ts"
import { sha256 } from "../runtime/sha256.ts"
import {
  changed,
  created,
  policyDocumentId,
  type PolicyDocument,
  type Document,
  type Workspace,
} from "../store/documents.ts"
import { recordPlanned, type AdminParts } from "./admin-entries.ts"
import type { Principal } from "./permissions.ts"
import { required } from "./required-document.ts"

export interface PolicyRequest {
  readonly projectId: string
  readonly sections: readonly JsonObject[]
  readonly version?: number | undefined
}

export interface Policies {
  publish(by: Principal, workspace: Workspace, request: PolicyRequest): Promise<Document<"policy">>
  find(
    workspace: string,
    projectId: string,
    version: number | "latest",
  ): Promise<Document<"policy"> | undefined>
  /** The versions below `before`, newest first; fewer than `limit` if they are large. */
  list(
    workspace: string,
    projectId: string,
    before: number | undefined,
    limit: number,
    pace: Pace,
  ): Promise<readonly Document<"policy">[]>
}

/** The most text that one page of a list reads. The list itself shows no text. */
const listBytesMax = 1024 * 1024

/** Each section can be linked to, and compared with the one of another version, by its id. */
function expectOwnIds(sections: readonly JsonObject[]): void {
  const places = new Map<unknown, number>()
  for (const [at, { id }] of sections.entries()) {
    const first = places.get(id)
    if (first !== undefined)
      throw new LedgerError(
        "invalid_field",
        `sections[${at}].id is the one of sections[${first}]; each section needs its own`,
      )
    places.set(id, at)
  }
}

export function createPolicies(parts: AdminParts): Policies {
  const { registry, ledger, limits } = parts
  const get = (workspace: string, projectId: string, version: number) =>
    registry.get("policy", workspace, policyDocumentId(projectId, version))
  const newestOf = async (workspace: string, projectId: string) =>
    (await registry.get("project", workspace, projectId))?.value.policyVersion ?? 0

  return {
    async publish(by, workspace, { projectId, sections, version: expected }) {
      expectOwnIds(sections)
      const { value } = await recordPlanned(parts, workspace, async (nowMs) => {
        const project = await required(registry, "project", workspace.id, projectId)
        const version = (project.value.policyVersion ?? 0) + 1
        if (expected !== undefined && expected !== version)
          throw new LedgerError(
            "conflict",
            `version must be ${version}, the one after the newest that is published`,
          )
        if (version > limits.policyVersionsMax)
          throw new LedgerError(
            "conflict",
            `a project has ${limits.policyVersionsMax} policy versions at most`,
          )
        const id = policyDocumentId(projectId, version)
        const policyId = ledger.makeId("pol", nowMs)
        const sectionHash = toHex(sha256(utf8(canonicalize(sections))))
        const metadata = { policyId, projectId, version, sectionHash }
        const value: PolicyDocument = { ...metadata, publishedAt: isoTime(nowMs), sections }
        return {
          by,
          kind: "policy",
          action: "policy.version.publish",
          target: { id, type: "policy", name: `Policy version ${version}` },
          metadata,
          changes: [
            changed(project, { ...project.value, policyVersion: version }),
            created("policy", id, value),
          ],
          value,
        } as const
      })
      const id = policyDocumentId(projectId, value.version)
      return required(registry, "policy", workspace.id, id)
    },

    async find(workspace, projectId, version) {
      const wanted = version === "latest" ? await newestOf(workspace, projectId) : version
      return wanted === 0 ? undefined : get(workspace, projectId, wanted)
    },

    async list(workspace, projectId, before = Infinity, limit, pace) {
      const first = Math.min(before - 1, await newestOf(workspace, projectId))
      const versions = Array.from({ length: Math.min(limit, first) }, (_, at) => first - at)
      const found: Document<"policy">[] = []
      let bytes = 0
      for (const version of versions) {
        if (pace.isUp()) await pace.next()
        const policy = await get(workspace, projectId, version)
        if (policy !== undefined) found.push(policy)
        bytes += JSON.stringify(policy?.value.sections ?? []).length
        if (bytes > listBytesMax) break
      }
      return found
    },
  }
}
