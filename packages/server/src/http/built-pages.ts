// The pages as they were built (scripts/pages.mjs): files that never change under their names, each
// compressed beforehand, and which of them a page begins with.

import { createHash } from "node:crypto"
import type { IncomingHttpHeaders } from "node:http"
import { existsSync, readdirSync } from "node:fs"
import { readFile } from "node:fs/promises"
import { extname, join } from "node:path"
import { LedgerError } from "../error.ts"
import { preferred } from "./accept.ts"
import { isKnown } from "./cacheable-text.ts"
import type { Answer } from "./endpoint.ts"

/** In a clone and in what npm installs; and where a bundle of the program has them. */
const folders = ["../../pages", "../pages"].map((path) => join(import.meta.dirname, path))

/** What a page begins with, by paths below the service. */
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
  /** Answers with a file, compressed as the client likes it, and not again to whoever has it. */
  file(path: string, headers: IncomingHttpHeaders, cacheControl: string): Promise<Answer>
}

/**
 * Nothing is read before somebody asks. Then it is kept: a few hundred kilobytes, because only paths
 * that the build wrote are looked up.
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
    // A failure that passes is not remembered.
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
  const hash = createHash("sha256").update(body).digest("base64url")
  return { body, etag: `"${hash.slice(0, 22)}"` }
}

function nothingHere(): LedgerError {
  return new LedgerError("not_found", "there is nothing at this path")
}
