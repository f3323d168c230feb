// Projects: what an event belongs to, and whether its receipts are public.

import type { JsonObject } from "@tallystick/proof"
import { isoTime, type Clock } from "../clock.ts"
import { LedgerError } from "../error.ts"
import type { Idempotency, Ledger, Said } from "../ledger/ledger.ts"
import type { ProjectDocument } from "../store/documents.ts"
import type { Change, Document, Registry } from "../store/store.ts"
import { actSaid } from "./acts.ts"
import type { Principal } from "./allow.ts"

export interface ProjectRequest {
  readonly id: string
  readonly name?: string | undefined
  readonly receipts?: ProjectDocument["receipts"] | undefined
  readonly activityLinks?: boolean | undefined
}

export interface Projects {
  create(by: Principal, workspace: Document<"workspace">, request: ProjectRequest): Promise<Document<"project">>
  find(workspace: string, id: string): Promise<Document<"project"> | undefined>
  list(workspace: string, before: number, limit: number): Promise<readonly Document<"project">[]>
  change(by: Principal, workspace: Document<"workspace">, id: string, request: Omit<ProjectRequest, "id">): Promise<Document<"project">>
  /**
   * The project of a write, made if it is not there, unless the workspace is closed to unknown ones. Undefined if it is not there and the
   * write's key is taken: then nothing will be recorded, and nothing is made.
   */
  ensure(by: Principal, workspace: Document<"workspace">, id: string, write: Idempotency): Promise<Document<"project"> | undefined>
}

export function createProjects({ registry, ledger, clock }: { registry: Registry; ledger: Ledger; clock: Clock }): Projects {
  const find = (workspace: string, id: string) => registry.get("project", workspace, id)

  const get = async (workspace: string, id: string): Promise<Document<"project">> => {
    const found = await find(workspace, id)
    if (found === undefined) throw new LedgerError("not_found", "there is no such project")
    return found
  }

  const create: Projects["create"] = async (by, workspace, request) => {
    for (;;) {
      if ((await find(workspace.id, request.id)) !== undefined) throw taken()
      const { change, said } = newProject(by, workspace.id, request, clock.now())
      try {
        await ledger.record(workspace, [said], [change])
        return await get(workspace.id, request.id)
      } catch (error) {
        // Somebody else makes it, and may not have done so yet.
        if (!isConflict(error)) throw error
      }
    }
  }

  return {
    create,
    find,
    list: (workspace, before, limit) => registry.list("project", workspace, before, limit),

    async change(by, workspace, id, request) {
      // Until it wins the race for the document, as a change of a workspace.
      for (;;) {
        const before = await get(workspace.id, id)
        const { name = before.value.name, receipts = before.value.receipts, activityLinks = before.value.activityLinks } = request
        const value = { ...before.value, name, receipts, activityLinks }
        const said = actSaid(by, "project.update", { id, type: "project", name }, { name, receipts, activityLinks }, clock.now())
        try {
          await ledger.record(workspace, [said], [{ kind: "project", workspace: workspace.id, id, version: before.version, value }])
          return await get(workspace.id, id)
        } catch (error) {
          if (!isConflict(error)) throw error
        }
      }
    },

    async ensure(by, workspace, id, write) {
      const found = await find(workspace.id, id)
      if (found !== undefined) return found
      if (workspace.value.projects === "closed")
        throw new LedgerError("not_found", "there is no such project, and this workspace is closed to new ones")
      if (await ledger.knows(workspace, write)) return undefined
      try {
        return await create(by, workspace, { id })
      } catch (error) {
        // Another event made it first.
        if (!isConflict(error)) throw error
        return get(workspace.id, id)
      }
    },
  }
}

/** A project that does not exist yet: the change that makes it, and the entry that records it. */
export function newProject(
  by: Principal,
  workspace: string,
  request: ProjectRequest,
  nowMs: number,
): { readonly change: Change; readonly said: Said } {
  const { id, name = id, receipts = "private", activityLinks = false } = request
  const settings = { receipts, activityLinks } satisfies JsonObject
  return {
    change: { kind: "project", workspace, id, version: 0, value: { name, ...settings, createdAt: isoTime(nowMs) } },
    said: actSaid(by, "project.create", { id, type: "project", name }, settings, nowMs),
  }
}

function taken(): LedgerError {
  return new LedgerError("conflict", "a project of this id exists already")
}

function isConflict(error: unknown): boolean {
  return error instanceof LedgerError && error.code === "conflict"
}
