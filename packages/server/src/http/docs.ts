// The documentation of the API: an OpenAPI document for programs, and a page for people.

import { docsPage } from "./docs-page.ts"
import { pageHeaders } from "./html.ts"
import { openApi } from "./openapi.ts"
import { createCacheableText } from "./cacheable-text.ts"
import type { Route } from "./server.ts"
import { endpoint } from "./service.ts"
import { OpenApiDocument } from "./shapes/operations.ts"
import { PlainText } from "./shapes/path.ts"
import { tagged, type TaggedEndpoint } from "./tags.ts"

const info = {
  title: "Tallystick",
  description: "An audit ledger: append-only, hash-chained, verifiable without us.",
}
const access = { action: "open", anonymous: true } as const

/** Both describe these two endpoints as well. Each is made at its first request. */
export function docsEndpoints(
  others: readonly TaggedEndpoint[],
  version: string,
): readonly TaggedEndpoint[] {
  const description = () => openApi([...others, ...these], { ...info, version })
  const document = createCacheableText(() => JSON.stringify(description()))
  const page = createCacheableText(() => docsPage(description()))
  const these = tagged("Service", [
    endpoint({
      route: "GET /openapi.json",
      operation: "getDescription",
      summary: "Get this description",
      description: "The OpenAPI document of this service.",
      access,
      answers: { 200: OpenApiDocument, 304: null },
      handle: ({ incoming }) => document(incoming.headers),
    }),
    endpoint({
      route: "GET /docs",
      operation: "getDocs",
      summary: "Get this description as a page",
      description: "The same as an HTML page for people.",
      access: { ...access, unmetered: true },
      answers: { 200: PlainText, 304: null },
      answerType: pageHeaders["content-type"],
      async handle({ incoming }) {
        const answer = await page(incoming.headers)
        return {
          ...answer,
          headers: {
            ...answer.headers,
            "content-security-policy": pageHeaders["content-security-policy"],
          },
        }
      },
    }),
  ])
  return these
}

/** Redirects from `/` to the dashboard, or its sign-in. For people only, so it is not described. */
export function rootRoute(publicUrl: string): Route {
  const location = `${new URL(publicUrl).pathname.replace(/\/$/, "")}/ui`
  return { method: "GET", path: "/", answer: () => ({ status: 302, headers: { location } }) }
}
