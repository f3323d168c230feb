// Projects: each event belongs to one. A project says whether its receipts are public.

import type { JsonObject } from "@tallystick/proof"
import { isoTime } from "../clock.ts"
import { LedgerError } from "../error.ts"
import type { Idempotency, Draft } from "../ledger/ledger.ts"
import type { Limits } from "../limits.ts"
import { createOneAtATime } from "../runtime/one-at-a-time.ts"
import type { ProjectDocument } from "../store/documents.ts"
import type { Change, Document, ListPlace } from "../store/store.ts"
import { adminDraft, recordPlanned, type AdminParts } from "./admin-entries.ts"
import type { Principal } from "./permissions.ts"

export interface ProjectRequest {
  readonly id: string
  readonly name?: string | undefined
  readonly receipts?: ProjectDocument["receipts"] | undefined
  readonly activityLinks?: boolean | undefined
}

export interface Projects {
  create(
    by: Principal,
    workspace: Document<"workspace">,
    request: ProjectRequest,
  ): Promise<Document<"project">>
  find(workspace: string, id: string): Promise<Document<"project"> | undefined>
  /** Newest first, after the place `before`; only these ids, if given. */
  list(
    workspace: string,
    before: ListPlace | undefined,
    limit: number,
    ids?: readonly string[],
  ): Promise<readonly Document<"project">[]>
  change(
    by: Principal,
    workspace: Document<"workspace">,
    id: string,
    request: Omit<ProjectRequest, "id">,
  ): Promise<Document<"project">>
  /**
   * The project of a write. Creates it if it does not exist and the workspace is open to new
   * projects. Undefined if it does not exist and the write's idempotency key is used: such a write
   * is not recorded, so it creates no project.
   */
  ensure(
    by: Principal,
    workspace: Document<"workspace">,
    id: string,
    write: Idempotency,
  ): Promise<Document<"project"> | undefined>
}

export interface ProjectParts extends Omit<AdminParts, "keyring"> {
  readonly limits: Pick<Limits, "projectsMax">
}

export function createProjects(parts: ProjectParts): Projects {
  const { registry, ledger, clock } = parts
  /** By workspace, so that each project counts those before it. */
  const inTurn = createOneAtATime()
  const record = recordIn(parts)
  const find = (workspace: string, id: string) => registry.get("project", workspace, id)

  const get = async (workspace: string, id: string): Promise<Document<"project">> => {
    const found = await find(workspace, id)
    if (found === undefined) throw new LedgerError("not_found", "there is no such project")
    return found
  }

  return {
    find,

    async list(workspace, before, limit, ids) {
      if (ids === undefined) return registry.list("project", workspace, before, limit)
      const found = await Promise.all(ids.map((id) => find(workspace, id)))
      const known = found.flatMap((project) =>
        project !== undefined && project.created < (before?.created ?? Infinity) ? [project] : [],
      )
      return known.toSorted((a, b) => b.created - a.created).slice(0, limit)
    },

    create: (by, workspace, request) =>
      inTurn(workspace.id, async () => {
        if ((await find(workspace.id, request.id)) !== undefined)
          throw new LedgerError("conflict", "a project of this id exists already")
        await record(by, workspace, request, "id")
        return get(workspace.id, request.id)
      }),

    async change(by, workspace, id, request) {
      await recordPlanned(ledger, workspace, async () => {
        const { version, value: before } = await get(workspace.id, id)
        const {
          name = before.name,
          receipts = before.receipts,
          activityLinks = before.activityLinks,
        } = request
        const value = { ...before, name, receipts, activityLinks }
        const said = adminDraft(
          by,
          "project.update",
          { id, type: "project", name },
          { name, receipts, activityLinks },
          clock.now(),
        )
        return { said: [said], changes: [{ kind: "project", id, version, value }] }
      })
      return get(workspace.id, id)
    },

    async ensure(by, workspace, id, write) {
      const found = await find(workspace.id, id)
      if (found !== undefined) return found
      if (workspace.value.projects === "closed")
        throw new LedgerError(
          "not_found",
          "there is no such project, and this workspace is closed to new ones",
        )
      if (await ledger.knows(workspace, write)) return undefined
      return inTurn(workspace.id, async () => {
        // Another event may have created it meanwhile.
        if ((await find(workspace.id, id)) === undefined)
          await record(by, workspace, { id }, "projectId")
        return get(workspace.id, id)
      })
    },
  }
}

/**
 * Creates a project if the workspace may have another. `field` names the caller's field in the
 * error.
 */
function recordIn({ registry, ledger, clock, limits }: ProjectParts) {
  /**
   * Counted once per workspace: counting is slow, and a key with the scope `write` can name unknown
   * projects all the time.
   */
  const counts = new Map<string, number>()
  return async (
    by: Principal,
    workspace: Document<"workspace">,
    request: ProjectRequest,
    field: string,
  ): Promise<void> => {
    const { projectsMax = limits.projectsMax } = workspace.value
    const count = counts.get(workspace.id) ?? (await registry.count("project", workspace.id))
    counts.set(workspace.id, count)
    if (count >= projectsMax) {
      const rule = `${field} must be that of a project that exists: this workspace has ${projectsMax}, the most that its setting projectsMax allows`
      throw new LedgerError("invalid_field", rule)
    }
    const { change, said } = newProject(by, request, clock.now())
    // After an error it is unknown whether the project was created.
    counts.delete(workspace.id)
    await ledger.record(workspace, [said], [change])
    counts.set(workspace.id, count + 1)
  }
}

/** A new project: its change and its entry. */
export function newProject(
  by: Principal,
  request: ProjectRequest,
  nowMs: number,
): { readonly change: Change; readonly said: Draft } {
  const { id, name = id, receipts = "private", activityLinks = false } = request
  const settings = { receipts, activityLinks } satisfies JsonObject
  return {
    change: {
      kind: "project",
      id,
      version: 0,
      value: { name, ...settings, createdAt: isoTime(nowMs) },
    },
    said: adminDraft(by, "project.create", { id, type: "project", name }, settings, nowMs),
  }
}
