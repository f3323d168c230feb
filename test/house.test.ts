import assert from "node:assert/strict"
import { globSync, readFileSync } from "node:fs"
import { basename, join } from "node:path"
import test from "node:test"
import { findFaults } from "./house.ts"

const root = join(import.meta.dirname, "..")

/** Fewer than these were looked at: then the search is broken, not the house in order. */
const filesMin = 20

test("the house is in order: imports point down, effects stay in their places, nothing is dead", () => {
  const texts = readTexts()
  const faults = findFaults(texts)
  assert.ok(faults.length === 0, faults.join("\n"))
  const sources = [...texts.keys()].filter(
    (path) => path.startsWith("packages/") && path.endsWith(".ts"),
  )
  assert.ok(sources.length >= filesMin, `looked at ${sources.length} files only`)
})

test("a tree that keeps the rules has no fault", () => {
  assert.deepEqual(findFaults(plant({})), [])
})

// Each is planted in a tree that is in order, and must be found: a rule that finds nothing is
// broken.
const planted: readonly (readonly [fault: RegExp, path: string, text: string])[] = [
  [
    /only point down/,
    "server/store/store.ts",
    'import { createLedger } from "../ledger/ledger.ts"',
  ],
  [/only point down/, "server/store/store.ts", 'export type { Ledger } from "../ledger/ledger.ts"'],
  [
    /only point down/,
    "server/store/store.ts",
    'const { createLedger } = await import("../ledger/ledger.ts")',
  ],
  [
    /only point down/,
    "server/store/store.ts",
    'new Worker(new URL("../threads/watching-thread.ts", import.meta.url))',
  ],
  [/only point down/, "server/ledger/ledger.test.ts", 'import { route } from "../http/routes.ts"'],
  [
    /only point down/,
    "server/ledger/ledger.ts",
    '`${"`"}`\nimport { route } from "../http/routes.ts"',
  ],
  [
    /never import each other/,
    "server/ledger/ledger.ts",
    'import { search } from "../query/search.ts"',
  ],
  [/never import each other/, "server/store/memory.ts", 'import { pack } from "./sqlite/pack.ts"'],
  [
    /only be imported as a type/,
    "server/http/routes.ts",
    'import { readConfig } from "../config.ts"',
  ],
  [
    /only be imported as a type/,
    "server/http/routes.ts",
    'import { createClient } from "@tallystick/client"',
  ],
  [/by its name/, "server/http/routes.ts", 'import { root } from "../../../proof/src/index.ts"'],
  [/outside the packages/, "server/http/routes.ts", 'import "../../../../test/house.ts"'],
  [/outside the packages/, "server/ledger/ledger.test.ts", 'import "../../../../scripts/test.mjs"'],
  [/only tests may/, "server/ledger/ledger.ts", 'import { event } from "./test-entries.ts"'],
  [/client may not import/, "client/wire.ts", 'import { main } from "tallystick"'],
  [/does not name that/, "server/http/routes.ts", 'import express from "express"'],
  [/does not name that/, "server/ledger/ledger.ts", 'import fc from "fast-check"'],
  [/nothing in proof/, "proof/index.ts", 'import { readFileSync } from "node:fs"'],
  [
    /nothing in server\/cli\/verify-command/,
    "server/cli/verify-command.ts",
    'import { get } from "node:https"',
  ],
  [
    /verify-command.ts imports proof/,
    "server/cli/verify-command.ts",
    'import type { Store } from "../store/store.ts"',
  ],
  [/only server\/store/, "server/query/search.ts", 'import { DatabaseSync } from "node:sqlite"'],
  [/only server\/store\/contract/, "server/ledger/ledger.ts", 'import assert from "node:assert"'],
  [/getBuiltinModule/, "server/store/memory.ts", 'import { Agent } from "node:https"'],
  [/has Date.now/, "server/ledger/ledger.ts", "const at = `${Date.now()}`"],
  [/has new Date/, "proof/index.ts", "const at = new Date()"],
  [/has setTimeout/, "server/followers/follow.ts", "/['\"]/.test(x) && setTimeout(run, 100)"],
  [/has process.env/, "server/serve.ts", "const { HOST } = process.env"],
  [/has process.exit/, "server/serve.ts", "process.exit(1)"],
  [/has SQL/, "server/query/search.ts", "const statement = `\n  select sequence\n  from ${table}`"],
  [/is in no layer/, "server/misc.ts", ""],
  [/is dead/, "server/ledger/lane.ts", ""],
  [/exports seal, which no other file/, "server/ledger/ledger.ts", "export function seal() {}"],
  [/exports sealed, which/, "server/store/memory.ts", '"export"\nexport const sealed = true'],
  [/find its noun/, "server/ledger/utils/pad.test.ts", ""],
]

