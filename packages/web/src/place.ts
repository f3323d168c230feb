// The address of this page and its parts. Everything is relative to the address of the scripts,
// because a proxy may serve all of it under a prefix.

import { attempt } from "./kept.ts"

/** The address of the service: scripts lie in assets/, one step below. */
export const root = new URL("../", import.meta.url)

/** The parts of the page's own path below the service, decoded: `r`, the workspace, the receipt. */
export function pathParts(): readonly string[] {
  const below = location.pathname.slice(root.pathname.length)
  return below.split("/").map((part) => attempt(() => decodeURIComponent(part)) ?? part)
}

/** The address of an endpoint of the workspace, each part encoded. */
export function apiUrl(workspace: string, ...parts: readonly string[]): URL {
  const path = ["v1", "workspaces", workspace, ...parts].map(encodeURIComponent).join("/")
  return new URL(path, root)
}

/**
 * The token of the link that led here: from the fragment, which no server and no log is ever sent.
 * It is taken out of the address at once, and kept for this tab and for what it opens, so that a
 * reload finds it again.
 */
export function takeToken(...opens: readonly string[]): string | undefined {
  // A link that is opened in the same tab changes only the fragment.
  addEventListener("hashchange", () => location.hash.includes("#t=") && location.reload())
  const key = `tallystick token ${opens.join("/")}`
  const [, token] = /^#t=([\w.-]+)$/.exec(location.hash) ?? []
  if (token === undefined) return attempt(() => sessionStorage.getItem(key)) ?? undefined
  attempt(() => sessionStorage.setItem(key, token))
  history.replaceState(history.state, "", location.pathname + location.search)
  return token
}
