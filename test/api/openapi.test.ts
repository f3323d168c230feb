import assert from "node:assert/strict"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { Validator } from "@seriousme/openapi-schema-validator"
import { startService } from "../service.ts"
import { describedBy } from "./described.ts"
import { startWatched } from "./watched.ts"

// The description of the API, and the page made from it. All other tests of this folder compare the
// service's answers with it.

const kept = readFileSync(join(import.meta.dirname, "..", "..", "docs", "openapi.json"), "utf8")

interface Part {
  readonly [name: string]: any // oxlint-disable-line typescript/no-explicit-any
}

test("docs/openapi.json is the service's own description; `npm run openapi` writes it", async () => {
  await using service = await startService()
  const said = (await service.client().get("/openapi.json")).json<object>()
  assert.equal(kept, `${JSON.stringify(said, null, 2)}\n`)
})

test("the description fits the schema of OpenAPI 3.1, and a planted fault is found", async () => {
  const validator = new Validator()
  const { valid, errors } = await validator.validate(JSON.parse(kept))
  assert.ok(valid, JSON.stringify(errors))
  assert.equal(validator.version, "3.1")
  const lies: readonly ((document: Part) => void)[] = [
    (document) => delete document["info"].title,
    (document) => (document["paths"]["/v1/events"].post.responses["202"] = {}),
    (document) => (document["paths"]["/v1/events"].post.parameters[0].in = "somewhere"),
    (document) => (document["components"].securitySchemes.session.in = "pocket"),
    (document) => (document["paths"]["no-slash"] = {}),
  ]
  for (const lie of lies) {
    const document = JSON.parse(kept) as Part
    lie(document)
    assert.equal((await new Validator().validate(document)).valid, false, lie.toString())
  }
})

test("every reference resolves, every part is used, and every path parameter is described", () => {
  const document = JSON.parse(kept) as Part
  const references = new Set(
    [...kept.matchAll(/"\$ref": "#\/components\/(\w+)\/([\w.-]+)"/g)].map(
      ([, kind, name]) => `${kind}/${name}`,
    ),
  )
  const parts = ["schemas", "responses", "examples", "headers"].flatMap((kind) =>
    Object.keys(document["components"][kind]).map((name) => `${kind}/${name}`),
  )
  assert.deepEqual([...references].toSorted(), parts.toSorted())
  for (const [path, operations] of Object.entries<Part>(document["paths"])) {
    const named = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)
    for (const [method, { parameters = [], tags }] of Object.entries<Part>(operations)) {
      const described = parameters
        .filter((one: Part) => one["in"] === "path")
        .map((one: Part) => one["name"])
      assert.deepEqual(described, named, `${method} ${path}`)
      assert.equal(tags.length, 1)
    }
  }
})

/**
 * Generated clients have methods of these names: none may go or change. A release adds those that
 * are new.
 */
const operations = [
  "addMember",
  "changePassword",
  "createActivityToken",
  "createApiKey",
  "createPack",
  "createPackToken",
  "createPolicyToken",
  "createProject",
  "createReceiptToken",
  "createWorkspace",
  "downloadPack",
  "followEvents",
  "getCheckpoint",
  "getDescription",
  "getDocs",
  "getEpochCheckpoint",
  "getEpochKey",
  "getEpochTile",
  "getHealth",
  "getIntegrity",
  "getLimits",
  "getLogKey",
  "getMetrics",
  "getPack",
  "getPolicy",
  "getProject",
  "getReadiness",
  "getReceiptProof",
  "getSession",
  "getSystem",
  "getTile",
  "getTimeline",
  "getWorkspace",
  "inviteMember",
  "listActivity",
  "listApiKeys",
  "listEpochKeys",
  "listEpochs",
  "listEvents",
  "listLogKeys",
  "listMembers",
  "listPacks",
  "listPolicies",
  "listProjects",
  "listTokens",
  "listValues",
  "listWorkspaces",
  "lookUpConsents",
  "publishPolicy",
  "recordConsent",
  "recordExport",
  "removeMember",
  "renewInvitation",
  "revokeApiKey",
  "revokeToken",
  "rotateLogKey",
  "setUpAccount",
  "signIn",
  "signOut",
  "updateMember",
  "updateProject",
  "updateWorkspace",
  "verifyReceipt",
  "writeBatch",
  "writeEvent",
] as const

