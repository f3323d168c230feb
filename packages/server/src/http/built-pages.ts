// The files of the pages, which scripts/pages.mjs builds and compresses. The content of a file name
// never changes. An index says which files a page loads first.

import { hash } from "node:crypto"
import type { IncomingHttpHeaders } from "node:http"
import { existsSync, readdirSync } from "node:fs"
import { readFile } from "node:fs/promises"
import { extname, join } from "node:path"
import { LedgerError } from "../error.ts"
import { preferred } from "./accept.ts"
import { isKnown } from "./cacheable-text.ts"
import type { Answer } from "./endpoint.ts"

/** Their folder, seen from the sources and the npm package, or from a bundle. */
const folders = ["../../pages", "../pages"].map((path) => join(import.meta.dirname, path))

/** The files that a page loads first, as paths below the service. */
export interface PageFiles {
  readonly script: string
  readonly style?: string
}

interface Index {
  readonly pages: Readonly<Record<string, PageFiles>>
}

const types: Readonly<Record<string, string>> = {
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".html": "text/html; charset=utf-8",
}
const endings = { identity: "", br: ".br", gzip: ".gz" } as const

export interface BuiltPages {
  page(name: string): Promise<PageFiles>
  /** The verifier in one file; undefined if the pages are not built. */
  readonly savedVerifier: () => Promise<string | undefined>
  /** Answers with a file in the client's preferred coding, or 304 if the client has it. */
  file(path: string, headers: IncomingHttpHeaders, cacheControl: string): Promise<Answer>
}

/**
 * Reads a file at its first request and caches it. All files together have a few hundred kilobytes.
 */
export function createBuiltPages(): BuiltPages {
  const folder = folders.find((path) => existsSync(path))
  let built: ReadonlySet<string> | undefined
  const contents = new Map<string, Promise<Content>>()
  const read = (path: string): Promise<Content> => {
    built ??= new Set(folder && readdirSync(folder, { recursive: true, encoding: "utf8" }))
    if (folder === undefined || !built.has(path)) throw nothingHere()
    const known = contents.get(path)
    if (known !== undefined) return known
    const content = readFile(join(folder, path)).then(tagged)
    contents.set(path, content)
    // A read that failed is tried again.
    content.catch(() => contents.delete(path))
    return content
  }
  return {
    async page(name) {
      // What the build writes.
      const { pages } = JSON.parse((await read("pages.json")).body.toString()) as Index
      const files = pages[name]
      if (files === undefined) throw nothingHere()
      return files
    },
    savedVerifier: async () =>
      folder === undefined ? undefined : (await read("verify.html")).body.toString(),
    async file(path, headers, cacheControl) {
      const type = types[extname(path)]
      if (type === undefined) throw nothingHere()
      const coding = preferred(headers["accept-encoding"]?.toString(), ["identity", "br", "gzip"])
      const { body, etag } = await read(`${path}${endings[coding]}`)
      const shared = { etag, vary: "Accept-Encoding", "cache-control": cacheControl }
      if (isKnown(etag, headers["if-none-match"])) return { status: 304, headers: shared }
      return {
        status: 200,
        body,
        headers: {
          ...shared,
          "content-type": type,
          ...(coding !== "identity" && { "content-encoding": coding }),
        },
      }
    },
  }
}

interface Content {
  readonly body: Buffer
  readonly etag: string
}

function tagged(body: Buffer): Content {
  return { body, etag: `"${hash("sha256", body, "base64url").slice(0, 22)}"` }
}

function nothingHere(): LedgerError {
  return new LedgerError("not_found", "there is nothing at this path")
}
