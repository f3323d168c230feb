// Who may do what: one table, no effects. Every endpoint asks here, and nothing else decides.

import type { ErrorCode } from "../error.ts"
import type { Role, Scope, TokenBound } from "../store/documents.ts"

/** The workspace of the instance itself: its ledger records what is done to no other workspace, and its admins may do what the instance key may. */
export const instanceWorkspace = "instance"

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
  /** Whoever holds a scoped token. */
  | { readonly kind: "token"; readonly id: string; readonly workspace: string; readonly bound: TokenBound }
  | MemberPrincipal

/** A person who has signed in, as far as one request goes. */
export interface MemberPrincipal {
  readonly kind: "member"
  readonly id: string
  readonly email: string
  readonly sessionId: string
  /** The workspace that the request names, and what the member is in it; absent when it is nothing there. */
  readonly workspace: string | undefined
  readonly role: Role | undefined
  /** An admin of the instance, who may do in every workspace what its admins may. */
  readonly presides: boolean
}

/** What an endpoint does, as far as permission goes. */
export type Action =
  | "write"
  | "read"
  | "administer"
  /** Of the instance: creating and listing workspaces. */
  | "preside"
  /** What only a scoped token can say: it names whose activity is meant, which no other credential does. */
  | "redeem"
  /** What concerns nobody but the member who is signed in. */
  | "account"
  /** What anyone may do, whatever they are. */
  | "open"

export type TokenType = TokenBound["type"]

export interface Access {
  readonly action: Action
  /** Somebody without a credential may ask; what they may see depends on the resource. */
  readonly anonymous?: true
  /** Asked all the time, by machines that keep the service running: not counted against an address. */
  readonly unmetered?: true
  /** A credential of another workspace counts as none: what is open to anyone is open to its holder. */
  readonly foreignAsNone?: true
  /** The scoped tokens that may ask as well; the endpoint shows them what they are bound to, and nothing beside it. */
  readonly tokens?: readonly TokenType[]
  /** The one token that may stand in the query parameter `token`, for links that a browser opens. */
  readonly queryToken?: TokenType
}

/** The scopes of which one is enough. `admin` includes reading, never writing. */
const scopesFor: Readonly<Record<Action, readonly Scope[]>> = {
  write: ["write"],
  read: ["read", "admin"],
  administer: ["admin"],
  preside: [],
  redeem: [],
  account: [],
  open: [],
}

export type Refusal = Extract<ErrorCode, "unauthorized" | "insufficient_scope" | "workspace_forbidden" | "project_forbidden">

/** Undefined means yes. The workspace is the one that the path or the body names; `tokens` are those that may do this as well. */
export function refusal(
  principal: Principal | undefined,
  action: Action,
  workspace?: string,
  tokens: readonly TokenType[] = [],
): Refusal | undefined {
  if (action === "open") return undefined
  if (principal === undefined) return "unauthorized"
  if (principal.kind === "instance") return action === "redeem" || action === "account" ? "insufficient_scope" : undefined
  if (principal.kind === "member") return memberRefusal(principal, action, workspace)
  if (workspace !== undefined && isForeign(principal, workspace)) return "workspace_forbidden"
  // A token opens the one thing that it is bound to, which its endpoint looks at, and does nothing else.
  if (principal.kind === "token") return tokens.includes(principal.bound.type) ? undefined : "insufficient_scope"
  // Members of this workspace may do what the instance key may: a key that could make one would be worth as much.
  if (action === "administer" && workspace === instanceWorkspace) return "insufficient_scope"
  return hasScope(principal.scopes, action) ? undefined : "insufficient_scope"
}

function memberRefusal(member: MemberPrincipal, action: Action, workspace: string | undefined): Refusal | undefined {
  // People do not write events, programs do: there a session counts for nothing.
  if (action === "write") return "unauthorized"
  if (action === "redeem") return "insufficient_scope"
  if (action === "account" || member.presides) return undefined
  if (workspace !== undefined && isForeign(member, workspace)) return "workspace_forbidden"
  return hasScope(member.role === undefined ? [] : [scopeOf[member.role]], action) ? undefined : "insufficient_scope"
}

/** What a member is, said as a key would say it. */
const scopeOf = { viewer: "read", admin: "admin" } as const satisfies Record<Role, Scope>

function hasScope(scopes: readonly Scope[], action: Action): boolean {
  return scopes.some((scope) => scopesFor[action].includes(scope))
}

/** Whether a credential belongs to another workspace. */
export function isForeign(principal: Principal, workspace: string): boolean {
  if (principal.kind === "instance") return false
  if (principal.kind === "member") return !principal.presides && (principal.role === undefined || principal.workspace !== workspace)
  return principal.workspace !== workspace
}

/** The projects of a credential's list; undefined if it reaches every one. */
export function reachOf(principal: Principal): readonly string[] | undefined {
  return principal.kind === "api-key" ? principal.projectIds : undefined
}

/** Whether a project is on the credential's list. What cannot be read says no project, and is for those who reach every one. */
export function mayTouch(principal: Principal, projectId: string | undefined): boolean {
  if (principal.kind === "instance" || principal.kind === "member") return true
  if (principal.kind !== "api-key") return false
  return principal.projectIds === undefined || (projectId !== undefined && principal.projectIds.includes(projectId))
}
