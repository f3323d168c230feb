import assert from "node:assert/strict"
import { test } from "node:test"
import { Type } from "./shapes/type.ts"
import { openApi } from "./openapi.ts"
import { endpoint } from "./service.ts"
import { batchEnvelopeOf, batchOf, BatchAnswer, BatchHeaders } from "./shapes/batch.ts"
import { ReceiptAnswer } from "./shapes/entry.ts"
import { Event, WriteHeaders } from "./shapes/event.ts"
import { ListQuery } from "./shapes/list.ts"
import { Receipt } from "./shapes/receipt.ts"

const handle = () => ({ status: 200 })

const about = (operation: string) =>
  ({
    operation,
    tag: "Service",
    summary: operation,
    description: `What ${operation} does.`,
  }) as const

const endpoints = [
  endpoint({
    route: "POST /v1/events",
    ...about("writeEvent"),
    access: { action: "write" },
    headers: WriteHeaders,
    body: Event,
    answers: { 202: Receipt },
    handle,
  }),
  endpoint({
    route: "POST /v1/events/batch",
    ...about("writeBatch"),
    access: { action: "write" },
    headers: BatchHeaders,
    body: batchEnvelopeOf(1000),
    documentedBody: batchOf(1000),
    answers: { 202: BatchAnswer },
    handle,
  }),
  endpoint({
    route: "GET /v1/workspaces/{workspaceId}/receipts/{receiptId}",
    ...about("verifyReceipt"),
    access: { action: "read", anonymous: true, tokens: ["receipt", "evidence"] },
    answers: { 200: ReceiptAnswer },
    handle,
  }),
  endpoint({
    route: "DELETE /v1/workspaces/{workspaceId}/receipts/{receiptId}",
    ...about("forgetReceipt"),
    access: { action: "administer" },
    answers: { 204: null },
    handle,
  }),
  endpoint({
    route: "GET /v1/workspaces/{workspaceId}/tlog/tile/{tile*}",
    ...about("getTile"),
    access: { action: "read", anonymous: true },
    answers: { 200: Type.String() },
    answerType: "application/octet-stream",
    handle,
  }),
  endpoint({
    route: "GET /v1/workspaces",
    ...about("listWorkspaces"),
    access: { action: "preside" },
    query: ListQuery,
    answers: { 200: Type.Object({}) },
    handle,
  }),
  endpoint({
    route: "POST /v1/tokens",
    ...about("createToken"),
    access: { action: "read" },
    body: Type.Object({}),
    bodyMayBeAbsent: true,
    answers: { 201: Type.Object({}) },
    handle,
  }),
]

const info = { title: "Tallystick", version: "1" }
const document = JSON.parse(JSON.stringify(openApi(endpoints, info))) as Part

interface Part {
  readonly [name: string]: Part
}

test("the same endpoints give the same document, which is plain JSON", () => {
  assert.deepEqual(openApi(endpoints, info), document)
  assert.equal(text(document["openapi"]), "3.1.0")
})

test("the document contains every path, method and path parameter", () => {
  const paths = Object.entries(document["paths"] ?? {}).map(
    ([path, methods]) => `${Object.keys(methods).join(" ")} ${path}`,
  )
  assert.deepEqual(paths, [
    "post /v1/events",
    "post /v1/events/batch",
    "get delete /v1/workspaces/{workspaceId}/receipts/{receiptId}",
    "get /v1/workspaces/{workspaceId}/tlog/tile/{tile}",
    "get /v1/workspaces",
    "post /v1/tokens",
  ])
  const ids = operations().map(([, operation]) => operation["operationId"])
  assert.equal(new Set(ids).size, endpoints.length)
  for (const [path, operation] of operations()) {
    const named = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)
    assert.deepEqual(
      parameters(operation, "path").map(({ name }) => name),
      named,
      path,
    )
    assert.ok(parameters(operation, "path").every(({ required }) => required as unknown as boolean))
  }
})

test("every reference resolves, and no schema has a keyword of our own", () => {
  const text = JSON.stringify(document)
  const references = [...text.matchAll(/"\$ref":"#\/components\/schemas\/(\w+)"/g)].map(
    ([, name]) => name ?? "",
  )
  assert.ok(references.includes("Receipt") && references.includes("AuditEvent"))
  for (const name of references) assert.ok(document["components"]?.["schemas"]?.[name], name)
  assert.doesNotMatch(text, /"(rule|docs|~\w+)":/)
})

test("the schema of an event is complete", () => {
  const event = document["components"]?.["schemas"]?.["AuditEvent"] ?? assert.fail()
  assert.deepEqual(event["required"], [
    "workspaceId",
    "projectId",
    "action",
    "actor",
    "target",
    "occurredAt",
    "source",
  ])
  assert.deepEqual(event["additionalProperties"], false)
  assert.deepEqual(event["properties"]?.["source"], {
    type: "string",
    enum: ["api", "automation", "dashboard", "system"],
  })
  const {
    description,
    examples: _,
    ...occurredAt
  } = event["properties"]?.["occurredAt"] ?? assert.fail()
  assert.deepEqual(occurredAt, { type: "string", format: "date-time" })
  assert.match(text(description), /^Must be a date and time that exists/)
})

