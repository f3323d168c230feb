import type { TSchema } from "typebox"
import type { ErrorCode } from "../error.ts"
import { examples } from "./openapi-examples.ts"
import { securityOf, securitySchemes } from "./openapi-security.ts"
import { details, refusalsByStatus, refusalsOf } from "./refusals.ts"
import type { ServiceEndpoint } from "./service.ts"
import { headerName } from "./shapes/check.ts"
import { Problem } from "./shapes/problem.ts"
import { statusPhrase } from "./status-phrases.ts"

export interface Description {
  readonly title: string
  readonly version: string
  readonly description?: string
}

/** A part of the document: JSON. */
interface Part {
  [name: string]: unknown
}

/** The OpenAPI 3.1 document of a list of endpoints. Shapes with a title become components. The same list gives the same document. */
export function openApi(endpoints: readonly ServiceEndpoint[], info: Description): object {
  const made: Made = { schemas: new Map(), responses: new Map() }
  const paths: Record<string, Part> = {}
  for (const endpoint of endpoints) {
    const path = endpoint.path.replace("*}", "}")
    paths[path] = { ...paths[path], [endpoint.method.toLowerCase()]: operationOf(endpoint, made) }
  }
  const used = new Set(endpoints.map(({ path }) => tagOf(path).name))
  const codes = new Set(endpoints.flatMap(refusalsOf))
  return {
    openapi: "3.1.0",
    info: { ...info, license: { name: "Apache-2.0", identifier: "Apache-2.0" } },
    servers: [{ url: "/", description: "The service that answers this." }],
    tags: [...tags, otherwise].filter(({ name }) => used.has(name)).map(({ name, description }) => ({ name, description })),
    paths,
    components: {
      schemas: inOrder(made.schemas),
      responses: inOrder(made.responses),
      examples: Object.fromEntries([...codes].toSorted().map((code) => [code, { value: { error: code, detail: details[code] } }])),
      headers,
      securitySchemes,
    },
  }
}

/** What several endpoints share, by name. */
interface Made {
  readonly schemas: Map<string, Part>
  readonly responses: Map<string, Part>
}

