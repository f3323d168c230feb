// New entries: from a stream, or by polling where a proxy blocks streams.

import { messagesOf } from "@tallystick/client/event-stream"
import type { EventsFeed, ListedEntry } from "@tallystick/client/wire"
import { parseJson } from "@tallystick/proof"
import type { Told } from "../../ask.ts"

export interface FeedParts {
  /** Everything above this sequence. */
  readonly after: number
  readonly url: (after: number) => URL
  readonly poll: (after: number, signal: AbortSignal) => Promise<Told<EventsFeed>>
  readonly heard: (entries: readonly ListedEntry[]) => void
  readonly connected: (isConnected: boolean) => void
}

const shortestWaitMs = 1000
const longestWaitMs = 15_000

/** Runs until the returned function is called. Every entry comes exactly once. */
export function followFeed({ after: from, url, poll, heard, connected }: FeedParts): () => void {
  const over = new AbortController()
  let after = from
  let waitMs = shortestWaitMs
  async function stream(): Promise<void> {
    const headers = { accept: "text/event-stream", "last-event-id": String(after) }
    const response = await fetch(url(after), { headers, signal: over.signal })
    const isStream = response.headers.get("content-type")?.startsWith("text/event-stream") === true
    if (!response.ok || !isStream) throw new Error("no stream")
    connected(true)
    for await (const { id, data } of messagesOf(response.body, sleep)) {
      if (over.signal.aborted) return
      waitMs = shortestWaitMs
      after = id === undefined ? after : Number(id)
      if (data === undefined) continue
      const entry = parseJson(data)
      if (entry === undefined) throw new Error("an entry of the stream is not JSON")
      // The service answers with this type.
      heard([entry as unknown as ListedEntry])
    }
  }
  async function askOnce(): Promise<void> {
    const told = await poll(after, over.signal)
    connected(told.ok)
    if (!told.ok) return
    waitMs = shortestWaitMs
    after = told.value.nextAfter
    if (told.value.events.length > 0) heard(told.value.events)
  }
  async function run(): Promise<void> {
    while (!over.signal.aborted) {
      // A hidden page holds no connection; it continues where it was.
      if (document.hidden) await shown(over.signal)
      try {
        await stream().catch(() => (over.signal.aborted ? undefined : askOnce()))
      } catch {
        if (over.signal.aborted) return
        connected(false)
      }
      await sleep(waitMs, over.signal)
      waitMs = Math.min(waitMs * 2, longestWaitMs)
    }
  }
  void run()
  return () => over.abort()
}

function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms)
    signal.addEventListener("abort", () => {
      clearTimeout(timer)
      resolve()
    })
  })
}

function shown(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const look = (): void => {
      if (!document.hidden) resolve()
    }
    document.addEventListener("visibilitychange", look, { signal })
    signal.addEventListener("abort", () => resolve())
  })
}
