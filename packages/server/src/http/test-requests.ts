// A test aid: an HTTP client that uses a new connection for each request.

import { request } from "node:http"
import type { HttpServer } from "./server.ts"

export interface Asked {
  readonly method?: string
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
  /** An object is sent as JSON. */
  readonly payload?: string | object
}

export interface Answered {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly bytes: Buffer
  readonly body: string
  json<T = Readonly<Record<string, unknown>>>(): T
}

/**
 * Listens, and returns a function that sends requests. The server does not keep the process alive.
 */
export function openRequests(server: HttpServer): (asked: Asked | string) => Promise<Answered> {
  const listening = server.listen("127.0.0.1", 0)
  server.server.unref()
  return async (asked) => {
    const {
      method = "GET",
      url,
      headers = {},
      payload,
    } = typeof asked === "string" ? { url: asked } : asked
    const isObject = typeof payload === "object"
    const body = isObject ? JSON.stringify(payload) : (payload ?? "")
    const sent = {
      ...(isObject && { "content-type": "application/json" }),
      ...(body !== "" && { "content-length": String(Buffer.byteLength(body)) }),
      ...headers,
    }
    const port = await listening
    return new Promise((resolve, reject) => {
      const asking = request({ port, host: "127.0.0.1", agent: false, method, path: ascii(url) })
      for (const [name, value] of Object.entries(sent)) asking.setHeader(name, value)
      asking.on("error", reject)
      asking.on("response", (response) => {
        const chunks: Buffer[] = []
        response.on("data", (chunk: Buffer) => chunks.push(chunk))
        response.on("end", () => {
          const bytes = Buffer.concat(chunks)
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            bytes,
            body: bytes.toString(),
            json: <T>() => JSON.parse(bytes.toString()) as T, // what the test expects of it
          })
          asking.destroy()
        })
      })
      asking.end(body)
    })
  }
}

function ascii(url: string): string {
  return url.replaceAll(/[^ -~]+/g, encodeURIComponent)
}
