// Texts that are the same for every client until another version starts.

import { hash } from "node:crypto"
import type { IncomingHttpHeaders } from "node:http"
import { promisify } from "node:util"
import { brotliCompress, constants, gzip } from "node:zlib"
import { preferred } from "./accept.ts"
import type { Answer } from "./endpoint.ts"

const [toBrotli, toGzip] = [promisify(brotliCompress), promisify(gzip)]

/** The default first. Brotli's highest quality takes several times as long and saves a tenth. */
const codings = {
  identity: (text: string) => Promise.resolve(Buffer.from(text)),
  br: (text: string) => toBrotli(text, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } }),
  gzip: (text: string) => toGzip(text, { level: 9 }),
}

type Coding = keyof typeof codings

/**
 * Answers with a text, or 304 to a client that has it. The text is made at the first request, and
 * compressed once for each coding.
 */
export function createCacheableText(
  make: () => string,
): (headers: IncomingHttpHeaders) => Promise<Answer> {
  let made: { readonly text: string; readonly tag: string } | undefined
  const coded = new Map<Coding, Promise<Buffer>>()
  return async (headers) => {
    made ??= tagged(make())
    const coding = preferred(headers["accept-encoding"]?.toString(), ["identity", "br", "gzip"])
    const etag = `"${made.tag}-${coding}"`
    const shared = { etag, vary: "Accept-Encoding", "cache-control": "public, max-age=300" }
    if (isKnown(etag, headers["if-none-match"])) return { status: 304, headers: shared }
    const body = coded.get(coding) ?? codings[coding](made.text)
    coded.set(coding, body)
    return {
      status: 200,
      body: await body,
      headers: coding === "identity" ? shared : { ...shared, "content-encoding": coding },
    }
  }
}

function tagged(text: string) {
  return { text, tag: hash("sha256", text, "base64url").slice(0, 22) }
}

/** A proxy that recodes an answer marks its tag as weak. Quotes are a part of a tag. */
export function isKnown(etag: string, ifNoneMatch = ""): boolean {
  return ifNoneMatch.includes(etag) || ifNoneMatch.trim() === "*"
}
