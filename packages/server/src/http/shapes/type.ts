// The builders of shapes. A shape is JSON Schema as a plain object; its TypeScript type is
// TypeBox's. TypeBox itself is not loaded: its 537 modules were a fifth of the time of a start.

import type { TSchema, Type as TypeBox } from "typebox"

type Builders = Pick<
  typeof TypeBox,
  | "Array"
  | "Boolean"
  | "Enum"
  | "Integer"
  | "Never"
  | "Null"
  | "Object"
  | "Optional"
  | "Record"
  | "Refine"
  | "String"
  | "Union"
  | "Unknown"
  | "Unsafe"
>

type Options = Readonly<Record<string, unknown>>
type Shapes = Readonly<Record<string, object>>

const builders = {
  Array: (items: object, options?: Options) => ({ type: "array", items, ...options }),
  Boolean: (options?: Options) => ({ type: "boolean", ...options }),
  Enum: (values: readonly string[], options?: Options) => ({ enum: values, ...options }),
  Integer: (options?: Options) => ({ type: "integer", ...options }),
  Never: (options?: Options) => ({ not: {}, ...options }),
  Null: () => ({ type: "null" }),
  Object(properties: Shapes, options?: Options) {
    const required = Object.keys(properties).filter(
      (name) => !("~optional" in (properties[name] ?? {})),
    )
    return { type: "object", ...(required.length > 0 && { required }), properties, ...options }
  },
  Optional: (shape: object) => hidden(shape, "~optional", true),
  Record: (_name: object, value: object) => ({
    type: "object",
    patternProperties: { "^.*$": value },
  }),
  Refine: (shape: object, check: unknown, error: unknown = () => "is not allowed") =>
    hidden(shape, "~refine", [{ check, error }]),
  String: (options?: Options) => ({ type: "string", ...options }),
  Union: (anyOf: readonly object[], options?: Options) => ({ anyOf, ...options }),
  Unknown: () => ({}),
  Unsafe: (shape: TSchema) => shape,
}

/**
 * Names and results are those of TypeBox: type.test.ts compares them.
 */
export const Type = builders as unknown as Builders // The types of TypeBox are computed from the arguments.

/** A copy that has one more member, which JSON does not show. */
function hidden(shape: object, name: string, value: unknown): object {
  return Object.defineProperty(
    Object.defineProperties({}, Object.getOwnPropertyDescriptors(shape)),
    name,
    { value },
  )
}
