// HTML pages that have no scripts and load nothing.

import { hash } from "node:crypto"
import { style } from "./page-style.ts"

/** Escaped HTML, as opposed to text. */
export interface Html {
  readonly html: string
}

export const pageHeaders = {
  "content-type": "text/html; charset=utf-8",
  "content-security-policy": [
    "default-src 'none'",
    `style-src 'sha256-${hash("sha256", style, "base64")}'`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; "),
} as const

export function pageOf(title: string, body: Html): string {
  return tag`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<style>${{ html: style }}</style>
</head>
<body>
${body}</body>
</html>
`.html
}

/** Escapes its values, except those that are `Html` already. */
export function tag(
  texts: TemplateStringsArray,
  ...values: readonly (Html | readonly Html[] | string | number | undefined)[]
): Html {
  const htmlOf = (value: (typeof values)[number]): string => {
    if (value === undefined) return ""
    if (typeof value === "string" || typeof value === "number") return escaped(String(value))
    return "html" in value ? value.html : value.map(({ html }) => html).join("")
  }
  return { html: texts.reduce((made, text, at) => made + htmlOf(values[at - 1]) + text) }
}

export function join(parts: readonly Html[], between: string): Html {
  return { html: parts.map(({ html }) => html).join(between) }
}

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => entities[character] ?? "")
}
