import { Type } from "./type.ts"
import type * as wire from "@tallystick/client/wire"
import { answerOf, requestOf, shapeOf } from "./wire-shape.ts"
import { Action } from "./event.ts"
import { Label, ProjectId, WorkspaceId } from "./id.ts"
import { listOf } from "./list.ts"
import { open, visibilities } from "./enumeration.ts"
import { Time } from "./time.ts"
import { sample } from "./sample.ts"

/** A short sentence that describes an action in a person's activity. */
const Phrase = shapeOf<wire.Phrase>()(
  Type.Object({ action: Action, text: Label }, { additionalProperties: false }),
)

const examplePhrase: wire.Phrase = {
  action: "billing.invoice.approve",
  text: "Approved an invoice",
}

export function projectBodies(phrasesMax: number) {
  const phrases = Type.Refine(
    Type.Array(Phrase, { maxItems: phrasesMax }),
    (given) => new Set(given.map(({ action }) => action)).size === given.length,
    () => "must name each action once",
  )
  const changes = {
    name: Type.Optional(Label),
    receipts: Type.Optional(Type.Enum(visibilities)),
    activityLinks: Type.Optional(Type.Boolean()),
    phrases: Type.Optional(phrases),
  }
  return {
    ProjectChange: requestOf<wire.ProjectChange>()("ProjectChange", changes, {
      receipts: "public",
      phrases: [examplePhrase],
    }),
    NewProject: requestOf<wire.NewProject>()(
      "NewProject",
      { id: ProjectId, ...changes },
      { id: "core", activityLinks: true },
    ),
  }
}

export const ShownPhrases = Type.Array(Type.Object({ action: Type.String(), text: Type.String() }))

export const Project = answerOf<wire.Project>()(
  "Project",
  {
    id: Type.String(),
    workspaceId: WorkspaceId,
    name: Type.Optional(Type.String()),
    createdAt: Time,
    receipts: open(visibilities),
    activityLinks: Type.Boolean(),
    phrases: ShownPhrases,
  },
  {
    id: "core",
    workspaceId: "acme",
    createdAt: sample.time,
    receipts: "private",
    activityLinks: true,
    phrases: [examplePhrase],
  },
)

export const ProjectList = listOf<wire.ProjectList>()("ProjectList", "projects", Project)
