// The page that a browser shows for a refusal.

import type { Refusal } from "./errors.ts"
import { pageOf, tag } from "./html.ts"
import { STATUS_CODES } from "./node-http.ts"

export function refusalPage({ status, code, detail }: Refusal, target: string): string {
  const root = rootFrom(target)
  const title = `${status} ${STATUS_CODES[status] ?? ""}`
  return pageOf(
    `${title} – Tallystick`,
    tag`<header>
<h1>${title}</h1>
</header>
<main>
<p>${detail.charAt(0).toUpperCase()}${detail.slice(1)}.</p>
<p class="quiet"><code>${code}</code></p>
<p><a href="${root}">The dashboard</a></p>
<p><a href="${root}docs">What this service takes, and what it answers</a></p>
</main>
`,
  )
}

/**
 * Relative, because a proxy may have removed a prefix of the path. From `/v1/limits` it is `../`.
 */
function rootFrom(target: string): string {
  const [path = ""] = target.split("?", 1)
  return "../".repeat(Math.max(path.split("/").length - 2, 0)) || "./"
}
