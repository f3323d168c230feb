import { queryBytesMax, queryTermsMax } from "@tallystick/client/grammar"
import type * as wire from "@tallystick/client/wire"
import { Type } from "./type.ts"
import { answerOf, queryOf, requestOf } from "./wire-shape.ts"
import { entryFields, EntryProof, exampleEntry } from "./entry.ts"
import { lanes, storageClasses } from "./enumeration.ts"
import { ProjectFilter } from "./id.ts"
import { listFields } from "./list.ts"
import { ShownPhrases } from "./project.ts"
import { Time } from "./time.ts"

/** Parsed by `searchOf`, which refuses a search that is too large. */
const Search = Type.String({
  docs: {
    maxLength: queryBytesMax,
    description: `At most ${queryBytesMax} bytes and ${queryTermsMax} terms.`,
    examples: ['approve target:inv_9 -"test run"'],
  },
})

const says = (description: string) => ({ docs: { description } })

const Cursor = Type.Integer({
  minimum: 0,
  default: 0,
  ...says("A sequence: only entries before it. 0 begins at the newest."),
})
const After = Type.Integer({
  ...Cursor,
  ...says("A sequence: only entries above it. 0 begins at the oldest."),
})
const { limit: Limit } = listFields
const Include = Type.Optional(
  Type.Enum(["proof"], says("Add to each entry its proof and disclosures, to check it offline.")),
)

/** All filters but those by age, because an entry's age changes. */
export const lastingFilters = {
  projectId: Type.Optional(Type.String({ ...ProjectFilter, default: undefined })),
  query: Type.Optional(Search),
  lane: Type.Optional(Type.Enum(["all", ...lanes], says("`all` is the same as none."))),
  userVisible: Type.Optional(Type.Boolean(says("Whether the person concerned may see it."))),
  from: Type.Optional(Time),
  to: Type.Optional(Time),
  includeSystem: Type.Optional(Type.Boolean()),
}

const storage = Type.Optional(
  Type.Enum(["all", ...storageClasses], says("Absent: only hot entries.")),
)

export const EntryFilter = requestOf<wire.EntryFilter>()("EntryFilter", {
  ...lastingFilters,
  storage,
  includeArchive: Type.Optional(Type.Boolean()),
})

const filter = {
  ...lastingFilters,
  projectId: ProjectFilter,
  storage,
  includeArchive: Type.Boolean({
    default: false,
    ...says("`true` is `storage=all`; `storage` wins."),
  }),
  includeSystem: Type.Boolean({
    default: false,
    ...says("Include the service's own entries, about administrative acts and keys."),
  }),
}

export const EventsQuery = queryOf<wire.EventsQuery>()({
  ...filter,
  cursor: Cursor,
  limit: Limit,
  include: Include,
})

export const FeedQuery = queryOf<wire.FeedQuery>()({
  ...filter,
  after: After,
  limit: Limit,
  wait: Type.Integer({
    minimum: 0,
    maximum: 30,
    default: 0,
    ...says("Seconds to wait for a match, if there is none yet."),
  }),
})

export const EventsExportQuery = queryOf<wire.EventsExportQuery>()({
  ...filter,
  format: Type.Enum(["jsonl", "csv", "parquet"], { default: "jsonl", ...says("Of the file.") }),
  after: After,
  include: Include,
})

export const NewExport = requestOf<wire.NewExport>()(
  "NewExport",
  { entries: Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }) },
  { entries: 4711 },
)

/** Lines of JSON: entries, and one that ends them. */
export const ExportedLines = Type.String({
  examples: [
    `{"sequence":4,"receipt":"rcp_…"}\n{"end":{"count":1,"broken":0,"sequence":4,"sha256":"9f86d0…"}}\n`,
  ],
})

export const ExportedCsv = Type.String({ examples: [`"sequence","timestamp",…\r\n"4",…\r\n`] })

/** At most half a megabyte, which takes its thread a millisecond. */
export const RecordsQuery = queryOf<wire.RecordsQuery>()({
  after: Type.Integer({ ...Cursor, ...says("How many records are skipped.") }),
  limit: Type.Integer({ ...Limit, maximum: 4096, default: 4096 }),
})

/** A stream continues after this sequence; `after` is where the first connection began. */
export const FeedHeaders = Type.Object({
  "last-event-id": Type.Optional(
    Type.String({
      pattern: "^(?:0|[1-9][0-9]{0,14})?$",
      rule: "must be the last id of the stream, a sequence",
    }),
  ),
})

