import assert from "node:assert/strict"
import { test } from "node:test"
import fc from "fast-check"
import type { TSchema } from "typebox"
import { Compile } from "typebox/schema"
import type { Problem } from "@tallystick/client/wire"
import { LedgerError } from "../../error.ts"
import { NewApiKey } from "./api-key.ts"
import { batchEnvelopeOf, checkItem } from "./batch.ts"
import { checkOf } from "./check.ts"
import { answerOf, shapeOf } from "./wire-shape.ts"
import { Consent } from "./consent-request.ts"
import { Event } from "./event.ts"
import { projectBodies } from "./project.ts"
import { queryCheckOf } from "./query.ts"
import { Time } from "./time.ts"
import { Type } from "./type.ts"
import { NewWorkspace, WorkspaceChange } from "./workspace.ts"

const receiptId = `rcp_${"0123456789ABCDEFGHJKMNPQRSTVWXYZ0123"}`

const event = {
  workspaceId: "acme",
  projectId: "core",
  action: "billing.invoice.approve",
  actor: { id: "usr_1", type: "user", email: "ada@example.com", department: { name: "R&D" } },
  target: { id: "inv_9", type: "invoice", name: "Invoice 9" },
  occurredAt: "2026-01-31T09:30:00Z",
  source: "api",
  metadata: { amount: 12.5, relatedReceiptIds: [receiptId], nothing: null },
  userVisible: true,
}

const consent = {
  workspaceId: "acme",
  subject: { id: "usr_1", email: "ada@example.com" },
  mode: "explicit",
  policyVersion: 3,
  surface: "sign-up form",
  projectId: "core",
  metadata: { campaign: "spring" },
}

const workspace = {
  id: "acme",
  name: "Acme",
  policyVisibility: "public",
  projects: "closed",
  transparency: "private",
  hotDays: 0,
  requirePublishedPolicy: true,
  personalKeys: ["*"],
  laneRules: [{ prefix: "shop", lane: "data" }],
}

const apiKey = { name: "ci", scopes: ["read", "write"], projectIds: ["core"], expiresInSeconds: 60 }

const checkEvent = checkOf(Event)
const { NewProject, ProjectChange } = projectBodies(2)

test("events as in docs/api.md pass unchanged", () => {
  assert.equal(checkEvent(event), event)
  const { metadata: _, userVisible: __, ...least } = event
  assert.equal(checkEvent(least), least)
  for (const [shape, value] of [
    [Consent, consent],
    [NewWorkspace, workspace],
    [NewApiKey, apiKey],
    [NewProject, { id: "shop" }],
    [ProjectChange, {}],
    [WorkspaceChange, {}],
  ] as const) {
    assert.equal(checkOf<TSchema>(shape)(value), value)
  }
})

test("the offset of a time in an address needs an escape, and the refusal says so", () => {
  const check = queryCheckOf(Type.Object({ from: Time }))
  assert.throws(
    () => check({ from: "2026-01-31T10:30:00 01:00" }),
    refusal("from must be a time without spaces: in an address, + is written %2B"),
  )
})

