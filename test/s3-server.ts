// A small S3 server for tests: one bucket in memory, as strict as the real ones about signatures,
// hashes and locks. It can be told to misbehave.

import { createHash, createHmac, timingSafeEqual } from "node:crypto"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { S3Place } from "../packages/server/src/config.ts"
import { listening } from "./listening.ts"

export interface S3Server extends AsyncDisposable {
  readonly place: S3Place
  readonly objects: Map<string, Buffer>
  /** The requests that arrived, as `GET key`. */
  readonly asked: string[]
  /** Called before each answer; true: it has answered, or will not. */
  misbehave: (request: IncomingMessage, response: ServerResponse) => boolean
  /** An answer waits for it. */
  slow: () => Promise<unknown>
  readonly close: () => Promise<void>
}

export interface S3ServerOptions {
  readonly prefix?: string
  readonly isPathStyle?: boolean
  readonly lockDays?: number
  readonly sessionToken?: string
  /** By how much the time of a request may be wrong. */
  readonly skewMaxMs?: number
}

/** With which a service uses this server. */
export function archiveSettings({ place }: S3Server): Readonly<Record<string, string>> {
  return {
    TALLYSTICK_ARCHIVE: `s3://${place.bucket}/${place.prefix}`,
    AWS_REGION: place.region,
    AWS_ENDPOINT_URL: place.endpoint,
    AWS_ACCESS_KEY_ID: place.accessKeyId,
    AWS_SECRET_ACCESS_KEY: place.secretAccessKey,
  }
}

const bucket = "records"
const region = "eu-central-1"
const accessKeyId = "AKIDTEST"
const secretAccessKey = "a-secret/with+signs"
/** Less than S3 has, so that a list has several pages. */
const listedMax = 10

interface Kept {
  readonly bytes: Buffer
  readonly lockedUntilMs: number
}

export async function startS3Server(options: S3ServerOptions = {}): Promise<S3Server> {
  const { prefix = "ledger", isPathStyle = true, lockDays } = options
  const objects = new Map<string, Buffer>()
  const locks = new Map<string, number>()
  const asked: string[] = []
  const server = createServer((request, response) => {
    void bodyOf(request).then(async (body) => {
      const { url, key } = targetOf(request, isPathStyle)
      asked.push(`${request.method} ${key}`)
      await started.slow()
      if (started.misbehave(request, response)) return
      const refusal = refusalOf(request, url, body, options)
      if (refusal !== undefined) refuse(response, 403, refusal)
      else
        answer(
          { request, response, url, key, body },
          {
            get: (name) => {
              const bytes = objects.get(name)
              return bytes && { bytes, lockedUntilMs: locks.get(name) ?? 0 }
            },
            set: (name, { bytes, lockedUntilMs }) => {
              objects.set(name, bytes)
              locks.set(name, lockedUntilMs)
            },
            delete: (name) => objects.delete(name),
            names: () => [...objects.keys()].toSorted(),
          },
        )
    })
  })
  const { port } = await listening(server)
  const close = async (): Promise<void> => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
  const started: S3Server = {
    place: {
      kind: "s3",
      bucket,
      prefix,
      region,
      // Every name below localhost is this machine.
      endpoint: `http://${isPathStyle ? "127.0.0.1" : "localhost"}:${port}`,
      isPathStyle,
      accessKeyId,
      secretAccessKey,
      ...(options.sessionToken !== undefined && { sessionToken: options.sessionToken }),
      ...(lockDays !== undefined && { lockDays }),
    },
    objects,
    asked,
    misbehave: () => false,
    slow: async () => {},
    close,
    [Symbol.asyncDispose]: close,
  }
  return started
}

interface Asked {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly url: URL
  readonly key: string
  readonly body: Buffer
}

interface Bucket {
  get(name: string): Kept | undefined
  set(name: string, kept: Kept): void
  delete(name: string): void
  names(): readonly string[]
}

function answer({ request, response, url, key, body }: Asked, kept: Bucket): void {
  const { method, headers } = request
  const now = Date.now()
  const locked = (kept.get(key)?.lockedUntilMs ?? 0) > now
  if (method === "PUT") {
    const until = headers["x-amz-object-lock-retain-until-date"]
    if (until !== undefined && headers["content-md5"] !== hashOf("md5", body).toString("base64"))
      return refuse(response, 400, "InvalidRequest")
    // A bucket with locks keeps versions; here the newer one replaces the older.
    kept.set(key, { bytes: body, lockedUntilMs: Date.parse(String(until ?? 0)) || 0 })
    response.writeHead(200, { etag: `"${hashOf("md5", body).toString("hex")}"` }).end()
  } else if (method === "DELETE") {
    if (locked) return refuse(response, 403, "AccessDenied")
    kept.delete(key)
    response.writeHead(204).end()
  } else if (key === "") list(response, url, kept)
  else get(response, headers.range, kept.get(key)?.bytes)
}

