// Finds the route of a request: first by its path, then by its method.

import type { IncomingMessage } from "node:http"
import { LedgerError } from "../error.ts"

/** What a path leads to. */
export interface Match<Route> {
  /** By method. */
  readonly routes: ReadonlyMap<string, Route>
  readonly params: Readonly<Record<string, string>>
}

/** In the order of the Allow header. */
export const methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"] as const

interface Resource<Route> {
  readonly routes: Map<string, Route>
  /** Names of its parameters, in order. */
  readonly names: readonly string[]
}

/** A place in the tree of path segments. */
interface Node<Route> {
  readonly fixed: Map<string, Node<Route>>
  parameter?: Node<Route>
  /** Matches the rest of the path, slashes included. */
  rest?: Resource<Route>
  resource?: Resource<Route>
}

export class Router<Route> {
  readonly #root: Node<Route> = { fixed: new Map() }
  /** Paths without parameters, so that most requests cost one look-up. */
  readonly #fixed = new Map<string, Match<Route>>()

  /** `/a/{b}/{c*}`: `{b}` is one segment, `{c*}` the rest. A route for GET also answers HEAD. */
  add(method: string, path: string, route: Route): void {
    const resource = this.#resourceAt(path)
    if (resource.routes.has(method)) throw new Error(`${method} ${path} is there twice`)
    resource.routes.set(method, route)
    if (method === "GET") resource.routes.set("HEAD", route)
    if (resource.names.length === 0) this.#fixed.set(path, { routes: resource.routes, params: {} })
  }

  /** Throws `not_found` or `method_not_allowed`. The percent escapes must be valid. */
  find({ url = "/", method = "" }: IncomingMessage): readonly [Route, Match<Route>["params"]] {
    const match = this.#match(url)
    const route = match?.routes.get(method)
    if (match !== undefined && route !== undefined) return [route, match.params]
    if (match === undefined) throw new LedgerError("not_found", "there is nothing at this path")
    const allowed = methods.filter((known) => match.routes.has(known)).join(", ")
    throw new LedgerError("method_not_allowed", `this path takes ${allowed}`, {
      headers: { allow: allowed },
    })
  }

  #match(target: string): Match<Route> | undefined {
    const mark = target.indexOf("?")
    const before = mark === -1 ? target : target.slice(0, mark)
    const path = before.startsWith("/") ? before : pathOf(before)
    const fixed = this.#fixed.get(path)
    if (fixed !== undefined) return fixed
    if (!path.startsWith("/")) return undefined
    // %2F is part of a segment, so decode after the split.
    const written = path.split("/")
    const segments = path.includes("%") ? written.map(decodeURIComponent) : written
    const values: string[] = []
    const resource = walk(this.#root, segments, 1, values)
    if (resource === undefined) return undefined
    const params: Record<string, string> = {}
    for (const [at, name] of resource.names.entries()) params[name] = values[at] ?? ""
    return { routes: resource.routes, params }
  }

  #resourceAt(path: string): Resource<Route> {
    const names = [...path.matchAll(/\{(\w+)\*?\}/g)].map(([, name = ""]) => name)
    let node = this.#root
    for (const segment of path.slice(1).split("/")) {
      if (segment.endsWith("*}")) return (node.rest ??= { routes: new Map(), names })
      const next = segment.startsWith("{") ? node.parameter : node.fixed.get(segment)
      const child: Node<Route> = next ?? { fixed: new Map() }
      if (segment.startsWith("{")) node.parameter = child
      else node.fixed.set(segment, child)
      node = child
    }
    return (node.resource ??= { routes: new Map(), names })
  }
}

/** A fixed segment goes before a parameter. Adds the values of the parameters to `values`. */
function walk<Route>(
  node: Node<Route>,
  segments: readonly string[],
  at: number,
  values: string[],
): Resource<Route> | undefined {
  const segment = segments[at]
  if (segment === undefined) return node.resource
  const fixed = node.fixed.get(segment)
  const found = fixed && walk(fixed, segments, at + 1, values)
  if (found !== undefined) return found
  if (node.parameter !== undefined) {
    values.push(segment)
    const below = walk(node.parameter, segments, at + 1, values)
    if (below !== undefined) return below
    values.pop()
  }
  if (node.rest !== undefined) values.push(segments.slice(at).join("/"))
  return node.rest
}

/** The path of a target such as `http://host/path`. */
function pathOf(target: string): string {
  const [, path] = /^https?:\/\/[^/]+(.*)$/i.exec(target) ?? []
  return path === "" ? "/" : (path ?? target)
}
