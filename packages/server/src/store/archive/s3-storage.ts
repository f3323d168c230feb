// Segments as objects of an S3 bucket, of Amazon or a compatible service. A segment is some tens of
// MiB at most, so one request puts it, and S3 stores it completely or not at all.

import { hash } from "node:crypto"
import { dayMs, type Clock } from "../../clock.ts"
import type { S3Place } from "../../config.ts"
import { ArchiveFailure, type ArchiveStorage, type StoredFile } from "./archive-storage.ts"
import { codeIn, createS3Requests, errorBytesMax } from "./s3-requests.ts"

/** A page of a list has a thousand names at most, some hundred bytes each. */
const listBytesMax = 4 * 1024 * 1024

export function openS3Storage(place: S3Place, clock: Clock): ArchiveStorage {
  const { bucket, prefix, lockDays } = place
  const name = `the archive s3://${bucket}`
  const { ask, close } = createS3Requests(place, name, clock)
  const keyOf = (file: string): string => (prefix === "" ? file : `${prefix}/${file}`)
  return {
    name,
    async put(file, body) {
      const headers = lockDays === undefined ? {} : lockHeaders(body, clock.now(), lockDays)
      const key = keyOf(file)
      await ask({ method: "PUT", key, headers, body, bytesMax: errorBytesMax }, [200])
    },
    async get(file, { start, end }) {
      const headers = { range: `bytes=${start}-${end - 1}` }
      const asked = { method: "GET", key: keyOf(file), headers, bytesMax: end - start } as const
      const answer = await ask(asked, [206, 404])
      if (answer.status === 404) {
        if (codeIn(answer) === "NoSuchBucket") throw new ArchiveFailure(`${name}: no such bucket`)
        return undefined
      }
      const said = answer.headers["content-range"] ?? ""
      if (answer.body.length !== end - start || !said.startsWith(`bytes ${start}-${end - 1}/`))
        throw new ArchiveFailure(
          `${name} failed at GET ${file}: bytes ${start} to ${end - 1} were asked for, not ${said}`,
        )
      return answer.body
    },
    async *list(start) {
      for (let token: string | undefined; ;) {
        const query = {
          "list-type": "2",
          prefix: keyOf(start),
          ...(token !== undefined && { "continuation-token": token }),
        }
        const answer = await ask({ method: "GET", query, bytesMax: listBytesMax }, [200])
        const { files, isCut, next } = parseList(answer.body.toString(), keyOf(""))
        yield* files
        if (!isCut) return
        // An erasure deletes the files that are listed, so a part of a list is a failure. If the
        // same page came again, the loop would never end.
        if (next === undefined || next === token)
          throw new ArchiveFailure(`${name} failed at GET of its list: it is cut off`)
        token = next
      }
    },
    async delete(file) {
      const asked = { method: "DELETE", key: keyOf(file), bytesMax: errorBytesMax } as const
      await ask(asked, [200, 204, 404])
    },
    close,
  }
}

/**
 * S3 accepts a lock only with a hash of the body. This is the oldest form, which every storage
 * supports.
 */
function lockHeaders(body: Uint8Array, nowMs: number, days: number): Record<string, string> {
  return {
    "content-md5": hash("md5", body, "base64"),
    "x-amz-object-lock-mode": "COMPLIANCE",
    "x-amz-object-lock-retain-until-date": new Date(nowMs + days * dayMs).toISOString(),
  }
}

function parseList(
  text: string,
  root: string,
): {
  readonly files: readonly StoredFile[]
  /** Whether there is another page. */
  readonly isCut: boolean
  readonly next: string | undefined
} {
  if (!text.includes("<ListBucketResult")) throw new ArchiveFailure("a list of S3 cannot be read")
  const files = [...text.matchAll(/<Contents>([^]*?)<\/Contents>/g)].flatMap(([, content = ""]) => {
    const [key, size] = [textIn(content, "Key"), textIn(content, "Size")]
    return key?.startsWith(root) === true
      ? [{ name: key.slice(root.length), bytes: Number(size) }]
      : []
  })
  const isCut = textIn(text, "IsTruncated") === "true"
  return { files, isCut, next: textIn(text, "NextContinuationToken") }
}

function textIn(xml: string, tag: string): string | undefined {
  const found = new RegExp(`<${tag}>([^<]*)</${tag}>`).exec(xml)?.[1]
  return found?.replaceAll(/&(#\d+|#x[0-9a-fA-F]+|\w+);/g, (whole, name: string) => {
    if (name.startsWith("#x")) return String.fromCodePoint(Number.parseInt(name.slice(2), 16))
    if (name.startsWith("#")) return String.fromCodePoint(Number(name.slice(1)))
    return (
      ({ amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" } as Record<string, string>)[name] ??
      whole
    )
  })
}
