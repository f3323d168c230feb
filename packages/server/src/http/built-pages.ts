// The pages as they were built (scripts/pages.mjs): files that never change under their names, each
// compressed beforehand, and which of them a page begins with.

import { createHash } from "node:crypto"
import type { IncomingHttpHeaders } from "node:http"
import { existsSync } from "node:fs"
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
  /** Answers with a file, compressed as the client likes it, and not again to whoever has it. */
  file(path: string, headers: IncomingHttpHeaders, cacheControl: string): Promise<Answer>
}

/** Nothing is read before somebody asks. Then it is kept: it is a few hundred kilobytes. */
export function createBuiltPages(): BuiltPages {
  const folder = folders.find((path) => existsSync(path)) ?? ""
  let index: Promise<Index> | undefined
  const contents = new Map<string, Promise<Buffer>>()
  const read = (path: string): Promise<Buffer> => {
    const content = contents.get(path) ?? readFile(join(folder, path)).catch(notBuilt)
    contents.set(path, content)
    return content
  }
  return {
    async page(name) {
      // What the build writes.
      index ??= read("pages.json").then((text) => JSON.parse(text.toString()) as Index)
      const { pages } = await index
      const files = pages[name]
      if (files === undefined) throw nothingHere()
      return files
    },
    async file(path, headers, cacheControl) {
      const type = types[extname(path)]
      if (type === undefined) throw nothingHere()
      const coding = preferred(headers["accept-encoding"]?.toString(), ["identity", "br", "gzip"])
      const body = await read(`${path}${endings[coding]}`)
      const etag = `"${createHash("sha256").update(body).digest("base64url").slice(0, 22)}"`
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

function notBuilt(error: unknown): never {
  if (error instanceof Error && "code" in error && error.code === "ENOENT") throw nothingHere()
  throw error
}

function nothingHere(): LedgerError {
  return new LedgerError("not_found", "there is nothing at this path")
}
