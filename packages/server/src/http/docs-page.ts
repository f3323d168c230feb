// The reference page: the API description as HTML. It needs no script, and loads nothing.

import { join, pageOf, tag, type Html } from "./html.ts"

// What the page reads of a description.

interface Document {
  readonly info: { readonly title: string; readonly version: string; readonly description: string }
  readonly tags: readonly { readonly name: string; readonly description: string }[]
  readonly paths: Named<Named<Described>>
  readonly components: {
    readonly schemas: Named<Schema>
    readonly responses: Named<Response>
    readonly examples: Named<{ readonly value: { readonly detail: string } }>
    readonly securitySchemes: Named<{
      readonly description: string
      readonly scheme?: string
      readonly in?: string
      readonly name?: string
    }>
  }
}

type Named<Value> = Readonly<Record<string, Value>>

interface Described {
  readonly operationId: string
  readonly summary: string
  readonly description: string
  readonly tags: readonly string[]
  readonly security: readonly Named<readonly string[]>[]
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: { readonly required: boolean; readonly content: Named<Media> }
  readonly responses: Named<Response | { readonly $ref: string }>
}

interface Response {
  readonly content?: Named<Media>
}

interface Parameter {
  readonly name: string
  readonly in: string
  readonly required: boolean
  readonly schema: Schema
  readonly description?: string
}

interface Media {
  readonly schema: Schema
  readonly example?: unknown
  readonly examples?: Named<unknown>
}

interface Schema {
  readonly $ref?: string
  readonly type?: string
  readonly format?: string
  readonly description?: string
  readonly properties?: Named<Schema>
  readonly required?: readonly string[]
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly default?: unknown
  readonly minimum?: number
  readonly maximum?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly minItems?: number
  readonly maxItems?: number
}

export function docsPage(description: object): string {
  const document = JSON.parse(JSON.stringify(description)) as Document // what every reader gets, and what openapi.ts makes
  const { title, version } = document.info
  return pageOf(`${title} API ${version}`, body(document))
}

function body(document: Document): Html {
  const { title, version, description } = document.info
  return tag`<a class="skip" href="#content">Skip to the endpoints</a>
<header>
<h1>${title} API</h1>
<p class="quiet">Version ${version}</p>
<p>${description}</p>
<p>This page is made from <a href="openapi.json">openapi.json</a>, an OpenAPI 3.1 description, with which clients and tests can be made as well.</p>
</header>
<nav aria-label="Endpoints">
${groupsOf(document).map(contents)}
<section><h2>Of all</h2><ul><li><a href="#credentials">Credentials</a></li><li><a href="#errors">Errors</a></li><li><a href="#shapes">Shapes</a></li></ul></section>
</nav>
<main id="content" tabindex="-1">
${groupsOf(document).map((group) => section(group, document))}
${credentials(document)}
${errors(document)}
${shapes(document)}
</main>
<footer class="quiet"><p>${title} ${version}</p></footer>
`
}

// Endpoints ---------------------------------------------------------------------------------------

interface Operation {
  readonly method: string
  readonly path: string
  readonly is: Described
}

interface Group {
  readonly name: string
  readonly description: string
  readonly operations: readonly Operation[]
}

function groupsOf(document: Document): readonly Group[] {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, is]): Operation => ({ method, path, is })),
  )
  return document.tags.map(({ name, description }) => ({
    name,
    description,
    operations: operations.filter(({ is }) => is.tags.includes(name)),
  }))
}

function contents({ name, operations }: Group): Html {
  const items = operations.map(
    ({ method, path, is }) =>
      tag`<li><a href="#${is.operationId}"><code>${signature(method, path)}</code></a></li>`,
  )
  return tag`<section><h2>${name}</h2><ul>${items}</ul></section>\n`
}

/** A path may wrap after each of its parts. */
function signature(method: string, path: string): Html {
  const parts = path.split(/(?<=.\/)/).map((part) => tag`${part}<wbr>`)
  return tag`<span class="method ${method}">${method.toUpperCase()}</span> ${parts}`
}

