// Parses the server-sent events of the feed.

import type { Effects } from "./effects.ts"

/**
 * The service sends a comment at least every 15 s, so a connection that is silent for this long is
 * dead.
 */
const silentMaxMs = 45_000

export interface Message {
  readonly id: string | undefined
  readonly data: string | undefined
}

/** The messages of a stream of server-sent events, until it ends or is cut off. */
export async function* messagesOf(
  body: ReadableStream<Uint8Array> | null,
  sleep: Effects["sleep"],
): AsyncGenerator<Message, void, undefined> {
  if (body === null) return
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let unread = ""
  for (;;) {
    const read = await withinSilence(reader, sleep)
    if (read === undefined || read.done) return
    const messages = (unread + decoder.decode(read.value, { stream: true })).split("\n\n")
    unread = messages.pop() ?? ""
    for (const message of messages) yield messageOf(message)
  }
}

function messageOf(text: string): Message {
  const values = new Map(
    text.split("\n").map((line) => {
      const colon = line.indexOf(": ")
      return [line.slice(0, colon), line.slice(colon + 2)] as const
    }),
  )
  return { id: values.get("id"), data: values.get("data") }
}

/** Undefined if nothing arrives in time. */
async function withinSilence(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  sleep: Effects["sleep"],
) {
  const heard = new AbortController()
  try {
    return await Promise.race([
      reader.read(),
      sleep(silentMaxMs, heard.signal).then(() => undefined),
    ])
  } finally {
    heard.abort()
  }
}
