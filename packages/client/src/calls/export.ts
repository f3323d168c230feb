import { isObject } from "@tallystick/proof"
import { parsed, path, type Call } from "../call.ts"
import {
  abortedBy,
  brokenAnswer,
  failureOf,
  networkFailureOf,
  type TallystickError,
} from "../error.ts"
import type { CallOptions } from "../exchange.ts"
import type { Optional } from "../given.ts"
import type { EventsExportQuery, ExportEnd, ListedEntry } from "../wire.ts"

export type ExportAsked = Optional<EventsExportQuery>

/** A file of entries as it arrives. */
export interface EntriesExport {
  /** The last recorded entry when it began. It has none beyond it. */
  readonly sequence: number
  /** Of the entry that records the export. */
  readonly receipt: string
  /** Can be read once. Rejects with `network_error` if the file is cut short. */
  readonly bytes: AsyncGenerator<Uint8Array, void, undefined>
}

export function exportCalls(call: Call) {
  const begin = (
    workspaceId: string,
    query: ExportAsked = {},
    options?: CallOptions,
  ): Promise<EntriesExport> =>
    call.exchange(
      {
        method: "GET",
        path: path`/v1/workspaces/${workspaceId}/events/export`,
        query: { ...query },
        headers: { accept: "*/*" },
        isStream: true,
      },
      async (response) => {
        const { headers, body } = response
        const sequence = headers.get("x-ledger-sequence")
        if (sequence === null) throw failureOf(response, await response.text())
        return {
          sequence: Number(sequence),
          receipt: headers.get("x-ledger-receipt") ?? "",
          bytes: bytesOf(body, options?.signal),
        }
      },
      options,
    )
  return {
    /** All entries that match, oldest first, as a file of JSON lines, CSV or Parquet. */
    export: begin,

    /**
     * All entries that match, oldest first, from one export. Rejects if it is cut short: go on with
     * `after`, the sequence of the last entry.
     */
    async *exportEach(
      workspaceId: string,
      query: Omit<ExportAsked, "format"> = {},
      options?: CallOptions,
    ): AsyncGenerator<ListedEntry, void, undefined> {
      const { bytes } = await begin(workspaceId, { ...query, format: "jsonl" }, options)
      let count = 0
      for await (const line of linesOf(bytes)) {
        if ("end" in line) {
          if (line.end.count !== count) break
          return
        }
        count += 1
        yield line
      }
      throw cutShort()
    },
  }
}

/** The reader is there at once: Node cancels a body that nobody reads when it collects its answer. */
function bytesOf(
  body: ReadableStream<Uint8Array> | null,
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array, void, undefined> {
  return readAll(body?.getReader(), signal)
}

async function* readAll(
  reader: ReadableStreamDefaultReader<Uint8Array> | undefined,
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array, void, undefined> {
  if (reader === undefined) return
  try {
    for (;;) {
      const read = await reader.read().catch((cause: unknown) => {
        throw signal?.aborted ? abortedBy(signal, "unknown") : networkFailureOf(cause)
      })
      if (read.done) return
      yield read.value
    }
  } finally {
    // A reader that stops early ends the request.
    await reader.cancel().catch(() => undefined)
  }
}

/** The service promises these types, as for every answer. */
async function* linesOf(
  bytes: AsyncIterable<Uint8Array>,
): AsyncGenerator<ListedEntry | ExportEnd, void, undefined> {
  const decoder = new TextDecoder()
  let unread = ""
  for await (const some of bytes) {
    const lines = (unread + decoder.decode(some, { stream: true })).split("\n")
    unread = lines.pop() ?? ""
    for (const line of lines) {
      const read = parsed<ListedEntry | ExportEnd>(line)
      if (!isObject(read)) throw cutShort()
      yield read
    }
  }
}

function cutShort(): TallystickError {
  return brokenAnswer("the export ends before its last line, or has a line that is not JSON")
}
