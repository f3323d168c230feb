// What the service says of its own API: the description for programs, and a page for people.

import { createHash } from "node:crypto"
import { docsPage } from "./docs-page.ts"
import { style } from "./docs-style.ts"
import { openApi } from "./openapi.ts"
import { endpoint, type ServiceEndpoint } from "./service.ts"
import { OpenApiDocument } from "./shapes/operations.ts"
import { PlainText } from "./shapes/path.ts"

const info = { title: "Tallystick", description: "An audit ledger: append-only, hash-chained, verifiable without us." }
const access = { action: "read", anonymous: true } as const

/** Only the page's own style applies, and nothing is loaded from anywhere. */
const policy = [
  "default-src 'none'",
  `style-src 'sha256-${createHash("sha256").update(style).digest("base64")}'`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ")

/** Both describe these two as well. They are made once, when somebody first asks for one. */
export function docsEndpoints(others: readonly ServiceEndpoint[], version: string): readonly ServiceEndpoint[] {
  let made: { readonly document: string; readonly page: string } | undefined
  const described = () => (made ??= describe())
  const these = [
    endpoint({
      method: "GET",
      path: "/openapi.json",
      summary: "This description",
      access,
      answers: { 200: OpenApiDocument },
      handle: () => ({ status: 200, body: described().document }),
    }),
    endpoint({
      method: "GET",
      path: "/docs",
      summary: "This description, as a page",
      access: { ...access, unmetered: true },
      answers: { 200: PlainText },
      answerType: "text/html; charset=utf-8",
      handle: () => ({ status: 200, body: described().page, headers: { "content-security-policy": policy } }),
    }),
  ]
  const describe = () => {
    const description = openApi([...others, ...these], { ...info, version })
    return { document: JSON.stringify(description), page: docsPage(description) }
  }
  return these
}
