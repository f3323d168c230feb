import { Type } from "./type.ts"
import type {
  NewProject as WireNewProject,
  Project as WireProject,
  ProjectChange as WireProjectChange,
  ProjectList as WireProjectList,
} from "@tallystick/client/wire"
import { shapeOf } from "./check.ts"
import { Label, ProjectId, WorkspaceId } from "./id.ts"
import { NextCursor } from "./list.ts"
import { open, visibilities } from "./enumeration.ts"
import { Time } from "./time.ts"
import { sample } from "./sample.ts"

const changes = {
  name: Type.Optional(Label),
  receipts: Type.Optional(Type.Enum(visibilities)),
  activityLinks: Type.Optional(Type.Boolean()),
}

export const ProjectChange = shapeOf<WireProjectChange>()(
  Type.Object(changes, { title: "ProjectChange", additionalProperties: false }),
  {
    receipts: "public",
  },
)

export const NewProject = shapeOf<WireNewProject>()(
  Type.Object({ id: ProjectId, ...changes }, { title: "NewProject", additionalProperties: false }),
  { id: "core", activityLinks: true },
)

const exampleProject: WireProject = {
  id: "core",
  workspaceId: "acme",
  createdAt: sample.time,
  receipts: "private",
  activityLinks: true,
}

export const Project = shapeOf<WireProject>()(
  Type.Object(
    {
      id: Type.String(),
      workspaceId: WorkspaceId,
      name: Type.Optional(Type.String()),
      createdAt: Time,
      receipts: open(visibilities),
      activityLinks: Type.Boolean(),
    },
    { title: "Project" },
  ),
  exampleProject,
)

export const ProjectList = shapeOf<WireProjectList>()(
  Type.Object({ projects: Type.Array(Project), nextCursor: NextCursor }, { title: "ProjectList" }),
  { projects: [exampleProject], nextCursor: null },
)
