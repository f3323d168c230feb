import type { TArray, TObject, TSchema } from "typebox"
import { Type } from "./type.ts"
import type * as wire from "@tallystick/client/wire"
import { answerOf, queryOf, type SameAs, type WireShape } from "./wire-shape.ts"

/** The parameters of every list; some have more. */
export const listFields = {
  limit: Type.Integer({
    minimum: 1,
    maximum: 100,
    default: 50,
    docs: { description: "How many, at most." },
  }),
  cursor: Type.Optional(
    Type.String({ minLength: 1, maxLength: 512, rule: "must be the nextCursor of another page" }),
  ),
}

export const ListQuery = queryOf<wire.ListQuery>()(listFields)

const NextCursor = Type.Union([Type.String(), Type.Null()])

type ListOf<Name extends string, Item extends TSchema> = TObject<
  { readonly [N in Name]: TArray<Item> } & { readonly nextCursor: typeof NextCursor }
>

/** A page of items, and the cursor of the next page. */
export function listOf<Wire>() {
  return <Name extends string, Item extends TSchema & { readonly "~example": unknown }>(
    title: string,
    name: SameAs<Wire, ListOf<Name, Item>, Name>,
    item: Item,
  ): WireShape<Wire> => {
    const fields = { [name as Name]: Type.Array(item), nextCursor: NextCursor }
    const example = { [name as Name]: [item["~example"]], nextCursor: null }
    return answerOf<Wire>()(title, fields as never, example as Wire) // SameAs has checked the type.
  }
}
