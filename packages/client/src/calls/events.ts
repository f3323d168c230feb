import { isObject } from "@tallystick/proof"
import {
  contextHeaders,
  isReceipt,
  writeOne,
  type WriteOptions,
  type Writing,
  type Written,
} from "../write.ts"
import { jsonOf, path, type Call } from "../call.ts"
import { invalidRequest } from "../error.ts"
import type { CallOptions } from "../exchange.ts"
import { objectOf, type Given, type Optional } from "../given.ts"
import { eachEntry } from "../paging.ts"
import type {
  AuditEvent,
  BatchAnswer,
  BatchResult,
  EventsPage,
  EventsQuery,
  FieldValues,
  ListedEntry,
  Receipt,
  Timeline,
  TimelineQuery,
  ValuesQuery,
} from "../wire.ts"

/** An event of a batch. Without a key of its own it gets a new one, as with `write`. */
export type BatchEvent = Given<AuditEvent> & { readonly idempotencyKey?: string | undefined }

/** What became of an event of a batch, and its key. */
export type BatchOutcome = BatchResult & { readonly idempotencyKey: string }

export type EventsAsked = Optional<EventsQuery>
export type TimelineAsked = Optional<TimelineQuery> & Pick<TimelineQuery, "from" | "to">
export type ValuesAsked = Optional<ValuesQuery> & Pick<ValuesQuery, "field">

export function eventCalls(call: Call, writing: Writing) {
  const list = (
    workspaceId: string,
    query: EventsAsked = {},
    options?: CallOptions,
  ): Promise<EventsPage> =>
    call.get(path`/v1/workspaces/${workspaceId}/events`, { ...query }, options)
  return {
    /** Records an event. When this resolves, it is on disk. */
    write: (event: Given<AuditEvent>, options?: WriteOptions): Promise<Written> =>
      writeOne(call, writing, "/v1/events", event, (receipt: Receipt) => receipt, options),

    /**
     * Records up to 1,000 events, each by itself: the results, in their order, say of each whether
     * it was recorded.
     */
    writeBatch: async (
      events: readonly BatchEvent[],
      given?: Omit<WriteOptions, "idempotencyKey">,
    ): Promise<readonly BatchOutcome[]> => {
      requireEvents(events)
      const { context, ...options } = objectOf(given, "options")
      const items = events.map(({ idempotencyKey = writing.newKey(), ...event }) => ({
        idempotencyKey,
        ...event,
      }))
      const headers = contextHeaders(writing.context, context)
      const idempotencyKeys = items.map(({ idempotencyKey }) => idempotencyKey)
      const request = {
        method: "POST",
        path: "/v1/events/batch",
        headers,
        body: { events: items },
        isRepeatable: true,
        idempotencyKeys,
      } as const
      const isOne = ({ results }: BatchAnswer): boolean =>
        Array.isArray(results) && results.length === events.length && results.every(isResult)
      const { results } = await call.exchange(
        request,
        (response) => jsonOf<BatchAnswer>(response, isOne),
        options,
      )
      return results.map((result, at) => ({ ...result, idempotencyKey: idempotencyKeys[at] ?? "" }))
    },

    /** One page of entries, newest first. */
    list,

    /** How many entries occurred when, by lane or project. */
    timeline: (
      workspaceId: string,
      query: TimelineAsked,
      options?: CallOptions,
    ): Promise<Timeline> =>
      call.get(path`/v1/workspaces/${workspaceId}/events/timeline`, { ...query }, options),

    /** The commonest values of a field. */
    values: (
      workspaceId: string,
      query: ValuesAsked,
      options?: CallOptions,
    ): Promise<FieldValues> =>
      call.get(path`/v1/workspaces/${workspaceId}/events/values`, { ...query }, options),

    /**
     * Every entry that matches, newest first, a page at a time. What is written meanwhile does not
     * shift it.
     */
    each: (
      workspaceId: string,
      query: EventsAsked = {},
      options?: CallOptions,
    ): AsyncGenerator<ListedEntry, void, undefined> =>
      eachEntry(query, (asked) => list(workspaceId, asked, options)),
  }
}

/** A program without types may give the body of the endpoint. */
function requireEvents(events: unknown): void {
  if (!Array.isArray(events) || !events.every(isObject))
    throw invalidRequest("events must be an array of events")
}

function isResult(result: BatchResult): boolean {
  return "error" in result || isReceipt(result.receipt)
}