test("the refusal of an event is one sentence that names the field and the rule", () => {
  const id =
    "must be 1 to 64 letters, digits, dots, underscores and hyphens, and begin with a letter or a digit"
  const action =
    "action must be a dotted name of two segments or more, each of letters, digits, _ and -, and of 200 characters at most"
  const time =
    "occurredAt must be a date and time that exists, with Z or an offset and at most nine digits of a fraction, such as 2026-01-31T09:30:00Z or 2026-01-31T10:30:00.250+01:00"
  const cases: [change: object | null | string | unknown[], detail: string][] = [
    [[], "the body must be an object"],
    ["x", "the body must be an object"],
    [{ metdata: {} }, "metdata is not a known field"],
    [{ constructor: 1 }, "constructor is not a known field"],
    [{ "a\nb": 1 }, '"a\\nb" is not a known field'],
    [{ workspaceId: undefined }, "workspaceId is required and must be a non-empty string"],
    [{ workspaceId: "" }, "workspaceId must be a non-empty string"],
    [{ workspaceId: null }, "workspaceId must be a non-empty string"],
    [{ workspaceId: 7 }, "workspaceId must be a non-empty string"],
    [{ workspaceId: ".acme" }, `workspaceId ${id}`],
    [{ workspaceId: "a".repeat(65) }, `workspaceId ${id}`],
    [{ workspaceId: "acme\n" }, `workspaceId ${id}`],
    ...["-acme", "a/b", "\u00fcn\u00efcode"].map((text): [object, string] => [
      { workspaceId: text },
      `workspaceId ${id}`,
    ]),
    [{ projectId: "all" }, `projectId ${id}; all and system are reserved`],
    [{ projectId: "system" }, `projectId ${id}; all and system are reserved`],
    [{ action: "login" }, action],
    [{ action: "a..b" }, action],
    [{ action: "a.b " }, action],
    [{ action: `a.${"b".repeat(199)}` }, action],
    ...[".a.b", "a.b.", "a.b c", "a.\u00e9", "a.b\n"].map((text): [object, string] => [
      { action: text },
      action,
    ]),
    [{ actor: "ada" }, "actor must be an object"],
    [{ actor: undefined }, "actor is required and must be an object"],
    [{ actor: { type: "user" } }, "actor.id is required and must be a non-empty string"],
    [{ actor: { id: "", type: "user" } }, "actor.id must be a non-empty string"],
    [{ actor: { id: "1", type: "user", email: null } }, "actor.email must be a string"],
    [{ target: { id: "1", type: ["x"] } }, "target.type must be a non-empty string"],
    [{ target: { id: "1", type: "x", name: null } }, "target.name must be a string"],
    [{ occurredAt: "2026-02-30T00:00:00Z" }, time],
    [{ occurredAt: 1769851800000 }, time],
    [{ source: "API" }, "source must be one of api, automation, dashboard, system"],
    [
      { source: undefined },
      "source is required and must be one of api, automation, dashboard, system",
    ],
    [{ metadata: [] }, "metadata must be an object"],
    [{ metadata: null }, "metadata must be an object"],
    [{ metadata: { relatedReceiptIds: receiptId } }, "metadata.relatedReceiptIds must be an array"],
    [
      { metadata: { relatedReceiptIds: [receiptId, "rcp_1"] } },
      "metadata.relatedReceiptIds[1] must be the id of a receipt: rcp_ and 36 characters",
    ],
    [{ userVisible: "true" }, "userVisible must be true or false"],
  ]
  for (const [change, detail] of cases) {
    const value: unknown =
      typeof change === "object" && !Array.isArray(change)
        ? JSON.parse(JSON.stringify({ ...event, ...change }))
        : change
    assert.throws(() => checkEvent(value), refusal(detail))
  }
})

test("refusals of other bodies name their rules too", () => {
  const cases: [shape: TSchema, value: object, change: object, detail: string][] = [
    [
      Consent,
      consent,
      { metadata: { mode: "implicit" } },
      "metadata.mode must not be given: the consent itself says it",
    ],
    [NewWorkspace, workspace, { hotDays: 1.5 }, "hotDays must be an integer from 0 to 36500"],
    [
      NewWorkspace,
      workspace,
      { laneRules: [{ prefix: "a.", lane: "data" }] },
      "laneRules[0].prefix must be the first segments of an action, with dots between them, in 200 characters at most",
    ],
    [
      NewWorkspace,
      workspace,
      { personalKeys: ["a", "a"] },
      "personalKeys must not name anything twice",
    ],
    [NewWorkspace, workspace, { name: "🙂".repeat(201) }, "name must be 1 to 200 characters"],
    [NewApiKey, apiKey, { scopes: [] }, "scopes must be an array of 1 to 3 items"],
    [
      NewApiKey,
      apiKey,
      { scopes: ["admin"] },
      "the body must not have the scope admin together with projectIds",
    ],
    [
      batchEnvelopeOf(1000),
      { events: [1] },
      { events: Array(1001).fill(1) },
      "events must be an array of 1 to 1000 items",
    ],
  ]
  for (const [shape, value, change, detail] of cases) {
    const check = checkOf(shape)
    assert.equal(check(value), value)
    assert.throws(() => check({ ...value, ...change }), refusal(detail))
  }
})

test("each event of a batch is checked separately, and its refusal names its place", () => {
  const item = { idempotencyKey: "order-4711-created", ...event }
  assert.equal(checkItem(item, 3), item)
  const refusedItem = (change: object, detail: string): void =>
    assert.throws(() => checkItem({ ...item, ...change }, 3), refusal(detail))
  refusedItem({ actor: { id: "", type: "user" } }, "events[3].actor.id must be a non-empty string")
  refusedItem(
    { idempotencyKey: "eleven-char" },
    "events[3].idempotencyKey must be 12 to 255 characters from ! to ~, without spaces",
  )
  refusedItem(
    { idempotencyKey: "with a space" },
    "events[3].idempotencyKey must be 12 to 255 characters from ! to ~, without spaces",
  )
  refusedItem(
    { idempotencyKey: "x".repeat(256) },
    "events[3].idempotencyKey must be 12 to 255 characters from ! to ~, without spaces",
  )
  refusedItem({ metdata: {} }, "events[3].metdata is not a known field")
  assert.throws(() => checkItem(7, 3), refusal("events[3] must be an object"))
})

