// Policies: the versions that a project has published. They are numbered 1, 2, 3… and never change.

import { canonicalize, toHex, utf8, type JsonObject } from "@tallystick/proof"
import { isoTime } from "../clock.ts"
import { LedgerError } from "../error.ts"
import { sha256 } from "../runtime/sha256.ts"
import { policyDocumentId, type PolicyDocument } from "../store/documents.ts"
import type { Document } from "../store/store.ts"
import { adminDraft, recordPlanned, type AdminParts } from "./admin-entries.ts"
import type { Principal } from "./permissions.ts"

export interface PolicyRequest {
  readonly projectId: string
  readonly sections: readonly JsonObject[]
  /** The version that the caller expects to publish. */
  readonly version?: number | undefined
}

export interface Policies {
  publish(
    by: Principal,
    workspace: Document<"workspace">,
    request: PolicyRequest,
  ): Promise<Document<"policy">>
  find(
    workspace: string,
    projectId: string,
    version: number | "latest",
  ): Promise<Document<"policy"> | undefined>
  /** The versions below `before`, newest first; fewer than `limit` where they are large. */
  list(
    workspace: string,
    projectId: string,
    before: number | undefined,
    limit: number,
  ): Promise<readonly Document<"policy">[]>
}

/** The most text that one page of a list reads. The list itself shows no text. */
const listBytesMax = 1024 * 1024

/** The largest version number that the API accepts. */
const versionMax = 2 ** 31 - 1

export function createPolicies({ registry, ledger, clock }: Omit<AdminParts, "keyring">): Policies {
  const get = (workspace: string, projectId: string, version: number) =>
    registry.get("policy", workspace, policyDocumentId(projectId, version))
  const newestOf = async (workspace: string, projectId: string) =>
    (await registry.get("project", workspace, projectId))?.value.policyVersion ?? 0

  return {
    async publish(by, workspace, { projectId, sections, version: expected }) {
      const { value } = await recordPlanned(ledger, workspace, async () => {
        const project = await registry.get("project", workspace.id, projectId)
        if (project === undefined) throw new LedgerError("not_found", "there is no such project")
        const version = (project.value.policyVersion ?? 0) + 1
        if (expected !== undefined && expected !== version) throw otherVersion(version)
        if (version > versionMax)
          throw new LedgerError(
            "conflict",
            "this project has published every version that there can be",
          )
        const nowMs = clock.now()
        const value: PolicyDocument = {
          policyId: ledger.makeId("pol", nowMs),
          projectId,
          version,
          publishedAt: isoTime(nowMs),
          sectionHash: toHex(sha256(utf8(canonicalize(sections)))),
          sections,
        }
        return {
          value,
          said: [{ ...publishSaid(by, value, nowMs), kind: "policy" as const }],
          changes: [
            {
              kind: "project",
              id: projectId,
              version: project.version,
              value: { ...project.value, policyVersion: version },
            },
            { kind: "policy", id: policyDocumentId(projectId, version), version: 0, value },
          ],
        }
      })
      const published = await get(workspace.id, projectId, value.version)
      if (published === undefined) throw new Error("a policy that was just recorded is not there")
      return published
    },

    async find(workspace, projectId, version) {
      const wanted = version === "latest" ? await newestOf(workspace, projectId) : version
      return wanted === 0 ? undefined : get(workspace, projectId, wanted)
    },

    async list(workspace, projectId, before = Infinity, limit) {
      const first = Math.min(before - 1, await newestOf(workspace, projectId))
      const versions = Array.from(
        { length: Math.max(Math.min(limit, first), 0) },
        (_, at) => first - at,
      )
      const found: Document<"policy">[] = []
      let bytes = 0
      for (const version of versions) {
        const policy = await get(workspace, projectId, version)
        if (policy !== undefined) found.push(policy)
        bytes += JSON.stringify(policy?.value.sections ?? []).length
        if (bytes > listBytesMax) break
      }
      return found
    },
  }
}

function publishSaid(
  by: Principal,
  { policyId, projectId, version, sectionHash }: PolicyDocument,
  nowMs: number,
) {
  const target = {
    id: policyDocumentId(projectId, version),
    type: "policy",
    name: `Policy version ${version}`,
  }
  return adminDraft(
    by,
    "policy.version.publish",
    target,
    { policyId, projectId, version, sectionHash },
    nowMs,
  )
}

function otherVersion(next: number): LedgerError {
  return new LedgerError(
    "conflict",
    `version must be ${next}, the one after the newest that is published`,
  )
}
