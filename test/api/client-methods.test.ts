import assert from "node:assert/strict"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { createClient, TallystickError, type Client } from "@tallystick/client"

// No endpoint lacks a method of the client, and no method an endpoint. openapi.test.ts compares the
// document with the service.

const document = JSON.parse(
  readFileSync(join(import.meta.dirname, "..", "..", "docs", "openapi.json"), "utf8"),
) as {
  readonly paths: Readonly<Record<string, object>>
}

type Method = (...given: any[]) => any // oxlint-disable-line typescript/no-explicit-any

/**
 * Calls of methods that need more than names. Those of a log ask for the current one, and for that
 * of an epoch.
 */
const calls: Readonly<Record<string, readonly (readonly unknown[])[]>> = {
  "events.writeBatch": [[[{ action: "billing.invoice.approve" }]]],
  "log.checkpoint": [["x"], ["x", { epoch: 1 }]],
  "log.vkey": [["x"], ["x", { epoch: 1 }]],
  "log.keys": [["x"], ["x", { epoch: 1 }]],
  "log.tile": [
    ["x", "0/000"],
    ["x", "0/000", { epoch: 1 }],
  ],
}

/** Names, as many as the method takes, and then objects for a body and options. */
async function callUntilSent({
  method,
  sent,
}: ReturnType<typeof methodsOf>[number]): Promise<void> {
  for (let names = method.length; sent.length === 0 && names >= 0; names--) {
    const given = Array.from({ length: method.length }, (_, at) => (at < names ? "x" : {}))
    await method(...given).catch(ignoreRefused)
  }
}

function ignoreRefused(error: unknown): void {
  if (!(error instanceof TallystickError && error.code === "invalid_field")) throw error
}

/** Methods that are made of others, and the page for people. */
const others = /\.(each\w*|exportEach|follow|verify)$|^service\.docs$/

test("every endpoint of the description has a method of the client, and every method an endpoint", async () => {
  const described = Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.keys(operations).map((method) => `${method.toUpperCase()} ${path}`),
  )
  assert.ok(described.length >= 59, `the description has ${described.length} operations only`)
  const met = new Set<string>()
  for (const one of methodsOf()) {
    const { name, method, sent } = one
    for (const values of calls[name] ?? [undefined]) {
      sent.length = 0
      await (values === undefined ? callUntilSent(one) : method(...values))
      const found = described.filter((operation) => patternOf(operation).test(String(sent[0])))
      assert.equal(
        found.length,
        1,
        `${name} asks ${sent.join()}, which is ${found.join(" and ") || "not described"}`,
      )
      met.add(String(found[0]))
    }
  }
  assert.deepEqual(
    described.filter((operation) => !met.has(operation) && operation !== "GET /docs"),
    [],
    "these have no method of the client",
  )
})

/** The requests of each client method, answered by a fake fetch. */
function methodsOf(): readonly {
  readonly name: string
  readonly method: Method
  readonly sent: string[]
}[] {
  const sent: string[] = []
  const client: Client = createClient({
    baseUrl: "http://127.0.0.1",
    async fetch(url, { method = "" } = {}) {
      const { pathname } = new URL(url instanceof Request ? url.url : url)
      sent.push(`${method} ${pathname}`)
      const receipt = { receipt: "rcp_1" }
      const answer = pathname.startsWith("/v1/consents")
        ? { receipt }
        : { ...receipt, ready: true, results: [{ receipt }] }
      return Response.json(answer, { headers: { "x-ledger-sequence": "1" } })
    },
  })
  const methods = Object.entries(client).flatMap(([noun, verbs]) =>
    Object.entries<Method>(verbs).map(([verb, method]) => ({
      name: `${noun}.${verb}`,
      method,
      sent,
    })),
  )
  return methods.filter(({ name }) => !others.test(name))
}

function patternOf(operation: string): RegExp {
  const [method = "", path = ""] = operation.split(" ")
  return new RegExp(
    `^${method} ${path.replaceAll(".", "\\.").replaceAll(/\{(\w+)\}/g, (_, name) => (name === "tile" ? ".+" : "[^/]+"))}$`,
  )
}