function section({ name, description, operations }: Group, document: Document): Html {
  const id = `tag-${name.toLowerCase().replaceAll(" ", "-")}`
  return tag`<section aria-labelledby="${id}">
<h2 id="${id}">${name}</h2>
<p>${description}</p>
${operations.map((operation) => article(operation, document))}</section>
`
}

function article({ method, path, is }: Operation, document: Document): Html {
  const id = is.operationId
  return tag`<article aria-labelledby="${id}">
<h3 id="${id}"><code>${signature(method, path)}</code></h3>
<p>${is.summary}. ${is.description}</p>
<p class="quiet">Called with ${security(is.security)}.</p>
${parameters(is.parameters ?? [])}${request(is.requestBody)}${answers(is.responses, document)}</article>
`
}

function security(ways: Described["security"]): Html {
  const said = [...Map.groupBy(ways, (way) => Object.keys(way)[0])].map(([scheme, alike]) => {
    if (scheme === undefined)
      return ways.length === 1 ? tag`no credential` : tag`none, where it is public`
    const roles = alike.flatMap((way) => way[scheme] ?? []).join(" or ")
    return tag`<a href="#credential-${scheme}">${schemeNames[scheme]}</a>${roles === "" ? "" : ` (${roles})`}`
  })
  return join(said, "; or ")
}

const schemeNames: Readonly<Record<string, string>> = {
  apiKey: "an API key",
  scopedToken: "a scoped token",
  tokenParameter: "the parameter token",
  session: "a session",
}

function parameters(all: readonly Parameter[]): Html {
  if (all.length === 0) return tag``
  const rows = all.map(
    ({ name, in: place, required, schema, description }) =>
      tag`<tr><td><code>${name}</code></td><td>${place}${required ? ", required" : ""}</td><td>${schemaText(schema)}${sentence(description)}</td></tr>\n`,
  )
  return tag`<h4>Parameters</h4>
${table(["Name", "Where", "What"], rows)}`
}

function request(body: Described["requestBody"]): Html {
  if (body === undefined) return tag``
  const media = body.content["application/json"]
  if (media === undefined) return tag``
  return tag`<h4>Body</h4>
<p>${schemaText(media.schema)}${body.required ? "" : ", may be absent"}</p>
${example("The body", media.example)}`
}

function answers(responses: Described["responses"], { components }: Document): Html {
  const all = Object.entries(responses)
    .filter(([status]) => status !== "default")
    .map(
      ([status, response]) =>
        [
          status,
          "$ref" in response ? (components.responses[nameOf(response.$ref)] ?? {}) : response,
        ] as const,
    )
  const rows = all.map(([status, response]) => {
    const media = Object.entries(response.content ?? {})
    const codes = Object.keys(media[0]?.[1].examples ?? {})
    const what =
      codes.length > 0
        ? join(
            codes.map((code) => tag`<a href="#error-${code}"><code>${code}</code></a>`),
            ", ",
          )
        : goodAnswer(media)
    return tag`<tr><td>${status}</td><td>${what}</td></tr>\n`
  })
  const shown = all
    .flatMap(([, response]) => Object.values(response.content ?? {}))
    .find((media) => media.example !== undefined)
  return tag`<h4>Answers</h4>
${table(["Status", "What"], rows)}
${example("The answer", shown?.example)}`
}

function goodAnswer(media: readonly (readonly [type: string, media: Media])[]): Html {
  if (media.length === 0) return tag`no body`
  return join(
    media.map(([type, { schema }]) =>
      type === "application/json" ? schemaText(schema) : tag`<code>${type}</code>`,
    ),
    " or ",
  )
}

function example(of: string, value: unknown): Html {
  // It has a tabindex, so that the keyboard can scroll it if it is too wide.
  return value === undefined
    ? tag``
    : tag`<pre tabindex="0" role="group" aria-label="${of}, for example"><code>${JSON.stringify(value, null, 2)}</code></pre>\n`
}

// What endpoints share ----------------------------------------------------------------------------

function credentials(document: Document): Html {
  const schemes = Object.entries(document.components.securitySchemes).map(
    ([name, { description, scheme, in: place, name: as }]) =>
      tag`<tr id="credential-${name}"><td>${schemeNames[name]}</td><td>${scheme === "bearer" ? tag`<code>Authorization: Bearer …</code>` : tag`${place} <code>${as}</code>`}</td><td>${description}</td></tr>\n`,
  )
  return tag`<section aria-labelledby="credentials"><h2 id="credentials">Credentials</h2>
${table(["What", "Where", "Which"], schemes)}</section>
`
}