test("the check accepts the same values as TypeBox's own check", () => {
  const starts = [
    [Event, event],
    [Consent, consent],
    [NewWorkspace, workspace],
    [NewApiKey, apiKey],
    [
      NewProject,
      {
        id: "shop",
        name: "Shop",
        receipts: "public",
        activityLinks: true,
        phrases: [{ action: "a.b", text: "Did b" }],
      },
    ],
  ] as const
  for (const [shape, start] of starts) {
    const check = checkOf<TSchema>(shape)
    const judge = Compile<TSchema>(shape)
    let passed = 0
    const property = fc.property(fc.array(changes(), { minLength: 1, maxLength: 2 }), (list) => {
      const value = list.reduce<unknown>(changed, structuredClone(start))
      if (judge.Check(value)) passed += 1
      if (judge.Check(value)) assert.equal(check(value), value)
      else assert.throws(() => check(value), LedgerError, JSON.stringify(value))
    })
    fc.assert(property, { numRuns: 5_000 })
    assert.ok(passed > 50 && passed < 4_950, `${passed} passed`)
  }
})

test("a shape with an unknown keyword throws", () => {
  assert.throws(
    () => checkOf(Type.Object({ at: Type.String({ format: "date" }) })),
    /the keyword format, which nobody checks/,
  )
})

test("a shape that differs from its wire type does not compile", () => {
  type Plain = Pick<Problem, "error" | "detail">
  const shape = shapeOf<Plain>()
  const [error, detail] = [Type.String(), Type.String()]
  const same = shape(Type.Object({ error, detail }))
  // @ts-expect-error: a member less
  const less = shape(Type.Object({ error }))
  // @ts-expect-error: a member more
  const more = shape(Type.Object({ error, detail, status: Type.Optional(Type.Integer()) }))
  // @ts-expect-error: another type
  const other = shape(Type.Object({ error, detail: Type.Union([Type.String(), Type.Null()]) }))
  // @ts-expect-error: one that may be absent
  const absent = shape(Type.Object({ error, detail: Type.Optional(Type.String()) }))
  // @ts-expect-error: fewer values
  const fewer = shape(Type.Object({ error: Type.Enum(["x"]), detail }))
  // @ts-expect-error: a member less
  const named = answerOf<Plain>()("Plain", { error })
  assert.equal(new Set([same, less, more, other, absent, fewer, named]).size, 7)
})

function refusal(detail: string): (error: unknown) => boolean {
  return (error) => {
    assert.ok(error instanceof LedgerError, String(error))
    assert.deepEqual([error.code, error.detail], ["invalid_field", detail])
    return true
  }
}

type Change = readonly [where: number, what: "remove" | "replace" | "add", value: unknown]

function changes(): fc.Arbitrary<Change> {
  const values = fc.constantFrom<unknown>(
    null,
    true,
    0,
    -1,
    1,
    1.5,
    60,
    2 ** 31,
    "",
    "x",
    "all",
    "a.b",
    "2026-02-30T00:00:00Z",
    [],
    ["x"],
    ["core", "core"],
    ["admin"],
    {},
    { id: "x", type: "y" },
    "private",
    "x".repeat(201),
  )
  return fc.tuple(fc.nat(), fc.constantFrom("remove", "replace", "replace", "add"), values)
}

/** Changes one member, anywhere in a value. */
function changed(value: unknown, [where, what, replacement]: Change): unknown {
  const places: [holder: Record<string, unknown>, name: string][] = []
  const visit = (holder: unknown): void => {
    if (typeof holder !== "object" || holder === null) return
    for (const [name, member] of Object.entries(holder)) {
      places.push([holder as Record<string, unknown>, name])
      visit(member)
    }
  }
  visit(value)
  const place = places[where % Math.max(places.length, 1)]
  if (place === undefined) return structuredClone(replacement)
  const [holder, name] = place
  if (what === "remove" && !Array.isArray(holder)) delete holder[name]
  else if (what === "add" && !Array.isArray(holder))
    holder[`${name}x`] = structuredClone(replacement)
  else holder[name] = structuredClone(replacement)
  return value
}
