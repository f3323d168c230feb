// Who may do what: one table, no effects. Every endpoint asks here, and nothing else decides.

import type { ErrorCode } from "../error.ts"
import type { Scope } from "../store/documents.ts"

export type Principal =
  /** Whoever holds the instance key. */
  | { readonly kind: "instance" }
  | {
      readonly kind: "api-key"
      readonly id: string
      readonly workspace: string
      readonly scopes: readonly Scope[]
      /** Absent: every project. */
      readonly projectIds: readonly string[] | undefined
    }

/** What an endpoint does, as far as permission goes. */
export type Action =
  | "write"
  | "read"
  | "administer"
  /** Of the instance: creating and listing workspaces. */
  | "preside"

export interface Access {
  readonly action: Action
  /** Somebody without a credential may ask; what they may see depends on the resource. */
  readonly anonymous?: true
}

/** The scopes of which one is enough. `admin` includes reading, never writing. */
const scopesFor: Readonly<Record<Action, readonly Scope[]>> = {
  write: ["write"],
  read: ["read", "admin"],
  administer: ["admin"],
  preside: [],
}

export type Refusal = Extract<ErrorCode, "unauthorized" | "insufficient_scope" | "workspace_forbidden" | "project_forbidden">

/** Undefined means yes. The workspace is the one that the path or the body names. */
export function refusal(principal: Principal | undefined, action: Action, workspace?: string): Refusal | undefined {
  if (principal === undefined) return "unauthorized"
  if (principal.kind === "instance") return undefined
  if (workspace !== undefined && principal.workspace !== workspace) return "workspace_forbidden"
  return principal.scopes.some((scope) => scopesFor[action].includes(scope)) ? undefined : "insufficient_scope"
}

/** Whether a project is on the credential's list. */
export function mayTouch(principal: Principal, projectId: string): boolean {
  return principal.kind === "instance" || principal.projectIds === undefined || principal.projectIds.includes(projectId)
}
