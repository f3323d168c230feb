import type { AnswerHeader } from "./endpoint.ts"
import type { TSchema } from "typebox"
import type { ErrorCode } from "../error.ts"
import { securityOf, securitySchemes } from "./openapi-security.ts"
import { details, refusalsByStatus, refusalsOf } from "./refusals.ts"
import { propertiesOf, type ServiceEndpoint } from "./service.ts"
import { headerName } from "./shapes/check.ts"
import { exampleOf } from "./shapes/wire-shape.ts"
import { Problem } from "./shapes/problem.ts"
import { STATUS_CODES } from "./node-http.ts"
import { tags, type TaggedEndpoint } from "./tags.ts"

export interface Description {
  readonly title: string
  readonly version: string
  readonly description?: string
}

/** A part of the document: JSON. */
interface Part {
  [name: string]: unknown
}

/**
 * The OpenAPI 3.1 document of a list of endpoints. Shapes with a title become components. The same
 * list gives the same document.
 */
export function openApi(endpoints: readonly TaggedEndpoint[], info: Description): object {
  const made: Made = { schemas: new Map(), responses: new Map() }
  const paths: Record<string, Part> = {}
  for (const endpoint of endpoints) {
    const path = endpoint.path.replace("*}", "}")
    paths[path] = { ...paths[path], [endpoint.method.toLowerCase()]: operationOf(endpoint, made) }
  }
  const used = new Set<string>(endpoints.map(({ tag }) => tag))
  const codes = new Set(endpoints.flatMap(refusalsOf))
  return {
    openapi: "3.1.0",
    info: { ...info, license: { name: "Apache-2.0", identifier: "Apache-2.0" } },
    servers: [{ url: "/", description: "The service that answers this." }],
    tags: Object.entries(tags).flatMap(([name, description]) =>
      used.has(name) ? [{ name, description }] : [],
    ),
    paths,
    components: {
      schemas: inOrder(made.schemas),
      responses: inOrder(made.responses),
      examples: Object.fromEntries(
        [...codes]
          .toSorted()
          .map((code) => [code, { value: { error: code, detail: details[code] } }]),
      ),
      headers,
      securitySchemes,
    },
  }
}

/** Components that several endpoints share, by name. */
interface Made {
  readonly schemas: Map<string, Part>
  readonly responses: Map<string, Part>
}

function inOrder(parts: ReadonlyMap<string, Part>): Part {
  return Object.fromEntries([...parts].toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

function operationOf(endpoint: TaggedEndpoint, made: Made): Part {
  const { schemas } = made
  const parameters = [
    ...parametersOf("path", endpoint.params, schemas),
    ...parametersOf("query", endpoint.query, schemas),
    ...parametersOf("header", endpoint.headers, schemas),
  ]
  const body = endpoint.documentedBody ?? endpoint.body
  return {
    operationId: endpoint.operation,
    summary: endpoint.summary,
    description: endpoint.description,
    tags: [endpoint.tag],
    security: securityOf(endpoint),
    ...(parameters.length > 0 && { parameters }),
    ...(body && {
      requestBody: {
        required: endpoint.bodyMayBeAbsent !== true,
        content: { "application/json": mediaOf(body, schemas) },
      },
    }),
    responses: responsesOf(endpoint, made),
  }
}

function parametersOf(
  place: "path" | "query" | "header",
  shape: TSchema | undefined,
  schemas: Map<string, Part>,
): Part[] {
  const { required = [] } = (shape ?? {}) as { required?: string[] } // shapes of objects
  return Object.entries(propertiesOf(shape)).flatMap(([name, property]) => {
    const { description, ...schema } = schemaOf(property, schemas)
    // A header that must not be sent is not a parameter.
    if ("not" in schema) return []
    const needed = place === "path" || (required.includes(name) && !("default" in schema))
    const named = {
      name: place === "header" ? headerName(name) : name,
      in: place,
      required: needed,
    }
    return [{ ...named, ...(description !== undefined && { description }), schema }]
  })
}

// Answers -----------------------------------------------------------------------------------------

const headers = {
  "X-Request-Id": {
    description: "The id that the request has sent, or a new one. The log contains it.",
    schema: { type: "string" },
  },
  "Retry-After": {
    description: "Seconds to wait before a retry.",
    schema: { type: "integer", minimum: 1 },
  },
  "Idempotency-Replayed": {
    description: "The same request was recorded before under this key, and this is its receipt.",
    schema: { type: "string", const: "true" },
  },
  "X-Ledger-Sequence": {
    description:
      "The last entry that was recorded when the answer began. The answer has no later ones.",
    schema: { type: "integer", minimum: 0 },
  },
  "X-Ledger-Receipt": {
    description: "The receipt of the entry that records this request.",
    schema: { type: "string" },
  },
} as const satisfies Record<
  AnswerHeader | "X-Request-Id" | "Retry-After" | "Idempotency-Replayed",
  Part
>

function headersNamed(...names: readonly (keyof typeof headers)[]): Part {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))
}

