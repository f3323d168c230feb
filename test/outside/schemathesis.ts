import assert from "node:assert/strict"
import { writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import type { TestContext } from "node:test"
import type { Chance } from "../chance.ts"
import { expectChain } from "../chain.ts"
import { run as runCommand } from "../program.ts"
import { eventFor, makeWorkspace, startService, type Service } from "../service.ts"
import { pythonWith } from "./python.ts"

// Schemathesis sends valid and invalid requests that it makes from the service's own description.
// No answer may be a 5xx, or one that the description leaves out.

const checks = [
  "not_a_server_error",
  "status_code_conformance",
  "content_type_conformance",
  "response_schema_conformance",
]

/** Asks so many of a hundred operations, which chance draws. */
export async function askOperations(
  t: TestContext,
  { share, chance }: { readonly share: number; readonly chance: Chance },
): Promise<void> {
  const python = pythonWith("schemathesis==4.32.5")
  if (typeof python === "string") return t.skip(python)
  await using service = await startService({
    environment: { TALLYSTICK_LIMIT_FAILED_LOGINS_PER_MINUTE: "100000" },
  })
  const { id, path, writer, reader } = await makeWorkspace(service)
  const receipt = (await writer.write(eventFor(id))).json()
  await service.root.post(`${path}/published-policy`, {
    sections: [{ id: "use", title: "Use", body: "We use it." }],
  })
  const pack = (
    await reader.post(`${path}/evidence-packs`, { title: "Audit", receiptIds: [receipt.receipt] })
  ).json()
  const names = {
    workspaceId: id,
    receiptId: receipt.receipt,
    packId: pack.packId,
    projectId: "core",
    version: "1",
  }
  const operations = await operationsOf(service)
  const drawn = operations.filter(() => share === 100 || chance.percent(share))
  const { code, said } = await run(service, python.bin, names, drawn)
  assert.equal(code, 0, said)
  const [, cases = "0"] = /(\d+) generated, \1 passed/.exec(said) ?? []
  t.diagnostic(`${cases} requests for ${drawn.length} of ${operations.length} operations`)
  assert.ok(drawn.length >= 10 && Number(cases) >= 12 * drawn.length, said)
  const faults = service
    .log()
    .split("\n")
    .filter((line) => /"level":[56]0/.test(line))
  assert.deepEqual(faults, [], "the service logged a fault of its own")
  await expectChain(service.root, id, [receipt])
}

async function operationsOf({ root }: Service): Promise<readonly string[]> {
  const { paths } = (await root.get("/openapi.json")).json<{
    readonly paths: Readonly<Record<string, Readonly<Record<string, { operationId?: string }>>>>
  }>()
  return Object.values(paths).flatMap((methods) =>
    Object.values(methods).flatMap(({ operationId = [] }) => operationId),
  )
}

/** All requests are about these existing things. */
async function run(
  service: Service,
  bin: string,
  names: Readonly<Record<string, string>>,
  operations: readonly string[],
) {
  const folder = dirname(service.data)
  const parameters = Object.entries(names).map(([name, value]) => `"path.${name}" = "${value}"\n`)
  // test/api/http.test.ts tests that a path refuses other methods.
  const coverage = '[phases.coverage]\nunexpected-methods = ["PUT"]\n'
  writeFileSync(
    join(folder, "schemathesis.toml"),
    `${coverage}[parameters]\n${parameters.join("")}`,
  )
  const args = [
    "run",
    `${service.url}/openapi.json`,
    "-H",
    `Authorization: Bearer ${service.rootKey}`,
    "--checks",
    checks.join(","),
    ...operations.flatMap((one) => ["--include-operation-id", one]),
    // The same requests each time: our own tests send random ones.
    ..."--phases examples,coverage --seed 1 --no-shrink --continue-on-failure".split(" "),
    ..."--warnings off --request-timeout 60".split(" "),
  ]
  const { code, output, errors } = await runCommand(
    join(bin, "python"),
    ["-m", "schemathesis.cli", ...args],
    { cwd: folder, killAfterMs: 300_000 },
  )
  return { code, said: output + errors }
}
