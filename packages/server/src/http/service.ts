// The parts of the service that endpoints use, and checks that several of them share.

import type { FairQueue } from "../runtime/fair-queue.ts"
import type { Clock } from "../clock.ts"
import type { TSchema } from "typebox"
import type { ShownSetting } from "../config.ts"
import { LedgerError, usualError, type ErrorCode } from "../error.ts"
import type { Health } from "../followers/health.ts"
import type { Ledger } from "../ledger/ledger.ts"
import type { Expiry, ExpiryListener } from "../lifetime/expiry.ts"
import type { Holds } from "../lifetime/holds.ts"
import type { Previews } from "../lifetime/retention-preview.ts"
import type { Limits } from "../limits.ts"
import type { SharedPace } from "../runtime/pace.ts"
import type { VerificationSource } from "../query/verified-entries.ts"
import type { EntryFeed } from "../query/entry-feed.ts"
import type { Queries } from "../query/entry-queries.ts"
import type { DocumentKind, ListedIn, Listed, ListPlace, Workspace } from "../store/documents.ts"
import type { Store } from "../store/store.ts"
import {
  mayTouch,
  refusal,
  type Access,
  type Action,
  type MemberPrincipal,
  type Principal,
  type TokenType,
} from "../workspace/permissions.ts"
import type { Erasing } from "../lifetime/erasing.ts"
import type { Erasures } from "../lifetime/erasures.ts"
import type { Accounts } from "../workspace/accounts.ts"
import type { Cascade } from "../workspace/cascading-revocation.ts"
import type { Authenticate } from "../workspace/credential-lookup.ts"
import type { CredentialUses } from "../workspace/credential-uses.ts"
import type { Keys } from "../workspace/api-keys.ts"
import type { LogKeys } from "../workspace/log-key-rotation.ts"
import type { Members } from "../workspace/members.ts"
import type { EntryExports } from "../workspace/entry-exports.ts"
import type { Packs } from "../workspace/evidence-packs.ts"
import type { Policies } from "../workspace/policies.ts"
import type { Projects } from "../workspace/projects.ts"
import type { Sessions } from "../workspace/sessions.ts"
import type { Tokens } from "../workspace/scoped-tokens.ts"
import type { Workspaces } from "../workspace/workspaces.ts"
import {
  ok,
  placeOf,
  type Answer,
  type Endpoint,
  type Handled,
  type RouteName,
} from "./endpoint.ts"
import type { Lists } from "./lists.ts"
import type { Metrics } from "./metrics.ts"
import type { Rates } from "./rates.ts"
import type { Shape } from "./shapes/check.ts"
import { paramsOf, type ParamsOf } from "./shapes/path.ts"
import type { SignIns } from "./sign-ins.ts"

export interface Service {
  readonly store: Store
  readonly ledger: Ledger
  readonly authenticate: Authenticate
  readonly workspaces: Workspaces
  readonly projects: Projects
  readonly policies: Policies
  readonly logKeys: LogKeys
  readonly packs: Packs
  readonly erasures: Erasures
  readonly erasing: Pick<Erasing, "poke">
  readonly entryExports: EntryExports
  readonly queries: Queries
  readonly holds: Holds
  readonly previews: Previews
  readonly expiry: Expiry
  /** Logs and counts a run whose caller does not hear of its end. */
  readonly expiryFailed: ExpiryListener["failed"]
  readonly feed: EntryFeed
  /** Limits how many pages, receipts and tiles are read at once. */
  readonly reading: FairQueue
  /** Slices long work, so that all requests share the thread. */
  readonly pace: SharedPace
  /** The tree and checkpoints that entries are verified against when they are read. */
  readonly source: VerificationSource
  readonly keys: Keys
  readonly cascade: Cascade
  readonly tokens: Tokens
  /** When keys and tokens were used last. */
  readonly uses: CredentialUses
  readonly members: Members
  readonly accounts: Accounts
  readonly sessions: Sessions
  /**
   * Rate limits. By address: reads without a credential, and wrong passwords and set-up tokens. By
   * API key, if it has a quota: requests. By scoped token: downloads of evidence packs.
   */
  readonly rates: Rates
  /** Limits how many passwords are checked at once. */
  readonly signIns: SignIns
  readonly lists: Lists
  readonly clock: Clock
  readonly limits: Limits
  readonly publicUrl: string
  readonly metrics: Metrics
  /** Signs a workspace's chain to its end. */
  readonly seal: (workspace: string) => Promise<unknown>
  /** Which chains are broken, and the auditor's progress. */
  readonly health: Pick<Health, "broken" | "audit">
  /** Version, start time, data, and settings without secrets. */
  readonly program: {
    readonly version: string
    readonly startedMs: number
    readonly data: string
    readonly settings: readonly ShownSetting[]
  }
  /** The refusal of writes to this workspace or to all. Undefined if writes are accepted. */
  readonly halted: (workspace?: string) => LedgerError | undefined
}

/** Undefined for a caller without a credential. */
export type Caller = Principal | undefined

