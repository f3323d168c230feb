// Shapes for the client's wire types. A shape whose type differs from its wire type does not
// compile.

import type { TObject, TObjectOptions, TProperties, TSchema } from "typebox"
import type { Of, Shape } from "./check.ts"
import { Type } from "./type.ts"

/**
 * True only if two types are the same to the compiler: it compares two conditional types by
 * identity, not by assignability.
 */
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false

/** A type without its index signature, which a shape cannot express. */
type Named<T> = { [Key in keyof T as string extends Key ? never : Key]: T[Key] }

/** Names the difference if the type of a shape is not its wire type. */
export type SameAs<Wire, S extends TSchema, Given> =
  Same<Of<S>, Named<Wire>> extends true ? Given : { differs: [shape: Of<S>, wire: Named<Wire>] }

export type WireShape<Wire> = Shape<Wire> & { readonly "~example": Wire }

/** A body: it has no other members. The example is for the description, and is realistic. */
export function requestOf<Wire>() {
  return <P extends TProperties>(
    title: string,
    fields: SameAs<Wire, TObject<P>, P>,
    example?: Wire,
  ): WireShape<Wire> => shapeWith({ title, additionalProperties: false }, fields, example)
}

/** An answer, or a part of one: a later version may add members. */
export function answerOf<Wire>() {
  return <P extends TProperties>(
    title: string,
    fields: SameAs<Wire, TObject<P>, P>,
    example?: Wire,
  ): WireShape<Wire> => shapeWith({ title }, fields, example)
}

/** The parameters of a query, or an object without a name. */
export function queryOf<Wire>() {
  return <P extends TProperties>(fields: SameAs<Wire, TObject<P>, P>): WireShape<Wire> =>
    shapeWith({}, fields, undefined)
}

/** A shape of any other kind. */
export function shapeOf<Wire>() {
  return <S extends TSchema>(shape: SameAs<Wire, S, S>, example?: Wire): WireShape<Wire> =>
    withExample(shape, example)
}

function shapeWith(options: TObjectOptions, fields: unknown, example: unknown): never {
  return withExample(Type.Object(fields as TProperties, options), example) // SameAs has checked the type.
}

function withExample(shape: object, example: unknown): never {
  return Object.defineProperty(shape, "~example", { value: example }) as never // as above
}

export function exampleOf(shape: TSchema): unknown {
  return "~example" in shape ? shape["~example"] : undefined
}
