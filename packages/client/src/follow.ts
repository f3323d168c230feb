// Entries as they are recorded, over connections that may be cut at any time.

import { abortedBy, brokenAnswer, failureOf, TallystickError } from "./error.ts"
import { parsed, path, type Call } from "./call.ts"
import type { Effects } from "./effects.ts"
import { messagesOf } from "./event-stream.ts"
import { callOptionsOf, type CallOptions } from "./exchange.ts"
import { objectOf, type Optional } from "./given.ts"
import type { FeedQuery, ListedEntry } from "./wire.ts"

export type FollowAsked = Optional<Omit<FeedQuery, "wait">>

/** The longest wait before the next connection, if the last one was cut. */
const waitMs = 1000

/**
 * After a cut it goes on behind the last entry that was given out. Rejects like any other call: if
 * the credential ends, or if no connection can be made for as long as a call is retried.
 */
export async function* follow(
  call: Call,
  { sleep, random }: Pick<Effects, "sleep" | "random">,
  workspaceId: string,
  asked: FollowAsked,
  given: CallOptions | undefined,
): AsyncGenerator<ListedEntry, void, undefined> {
  const { after: from = 0, ...query } = objectOf(asked, "query")
  const never = new AbortController().signal
  const { signal = never, ...options } = callOptionsOf(given)
  let after = String(from)
  for (;;) {
    const left = new AbortController()
    const body = await call.exchange(
      {
        method: "GET",
        path: path`/v1/workspaces/${workspaceId}/events/feed`,
        query,
        isStream: true,
        headers: { accept: "text/event-stream", "last-event-id": after },
      },
      streamOf,
      { ...options, signal: AbortSignal.any([signal, left.signal]) },
    )
    try {
      for await (const { id, data } of messagesOf(body, sleep)) {
        after = id ?? after
        if (data === undefined) continue
        const entry = parsed<ListedEntry>(data)
        if (entry === undefined) throw brokenAnswer("an entry of the stream is not JSON")
        yield entry
      }
    } catch (error) {
      if (error instanceof TallystickError) throw error
    } finally {
      left.abort()
    }
    if (signal.aborted) throw abortedBy(signal, "rejected")
    await sleep(random() * waitMs, signal)
  }
}

/** Another program's answer would be a stream without entries, opened again and again. */
async function streamOf(response: Response): Promise<Response["body"]> {
  if (/^text\/event-stream\b/.test(response.headers.get("content-type") ?? "")) return response.body
  await response.body?.cancel()
  throw failureOf(response, "")
}