/** What the API description says about an endpoint, besides its shapes and its access. */
export interface About {
  /** Generated clients use it as a method name, so it never changes. */
  readonly operation: string
  /** Without a full stop. */
  readonly summary: string
  readonly description: string
  /**
   * Error codes of the handler, besides those that follow from its method, access and shapes
   * (`refusals.ts`).
   */
  readonly refuses?: readonly ErrorCode[]
}

export type ServiceEndpoint = Endpoint<Access, Caller> & About

/** The type of caller that the guard admits. */
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

/** Infers the types of caller, params, query, headers and body from access, route and shapes. */
export function endpoint<
  const A extends Access,
  const Route extends RouteName,
  Q extends TSchema = Shape<undefined>,
  H extends TSchema = Shape<undefined>,
  B extends TSchema = Shape<undefined>,
>({
  route,
  ...value
}: Handled<A, CallerOf<A>, ParamsOf<Route>, Q, H, B> &
  About & { readonly route: Route }): ServiceEndpoint {
  return { ...value, ...placeOf(route), params: paramsOf(route) }
}

/** Whether its path names a workspace. The guard then checks access before the handler runs. */
export function namesWorkspace({ params }: Pick<ServiceEndpoint, "params">): boolean {
  return "workspaceId" in propertiesOf(params)
}

/** The parts of an object's shape. */
export function propertiesOf(shape: TSchema | undefined): Readonly<Record<string, TSchema>> {
  const { properties = {} }: { readonly properties?: Record<string, TSchema> } = shape ?? {}
  return properties
}

/** Returns the workspace. Throws if it cannot be changed now. */
export async function changeable(service: Service, workspace: string): Promise<Workspace> {
  permitWriting(service, workspace)
  return service.workspaces.get(workspace)
}

interface ListCall {
  readonly params: { readonly workspaceId: string }
  readonly query: { readonly cursor?: string; readonly limit: number }
  readonly incoming: { readonly signal: AbortSignal }
}

/**
 * Answers with a page of the documents of this kind in the workspace, newest first, as the member
 * `name`. It waits for its turn, like every read of more than one document.
 */
export async function listAnswer<K extends Exclude<DocumentKind, "workspace">, Shown>(
  service: Service,
  kind: K,
  name: string,
  call: ListCall,
  options: ListOptions<Listed<K>, Shown>,
): Promise<Answer> {
  const { id } = await service.workspaces.get(call.params.workspaceId)
  const read = (before: ListPlace | undefined, limit: number) =>
    // TypeScript does not resolve a conditional type of a type parameter.
    service.store.registry.list(kind, id as ListedIn<K>, before, limit)
  return pageAnswer(service, name, call, read, options)
}

interface ListOptions<T, Shown> {
  /** The list to which its cursors belong. Usually that of all documents. */
  readonly list?: string
  readonly sees?: ((item: T) => boolean) | undefined
  /** What is shown of the items, in their order. It may look others up. */
  readonly show: (items: readonly T[]) => readonly Shown[] | Promise<readonly Shown[]>
}

/** The same of a list that is read in another way. */
export function pageAnswer<T extends ListPlace, Shown>(
  { reading, lists }: Pick<Service, "reading" | "lists">,
  name: string,
  { params: { workspaceId }, query, incoming: { signal } }: ListCall,
  read: (before: ListPlace | undefined, limit: number) => Promise<readonly T[]>,
  { list = name, sees, show }: ListOptions<T, Shown>,
): Promise<Answer> {
  return reading.run(workspaceId, signal, async () => {
    const of = `${workspaceId}/${list}`
    const { items, nextCursor } = await lists.page(of, query, signal, read, sees)
    return ok({ [name]: await show(items), nextCursor })
  })
}

/** Throws if the caller may not do this. `tokens` are the types of scoped tokens that may. */
export function permit(
  caller: Caller,
  action: Action,
  workspace?: string,
  tokens?: readonly TokenType[],
): asserts caller is Principal {
  const code = refusal(caller, action, workspace, tokens)
  if (code === undefined) return
  const lacks = code === "unauthorized" || code === "insufficient_scope"
  if (action === "open" || !lacks) throw usualError(code)
  throw new LedgerError(code, `this needs ${needs[action]}`)
}

const needs: Readonly<Record<Exclude<Action, "open">, string>> = {
  write: "an API key with the scope write, as Authorization: Bearer",
  read: "an API key with the scope read or admin, as Authorization: Bearer, or a session",
  administer: "an API key with the scope admin, as Authorization: Bearer, or an admin's session",
  preside: "the instance key, as Authorization: Bearer, or the session of an admin of the instance",
  redeem: "an activity token, as Authorization: Bearer",
  account: "a session: sign in",
}

export function permitProject(caller: Principal, projectId: string): void {
  if (!mayTouch(caller, projectId)) throw usualError("project_forbidden")
}

/** Throws while nothing may be written. */
export function permitWriting(service: Service, workspace?: string): void {
  const reason = service.halted(workspace)
  if (reason !== undefined) throw reason
}