for (const [fault, path, text] of planted) {
  test(`found: ${path}: ${text || fault.source}`, () => {
    const faults = findFaults(plant({ [path]: text }))
    assert.ok(
      faults.some((sentence) => fault.test(sentence)),
      `expected ${fault} among: ${faults.join("; ") || "none"}`,
    )
  })
}

test("code that only looks like a fault is accepted", () => {
  const innocent = `
    // import { route } from "../http/routes.ts"; Date.now()
    import type { Store } from "../store/store.ts"
    import type { IncomingMessage } from "node:http"
    const text = 'Date.now() and import x from "../http/routes.ts"'
    const said = "Select one event from the list"
    const day = new Date(timeMs), idle = socket.setTimeout(limit), half = text.length / 2 / 1`
  assert.deepEqual(findFaults(plant({ "server/ledger/ledger.ts": innocent })), [])
})

test("a test may import what all tests share", () => {
  const shared = 'import { startPostgres } from "../../../../test/postgres-server.ts"'
  assert.deepEqual(findFaults(plant({ "server/ledger/ledger.test.ts": shared })), [])
  const aid = {
    "server/ledger/test-entries.ts": shared,
    "server/ledger/ledger.test.ts": 'import "./test-entries.ts"',
  }
  assert.deepEqual(
    findFaults(plant(aid)).filter((fault) => fault.includes("test-entries")),
    [],
  )
})

function readTexts(): ReadonlyMap<string, string> {
  const paths = globSync(
    ["package.json", "packages/*/package.json", "packages/*/{bin,src}/**/*", "{test,scripts}/**/*"],
    {
      cwd: root,
      withFileTypes: true,
      exclude: (entry) => ["node_modules", "dist"].includes(basename(entry.name)),
    },
  )
  // Declarations say what is there already; no import reaches them and nothing of them runs.
  const files = paths
    .filter((entry) => entry.isFile() && !entry.name.endsWith(".d.ts"))
    .map((entry) => join(entry.parentPath, entry.name))
  return new Map(
    files.map((path) => [
      path.slice(root.length + 1),
      /\.(ts|tsx|mjs|json)$/.test(path) ? readFileSync(path, "utf8") : "",
    ]),
  )
}

/**
 * A small tree in order, with files added or replaced: "server/serve.ts" is
 * packages/server/src/serve.ts.
 */
function plant(files: Readonly<Record<string, string>>): ReadonlyMap<string, string> {
  const all = {
    "proof/index.ts": 'import { sha256 } from "@noble/hashes/sha2.js"',
    "client/index.ts": 'import { root } from "@tallystick/proof"\nexport type * from "./wire.ts"',
    "client/wire.ts": "",
    "server/main.ts":
      'import { serve } from "./serve.ts"\nimport { verify } from "./cli/verify-command.ts"\nprocess.exit(process.env.CODE)',
    "server/serve.ts":
      'import "./config.ts"\nimport "./http/routes.ts"\nimport "./store/memory.ts"\nnew Worker(new URL("./threads/watching-thread.ts", import.meta.url))',
    "server/threads/watching-thread.ts": 'import { follow } from "../followers/follow.ts"',
    "server/config.ts": "",
    "server/cli/verify-command.ts":
      'import { readFileSync } from "node:fs"\nimport { root } from "@tallystick/proof"',
    "server/http/routes.ts":
      'import "../ledger/ledger.ts"\nimport { search } from "../query/search.ts"\nimport { parse } from "@tallystick/client/wire"',
    "server/ledger/ledger.ts": 'import type { Store } from "../store/store.ts"',
    "server/ledger/ledger.test.ts":
      'import fc from "fast-check"\nimport test from "node:test"\nimport "./ledger.ts"\nimport "../query/search.ts"',
    "server/followers/follow.ts":
      "export async function follow() {}\nexport type Followed = string",
    "server/query/search.ts": "",
    "server/store/store.ts": "",
    "server/store/memory.ts": 'import type { Store } from "./store.ts"',
    "server/store/sqlite/pack.ts": "const statement = `select 1 from head`",
    "server/store/sqlite/pack.test.ts": 'import "./pack.ts"',
    ...files,
  }
  return new Map([
    ["package.json", '{ "devDependencies": { "fast-check": "1.0.0" } }'],
    [
      "packages/proof/package.json",
      '{ "name": "@tallystick/proof", "exports": { ".": "./src/index.ts" }, "dependencies": { "@noble/hashes": "1.0.0" } }',
    ],
    [
      "packages/client/package.json",
      '{ "name": "@tallystick/client", "exports": { ".": "./src/index.ts", "./wire": "./src/wire.ts" } }',
    ],
    [
      "packages/server/package.json",
      '{ "name": "tallystick", "exports": { ".": "./src/main.ts" } }',
    ],
    ...Object.entries(all).map(
      ([place, text]) => [`packages/${place.replace("/", "/src/")}`, text] as const,
    ),
  ])
}
