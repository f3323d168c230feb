import assert from "node:assert/strict"
import { copyFileSync, mkdirSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { test } from "node:test"
import { expectChain, type MintedReceipt } from "../chain.ts"
import { run, type Ended } from "../program.ts"
import { makeKey, makeWorkspace, startService, type Service } from "../service.ts"
import { goProgram } from "./go.ts"
import { pythonWith } from "./python.ts"

// Clients that other programs generate from docs/openapi.json write to the running service and read
// from it.

const description = join(import.meta.dirname, "..", "..", "docs", "openapi.json")
/** Enough for a first build. */
const killAfterMs = 300_000
const codegen = {
  module: "github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2",
  runtime: "github.com/oapi-codegen/runtime v1.8.0",
}

test("a client in Python, made by openapi-python-client, writes, lists and verifies", async (t) => {
  const python = pythonWith("openapi-python-client==0.29.1")
  if (typeof python === "string") return t.skip(python)
  await using service = await startService()
  const folder = dirname(service.data)
  const program = join(python.bin, "python")
  const args = [
    "-m",
    "openapi_python_client",
    "generate",
    "--path",
    description,
    "--output-path",
    join(folder, "ledger"),
    "--meta",
    "none",
  ]
  const made = await run(program, args, {
    environment: { ...process.env, PATH: `${python.bin}:${process.env["PATH"]}` },
    killAfterMs,
  })
  const said = made.output + made.errors
  assert.equal(made.code, 0, said)
  assert.doesNotMatch(
    said,
    /WARNING|unsupported|missing/i,
    "a part of the description was left out",
  )
  await expectWritten(service, 2, (asked) =>
    run(program, [join(import.meta.dirname, "written.py"), ...asked], {
      environment: { ...process.env, PYTHONPATH: folder, PYTHONDONTWRITEBYTECODE: "1" },
    }),
  )
})

test("a client in Go, made by oapi-codegen, writes, lists and verifies", async (t) => {
  const go = goProgram(codegen.module)
  if (typeof go === "string") return t.skip(go)
  await using service = await startService()
  const folder = join(dirname(service.data), "go")
  mkdirSync(folder)
  copyFileSync(join(import.meta.dirname, "written.go"), join(folder, "written.go"))
  writeFileSync(join(folder, "go.mod"), `module outside\n\ngo 1.24\n\nrequire ${codegen.runtime}\n`)
  const generate = [
    "-generate",
    "types,client",
    "-package",
    "main",
    "-o",
    join(folder, "ledger.go"),
    description,
  ]
  const commands = [
    [go.program, generate],
    [go.go, ["mod", "tidy"]],
    [go.go, ["build", "-o", "written", "."]],
  ] as const
  for (const [program, args] of commands) {
    const { code, output, errors } = await run(program, args, {
      environment: { ...process.env, ...go.environment },
      cwd: folder,
      killAfterMs,
    })
    if (code !== 0 && args[0] === "mod")
      return t.skip(`the modules of the client could not be fetched: ${errors}`)
    assert.equal(code, 0, output + errors)
  }
  await expectWritten(service, 1, (asked) => run(join(folder, "written"), asked))
})

/** The program has written so many entries, and saw what the service has. */
async function expectWritten(
  service: Service,
  total: number,
  write: (asked: readonly string[]) => Promise<Ended>,
): Promise<void> {
  const { id } = await makeWorkspace(service)
  const { bearer = "" } = await makeKey(service, id, { scopes: ["read", "write"] })
  const { code, output, errors } = await write([service.url, bearer, id])
  assert.equal(code, 0, output + errors)
  const { receipt, ...saw } = JSON.parse(output) as { readonly receipt: MintedReceipt }
  const [first] = (await service.root.get(`/v1/workspaces/${id}/events?limit=100`))
    .json<{ events: { sequence: number }[] }>()
    .events.slice(-1)
  assert.deepEqual(saw, { total, sequence: first?.sequence, refused: "workspace_forbidden" })
  await expectChain(service.root, id, [receipt])
}
