import { Type } from "./type.ts"
import type {
  NewProject as WireNewProject,
  Phrase as WirePhrase,
  Project as WireProject,
  ProjectChange as WireProjectChange,
  ProjectList as WireProjectList,
} from "@tallystick/client/wire"
import { shapeOf } from "./check.ts"
import { Action } from "./event.ts"
import { Label, ProjectId, WorkspaceId } from "./id.ts"
import { NextCursor } from "./list.ts"
import { open, visibilities } from "./enumeration.ts"
import { Time } from "./time.ts"
import { sample } from "./sample.ts"

/** A sentence of a few words: a line of a person's activity. */
const Phrase = shapeOf<WirePhrase>()(
  Type.Object({ action: Action, text: Label }, { additionalProperties: false }),
)

const examplePhrase: WirePhrase = { action: "billing.invoice.approve", text: "Approved an invoice" }

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
    ProjectChange: shapeOf<WireProjectChange>()(
      Type.Object(changes, { title: "ProjectChange", additionalProperties: false }),
      { receipts: "public", phrases: [examplePhrase] },
    ),
    NewProject: shapeOf<WireNewProject>()(
      Type.Object(
        { id: ProjectId, ...changes },
        { title: "NewProject", additionalProperties: false },
      ),
      { id: "core", activityLinks: true },
    ),
  }
}

const exampleProject: WireProject = {
  id: "core",
  workspaceId: "acme",
  createdAt: sample.time,
  receipts: "private",
  activityLinks: true,
  phrases: [examplePhrase],
}

export const ShownPhrases = Type.Array(Type.Object({ action: Type.String(), text: Type.String() }))

export const Project = shapeOf<WireProject>()(
  Type.Object(
    {
      id: Type.String(),
      workspaceId: WorkspaceId,
      name: Type.Optional(Type.String()),
      createdAt: Time,
      receipts: open(visibilities),
      activityLinks: Type.Boolean(),
      phrases: ShownPhrases,
    },
    { title: "Project" },
  ),
  exampleProject,
)

export const ProjectList = shapeOf<WireProjectList>()(
  Type.Object({ projects: Type.Array(Project), nextCursor: NextCursor }, { title: "ProjectList" }),
  { projects: [exampleProject], nextCursor: null },
)
