// What the endpoints work with, and the questions that more than one of them asks.

import type { FairQueue } from "../runtime/fair-queue.ts"
import type { Clock } from "../clock.ts"
import type { TSchema } from "typebox"
import { LedgerError, type ErrorCode } from "../error.ts"
import type { AuditSummary } from "../followers/auditor.ts"
import type { Ledger } from "../ledger/ledger.ts"
import type { Limits } from "../limits.ts"
import type { Pace } from "../runtime/pace.ts"
import type { VerificationSource } from "../query/verified-entries.ts"
import type { Queries } from "../query/entry-queries.ts"
import type { Document, Store } from "../store/store.ts"
import {
  mayTouch,
  refusal,
  type Access,
  type Action,
  type MemberPrincipal,
  type Principal,
  type TokenType,
} from "../workspace/permissions.ts"
import type { Accounts } from "../workspace/accounts.ts"
import type { Cascade } from "../workspace/cascading-revocation.ts"
import type { Authenticate } from "../workspace/credential-lookup.ts"
import type { Keys } from "../workspace/api-keys.ts"
import type { LogKeys } from "../workspace/log-key-rotation.ts"
import type { Members } from "../workspace/members.ts"
import type { Packs } from "../workspace/evidence-packs.ts"
import type { Policies } from "../workspace/policies.ts"
import type { Projects } from "../workspace/projects.ts"
import type { Sessions } from "../workspace/sessions.ts"
import type { Tokens } from "../workspace/scoped-tokens.ts"
import type { Workspaces } from "../workspace/workspaces.ts"
import type { Endpoint } from "./endpoint.ts"
import type { Lists } from "./lists.ts"
import type { Metrics } from "./metrics.ts"
import type { Rate } from "./rates.ts"
import type { Shape } from "./shapes/check.ts"
import type { SignIns } from "./sign-ins.ts"
import type { Tag } from "./tags.ts"

export interface Service {
  readonly store: Store
  readonly ledger: Ledger
  readonly authenticate: Authenticate
  readonly workspaces: Workspaces
  readonly projects: Projects
  readonly policies: Policies
  readonly logKeys: LogKeys
  readonly packs: Packs
  readonly queries: Queries
  /** Pages, receipts and tiles: few are read at once. */
  readonly reading: FairQueue
  /** How all that is long shares the thread. */
  readonly pace: Pace
  /** What an entry that is read is held against. */
  readonly source: VerificationSource
  readonly keys: Keys
  readonly cascade: Cascade
  readonly tokens: Tokens
  readonly members: Members
  readonly accounts: Accounts
  readonly sessions: Sessions
  /**
   * By address: reads without a credential, and passwords and set-up tokens that are wrong. By API
   * key, if there is a quota: its requests. By scoped token: downloads of evidence packs.
   */
  readonly rates: {
    readonly reads: Rate
    readonly logins: Rate
    readonly keys: Rate | undefined
    readonly downloads: Rate
  }
  /** Who may try a password now. */
  readonly signIns: SignIns
  readonly lists: Lists
  readonly clock: Clock
  readonly limits: Limits
  readonly publicUrl: string
  readonly metrics: Metrics
  /** Has a workspace's chain signed to its end. */
  readonly seal: (workspace: string) => Promise<unknown>
  /** How many workspaces have a chain that does not hold together. */
  readonly brokenWorkspaces: () => number
  /** How far re-verifying all that is kept has come; nothing is known of it at first. */
  readonly audit: () => AuditSummary | undefined
  /** Why nothing may be written, to this workspace or at all. */
  readonly halted: (workspace?: string) => LedgerError | undefined
}

/** Undefined: nobody said who they are. */
export type Caller = Principal | undefined

/** What the description says of an endpoint, beside its shapes and who may call it. */
export interface About {
  /** Generated clients name their methods by it, so it never changes. */
  readonly operation: string
  readonly tag: Tag
  /** Without a full stop. */
  readonly summary: string
  readonly description: string
  /**
   * Errors that its handler answers with, beside those that follow from its method, access and
   * shapes (`refusals.ts`).
   */
  readonly refuses?: readonly ErrorCode[]
}

export type ServiceEndpoint = Endpoint<Access, Caller> & About

/** Whom the guard lets through. */
type CallerOf<A extends Access> = A extends { readonly anonymous: true }
  ? Caller
  : A extends { readonly action: "account" }
    ? MemberPrincipal
    : A extends { readonly action: "redeem"; readonly tokens: readonly (infer Type)[] }
      ? TokenPrincipal<Extract<Type, TokenType>>
      : Principal

export type TokenPrincipal<Type extends TokenType> = Extract<Principal, { kind: "token" }> & {
  readonly bound: { readonly type: Type }
}

/** The types of its caller, params, query, headers and body come from its access and its shapes. */
export function endpoint<
  const A extends Access,
  P extends TSchema = Shape<undefined>,
  Q extends TSchema = Shape<undefined>,
  H extends TSchema = Shape<undefined>,
  B extends TSchema = Shape<undefined>,
>(value: Endpoint<A, CallerOf<A>, P, Q, H, B> & About): ServiceEndpoint {
  return value
}

/** Whether its path names a workspace, in which permission is asked before its handler is. */
export function namesWorkspace({ params }: Pick<ServiceEndpoint, "params">): boolean {
  return "workspaceId" in propertiesOf(params)
}

/** The parts of an object's shape. */
export function propertiesOf(shape: TSchema | undefined): Readonly<Record<string, TSchema>> {
  const { properties = {} }: { readonly properties?: Record<string, TSchema> } = shape ?? {}
  return properties
}

/** The workspace, if it may be changed now. */
export async function changeable(
  service: Service,
  workspace: string,
): Promise<Document<"workspace">> {
  permitWriting(service, workspace)
  return service.workspaces.get(workspace)
}

/** Refuses what the caller may not do. `tokens` are the scoped tokens that may do it as well. */
export function permit(
  caller: Caller,
  action: Action,
  workspace?: string,
  tokens?: readonly TokenType[],
): asserts caller is Principal {
  const code = refusal(caller, action, workspace, tokens)
  if (code !== undefined) throw new LedgerError(code, sentences[code])
}

export function permitProject(caller: Principal, projectId: string): void {
  if (!mayTouch(caller, projectId))
    throw new LedgerError("project_forbidden", sentences.project_forbidden)
}

/** A change is refused while the ledger must not grow. */
export function permitWriting(service: Service, workspace?: string): void {
  const reason = service.halted(workspace)
  if (reason !== undefined) throw reason
}

export const sentences = {
  unauthorized: "this needs a credential: Authorization: Bearer followed by an API key",
  insufficient_scope: "the credential does not have the scope that this needs",
  workspace_forbidden: "the credential belongs to another workspace",
  project_forbidden: "the credential does not reach this project",
} as const
