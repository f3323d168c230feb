// The HTML frame of every page for people.

import type { PageFiles } from "./built-pages.ts"
import { tag, type Html } from "./html.ts"

interface Frame {
  readonly title: string
  /** Depth of its path below the service, because links to files are relative. */
  readonly depth: number
  readonly files: PageFiles
  /** The script that sets the theme before anything is drawn. */
  readonly theme: string
  /** Shown until the script shows more, and always without scripts. */
  readonly content?: Html | undefined
}

/** Only code from this service runs, and pages send requests only to it. */
export const framePolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'self'",
].join("; ")

/** A stick with three notches. */
const icon =
  "data:image/svg+xml," +
  encodeURIComponent(
    "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 20 20'><rect x='5' y='1' width='10' height='18' rx='2' fill='#dcc9ad'/><path d='M5 4.6 15 3.6v3L5 6.2Z' fill='#1d6fa5'/><path d='M5 9.3 15 8v4L5 10.7Z' fill='#b3286b'/><path d='M5 14.8 15 13.4v3L5 16.4Z' fill='#7a45b0'/></svg>",
  )

/** A constant, because bundlers rewrite a template that contains this. */
const end: Html = { html: "</script>" }

export function framed({ title, depth, files, theme, content = unscripted }: Frame): string {
  const up = "../".repeat(depth) || "./"
  return tag`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>${title}</title>
<link rel="icon" href="${icon}">
<script src="${up}${theme}">${end}
<link rel="stylesheet" href="${up}${files.style}">
<script type="module" src="${up}${files.script}">${end}
</head>
<body>
<div id="page">
${content}</div>
</body>
</html>
`.html
}

const unscripted = tag`<noscript><div class="bar">tallystick</div><div class="unscripted"><p>This page needs JavaScript: everything on it is computed in your browser, so that you need not believe the server. What it shows can also be read with <code>curl</code>, and checked with <code>tallystick verify</code>.</p></div></noscript>
<p class="unscripted late unloaded">This page is still loading. If nothing else appears, reload it.</p>
`