function responsesOf(endpoint: ServiceEndpoint, made: Made): Part {
  const { schemas } = made
  const responses: Part = {}
  const { answerType: type = "application/json", alsoAnswers: others = [] } = endpoint
  const isReplayed = refusalsOf(endpoint).includes("idempotency_key_reused")
  for (const [status, shape] of Object.entries(endpoint.answers)) {
    const also = Object.fromEntries(
      others.map((other) => [other.type, mediaOf(other.shape, schemas)]),
    )
    const content = shape && {
      content: { [type.split(";", 1)[0] ?? type]: mediaOf(shape, schemas), ...also },
    }
    const said = headersNamed(
      "X-Request-Id",
      ...(isReplayed ? (["Idempotency-Replayed"] as const) : []),
      ...(endpoint.answerHeaders ?? []),
    )
    responses[status] = { description: STATUS_CODES[status] ?? status, headers: said, ...content }
  }
  for (const [status, codes] of refusalsByStatus(endpoint)) {
    const shape = endpoint.answers[status]
    const refused = (answer?: Part): Part => problemOf(status, codes, answer, schemas)
    responses[status] = shape
      ? refused(schemaOf(shape, schemas))
      : shared(`${status}.${codes.join(".")}`, refused, made)
  }
  responses["default"] = shared("default", () => otherProblem(schemas), made)
  return responses
}

function shared(name: string, make: () => Part, { responses }: Made): Part {
  if (!responses.has(name)) responses.set(name, make())
  return { $ref: `#/components/responses/${name}` }
}

function otherProblem(schemas: Map<string, Part>): Part {
  return {
    description: "Any other error.",
    content: { "application/json": { schema: schemaOf(Problem, schemas) } },
  }
}

/** `answer` is the endpoint's own answer with this status, in addition to problems. */
function problemOf(
  status: number,
  codes: readonly ErrorCode[],
  answer: Part | undefined,
  schemas: Map<string, Part>,
): Part {
  const problem = schemaOf(Problem, schemas)
  return {
    description: codes.join(", "),
    headers: headersNamed(
      "X-Request-Id",
      ...(status === 429 || status === 503 ? (["Retry-After"] as const) : []),
    ),
    content: {
      "application/json": {
        schema: answer === undefined ? problem : { anyOf: [answer, problem] },
        examples: Object.fromEntries(
          codes.map((code) => [code, { $ref: `#/components/examples/${code}` }]),
        ),
      },
    },
  }
}

function mediaOf(shape: TSchema, schemas: Map<string, Part>): Part {
  const example = exampleOf(shape)
  return { schema: schemaOf(shape, schemas), ...(example === undefined ? {} : { example }) }
}

// Shapes ------------------------------------------------------------------------------------------

/**
 * A shape as the document shows it: without our own keywords, and with a reference in place of each
 * shape that has a title.
 */
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
  // Generators of clients make an enumeration only of a shape that has a type.
  const schema: Part = {
    ...("enum" in rest && { type: "string" }),
    ...rest,
    ...(docs as Part | undefined),
  } // `docs` holds keywords, as we use it
  if (typeof rule === "string")
    schema["description"] ??= `${rule.charAt(0).toUpperCase()}${rule.slice(1)}.`
  if (properties)
    schema["properties"] = Object.fromEntries(
      Object.entries(properties).map(([name, of]) => [name, schemaOf(of as TSchema, schemas)]),
    )
  if (items) schema["items"] = schemaOf(items, schemas)
  if (anyOf) schema["anyOf"] = (anyOf as TSchema[]).map((choice) => schemaOf(choice, schemas))
  return schema
}
