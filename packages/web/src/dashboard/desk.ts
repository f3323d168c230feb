// The interface between the dashboard and its views.

import type { Session } from "@tallystick/client/wire"
import { isObject } from "@tallystick/proof"
import { askJson, type Refusal, type Told } from "../ask.ts"
import { watchChain, type ChainWatch } from "./chain/chain-watch.ts"
import { endpointUrl, linkTo, type Place, type Query } from "./place.ts"

export interface Desk {
  readonly session: Session
  readonly workspace: string
  readonly isAdmin: boolean
  /** What is refused because the session has ended is asked again in the next one. */
  readonly inSession: <Value>(ask: () => Promise<Told<Value>>) => Promise<Told<Value>>
  readonly get: <Value>(
    path: readonly string[],
    query?: Query,
    signal?: AbortSignal,
  ) => Promise<Told<Value>>
  readonly send: <Value>(
    method: "POST" | "PATCH" | "DELETE",
    path: readonly string[],
    body?: unknown,
    query?: Query,
  ) => Promise<Told<Value>>
  readonly link: (path: readonly string[], query?: Query) => string
  /** Navigates to a place. `replace`: without a new entry in the browser's history. */
  readonly go: (href: string, how?: "replace") => void
  readonly chain: ChainWatch
  /** Shows a progress line at the top while a request is running. */
  readonly working: (isWorking: boolean) => void
}

/** Every entry, so that neighbouring rows are neighbours. */
export const wholeChain = { projectId: "all", includeSystem: true, storage: "all" } as const

export interface Shortcut {
  /** As `KeyboardEvent.key` names it. */
  readonly key: string
  readonly does: string
  readonly act: () => void
}

export interface View {
  readonly title: string
  readonly node: Node
  /** Wide: the view fills the window, and sets its own margins. */
  readonly isWide?: boolean
  readonly shortcuts?: readonly Shortcut[]
  /**
   * Called when the address has changed, but not the page. Without this the view is opened again.
   */
  moved?(place: Place): void
  /** Called when another page replaces it: stops running work. */
  close?(): void
}

/** The content of a tab. */
export type Part = Pick<View, "node" | "close">

export type OpenView = (desk: Desk, place: Place) => View

interface DeskParts {
  readonly session: Session
  readonly workspace: string
  readonly go: Desk["go"]
  readonly working: Desk["working"]
  /** The session has ended. Resolves when the same person has signed in again. */
  readonly signedInAgain: () => Promise<void>
}

export function createDesk(parts: DeskParts): Desk {
  const { session, workspace, go, working, signedInAgain } = parts
  const inSession: Desk["inSession"] = async (ask) => {
    for (;;) {
      const told = await ask()
      if (told.ok || !isSignedOut(told.refusal)) return told
      await signedInAgain()
    }
  }
  const get: Desk["get"] = (path, query = {}, signal) =>
    inSession(() => askJson(endpointUrl(workspace, path, query), signal && { signal }))
  const role = session.workspaces.find(({ id }) => id === workspace)?.role
  return {
    session,
    workspace,
    isAdmin: session.member.instanceAdmin || role === "admin",
    inSession,
    get,
    chain: watchChain(get),
    async send<Value>(...[method, path, body, query = {}]: Parameters<Desk["send"]>) {
      const url = endpointUrl(workspace, path, query)
      const told = await inSession(() => askJson<Value>(url, { method, body }))
      const makes = method === "POST" && !isPreview(path, body)
      return told.ok ? told : { ok: false, refusal: withDoubt(told.refusal, makes) }
    },
    link: (path, query) => linkTo(workspace, path, query),
    go,
    working,
  }
}

/**
 * It may have been done. A page repeats nothing under the same Idempotency-Key, so another one may
 * be made.
 */
function withDoubt(refusal: Refusal, makes: boolean): Refusal {
  const [detail = "", isUnknown] = refusal.detail.split(/; (repeat it with the same Idem)/)
  if (isUnknown === undefined && (refusal.status !== 0 || !makes)) return refusal
  const advice = makes ? "look whether it was done before you repeat it" : "repeat it"
  return { ...refusal, detail: `${detail}: ${advice}` }
}

/** What rules, or an erasure, would destroy. */
function isPreview(path: readonly string[], body: unknown): boolean {
  return path.at(-1) === "preview" || (isObject(body) && body["dryRun"] === true)
}

/** A wrong password ends no session. */
export function isSignedOut({ status, code }: Refusal): boolean {
  return status === 401 && code !== "login_failed"
}