/** Server-sent events. */
export const EventsStream = Type.String({
  examples: [`: follows\nid: 4\nevent: entry\ndata: {"sequence":4,"receipt":"rcp_…"}\n\n`],
})

export const TimelineQuery = queryOf<wire.TimelineQuery>()({
  ...filter,
  from: Time,
  to: Time,
  buckets: Type.Integer({
    minimum: 1,
    maximum: 240,
    default: 60,
    ...says("How many spans of time, at most."),
  }),
  by: Type.Enum(["lane", "project"], {
    default: "lane",
    ...says("What the counts of a bucket are divided by."),
  }),
})

export const ValuesQuery = queryOf<wire.ValuesQuery>()({
  ...filter,
  field: Type.String({
    docs: {
      description: "A field of the search, except `id` and `receipt`.",
      examples: ["actor", "metadata.currency"],
    },
  }),
  limit: Type.Integer({ ...Limit, maximum: 50, default: 20 }),
})

export const PackEntriesQuery = queryOf<wire.PackEntriesQuery>()({
  cursor: Cursor,
  limit: Limit,
  include: Include,
})

export const ActivityQuery = queryOf<wire.ActivityQuery>()({
  token: Type.Optional(
    Type.String(
      says("An activity token. Use it only where a browser cannot send it as a bearer token."),
    ),
  ),
  query: Type.Optional(Search),
  cursor: Cursor,
  limit: Limit,
  include: Include,
})

const ListedEntry = answerOf<wire.ListedEntry>()("ListedEntry", {
  ...entryFields,
  proof: Type.Optional(EntryProof),
  disclosures: Type.Optional(Type.Array(Type.String())),
})

const count = Type.Integer({ minimum: 0 })
export const pageFields = {
  events: Type.Array(ListedEntry),
  returned: count,
  total: count,
  nextCursor: count,
  hasMore: Type.Boolean({
    docs: {
      description:
        "May be true although the page has fewer entries than `limit`, because the page is also limited in bytes",
    },
  }),
  verified: Type.Boolean(),
}

export const Timeline = answerOf<wire.Timeline>()(
  "Timeline",
  {
    from: Time,
    to: Time,
    bucketSeconds: Type.Integer({ minimum: 1 }),
    buckets: Type.Array(
      Type.Object({
        start: Time,
        total: count,
        counts: Type.Record(Type.String(), count),
      }),
    ),
  },
  {
    from: "2026-01-31T00:00:00Z",
    to: "2026-02-01T00:00:00Z",
    bucketSeconds: 43_200,
    buckets: [
      { start: "2026-01-31T00:00:00.000Z", total: 3, counts: { data: 2, security: 1 } },
      { start: "2026-01-31T12:00:00.000Z", total: 0, counts: {} },
    ],
  },
)

export const FieldValues = answerOf<wire.FieldValues>()(
  "FieldValues",
  { values: Type.Array(Type.Object({ value: Type.String(), count })) },
  { values: [{ value: "usr_1", count: 12 }] },
)

export const examplePage: wire.EventsPage = {
  events: [exampleEntry],
  returned: 1,
  total: 1,
  nextCursor: 4,
  hasMore: false,
  verified: true,
}

export const EventsPage = answerOf<wire.EventsPage>()("EventsPage", pageFields, examplePage)

export const EventsFeed = answerOf<wire.EventsFeed>()(
  "EventsFeed",
  { events: Type.Array(ListedEntry), nextAfter: count, hasMore: Type.Boolean() },
  { events: [exampleEntry], nextAfter: 4, hasMore: false },
)

export const ActivityPage = answerOf<wire.ActivityPage>()(
  "ActivityPage",
  {
    ...pageFields,
    workspaceId: Type.String(),
    projectId: Type.String(),
    subject: Type.String(),
    query: Type.Union([Type.String(), Type.Null()]),
    policyVersion: count,
    phrases: Type.Optional(ShownPhrases),
  },
  {
    ...examplePage,
    workspaceId: "acme",
    projectId: "core",
    subject: "usr_1",
    query: null,
    policyVersion: 3,
    phrases: [{ action: "billing.invoice.approve", text: "Approved an invoice" }],
  },
)