function get(response: ServerResponse, range: string | undefined, bytes: Buffer | undefined): void {
  if (bytes === undefined) return refuse(response, 404, "NoSuchKey")
  const [, from, to] = /^bytes=(\d+)-(\d+)$/.exec(range ?? "") ?? []
  if (from === undefined) {
    response.writeHead(200, { "content-length": bytes.length }).end(bytes)
    return
  }
  const [start, end] = [Number(from), Math.min(Number(to) + 1, bytes.length)]
  if (start >= bytes.length) return refuse(response, 416, "InvalidRange")
  response
    .writeHead(206, {
      "content-length": end - start,
      "content-range": `bytes ${start}-${end - 1}/${bytes.length}`,
    })
    .end(bytes.subarray(start, end))
}

function list(response: ServerResponse, url: URL, kept: Bucket): void {
  const prefix = url.searchParams.get("prefix") ?? ""
  const after = Buffer.from(url.searchParams.get("continuation-token") ?? "", "base64").toString()
  const names = kept.names().filter((name) => name.startsWith(prefix) && name > after)
  const page = names.slice(0, listedMax)
  const isTruncated = page.length < names.length
  const contents = page.map(
    (name) =>
      `<Contents><Key>${name.replaceAll("&", "&amp;")}</Key><Size>${kept.get(name)?.bytes.length}</Size></Contents>`,
  )
  const token = Buffer.from(page.at(-1) ?? "").toString("base64")
  const next = isTruncated ? `<NextContinuationToken>${token}</NextContinuationToken>` : ""
  response
    .writeHead(200, { "content-type": "application/xml" })
    .end(
      `<?xml version="1.0"?><ListBucketResult><IsTruncated>${isTruncated}</IsTruncated>${next}${contents.join("")}</ListBucketResult>`,
    )
}

export function refuse(response: ServerResponse, status: number, code: string): void {
  response
    .writeHead(status, { "content-type": "application/xml" })
    .end(`<?xml version="1.0"?><Error><Code>${code}</Code><Message>no</Message></Error>`)
}

function targetOf(request: IncomingMessage, isPathStyle: boolean) {
  const { host = "" } = request.headers
  const url = new URL(request.url ?? "/", `http://${host}`)
  const path = decodeURIComponent(url.pathname).slice(1)
  const [named, rest] = isPathStyle
    ? [path.split("/", 1)[0], path.split("/").slice(1).join("/")]
    : [host.split(".", 1)[0], path]
  return { url, key: named === bucket ? rest : "no such bucket" }
}

/** Why a request is refused, by the rules of AWS Signature Version 4. */
function refusalOf(
  { method, headers, url: raw = "" }: IncomingMessage,
  url: URL,
  body: Buffer,
  { sessionToken, skewMaxMs = 15 * 60_000 }: S3ServerOptions,
): string | undefined {
  const said = Object.fromEntries(
    (headers.authorization ?? "")
      .replace(/^AWS4-HMAC-SHA256 /, "")
      .split(", ")
      .map((part) => part.split(/=(.*)/s, 2)),
  ) as Record<string, string | undefined>
  const time = String(headers["x-amz-date"])
  const day = time.slice(0, 8)
  const scope = `${day}/${region}/s3/aws4_request`
  const names = said["SignedHeaders"]?.split(";") ?? []
  if (said["Credential"] !== `${accessKeyId}/${scope}`) return "InvalidAccessKeyId"
  if (sessionToken !== headers["x-amz-security-token"]) return "InvalidToken"
  if (headers["x-amz-content-sha256"] !== hashOf("sha256", body).toString("hex"))
    return "XAmzContentSHA256Mismatch"
  const iso = time.replace(/^(....)(..)(..T..)(..)(..)Z$/, "$1-$2-$3:$4:$5Z")
  if (Math.abs(Date.parse(iso) - Date.now()) > skewMaxMs) return "RequestTimeTooSkewed"
  const needed = Object.keys(headers).filter((name) => name === "host" || name.startsWith("x-amz-"))
  if (!needed.every((name) => names.includes(name))) return "AccessDenied"
  const query = url.search.slice(1).split("&").filter(Boolean).toSorted().join("&")
  const request = [
    method,
    raw.split("?", 1)[0],
    query,
    ...names.map((name) => `${name}:${String(headers[name])}`),
    "",
    names.join(";"),
    headers["x-amz-content-sha256"],
  ].join("\n")
  const text = `AWS4-HMAC-SHA256\n${time}\n${scope}\n${hashOf("sha256", request).toString("hex")}`
  let key: Buffer = Buffer.from(`AWS4${secretAccessKey}`)
  for (const part of [day, region, "s3", "aws4_request", text])
    key = createHmac("sha256", key).update(part).digest()
  const given = Buffer.from(said["Signature"] ?? "", "hex")
  return given.length === key.length && timingSafeEqual(given, key)
    ? undefined
    : "SignatureDoesNotMatch"
}

function hashOf(algorithm: "md5" | "sha256", content: string | Buffer): Buffer {
  return createHash(algorithm).update(content).digest()
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = []
  for await (const part of request) parts.push(part as Buffer)
  return Buffer.concat(parts)
}
