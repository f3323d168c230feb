// Who may do what: one table, no effects. Every endpoint asks here, and nothing else decides.

import type { ErrorCode } from "../error.ts"
import type { Role, Scope, TokenBound } from "../store/documents.ts"

/**
 * The workspace of the instance itself. Its ledger records changes that concern no other workspace.
 * Its admins have the rights of the instance key.
 */
export const instanceWorkspace = "instance"

export type Principal =
  | { readonly kind: "instance" }
  | {
      readonly kind: "api-key"
      readonly id: string
      readonly workspace: string
      readonly scopes: readonly Scope[]
      /** Undefined: every project. */
      readonly projectIds: readonly string[] | undefined
    }
  | {
      readonly kind: "token"
      readonly id: string
      readonly workspace: string
      readonly bound: TokenBound
    }
  | MemberPrincipal

/** A person who is signed in, for one request. */
export interface MemberPrincipal {
  readonly kind: "member"
  readonly id: string
  readonly email: string
  readonly sessionId: string
  /**
   * The workspace that the request names, and the member's role there; undefined without
   * membership.
   */
  readonly workspace: string | undefined
  readonly role: Role | undefined
  /** An admin of the instance, who has an admin's rights in every workspace. */
  readonly presides: boolean
}

export type Action =
  | "write"
  | "read"
  | "administer"
  /** Create and list workspaces. */
  | "preside"
  /**
   * Only with a scoped token: it names the person whose activity is shown, as no other credential
   * does.
   */
  | "redeem"
  /** Concerns only the member who is signed in. */
  | "account"
  /** Allowed to everybody. */
  | "open"

export type TokenType = TokenBound["type"]

export interface Access {
  readonly action: Action
  /**
   * A read that is recorded. With a session, a page of another site must not cause it.
   */
  readonly isRecorded?: true
  /** No credential is needed. The resource decides what is shown. */
  readonly anonymous?: true
  /** Machines that watch the service ask often: requests do not count against the address. */
  readonly unmetered?: true
  /**
   * A credential of another workspace counts as none, so what is public is public to its holder
   * too.
   */
  readonly foreignAsNone?: true
  /**
   * Scoped tokens that are accepted as well. The endpoint shows a token only what it is bound to.
   */
  readonly tokens?: readonly TokenType[]
  /** The token type that the query parameter `token` accepts, for links that a browser opens. */
  readonly queryToken?: TokenType
}

/** One of these scopes is enough. `admin` includes reading, never writing. */
const scopesFor: Readonly<Record<Action, readonly Scope[]>> = {
  write: ["write"],
  read: ["read", "admin"],
  administer: ["admin"],
  preside: [],
  redeem: [],
  account: [],
  open: [],
}

export type Refusal = Extract<
  ErrorCode,
  "unauthorized" | "insufficient_scope" | "workspace_forbidden" | "project_forbidden"
>

/**
 * Undefined means allowed. The workspace is the one in the path or the body. `tokens` are the token
 * types that the endpoint accepts.
 */
export function refusal(
  principal: Principal | undefined,
  action: Action,
  workspace?: string,
  tokens: readonly TokenType[] = [],
): Refusal | undefined {
  if (action === "open") return undefined
  if (principal === undefined) return "unauthorized"
  if (principal.kind === "instance")
    return action === "redeem" || action === "account" ? "insufficient_scope" : undefined
  if (principal.kind === "member") return memberRefusal(principal, action, workspace)
  if (workspace !== undefined && isForeign(principal, workspace)) return "workspace_forbidden"
  // A token opens only what it is bound to. The endpoint checks that.
  if (principal.kind === "token")
    return tokens.includes(principal.bound.type) ? undefined : "insufficient_scope"
  // Admins of this workspace have the rights of the instance key, so an API key must not be able to
  // make one.
  if (action === "administer" && workspace === instanceWorkspace) return "insufficient_scope"
  return hasScope(principal.scopes, action) ? undefined : "insufficient_scope"
}

function memberRefusal(
  member: MemberPrincipal,
  action: Action,
  workspace: string | undefined,
): Refusal | undefined {
  // Programs write events, people do not: a session counts as no credential.
  if (action === "write") return "unauthorized"
  if (action === "redeem") return "insufficient_scope"
  if (action === "account" || member.presides) return undefined
  if (workspace !== undefined && isForeign(member, workspace)) return "workspace_forbidden"
  return hasScope(member.role === undefined ? [] : [scopeOf[member.role]], action)
    ? undefined
    : "insufficient_scope"
}

const scopeOf = { viewer: "read", admin: "admin" } as const satisfies Record<Role, Scope>

function hasScope(scopes: readonly Scope[], action: Action): boolean {
  return scopes.some((scope) => scopesFor[action].includes(scope))
}

/** Whether a credential belongs to another workspace. */
export function isForeign(principal: Principal, workspace: string): boolean {
  if (principal.kind === "instance") return false
  if (principal.kind === "member")
    return (
      !principal.presides && (principal.role === undefined || principal.workspace !== workspace)
    )
  return principal.workspace !== workspace
}

/** The projects that a credential is limited to; undefined if it is not limited. */
export function reachOf(principal: Principal): readonly string[] | undefined {
  return principal.kind === "api-key" ? principal.projectIds : undefined
}

/**
 * Whether a credential may read a project. An unreadable entry has no project, and only credentials
 * without a limit may see it.
 */
export function mayTouch(principal: Principal, projectId: string | undefined): boolean {
  if (principal.kind === "instance" || principal.kind === "member") return true
  if (principal.kind !== "api-key") return false
  return (
    principal.projectIds === undefined ||
    (projectId !== undefined && principal.projectIds.includes(projectId))
  )
}
