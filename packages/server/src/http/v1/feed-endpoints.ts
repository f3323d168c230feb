// Follows entries as they are recorded: with answers that wait for them (long polling), and with an
// endless stream (server-sent events).

import { Readable } from "node:stream"
import { LedgerError } from "../../error.ts"
import type { FeedPage, FeedRequest } from "../../query/feed-page.ts"
import { preferred } from "../accept.ts"
import { createRecognise } from "../authenticate.ts"
import type { Incoming } from "../incoming.ts"
import { endpoint, type Service, type ServiceEndpoint } from "../service.ts"
import { EventsFeed, EventsStream, FeedHeaders, FeedQuery } from "../shapes/page.ts"
import { entriesJson, storageOf, wantedOf } from "./query-endpoints.ts"

/** The workspace that a client follows, and a check that it still may. */
interface Following {
  readonly workspaceId: string
  readonly request: FeedRequest
  readonly signal: AbortSignal
  /** Throws once the credential is no longer valid. */
  readonly recheck: () => Promise<unknown>
}

const access = { action: "read" } as const
const streamType = "text/event-stream"

export function feedEndpoints(service: Service): readonly ServiceEndpoint[] {
  const recognise = createRecognise(service)
  return [
    endpoint({
      route: "GET /v1/workspaces/{workspaceId}/events/feed",
      operation: "followEvents",
      summary: "Follow entries",
      description:
        "Entries after a sequence, oldest first, by filters and a search. No entry is ever added at or before `nextAfter`, so store it and use it as the next `after`. With `Accept: text/event-stream`, the answer is an endless stream.",
      refuses: ["overloaded"],
      access,
      query: FeedQuery,
      headers: FeedHeaders,
      answers: { 200: EventsFeed },
      alsoAnswers: [{ type: streamType, shape: EventsStream }],
      async handle({ caller, params: { workspaceId }, query: asked, headers, incoming }) {
        const { accept } = incoming.headers
        const isStream = preferred(accept, ["application/json", streamType]) === streamType
        const { feedBytesMax, pageBytesMax } = service.limits
        const request = {
          wanted: wantedOf(caller, asked),
          storage: storageOf(asked),
          after: isStream ? afterOf(headers["last-event-id"], asked.after) : asked.after,
          limit: asked.limit,
          bytesMax: isStream ? feedBytesMax : pageBytesMax,
        }
        await service.workspaces.get(workspaceId)
        const recheck = () => recognise(incoming, { access })
        const following = { workspaceId, request, signal: incoming.signal, recheck }
        return isStream
          ? { status: 200, headers: streamHeaders, body: Readable.from(stream(service, following)) }
          : {
              status: 200,
              headers: { vary: "Accept" },
              body: await answer(service, following, waitMsOf(incoming, asked)),
            }
      },
    }),
  ]
}

const streamHeaders = {
  "content-type": `${streamType}; charset=utf-8`,
  vary: "Accept",
  // Otherwise nginx would hold entries back until its buffer is full.
  "x-accel-buffering": "no",
}

/** A browser that reconnects names the last event that it received. */
function afterOf(lastEventId: string | undefined, after: number): number {
  return lastEventId === undefined || lastEventId === "" ? after : Number(lastEventId)
}

/** HEAD has no entries to wait for. */
function waitMsOf({ method }: Incoming, { wait }: { readonly wait: number }): number {
  return method === "HEAD" ? 0 : wait * 1000
}

async function answer(
  { feed, clock }: Service,
  { workspaceId, request, signal, recheck }: Following,
  waitMs: number,
): Promise<Buffer> {
  if (waitMs === 0) return feedJson(await feed.look(workspaceId, request))
  const endMs = clock.elapsed() + waitMs
  let newest: FeedPage = { events: [], sequences: [], nextAfter: request.after, hasMore: false }
  let isFirst = true
  for await (const page of feed.follow(workspaceId, request, signal)) {
    if (!isFirst) await recheck()
    isFirst = false
    newest = page
    if (newest.events.length > 0 || clock.elapsed() >= endMs) break
  }
  return feedJson(newest)
}

function feedJson({ events, nextAfter, hasMore }: FeedPage): Buffer {
  return entriesJson(events, { nextAfter, hasMore })
}

/** Ends when the credential ends. A client that reconnects gets the reason. */
async function* stream(
  { feed, clock, limits }: Service,
  { workspaceId, request, signal, recheck }: Following,
): AsyncGenerator<Buffer, void, undefined> {
  let checkedMs = clock.elapsed()
  let saidMs = -Infinity
  for await (const page of feed.follow(workspaceId, request, signal)) {
    if (clock.elapsed() - checkedMs >= limits.feedBeatMs) {
      if (!(await holds(recheck))) return
      checkedMs = clock.elapsed()
    }
    const isSilent = page.events.length === 0
    if (isSilent && clock.elapsed() - saidMs < limits.feedCommentMs) continue
    saidMs = clock.elapsed()
    yield isSilent ? Buffer.from(`: follows\nid: ${page.nextAfter}\n\n`) : messagesOf(page)
  }
}

async function holds(recheck: () => Promise<unknown>): Promise<boolean> {
  try {
    await recheck()
    return true
  } catch (error) {
    if (error instanceof LedgerError) return false
    throw error
  }
}

/** Cached, so that all streams that get the same page share it. */
const known = new WeakMap<FeedPage, Buffer>()

function messagesOf(page: FeedPage): Buffer {
  const made = known.get(page) ?? Buffer.concat(messageParts(page))
  known.set(page, made)
  return made
}

function messageParts({ events, sequences, nextAfter }: FeedPage): readonly Uint8Array[] {
  const parts = events.flatMap((event, place) => [
    Buffer.from(`id: ${sequences[place]}\nevent: entry\ndata: `),
    event,
    Buffer.from("\n\n"),
  ])
  // Without data it is not an event, but the client remembers the id.
  return [...parts, Buffer.from(`id: ${nextAfter}\n\n`)]
}