function inOrder(parts: ReadonlyMap<string, Part>): Part {
  return Object.fromEntries([...parts].toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

function operationOf(endpoint: ServiceEndpoint, made: Made): Part {
  const { schemas } = made
  const parameters = [
    ...parametersOf("path", endpoint.params, schemas),
    ...parametersOf("query", endpoint.query, schemas),
    ...parametersOf("header", endpoint.headers, schemas),
  ]
  const body = endpoint.documentedBody ?? endpoint.body
  return {
    operationId: operationId(endpoint),
    summary: endpoint.summary,
    tags: [tagOf(endpoint.path).name],
    security: securityOf(endpoint),
    ...(parameters.length > 0 && { parameters }),
    ...(body && { requestBody: { required: endpoint.bodyMayBeAbsent !== true, content: { "application/json": mediaOf(body, schemas) } } }),
    responses: responsesOf(endpoint, made),
  }
}

/** `GET /v1/workspaces/{workspaceId}` is `getWorkspacesByWorkspaceId`: stable as long as the address is. */
function operationId(endpoint: { readonly method: string; readonly path: string }): string {
  const words =
    endpoint.path
      .replace(/^\/v1\b/, "")
      .replaceAll("{", "by-{")
      .match(/[A-Za-z0-9]+/g) ?? []
  return endpoint.method.toLowerCase() + words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join("")
}

/** In the order in which they are shown. The first whose paths an endpoint's is one of. */
const tags = [
  { name: "Writing", paths: /^\/v1\/(events|consents)/, description: "What happened, and who agreed to what." },
  { name: "Reading", paths: /\/(events|activity)$/, description: "Finding entries, and what concerns one person." },
  { name: "Receipts", paths: /\/receipts\/(?!.*\/token$)/, description: "Checking what was recorded." },
  { name: "Log", paths: /\/tlog\//, description: "The transparency log of a workspace, as C2SP tlog-tiles. It holds no content." },
  { name: "Policies", paths: /\/published-policy(?!\/token$)/, description: "Published versions of policies, which never change." },
  {
    name: "Evidence packs",
    paths: /\/evidence-packs(?!.*\/token$)/,
    description: "Entries put together for somebody else, to be checked without the service.",
  },
  { name: "Tokens", paths: /\/tokens?(\/|$)/, description: "Scoped tokens: each opens one thing, for somebody who has no key." },
  { name: "API keys", paths: /\/api-keys/, description: "Credentials of programs." },
  { name: "Members", paths: /\/(members|session|setup)/, description: "People, and their sessions." },
  { name: "Workspaces", paths: /^\/v1\/workspaces/, description: "Workspaces and their projects." },
] as const

const otherwise = { name: "Service", description: "The service itself." } as const

function tagOf(path: string): { readonly name: string; readonly description: string } {
  return tags.find(({ paths }) => paths.test(path)) ?? otherwise
}

function parametersOf(place: "path" | "query" | "header", shape: TSchema | undefined, schemas: Map<string, Part>): Part[] {
  const { properties = {}, required = [] } = (shape ?? {}) as { properties?: Record<string, TSchema>; required?: string[] } // shapes of objects
  return Object.entries(properties).flatMap(([name, property]) => {
    const { description, ...schema } = schemaOf(property, schemas)
    // A header that must not be sent is no parameter.
    if ("not" in schema) return []
    const needed = place === "path" || (required.includes(name) && !("default" in schema))
    const named = { name: place === "header" ? headerName(name) : name, in: place, required: needed }
    return [{ ...named, ...(description !== undefined && { description }), schema }]
  })
}

// Answers -------------------------------------------------------------------------------------------------------------------------------------------------

const headers = {
  "X-Request-Id": { description: "The request's own, or one that was made for it. It stands in the log.", schema: { type: "string" } },
  "Retry-After": { description: "Seconds until it is worth coming back.", schema: { type: "integer", minimum: 1 } },
  "Idempotency-Replayed": {
    description: "The key had been used before, by the same request, and this is its receipt.",
    schema: { const: "true" },
  },
} as const

function headersNamed(...names: readonly (keyof typeof headers)[]): Part {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))
}

function responsesOf(endpoint: ServiceEndpoint, made: Made): Part {
  const { schemas } = made
  const responses: Part = {}
  const { answerType: type = "application/json", alsoAnswers: other } = endpoint
  const isReplayed = endpoint.headers !== undefined && "idempotency-key" in (endpoint.headers as { properties: object }).properties // shapes of objects
  for (const [status, shape] of Object.entries(endpoint.answers)) {
    const also = other && { [other.type]: mediaOf(other.shape, schemas) }
    const content = shape && { content: { [type.split(";", 1)[0] ?? type]: mediaOf(shape, schemas), ...also } }
    const said = headersNamed("X-Request-Id", ...(isReplayed ? (["Idempotency-Replayed"] as const) : []))
    responses[status] = { description: statusPhrase(status) ?? status, headers: said, ...content }
  }
  for (const [status, codes] of refusalsByStatus(endpoint)) {
    const shape = endpoint.answers[status]
    const refused = (answer?: Part): Part => problemOf(status, codes, answer, schemas)
    responses[status] = shape ? refused(schemaOf(shape, schemas)) : shared(`${status}.${codes.join(".")}`, refused, made)
  }
  responses["default"] = shared("default", () => otherProblem(schemas), made)
  return responses
}

function shared(name: string, make: () => Part, { responses }: Made): Part {
  if (!responses.has(name)) responses.set(name, make())
  return { $ref: `#/components/responses/${name}` }
}

function otherProblem(schemas: Map<string, Part>): Part {
  return { description: "Any other error.", content: { "application/json": { schema: schemaOf(Problem, schemas) } } }
}

/** `answer` is what the endpoint itself answers with this status, beside problems. */
function problemOf(status: number, codes: readonly ErrorCode[], answer: Part | undefined, schemas: Map<string, Part>): Part {
  const problem = schemaOf(Problem, schemas)
  return {
    description: codes.join(", "),
    headers: headersNamed("X-Request-Id", ...(status === 429 || status === 503 ? (["Retry-After"] as const) : [])),
    content: {
      "application/json": {
        schema: answer === undefined ? problem : { anyOf: [answer, problem] },
        examples: Object.fromEntries(codes.map((code) => [code, { $ref: `#/components/examples/${code}` }])),
      },
    },
  }
}

function mediaOf(shape: TSchema, schemas: Map<string, Part>): Part {
  const title = (shape as Part)["title"]
  const example = typeof title === "string" ? examples[title] : undefined
  return { schema: schemaOf(shape, schemas), ...(example && { example }) }
}

// Shapes --------------------------------------------------------------------------------------------------------------------------------------------------

/** A shape as the document shows it: without our own keywords, and with a reference in place of each shape that has a title. */
function schemaOf(shape: TSchema, schemas: Map<string, Part>): Part {
  const { title, ...rest } = shape as Part
  if (typeof title !== "string") return plain(rest, schemas)
  if (!schemas.has(title)) {
    schemas.set(title, {}) // so that a shape which contains itself ends
    schemas.set(title, { title, ...plain(rest, schemas) })
  }
  return { $ref: `#/components/schemas/${title}` }
}

function plain(shape: Part, schemas: Map<string, Part>): Part {
  const { rule, docs, properties, items, anyOf, ...rest } = shape
  const schema: Part = { ...rest, ...(docs as Part | undefined) } // `docs` holds keywords, as we use it
  if (typeof rule === "string") schema["description"] ??= `${rule.charAt(0).toUpperCase()}${rule.slice(1)}.`
  if (properties)
    schema["properties"] = Object.fromEntries(Object.entries(properties).map(([name, of]) => [name, schemaOf(of as TSchema, schemas)]))
  if (items) schema["items"] = schemaOf(items, schemas)
  if (anyOf) schema["anyOf"] = (anyOf as TSchema[]).map((choice) => schemaOf(choice, schemas))
  return schema
}
