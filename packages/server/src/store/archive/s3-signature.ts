// AWS Signature Version 4 of a request to S3, as Amazon describes it ("Authenticating Requests:
// Using the Authorization Header"). One page of code instead of a library of two hundred files.

import { createHmac, hash } from "node:crypto"

export interface SigningKey {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly sessionToken?: string | undefined
  readonly region: string
}

export interface SignedRequest {
  readonly method: string
  /** With its query, in which no name occurs twice. */
  readonly url: URL
  /** Names in lower case, without `host`. */
  readonly headers: Readonly<Record<string, string>>
  readonly bodyHash: string
}

const algorithm = "AWS4-HMAC-SHA256"

/** The headers of the request, including its signature. */
export function signed(
  { method, url, headers, bodyHash }: SignedRequest,
  key: SigningKey,
  nowMs: number,
): Record<string, string> {
  const time = new Date(nowMs).toISOString().replaceAll(/[-:]|\.\d+/g, "")
  const all: Record<string, string> = {
    ...headers,
    "x-amz-content-sha256": bodyHash,
    "x-amz-date": time,
    ...(key.sessionToken !== undefined && { "x-amz-security-token": key.sessionToken }),
  }
  const covered = Object.entries({ ...all, host: url.host }).toSorted(byName)
  const names = covered.map(([name]) => name).join(";")
  const canonical = [
    method,
    url.pathname,
    canonicalQuery(url),
    ...covered.map(([name, value]) => `${name}:${value.trim()}`),
    "",
    names,
    bodyHash,
  ].join("\n")
  const day = time.slice(0, 8)
  const scope = `${day}/${key.region}/s3/aws4_request`
  const text = [algorithm, time, scope, sha256Hex(canonical)].join("\n")
  const signature = hmac(dayKey(key, day), text).toString("hex")
  const credential = `${key.accessKeyId}/${scope}`
  return {
    ...all,
    authorization: `${algorithm} Credential=${credential}, SignedHeaders=${names}, Signature=${signature}`,
  }
}

export function sha256Hex(content: string | Uint8Array): string {
  return hash("sha256", content)
}

/** Percent-encodes all bytes but letters, digits and `-._~`, as S3 requires. */
export function uriEncoded(text: string): string {
  return encodeURIComponent(text).replaceAll(
    /[!'()*]/g,
    (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`,
  )
}

function canonicalQuery(url: URL): string {
  return [...url.searchParams]
    .map(([name, value]): [string, string] => [uriEncoded(name), uriEncoded(value)])
    .toSorted(byName)
    .map(([name, value]) => `${name}=${value}`)
    .join("&")
}

function dayKey({ secretAccessKey, region }: SigningKey, day: string): Buffer {
  return [day, region, "s3", "aws4_request"].reduce(hmac, Buffer.from(`AWS4${secretAccessKey}`))
}

function hmac(key: Buffer, text: string): Buffer {
  return createHmac("sha256", key).update(text).digest()
}

function byName([a]: readonly [string, string], [b]: readonly [string, string]): number {
  return a < b ? -1 : 1
}
