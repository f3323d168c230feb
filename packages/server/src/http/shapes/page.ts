import { queryBytesMax, queryTermsMax } from "@tallystick/client/grammar"
import type {
  ActivityPage as WireActivityPage,
  ActivityQuery as WireActivityQuery,
  EventsPage as WireEventsPage,
  EventsQuery as WireEventsQuery,
  ListedEntry as WireListedEntry,
} from "@tallystick/client/wire"
import { Type } from "./type.ts"
import { shapeOf } from "./check.ts"
import { entryFields, EntryProof, exampleEntry } from "./entry.ts"
import { lanes, storageClasses } from "./enumeration.ts"
import { ProjectFilter } from "./id.ts"
import { Time } from "./time.ts"

/** Read by `searchOf`, which refuses what is too much. */
export const Search = Type.String({
  docs: {
    maxLength: queryBytesMax,
    description: `At most ${queryBytesMax} bytes and ${queryTermsMax} terms.`,
    examples: ['approve target:inv_9 -"test run"'],
  },
})

const Cursor = Type.Integer({ minimum: 0, default: 0 })
const Limit = Type.Integer({ minimum: 1, maximum: 100, default: 50 })
const Include = Type.Optional(Type.Enum(["proof"]))

export const EventsQuery = shapeOf<WireEventsQuery>()(
  Type.Object({
    projectId: ProjectFilter,
    query: Type.Optional(Search),
    lane: Type.Optional(Type.Enum(["all", ...lanes])),
    storage: Type.Optional(Type.Enum(["all", ...storageClasses])),
    includeArchive: Type.Boolean({ default: false }),
    userVisible: Type.Optional(Type.Boolean()),
    from: Type.Optional(Time),
    to: Type.Optional(Time),
    cursor: Cursor,
    limit: Limit,
    includeSystem: Type.Boolean({
      default: false,
      docs: { description: "Show the entries of administrative acts and keys as well" },
    }),
    include: Include,
  }),
)

export const ActivityQuery = shapeOf<WireActivityQuery>()(
  Type.Object({
    token: Type.Optional(Type.String()),
    query: Type.Optional(Search),
    cursor: Cursor,
    limit: Limit,
    include: Include,
  }),
)

const ListedEntry = shapeOf<WireListedEntry>()(
  Type.Object(
    {
      ...entryFields,
      proof: Type.Optional(EntryProof),
      disclosures: Type.Optional(Type.Array(Type.String())),
    },
    { title: "ListedEntry" },
  ),
)

const count = Type.Integer({ minimum: 0 })
const pageFields = {
  events: Type.Array(ListedEntry),
  returned: count,
  total: count,
  nextCursor: count,
  hasMore: Type.Boolean({
    docs: {
      description:
        "Also when the page has fewer entries than `limit`: it ended at its budget of bytes",
    },
  }),
  verified: Type.Boolean(),
}

const examplePage: WireEventsPage = {
  events: [exampleEntry],
  returned: 1,
  total: 1,
  nextCursor: 4,
  hasMore: false,
  verified: true,
}

export const EventsPage = shapeOf<WireEventsPage>()(
  Type.Object(pageFields, { title: "EventsPage" }),
  examplePage,
)

export const ActivityPage = shapeOf<WireActivityPage>()(
  Type.Object(
    {
      ...pageFields,
      workspaceId: Type.String(),
      projectId: Type.String(),
      subject: Type.String(),
      query: Type.Union([Type.String(), Type.Null()]),
      policyVersion: count,
    },
    { title: "ActivityPage" },
  ),
  {
    ...examplePage,
    workspaceId: "acme",
    projectId: "core",
    subject: "usr_1",
    query: null,
    policyVersion: 3,
  },
)
