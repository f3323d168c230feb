// What every view of the dashboard is given, and what it gives.

import type { Session } from "@tallystick/client/wire"
import { askJson, type Refusal, type Told } from "../ask.ts"
import { apiUrl } from "../place.ts"
import { watchChain, type ChainWatch } from "./chain/chain-watch.ts"
import { linkTo, searchOf, type Place, type Query } from "./place.ts"

export interface Desk {
  readonly session: Session
  readonly workspace: string
  /** Whether the member may administer this workspace. */
  readonly isAdmin: boolean
  /** Asks an endpoint of the workspace. */
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
  /** The address of a place in this workspace. */
  readonly link: (path: readonly string[], query?: Query) => string
  /** Goes there. `replace`: Back does not lead here again. */
  readonly go: (href: string, how?: "replace") => void
  /** How the chain of the workspace is. */
  readonly chain: ChainWatch
  /** A line at the top while something is on its way. */
  readonly working: (isWorking: boolean) => void
}

export interface Shortcut {
  /** As `KeyboardEvent.key` names it. */
  readonly key: string
  /** What it does, in the list of shortcuts. */
  readonly does: string
  readonly act: () => void
}

export interface View {
  readonly title: string
  readonly node: Node
  /** Wide: the view fills the window, and sets its own margins. */
  readonly isWide?: boolean
  readonly shortcuts?: readonly Shortcut[]
  /** The address has changed and the page has not. Without this the view is opened anew. */
  moved?(place: Place): void
  /** Another page takes its place: stops what it has under way. */
  close?(): void
}

export type OpenView = (desk: Desk, place: Place) => View

interface DeskParts {
  readonly session: Session
  readonly workspace: string
  readonly go: Desk["go"]
  readonly working: Desk["working"]
  /** The service does not know the session any more. */
  readonly signedOut: () => void
}

export function createDesk({ session, workspace, go, working, signedOut }: DeskParts): Desk {
  const heard = <Value>(told: Told<Value>): Told<Value> => {
    if (!told.ok && isSignedOut(told.refusal)) signedOut()
    return told
  }
  const get: Desk["get"] = async (path, query = {}, signal) => {
    const url = apiUrl(workspace, ...path)
    url.search = searchOf(query).toString()
    return heard(await askJson(url, signal && { signal }))
  }
  const role = session.workspaces.find(({ id }) => id === workspace)?.role
  return {
    session,
    workspace,
    isAdmin: session.member.instanceAdmin || role === "admin",
    get,
    chain: watchChain(get),
    async send(method, path, body, query = {}) {
      const url = apiUrl(workspace, ...path)
      url.search = searchOf(query).toString()
      return heard(await askJson(url, { method, body }))
    },
    link: (path, query) => linkTo(workspace, path, query),
    go,
    working,
  }
}

export function isSignedOut({ status }: Refusal): boolean {
  return status === 401
}
