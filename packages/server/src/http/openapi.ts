import { STATUS_CODES } from "node:http"
import type { TSchema } from "typebox"
import { statusOf } from "../error.ts"
import type { Endpoint } from "./endpoint.ts"
import { headerName } from "./shapes/check.ts"
import { Problem } from "./shapes/problem.ts"

export interface Description {
  readonly title: string
  readonly version: string
  readonly description?: string
}

/** A part of the document: JSON. */
interface Part {
  [name: string]: unknown
}

export interface OpenApiOptions<Access> {
  readonly info: Description
  /** Whether an endpoint answers callers without a credential. */
  readonly anonymous: (access: Access) => boolean
}

/** The OpenAPI 3.1 document of a list of endpoints. Shapes with a title become components. The same list gives the same document. */
export function openApi<Access, Caller>(endpoints: readonly Endpoint<Access, Caller>[], options: OpenApiOptions<Access>): object {
  const schemas = new Map<string, Part>()
  const paths: Record<string, Part> = {}
  for (const endpoint of endpoints) {
    const path = endpoint.path.replace("*}", "}")
    paths[path] = { ...paths[path], [endpoint.method.toLowerCase()]: operationOf(endpoint, options, schemas) }
  }
  return {
    openapi: "3.1.0",
    info: options.info,
    paths,
    components: {
      schemas: Object.fromEntries([...schemas].toSorted(([a], [b]) => (a < b ? -1 : 1))),
      securitySchemes: { bearer: { type: "http", scheme: "bearer", description: "An API key or a scoped token." } },
    },
  }
}

function operationOf<Access, Caller>(
  endpoint: Endpoint<Access, Caller>,
  options: OpenApiOptions<Access>,
  schemas: Map<string, Part>,
): Part {
  const parameters = [
    ...parametersOf("path", endpoint.params, schemas),
    ...parametersOf("query", endpoint.query, schemas),
    ...parametersOf("header", endpoint.headers, schemas),
  ]
  const body = endpoint.documentedBody ?? endpoint.body
  const content = body && { "application/json": { schema: schemaOf(body, schemas) } }
  const bearer = [{ bearer: [] }]
  return {
    operationId: operationId(endpoint),
    summary: endpoint.summary,
    security: options.anonymous(endpoint.access) ? [...bearer, {}] : bearer,
    ...(parameters.length > 0 && { parameters }),
    ...(content && { requestBody: { required: endpoint.bodyMayBeAbsent !== true, content } }),
    responses: responsesOf(endpoint, schemas),
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

function parametersOf(place: "path" | "query" | "header", shape: TSchema | undefined, schemas: Map<string, Part>): Part[] {
  const { properties = {}, required = [] } = (shape ?? {}) as { properties?: Record<string, TSchema>; required?: string[] } // shapes of objects
  return Object.entries(properties).flatMap(([name, property]) => {
    const schema = schemaOf(property, schemas)
    // A header that must not be sent is no parameter.
    if ("not" in schema) return []
    const needed = place === "path" || (required.includes(name) && !("default" in schema))
    return [{ name: place === "header" ? headerName(name) : name, in: place, required: needed, schema }]
  })
}

function responsesOf<Access, Caller>(endpoint: Endpoint<Access, Caller>, schemas: Map<string, Part>): Part {
  const responses: Part = {}
  const type = endpoint.answerType ?? "application/json"
  for (const [status, shape] of Object.entries(endpoint.answers)) {
    const content = shape && { content: { [type.split(";", 1)[0] ?? type]: { schema: schemaOf(shape, schemas) } } }
    responses[status] = { description: STATUS_CODES[status] ?? status, ...content }
  }
  const problem = { "application/json": { schema: schemaOf(Problem, schemas) } }
  for (const [status, codes] of refusals(endpoint)) responses[status] = { description: codes.join(", "), content: problem }
  responses["default"] = { description: "Any other error.", content: problem }
  return responses
}

/** The errors that are an endpoint's own; whatever else HTTP makes possible is under `default`. */
function refusals(endpoint: { readonly params?: TSchema; readonly body?: TSchema; readonly headers?: TSchema }): [string, string[]][] {
  const codes = ["invalid_field", "bad_request", "ambiguous_credentials", "unauthorized", "token_expired", "token_revoked"]
  codes.push(
    "insufficient_scope",
    "workspace_forbidden",
    "project_forbidden",
    "rate_limited",
    "internal_error",
    "overloaded",
    "ledger_unavailable",
  )
  if (endpoint.params) codes.push("not_found")
  if (endpoint.body) codes.push("invalid_json", "payload_too_large", "unsupported_media_type", "storage_full", "read_only")
  if (endpoint.headers && "idempotency-key" in ((endpoint.headers as { properties?: object }).properties ?? {}))
    codes.push("idempotency_key_reused")
  const byStatus = Object.groupBy(codes, (code) => String(statusOf[code as keyof typeof statusOf])) // all are codes
  return Object.entries(byStatus).map(([status, names = []]) => [status, names])
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
