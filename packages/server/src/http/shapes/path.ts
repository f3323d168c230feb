import { assert } from "@tallystick/proof"
import type { TSchema } from "typebox"
import type { Shape } from "./check.ts"
import {
  ErasureId,
  HoldId,
  KeyId,
  MemberId,
  PackId,
  ProjectId,
  ReceiptId,
  TokenId,
  WorkspaceId,
} from "./id.ts"
import { Type } from "./type.ts"

/** The parameters of paths. A name has the same meaning in every path. */
const parameters: Readonly<Record<string, TSchema>> = {
  workspaceId: WorkspaceId,
  receiptId: ReceiptId,
  projectId: ProjectId,
  keyId: KeyId,
  tokenId: TokenId,
  memberId: MemberId,
  packId: PackId,
  erasureId: ErasureId,
  holdId: HoldId,
  tile: Type.String({
    docs: {
      description: "`<level>/<number>` or `entries/<number>`, as in C2SP tlog-tiles.",
      examples: ["0/000", "0/x001/234.p/17", "entries/000"],
    },
  }),
  epoch: Type.String({
    docs: { description: "1 is the first ledger of the workspace.", examples: ["1"] },
  }),
  version: Type.String({
    pattern: "^(?:latest|[1-9][0-9]{0,9})$",
    docs: { description: "The number of the version, or `latest`.", examples: ["1", "latest"] },
  }),
}

/** The names in `/v1/workspaces/{workspaceId}/tlog/tile/{tile*}`. */
type NameIn<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? (Name extends `${infer Rests}*` ? Rests : Name) | NameIn<Rest>
  : never

export type ParamsOf<Path extends string> = Shape<{
  readonly [Name in NameIn<Path>]: string
}>

/** The shape of the parameters in a path. */
export function paramsOf<Path extends string>(
  path: Path,
  shapeOf = (name: string) => parameters[name],
): ParamsOf<Path> {
  const shapes = [...path.matchAll(/\{(\w+)\*?\}/g)].map(([, name = ""]) => {
    const shape = shapeOf(name)
    assert(shape !== undefined, `the parameter ${name} of ${path} has a shape`)
    return [name, shape] as const
  })
  // It has the names of the type.
  return Type.Object(Object.fromEntries(shapes)) as unknown as ParamsOf<Path>
}

// Answers that are not JSON.

export const PlainText = Type.String()
export const Bytes = Type.String({ docs: { format: "binary" } })
