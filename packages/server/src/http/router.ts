// Finds the route of a request: first by its path, then by its method.

import type { IncomingMessage } from "node:http"
import { LedgerError } from "../error.ts"

/** The Allow header lists them in this order. */
export const methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"] as const

type Params = Readonly<Record<string, string>>

interface Leaf<Route> {
  readonly route: Route
  /** Names of the parameters, in order. */
  readonly names: readonly string[]
}

/** A place in the tree of path segments. */
interface Node<Route> {
  readonly fixed: Map<string, Node<Route>>
  parameter?: Node<Route>
  /** Matches the rest of the path, slashes included. */
  rest?: Leaf<Route>
  leaf?: Leaf<Route>
}

/** The routes of one method. One path can match different routes for different methods. */
interface Tree<Route> {
  readonly root: Node<Route>
  /** Paths without parameters, so that most requests cost one look-up. */
  readonly fixed: Map<string, Route>
}

export class Router<Route> {
  readonly #trees = new Map<string, Tree<Route>>()

  /** `/a/{b}/{c*}`: `{b}` is one segment, `{c*}` the rest. A route for GET also answers HEAD. */
  add(method: string, path: string, route: Route): void {
    const tree: Tree<Route> = this.#trees.get(method) ?? {
      root: { fixed: new Map() },
      fixed: new Map(),
    }
    this.#trees.set(method, tree)
    if (method === "GET") this.#trees.set("HEAD", tree)
    const names = [...path.matchAll(/\{(\w+)\*?\}/g)].map(([, name = ""]) => name)
    if (!addLeaf(tree.root, path, { route, names }))
      throw new Error(`${method} ${path} is there twice`)
    if (names.length === 0) tree.fixed.set(path, route)
  }

  /** Throws `not_found` or `method_not_allowed`. The percent escapes must be valid. */
  find({ url = "/", method = "" }: IncomingMessage): readonly [Route, Params] {
    const mark = url.indexOf("?")
    const before = mark === -1 ? url : url.slice(0, mark)
    const path = before.startsWith("/") ? before : pathOf(before)
    const tree = this.#trees.get(method)
    const fixed = tree?.fixed.get(path)
    if (fixed !== undefined) return [fixed, none]
    // A path may have thousands of segments, so it is split once.
    const segments = segmentsOf(path)
    const found = findIn(tree, segments)
    if (found !== undefined) return found
    const allowed = methods
      .filter((known) => findIn(this.#trees.get(known), segments) !== undefined)
      .join(", ")
    if (allowed === "") throw new LedgerError("not_found", "there is nothing at this path")
    throw new LedgerError("method_not_allowed", `this path takes ${allowed}`, {
      headers: { allow: allowed },
    })
  }
}

/** Returns false if there is such a route already. */
function addLeaf<Route>(root: Node<Route>, path: string, leaf: Leaf<Route>): boolean {
  let node = root
  for (const segment of path.slice(1).split("/")) {
    if (segment.endsWith("*}")) return leaf === (node.rest ??= leaf)
    const next = segment.startsWith("{") ? node.parameter : node.fixed.get(segment)
    const child: Node<Route> = next ?? { fixed: new Map() }
    if (segment.startsWith("{")) node.parameter = child
    else node.fixed.set(segment, child)
    node = child
  }
  return leaf === (node.leaf ??= leaf)
}

const none: Params = {}

/** Empty if the path does not begin with a slash. */
function segmentsOf(path: string): readonly string[] {
  if (!path.startsWith("/")) return []
  // %2F is part of a segment, so decode after the split.
  const written = path.split("/").slice(1)
  return path.includes("%") ? written.map(decodeURIComponent) : written
}

function findIn<Route>(
  tree: Tree<Route> | undefined,
  segments: readonly string[],
): readonly [Route, Params] | undefined {
  const values: string[] = []
  const leaf = tree && walk(tree.root, segments, 0, values)
  if (leaf === undefined) return undefined
  const params: Record<string, string> = {}
  for (const [at, name] of leaf.names.entries()) params[name] = values[at] ?? ""
  return [leaf.route, params]
}

/**
 * A fixed segment takes precedence over a parameter. Adds the values of the parameters to `values`.
 */
function walk<Route>(
  node: Node<Route>,
  segments: readonly string[],
  at: number,
  values: string[],
): Leaf<Route> | undefined {
  const segment = segments[at]
  if (segment === undefined) return node.leaf
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
