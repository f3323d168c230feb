// Compares every answer with the service's own description. The validator knows the keywords that
// the document uses and throws for any other, so none is skipped.

type Schema = { readonly [keyword: string]: any } // oxlint-disable-line typescript/no-explicit-any

export interface Described {
  readonly document: Schema
  /** How an answer differs from the description; empty if it does not. */
  faultsOf(
    method: string,
    path: string,
    status: number,
    type: string,
    body: string,
  ): readonly string[]
  /** How a request's JSON body differs from the description. */
  requestFaults(method: string, path: string, body: unknown): readonly string[]
}

export function describedBy(document: Schema): Described {
  const templates = Object.keys(document["paths"]).map((template) => ({
    template,
    pattern: patternOf(template),
  }))
  const operationOf = (method: string, path: string): Schema | undefined => {
    const name = method === "HEAD" ? "get" : method.toLowerCase()
    const { pathname } = new URL(path, "http://a")
    const found = templates.find(
      ({ template, pattern }) => pattern.test(pathname) && name in document["paths"][template],
    )
    return found && document["paths"][found.template][name]
  }
  return {
    document,
    faultsOf(method, path, status, type, body) {
      const operation = operationOf(method, path)
      // A path that the document lacks is answered with an error, or as a preflight.
      if (operation === undefined)
        return status >= 400 || method === "OPTIONS"
          ? []
          : [`${method} ${path} answers ${status} and is not described`]
      const found: Schema | undefined =
        operation["responses"][status] ??
        (status >= 400 ? operation["responses"]["default"] : undefined)
      const response = found && (responseNamed(found["$ref"], document) ?? found)
      if (response === undefined)
        return [`the answer ${status} of ${method} ${path} is not described`]
      if (response["content"] === undefined)
        return body === ""
          ? []
          : [`${method} ${path} answers ${status} with a body that is not described`]
      const undescribed = status >= 400 && body !== "" ? undescribedCode(response, body) : undefined
      if (undescribed !== undefined)
        return [`the answer ${status} ${undescribed} of ${method} ${path} is not described`]
      const content: Schema | undefined = response["content"][type.split(";", 1)[0] ?? ""]
      if (content === undefined)
        return [
          `${method} ${path} answers ${status} as ${type || "nothing"}, which is not described`,
        ]
      if (method === "HEAD" || content["schema"].format === "binary") return []
      return faults(
        content["schema"],
        /^application\/json(;|$)/.test(type) ? JSON.parse(body) : body,
        `${method} ${path} ${status}:`,
        document,
      )
    },
    requestFaults(method, path, body) {
      const schema = operationOf(method, path)?.["requestBody"]?.content["application/json"].schema
      return schema === undefined
        ? [`${method} ${path} takes a body that is not described`]
        : faults(schema, body, `the request ${method} ${path}:`, document)
    },
  }
}

function responseNamed(reference: unknown, document: Schema): Schema | undefined {
  const name = typeof reference === "string" ? reference.replace("#/components/responses/", "") : ""
  return document["components"].responses?.[name]
}

/** The code of an error that the description does not name for this status. */
function undescribedCode(response: Schema, body: string): string | undefined {
  const { error } = JSON.parse(body) as { error?: unknown }
  const codes = Object.keys(response["content"]["application/json"].examples ?? {})
  return typeof error === "string" && !codes.includes(error) ? error : undefined
}

function patternOf(template: string): RegExp {
  // The parameter of a tile is the rest of its path.
  return new RegExp(
    `^${template.replaceAll(".", "\\.").replaceAll(/\{(\w+)\}/g, (_, name) => (name === "tile" ? ".+" : "[^/]+"))}$`,
  )
}

/** Keywords that say nothing about a value. */
const silent = new Set(["title", "description", "examples", "format", "default", "contentEncoding"])
const known =
  "$ref type const enum anyOf not properties required additionalProperties patternProperties items minItems maxItems uniqueItems minLength maxLength pattern minimum maximum"
const spoken = new Set(known.split(" "))

