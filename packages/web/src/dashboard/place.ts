// The current place in the dashboard. The address is the state: a page draws it, and changes of the
// reader change the address.

import { apiUrl, pathParts, root } from "../place.ts"

export interface Place {
  /** `overview`, `events`, … */
  readonly page: string
  /** The rest of the path: an entry, or the type and id of a thing. */
  readonly rest: readonly string[]
  readonly query: URLSearchParams
  /** The reader came by Back or Forward. */
  readonly isBack?: boolean
}

/** Without absent or empty values. */
export type Query = Readonly<Record<string, string | number | boolean | undefined>>

export function currentPlace(): Place {
  const [, page = "", ...rest] = pathParts().map(withoutSign)
  return { page: page || "overview", rest, query: new URLSearchParams(location.search) }
}

/** The address of a place. It always contains the workspace, so that a link works for others. */
export function linkTo(workspace: string, path: readonly string[], query: Query = {}): string {
  const [page = "", ...rest] = path
  const below = ["ui", ...(page === "overview" ? [] : [page]), ...rest]
    .map(withSign)
    .map(encodeURIComponent)
  const url = new URL(below.join("/"), root)
  url.search = searchOf({ workspace, ...query }).toString()
  return url.href
}

/** Browsers take a part that consists of dots for a step upwards, even if it is encoded. */
function withSign(part: string): string {
  return /^~*\.{1,2}$/.test(part) ? `~${part}` : part
}

function withoutSign(part: string): string {
  return /^~+\.{1,2}$/.test(part) ? part.slice(1) : part
}

export function endpointUrl(workspace: string, path: readonly string[], query: Query): URL {
  const url = apiUrl(workspace, ...path)
  url.search = searchOf(query).toString()
  return url
}

export function searchOf(query: Query): URLSearchParams {
  return new URLSearchParams(
    Object.entries(given(query)).map(([name, value]) => [name, String(value)]),
  )
}

/** Only the search, in the form of a request's body. */
export function given(query: Query): Query {
  return Object.fromEntries(
    Object.entries(query).filter(([, value]) => value !== undefined && value !== ""),
  )
}

export function isWithin({ origin, pathname }: URL): boolean {
  const { pathname: ours } = new URL("ui", root)
  return origin === root.origin && (pathname === ours || pathname.startsWith(`${ours}/`))
}
