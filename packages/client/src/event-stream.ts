// Server-sent events as the feed sends them.

import type { Effects } from "./effects.ts"

/** The service says something every 15 s. A connection that is silent for longer is cut. */
const silentMaxMs = 45_000

export interface Message {
  readonly id: string | undefined
  readonly data: string | undefined
}

/** The messages of a stream of server-sent events, up to its end or its cut. */
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

/** Undefined after too long a silence. */
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