function errors(document: Document): Html {
  const rows = Object.entries(document.components.examples).map(
    ([code, { value }]) =>
      tag`<tr id="error-${code}"><td><code>${code}</code></td><td>${value.detail}</td></tr>\n`,
  )
  return tag`<section aria-labelledby="errors"><h2 id="errors">Errors</h2>
<p>Every answer that says no is <code>{ "error": code, "detail": sentence }</code>. With a status below 500, and with <code>overloaded</code>,
<code>storage_full</code>, <code>read_only</code> and <code>shutting_down</code>, nothing was recorded. With any other status from 500 on, or without an
answer, it may have been: repeat the request with the same Idempotency-Key, and there will be one entry.</p>
${table(["Code", "A detail, for example"], rows)}</section>
`
}

function shapes(document: Document): Html {
  const all = Object.entries(document.components.schemas).map(([name, schema]) => {
    const { required = [], properties = {} } = schema
    const rows = Object.entries(properties).map(
      ([member, of]) =>
        tag`<tr><td><code>${member}</code></td><td>${required.includes(member) ? "required" : ""}</td><td>${schemaText(of)}${sentence(of.description)}</td></tr>\n`,
    )
    return tag`<article aria-labelledby="shape-${name}"><h3 id="shape-${name}">${name}</h3>
${rows.length === 0 ? tag`<p>${schemaText(schema)}</p>` : table(["Member", "Required", "What"], rows)}</article>
`
  })
  return tag`<section aria-labelledby="shapes"><h2 id="shapes">Shapes</h2>
${all}</section>
`
}

/** `#/components/schemas/Receipt` is `Receipt`. */
function nameOf(reference: string): string {
  return reference.slice(reference.lastIndexOf("/") + 1)
}

// Shapes in a line --------------------------------------------------------------------------------

function schemaText(schema: Schema): Html {
  const { $ref: reference, type, items, anyOf, enum: values, const: constant, format } = schema
  if (typeof reference === "string") {
    const name = nameOf(reference)
    return tag`<a href="#shape-${name}">${name}</a>`
  }
  if (anyOf !== undefined) return join(anyOf.map(schemaText), " or ")
  if (constant !== undefined) return tag`<code>${JSON.stringify(constant)}</code>`
  if (values !== undefined)
    return tag`${join(
      values.map((value) => tag`<code>${JSON.stringify(value)}</code>`),
      " or ",
    )}${limits(schema)}`
  if (type === "array")
    return tag`array of ${items === undefined ? "anything" : schemaText(items)}${limits(schema)}`
  return tag`${type ?? "anything"}${format === undefined ? "" : ` (${format})`}${limits(schema)}`
}

function limits({
  minimum,
  maximum,
  minLength,
  maxLength,
  minItems,
  maxItems,
  default: usual,
}: Schema): string {
  const range = (
    from: number | undefined,
    to: number | undefined,
    of: string,
  ): readonly string[] => {
    if (from === undefined && to === undefined) return []
    if (to === undefined) return [`${from} or more${of}`]
    return [from === undefined ? `up to ${to}${of}` : `${from} to ${to}${of}`]
  }
  const said = [
    ...range(minimum, maximum, ""),
    ...range(minLength, maxLength, " characters"),
    ...range(minItems, maxItems, " items"),
    ...(usual === undefined ? [] : [`${JSON.stringify(usual)} if absent`]),
  ]
  return said.map((one) => `, ${one}`).join("")
}

function sentence(description: string | undefined): Html {
  return description !== undefined ? tag`. ${description}` : tag``
}

// HTML --------------------------------------------------------------------------------------------

function table(heads: readonly string[], rows: readonly Html[]): Html {
  return tag`<div class="table"><table>
<thead><tr>${heads.map((head) => tag`<th scope="col">${head}</th>`)}</tr></thead>
<tbody>
${rows}</tbody></table></div>
`
}
