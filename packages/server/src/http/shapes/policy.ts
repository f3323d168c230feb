import { Type } from "./type.ts"
import type * as wire from "@tallystick/client/wire"
import { answerOf, requestOf, shapeOf } from "./wire-shape.ts"
import { extensible, NonEmpty } from "./event.ts"
import { Hash, ProjectId, WorkspaceId } from "./id.ts"
import { listFields, listOf } from "./list.ts"
import { Time } from "./time.ts"
import { sample } from "./sample.ts"

/** Versions of a policy count 1, 2, 3… */
export const PolicyVersion = Type.Integer({ minimum: 1, maximum: 2 ** 31 - 1 })

/** For an entry: in metadata, a writer may name a version that no policy of this ledger has. */
export const NamedPolicyVersion = Type.Integer({ minimum: 1 })

/** The default project of a request about a policy. */
export const usualProject = "core"

export const PolicySection = shapeOf<wire.PolicySection>()(
  Type.Object(
    { id: NonEmpty, title: NonEmpty, body: Type.String() },
    { title: "PolicySection", ...extensible },
  ),
)

export const exampleSections = [
  { id: "purpose", title: "Purpose", body: "We record who approves an invoice." },
]

export const NewPolicy = requestOf<wire.NewPolicy>()(
  "NewPolicy",
  {
    projectId: Type.Optional(ProjectId),
    sections: Type.Array(PolicySection, { minItems: 1, maxItems: 1000 }),
    version: Type.Optional(PolicyVersion),
  },
  { sections: exampleSections },
)

export const ofProject = Type.String({ ...ProjectId, default: usualProject })

export const PolicyQuery = Type.Object({
  projectId: ofProject,
  token: Type.Optional(
    Type.String({
      minLength: 1,
      docs: {
        description:
          "A policy token. Use it only where a browser cannot send it as a bearer token.",
      },
    }),
  ),
})

export const PolicyListQuery = Type.Object({ ...listFields, projectId: ofProject })

const fields = {
  id: Type.String(),
  workspaceId: WorkspaceId,
  projectId: Type.String(),
  version: PolicyVersion,
  publishedAt: Time,
  sectionHash: Hash,
}

const Policy = answerOf<wire.Policy>()("Policy", { ...fields, sections: Type.Array(PolicySection) })

const exampleVersion = {
  id: "pol_01KB8JQ5T9QKX4M3W2P7N6V5B4C3D2F1G0HJ",
  workspaceId: "acme",
  projectId: "core",
  version: 3,
  publishedAt: sample.time,
  sectionHash: sample.hash,
}

export const PolicyAnswer = answerOf<wire.PolicyAnswer>()(
  "PolicyAnswer",
  { policy: Policy },
  {
    policy: { ...exampleVersion, sections: exampleSections },
  },
)

const PolicyVersionShown = answerOf<wire.PolicyVersion>()("PolicyVersion", fields, exampleVersion)

export const PolicyList = listOf<wire.PolicyList>()("PolicyList", "policies", PolicyVersionShown)