test("the schema of a batch shows its items, although they are checked one by one", () => {
  const body = operation("/v1/events/batch", "post")["requestBody"]?.["content"]?.[
    "application/json"
  ]
  assert.deepEqual(body?.["schema"], { $ref: "#/components/schemas/Batch" })
  assert.deepEqual(
    document["components"]?.["schemas"]?.["Batch"]?.["properties"]?.["events"]?.["items"],
    {
      $ref: "#/components/schemas/BatchItem",
    },
  )
})

test("headers and queries are parameters, those with a default are optional, and forbidden ones are absent", () => {
  const names = (path: string, place: string) =>
    parameters(operation(path, "post"), place).map(({ name, required }) => [name, required])
  assert.deepEqual(names("/v1/events", "header")[0], ["Idempotency-Key", true])
  assert.ok(
    names("/v1/events", "header").some(
      ([name, required]) => text(name) === "X-Trace-Id" && !required,
    ),
  )
  assert.ok(names("/v1/events/batch", "header").every(([name]) => text(name) !== "Idempotency-Key"))
  const query = parameters(operation("/v1/workspaces", "get"), "query").map(
    ({ name, required, schema }) => [name, required, schema?.["default"]],
  )
  assert.deepEqual(query, [
    ["limit", false, 50],
    ["cursor", false, undefined],
  ])
})

test("security, bodies and answers match the endpoint", () => {
  assert.deepEqual(operation("/v1/events", "post")["security"], [{ apiKey: ["write"] }])
  const ofReaders = [
    { apiKey: ["read"] },
    { apiKey: ["admin"] },
    { session: ["viewer"] },
    { session: ["admin"] },
  ]
  assert.deepEqual(
    operation("/v1/workspaces/{workspaceId}/receipts/{receiptId}", "get")["security"],
    [...ofReaders, { scopedToken: ["receipt"] }, { scopedToken: ["evidence"] }, {}],
  )
  assert.deepEqual(operation("/v1/workspaces", "get")["security"], [
    { apiKey: ["instance"] },
    { session: ["instance"] },
  ])
  for (const [, { security }] of operations())
    for (const way of security as unknown as object[])
      for (const scheme of Object.keys(way))
        assert.ok(document["components"]?.["securitySchemes"]?.[scheme], scheme)
  assert.equal(operation("/v1/events", "post")["requestBody"]?.["required"], true)
  assert.equal(operation("/v1/tokens", "post")["requestBody"]?.["required"], false)
  assert.deepEqual(
    operation("/v1/workspaces/{workspaceId}/receipts/{receiptId}", "delete")["responses"]?.["204"],
    {
      description: "No Content",
      headers: { "X-Request-Id": { $ref: "#/components/headers/X-Request-Id" } },
    },
  )
  const tile = operation("/v1/workspaces/{workspaceId}/tlog/tile/{tile}", "get")["responses"]?.[
    "200"
  ]
  assert.deepEqual(Object.keys(tile?.["content"] ?? {}), ["application/octet-stream"])
})

test("every error status of an endpoint is a Problem that names its codes", () => {
  const write = operation("/v1/events", "post")["responses"] ?? assert.fail()
  const answered = (status: string): Part => {
    const name = text(write[status]?.["$ref"]).replace("#/components/responses/", "")
    return document["components"]?.["responses"]?.[name] ?? assert.fail(status)
  }
  const refused = [
    "400",
    "401",
    "403",
    "404",
    "408",
    "410",
    "413",
    "414",
    "415",
    "417",
    "422",
    "429",
    "431",
    "500",
    "503",
  ]
  assert.deepEqual(Object.keys(write), ["202", ...refused, "default"])
  for (const status of refused) {
    const content = answered(status)["content"]?.["application/json"] ?? assert.fail(status)
    assert.deepEqual(content["schema"], { $ref: "#/components/schemas/Problem" }, status)
    const codes = Object.keys(content["examples"] ?? {})
    assert.equal(text(answered(status)["description"]), codes.join(", "))
    for (const code of codes) {
      const { value } = document["components"]?.["examples"]?.[code] ?? assert.fail(code)
      assert.deepEqual([value?.["error"], text(value?.["detail"]).length > 10], [code, true])
    }
  }
  assert.deepEqual(Object.keys(answered("503")["headers"] ?? {}), ["X-Request-Id", "Retry-After"])
  assert.ok("Idempotency-Replayed" in (write["202"]?.["headers"] ?? {}))
})

function operations(): [path: string, operation: Part][] {
  return Object.entries(document["paths"] ?? {}).flatMap(([path, methods]) =>
    Object.values(methods).map((one): [string, Part] => [path, one]),
  )
}

function operation(path: string, method: string): Part {
  return document["paths"]?.[path]?.[method] ?? assert.fail(`${method} ${path}`)
}

function parameters(of: Part, place: string): Part[] {
  const all = (of["parameters"] ?? []) as unknown as Part[] // an array, in OpenAPI
  return all.filter((parameter) => text(parameter["in"]) === place)
}

function text(part: unknown): string {
  return typeof part === "string" ? part : JSON.stringify(part)
}
