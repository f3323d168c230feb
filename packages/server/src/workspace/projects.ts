// Projects: each event belongs to one. A project says whether its receipts are public.

import type { NewProject, ProjectChange } from "@tallystick/client/wire"
import { definedOf } from "@tallystick/proof"
import { isoTime } from "../clock.ts"
import { LedgerError } from "../error.ts"
import type { Idempotency } from "../ledger/ledger.ts"
import { createOneAtATime } from "../runtime/one-at-a-time.ts"
import {
  changed,
  created,
  type Document,
  type ListPlace,
  type Workspace,
} from "../store/documents.ts"
import {
  isConflict,
  recordActs,
  recordPlanned,
  type Act,
  type AdminParts,
} from "./admin-entries.ts"
import type { Principal } from "./permissions.ts"
import { required } from "./required-document.ts"

export interface Projects {
  create(by: Principal, workspace: Workspace, request: NewProject): Promise<Document<"project">>
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
    workspace: Workspace,
    id: string,
    request: ProjectChange,
  ): Promise<Document<"project">>
  /**
   * The project of a write. Creates it if it does not exist and the workspace is open to new
   * projects. Undefined if it does not exist and the write's idempotency key is used: such a write
   * is not recorded, so it creates no project.
   */
  ensure(
    by: Principal,
    workspace: Workspace,
    id: string,
    write: Idempotency,
  ): Promise<Document<"project"> | undefined>
}

/** Of a key's projects, a thousand at most. */
const readAtOnce = 50

export function createProjects(parts: AdminParts): Projects {
  const { registry, ledger } = parts
  /** By workspace, so that each project counts those before it. */
  const inTurn = createOneAtATime()
  const record = recordIn(parts)
  const find = (workspace: string, id: string) => registry.get("project", workspace, id)
  const get = (workspace: string, id: string) => required(registry, "project", workspace, id)

  return {
    find,

    async list(workspace, before, limit, ids) {
      if (ids === undefined) return registry.list("project", workspace, before, limit)
      const known: Document<"project">[] = []
      for (let at = 0; at < ids.length; at += readAtOnce) {
        const some = ids.slice(at, at + readAtOnce)
        for (const project of await Promise.all(some.map((id) => find(workspace, id))))
          if (project !== undefined && project.created < (before?.created ?? Infinity))
            known.push(project)
      }
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
      await recordPlanned(parts, workspace, async () => {
        const project = await get(workspace.id, id)
        const { name, ...others } = { ...project.value, ...definedOf(request) }
        const settings = { name, ...settingsOf(others) }
        return {
          by,
          action: "project.update",
          target: { id, type: "project", name },
          metadata: settings,
          changes: [changed(project, { ...project.value, ...settings })],
        }
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
          await record(by, workspace, { id }, "projectId").catch((error: unknown) => {
            // An event at another server has created it.
            if (!isConflict(error)) throw error
          })
        return get(workspace.id, id)
      })
    },
  }
}

/**
 * Creates a project if the workspace may have another. `field` names the caller's field in the
 * error.
 */
function recordIn({ registry, ledger, clock, limits }: AdminParts) {
  /**
   * Counted once per workspace: counting is slow, and a key with the scope `write` can name unknown
   * projects all the time. Counted each time where other servers create projects, too.
   */
  const counts = new Map<string, number>()
  return async (
    by: Principal,
    workspace: Workspace,
    request: NewProject,
    field: string,
  ): Promise<void> => {
    const { projectsMax = limits.projectsMax } = workspace.value
    const count = counts.get(workspace.id) ?? (await registry.count("project", workspace.id))
    if (registry.staleMsMax === 0) counts.set(workspace.id, count)
    if (count >= projectsMax) {
      const rule = `${field} names one project too many: this workspace has ${projectsMax}, the most that its setting projectsMax allows`
      throw new LedgerError("invalid_field", rule)
    }
    const nowMs = clock.now()
    // After an error it is unknown whether the project was created.
    counts.delete(workspace.id)
    await recordActs(ledger, workspace, [projectCreation(by, request, nowMs)], nowMs)
    if (registry.staleMsMax === 0) counts.set(workspace.id, count + 1)
  }
}

export function projectCreation(by: Principal, request: NewProject, nowMs: number): Act {
  const { id, name = id } = request
  const settings = settingsOf(request)
  return {
    by,
    action: "project.create",
    target: { id, type: "project", name },
    metadata: settings,
    changes: [created("project", id, { name, ...settings, createdAt: isoTime(nowMs) })],
  }
}

/** The settings, in the form of the entry and of the document. */
function settingsOf({
  receipts = "private",
  activityLinks = false,
  phrases,
}: Omit<ProjectChange, "name">) {
  const said = phrases?.map(({ action, text }) => ({ action, text }))
  return { receipts, activityLinks, ...(said !== undefined && { phrases: said }) }
}
