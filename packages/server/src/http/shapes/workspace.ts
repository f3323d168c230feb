import { Type } from "./type.ts"
import type * as wire from "@tallystick/client/wire"
import { answerOf, requestOf, shapeOf } from "./wire-shape.ts"
import { Hash, Label, ProjectId, WorkspaceId } from "./id.ts"
import { listOf } from "./list.ts"
import { lanes, open, visibilities } from "./enumeration.ts"
import { Time } from "./time.ts"
import { sample } from "./sample.ts"

const openings = ["open", "closed"] as const

/** At most a hundred years. */
const HotDays = Type.Integer({ minimum: 0, maximum: 36_500 })

/** A longer list of projects would be unusable, and one key reaches a thousand at most. */
const ProjectsMax = Type.Integer({ minimum: 1, maximum: 100_000 })

const PersonalKeys = Type.Array(Type.String({ minLength: 1, maxLength: 200 }), {
  maxItems: 100,
  uniqueItems: true,
})

const ActionPrefix = Type.String({
  minLength: 1,
  maxLength: 200,
  pattern: "^[A-Za-z0-9_-]+(?:\\.[A-Za-z0-9_-]+)*$",
  rule: "must be the first segments of an action, with dots between them, in 200 characters at most",
})

const LaneRule = shapeOf<wire.LaneRule>()(
  Type.Object(
    {
      prefix: ActionPrefix,
      lane: Type.Enum(lanes),
    },
    { additionalProperties: false },
  ),
)

const LaneRules = Type.Refine(
  Type.Array(LaneRule, { maxItems: 200 }),
  (given) => new Set(given.map(({ prefix }) => prefix.toLowerCase())).size === given.length,
  () => "must name each prefix once, in any case",
)

/**
 * At most a hundred years, as for `hotDays`. A rule of less than a day would expire entries that
 * have just been written.
 */
const RetentionRuleShape = shapeOf<wire.RetentionRule>()(
  Type.Object(
    {
      projectId: Type.Optional(ProjectId),
      lane: Type.Optional(Type.Enum(lanes)),
      action: Type.Optional(ActionPrefix),
      days: Type.Integer({ minimum: 1, maximum: 36_500 }),
    },
    { additionalProperties: false },
  ),
)

/** Nobody can keep an overview of more rules. */
export const RetentionRules = Type.Array(RetentionRuleShape, { maxItems: 100 })

const settings = {
  name: Type.Optional(Label),
  policyVisibility: Type.Optional(Type.Enum(visibilities)),
  projects: Type.Optional(Type.Enum(openings)),
  transparency: Type.Optional(Type.Enum(visibilities)),
  hotDays: Type.Optional(HotDays),
  requirePublishedPolicy: Type.Optional(Type.Boolean()),
  personalKeys: Type.Optional(PersonalKeys),
  laneRules: Type.Optional(LaneRules),
  projectsMax: Type.Optional(ProjectsMax),
  retention: Type.Optional(RetentionRules),
}

export const WorkspaceChange = requestOf<wire.WorkspaceChange>()(
  "WorkspaceChange",
  { ...settings, confirm: Type.Optional(Type.String({ maxLength: 200 })) },
  { hotDays: 30 },
)

export const NewWorkspace = requestOf<wire.NewWorkspace>()(
  "NewWorkspace",
  { id: WorkspaceId, ...settings },
  { id: "acme", name: "Acme", hotDays: 30 },
)

export const Workspace = answerOf<wire.Workspace>()(
  "Workspace",
  {
    id: WorkspaceId,
    name: Type.Optional(Type.String()),
    createdAt: Time,
    ledgerId: Hash,
    origin: Type.String(),
    policyVisibility: open(visibilities),
    projects: open(openings),
    transparency: open(visibilities),
    hotDays: Type.Integer(),
    requirePublishedPolicy: Type.Boolean(),
    personalKeys: Type.Array(Type.String()),
    laneRules: Type.Array(Type.Object({ prefix: Type.String(), lane: open(lanes) })),
    projectsMax: Type.Integer(),
    retention: Type.Array(
      Type.Object({
        projectId: Type.Optional(Type.String()),
        lane: Type.Optional(Type.Enum(lanes)),
        action: Type.Optional(Type.String()),
        days: Type.Integer(),
      }),
    ),
  },
  {
    id: "acme",
    name: "Acme",
    createdAt: sample.time,
    ledgerId: sample.previousHash,
    origin: sample.origin,
    policyVisibility: "private",
    projects: "open",
    transparency: "private",
    hotDays: 30,
    requirePublishedPolicy: false,
    personalKeys: [],
    laneRules: [{ prefix: "billing", lane: "data" }],
    projectsMax: 1000,
    retention: [{ lane: "operations", days: 400 }],
  },
)

export const WorkspaceList = listOf<wire.WorkspaceList>()("WorkspaceList", "workspaces", Workspace)