test("operations keep their ids, each has a summary and a description", () => {
  const described = Object.values<Part>((JSON.parse(kept) as Part)["paths"]).flatMap((methods) =>
    Object.values<Part>(methods),
  )
  const ids = new Set(described.map(({ operationId }) => String(operationId)))
  assert.equal(ids.size, described.length, "an id is there twice")
  assert.deepEqual(
    operations.filter((id) => !ids.has(id)),
    [],
  )
  for (const { operationId, summary, description } of described) {
    assert.match(summary, /^[A-Z].{5,50}[^.]$/, operationId)
    assert.match(description, /^\S.{20,}\.$/, operationId)
    assert.notEqual(description, `${summary}.`)
  }
})

test("every body and every answer in JSON has a valid example", () => {
  const document = JSON.parse(kept) as Part
  const described = describedBy(document)
  let looked = 0
  for (const [path, operations] of Object.entries<Part>(document["paths"])) {
    for (const [method, { requestBody, responses }] of Object.entries<Part>(operations)) {
      const body = requestBody?.content["application/json"]
      if (
        body !== undefined &&
        JSON.stringify(body.schema) !==
          '{"type":"object","additionalProperties":false,"properties":{}}'
      ) {
        assert.deepEqual(
          described.requestFaults(method, path.replaceAll(/[{}]/g, ""), body.example),
          [],
          `${method} ${path}`,
        )
        looked++
      }
      for (const [status, { content = {} }] of Object.entries<Part>(responses)) {
        const answer = content["application/json"]
        if (
          Number(status) >= 300 ||
          status === "default" ||
          answer === undefined ||
          path === "/openapi.json"
        )
          continue
        assert.ok(answer.example !== undefined, `${method} ${path} ${status} has no example`)
        const faults = described.faultsOf(
          method,
          path.replaceAll(/[{}]/g, ""),
          Number(status),
          "application/json",
          JSON.stringify(answer.example),
        )
        assert.deepEqual(faults, [], `${method} ${path} ${status}`)
        looked++
      }
    }
  }
  assert.ok(looked > 50, `looked at ${looked} only`)
})

test("/docs shows every endpoint, every error and every shape, and loads nothing", async () => {
  await using service = await startWatched()
  const { status, headers, text } = await service.client().get("/docs")
  assert.deepEqual([status, headers.get("content-type")], [200, "text/html; charset=utf-8"])
  const policy = headers.get("content-security-policy") ?? ""
  assert.match(policy, /^default-src 'none'; style-src 'sha256-[\w+/]+={0,2}';/)
  assert.doesNotMatch(policy, /unsafe|\*|http/)
  assert.doesNotMatch(
    text,
    /<(script|link|img|iframe|object|embed|form|base)\b|\bsrc=|\bstyle=|\bon\w+=|@import|url\(/,
  )
  const targets = [...text.matchAll(/href="([^"]*)"/g)].map(([, target = ""]) => target)
  const ids = [...text.matchAll(/ id="([^"]*)"/g)].map(([, id = ""]) => id)
  assert.equal(new Set(ids).size, ids.length, "an id is there twice")
  for (const target of new Set(targets))
    assert.ok(target === "openapi.json" || ids.includes(target.slice(1)), `${target} leads nowhere`)

  const document = JSON.parse(kept) as Part
  const shown = [
    ...Object.values<Part>(document["paths"]).flatMap((operations) =>
      Object.values<Part>(operations).map(({ operationId }) => operationId),
    ),
    ...Object.keys(document["components"].schemas).map((name) => `shape-${name}`),
    ...Object.keys(document["components"].examples).map((code) => `error-${code}`),
  ]
  assert.ok(shown.length > 120)
  for (const id of shown) assert.ok(ids.includes(id), `${id} is not on the page`)
  assert.ok(
    text.includes("two consecutive entries of a list need not be linked"),
    "what stands between two rows is not said",
  )
  // For people who do not see the page: its language, its landmarks, headings without a gap, and
  // every scrolling part reachable by keyboard.
  assert.match(text, /^<!doctype html>\n<html lang="en">/)
  for (const landmark of ["header", "nav", "main", "footer"])
    assert.equal(text.split(`<${landmark}`).length - 1, 1, landmark)
  const levels = [...text.matchAll(/<h([1-6])/g)].map(([, level]) => Number(level))
  assert.equal(levels.filter((level) => level === 1).length, 1)
  assert.ok(
    levels.every((level, at) => level <= (levels[at - 1] ?? 0) + 1),
    "a heading skips a level",
  )
  assert.ok(!text.includes("></th>"), "a column has no name")
  assert.ok(
    text.split("<pre").length === text.split('<pre tabindex="0" role="group" aria-label="').length,
  )
  await service.finish()
})
