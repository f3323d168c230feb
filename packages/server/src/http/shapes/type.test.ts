import assert from "node:assert/strict"
import { test } from "node:test"
import { Type as TypeBox } from "typebox"
import { Type } from "./type.ts"

test("each builder returns what TypeBox's returns", () => {
  const made = (type: typeof Type) => {
    const id = type.String({ minLength: 1, pattern: "^[a-z]+$", docs: { examples: ["a"] } })
    const even = type.Refine(
      type.Integer({ minimum: 2 }),
      (value) => value % 2 === 0,
      () => "must be even",
    )
    return type.Object(
      {
        id,
        even,
        alias: type.Optional(id),
        last: type.Optional(even),
        lane: type.Enum(["security", "data"], { default: "data" }),
        size: type.Union([type.Integer(), type.Null()], { rule: "must be a size, or null" }),
        items: type.Array(type.Unknown(), { maxItems: 3 }),
        named: type.Record(type.String(), type.Boolean({ default: false })),
        never: type.Optional(type.Never({ rule: "must not be given" })),
        free: type.Unsafe<string>(type.String()),
        empty: type.Object({}),
      },
      { title: "All", additionalProperties: false },
    )
  }
  const [ours, theirs] = [made(Type), made(TypeBox)]
  // Also the order of the members, which is that of the API's description.
  assert.equal(JSON.stringify(ours), JSON.stringify(theirs))
  for (const name of ["even", "last"] as const) {
    const [refinement] = ours.properties[name]["~refine"]
    assert.deepEqual(
      [refinement?.check(2), refinement?.check(3), refinement?.error(3)],
      [true, false, "must be even"],
    )
  }
})