function faults(schema: Schema, value: unknown, at: string, document: Schema): readonly string[] {
  if (typeof schema["$ref"] === "string") {
    const target =
      document["components"].schemas[schema["$ref"].replace("#/components/schemas/", "")]
    return target === undefined
      ? [`${schema["$ref"]} is nowhere`]
      : faults(target, value, at, document)
  }
  const unknown = Object.keys(schema).filter(
    (keyword) => !silent.has(keyword) && !spoken.has(keyword),
  )
  if (unknown.length > 0)
    return [`the description has keywords that this validator does not know: ${unknown.join(", ")}`]
  const wrong = ofValue(schema, value, document, at)
  if (wrong !== undefined) return [`${at} ${wrong}, but is ${JSON.stringify(value)?.slice(0, 200)}`]
  if (Array.isArray(value))
    return value.flatMap((item, index) =>
      schema["items"] ? faults(schema["items"], item, `${at}[${index}]`, document) : [],
    )
  return typeof value === "object" && value !== null ? ofMembers(schema, value, at, document) : []
}

function ofMembers(schema: Schema, value: object, at: string, document: Schema): readonly string[] {
  const {
    properties = {},
    required = [],
    additionalProperties,
    patternProperties,
  } = schema as { properties?: Schema; required?: string[] } & Schema
  const missing = required
    .filter((name) => !Object.hasOwn(value, name))
    .map((name) => `${at} ${name} is missing`)
  return Object.entries(value).reduce<readonly string[]>((found, [name, member]) => {
    if (Object.hasOwn(properties, name))
      return [...found, ...faults(properties[name], member, `${at} ${name}`, document)]
    const free =
      schema["type"] !== "object" ||
      patternProperties !== undefined ||
      additionalProperties === true
    const writers = additionalProperties === undefined && at.startsWith("the request")
    return free || writers ? found : [...found, `${at} has ${name}, which is not described`]
  }, missing)
}

/** The rules of its own schema that a value breaks; its parts are checked elsewhere. */
function ofValue(schema: Schema, value: unknown, document: Schema, at: string): string | undefined {
  const {
    type,
    minimum = -Infinity,
    maximum = Infinity,
    minLength = 0,
    maxLength = Infinity,
    minItems = 0,
    maxItems = Infinity,
  } = schema
  if (type !== undefined && !isOfType(type, value)) return `must be of type ${type}`
  if (schema["const"] !== undefined && value !== schema["const"])
    return `must be ${schema["const"]}`
  if (schema["enum"]?.includes(value) === false) return `must be one of ${schema["enum"]}`
  if (schema["not"] !== undefined && faults(schema["not"], value, at, document).length === 0)
    return "must not be given"
  if (schema["anyOf"]?.every((choice: Schema) => faults(choice, value, at, document).length > 0))
    return "must be one of several shapes"
  if (typeof value === "number" && (value < minimum || value > maximum))
    return `must be from ${minimum} to ${maximum}`
  // JSON Schema counts characters, of which some are two units of a string. Few strings are near a
  // limit, and these are counted.
  const characters =
    typeof value === "string" && (value.length > maxLength || value.length < 2 * minLength)
      ? Array.from(value).length
      : minLength
  if (characters < minLength || characters > maxLength)
    return `must have ${minLength} to ${maxLength} characters`
  if (
    typeof value === "string" &&
    schema["pattern"] &&
    !new RegExp(schema["pattern"], "u").test(value)
  )
    return `must match ${schema["pattern"]}`
  if (Array.isArray(value) && (value.length < minItems || value.length > maxItems))
    return `must have ${minItems} to ${maxItems} items`
  if (Array.isArray(value) && schema["uniqueItems"] && new Set(value).size < value.length)
    return "must not have anything twice"
  return undefined
}

function isOfType(type: string, value: unknown): boolean {
  if (type === "null") return value === null
  if (type === "array") return Array.isArray(value)
  if (type === "integer") return Number.isInteger(value)
  return type === "object"
    ? typeof value === "object" && value !== null && !Array.isArray(value)
    : typeof value === type
}
