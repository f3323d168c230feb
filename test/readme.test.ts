// Runs the commands of the documents, compares their answers, and compares their tables with the
// code.

import assert from "node:assert/strict"
import { spawnSync } from "node:child_process"
import { existsSync, globSync, readFileSync } from "node:fs"
import { symlink } from "node:fs/promises"
import { dirname, join } from "node:path"
import test from "node:test"
import pg from "pg"
import { makeFolder } from "./folder.ts"
import { commandSettings, limitVariable, settings } from "../packages/server/src/config.ts"
import { statusOf } from "../packages/server/src/error.ts"
import { laneOf } from "../packages/server/src/ledger/lane.ts"
import { defaultLimits } from "../packages/server/src/limits.ts"
import { expectChain, type MintedReceipt } from "./chain.ts"
import { withTable } from "./endpoint-table.ts"
import { machinePath } from "./machine.ts"
import { setUpFirst } from "./people.ts"
import { onOwnServer, startPostgres } from "./postgres-server.ts"
import { run } from "./program.ts"
import { eventually, makeWorkspace, startService, type Service } from "./service.ts"

const root = join(import.meta.dirname, "..")
const readme = read("README.md")
const tour = read("docs/tour.md")
const api = read("docs/api.md")
const configuration = read("docs/configuration.md")
const format = read("docs/format.md")
const operating = read("docs/operating.md")
const postgresql = read("docs/postgresql.md")

// Commands ----------------------------------------------------------------------------------------

test(
  "the printed command, the README and the tour give the answers that they show",
  { skip: without("bash", "curl") },
  async () => {
    await using service = await startDemo()
    const printed = await printedCommand(service)
    const first = await bash(service, [printed])
    const receipt = JSON.parse(the(first.outputs[0])) as MintedReceipt
    expectJson(
      the(first.outputs[0]),
      the(blocksAfter(readme, "answer: the printed command")[0]).text,
    )

    const again = await bash(service, [`${printed} -D headers`, "cat headers"])
    assert.equal(again.outputs[0], first.outputs[0], "a replay is the first receipt, byte for byte")
    assert.match(the(again.outputs[1]), /^Idempotency-Replayed: true\r$/im)

    const names = the(blocksAfter(readme, "tour: names")[0]).text
    const steps = [...stepsOf(readme, "tour"), ...stepsOf(tour, "tour")]
    assert.ok(steps.length >= 18, `the tour has ${steps.length} commands only`)
    // A reader takes longer to paste the next command than a checkpoint takes to be signed.
    await eventually("a checkpoint", async () =>
      (await service.root.get(`/v1/workspaces/demo/receipts/${receipt.receipt}`)).text.includes(
        '"integrity":"verified"',
      ),
    )
    await runSteps(service, named(names, service, printed, receipt), steps)

    // The printed link has the token that makes the first admin.
    await setUpFirst(service)
    assert.ok(the(first.outputs[0]).endsWith("}\n"), "what the shell says next has its own line")
    await expectChain(service.root, "demo", [receipt])
    await expectChain(service.root, "acme")
    await expectChain(service.root, "instance")
  },
)

const tools = without("bash", "curl", "openssl", "sha256sum", "base64", "od")

test(
  "docs/format.md checks a record, a body, a proof and a checkpoint with tools that are not ours",
  { skip: tools },
  async () => {
    await using service = await startDemo()
    const printed = await printedCommand(service)
    const [said = ""] = (await bash(service, [printed])).outputs
    const receipt = JSON.parse(said) as MintedReceipt
    const names = the(blocksAfter(readme, "tour: names")[0]).text
    const steps = stepsOf(format, "checked")
    assert.ok(steps.length >= 12, `the page has ${steps.length} commands only`)
    await runSteps(service, named(names, service, printed, receipt), steps)

    // For a week after a rotation two keys sign; the commands must find the signature of the given
    // one.
    const rotated = await service.root.post("/v1/workspaces/demo/tlog/keys", undefined)
    assert.equal(rotated.status, 201, rotated.text)
    const note = (await service.root.get("/v1/workspaces/demo/tlog/checkpoint")).text
    assert.equal(
      note.split("\n").filter((line) => line.startsWith("— ")).length,
      2,
      "both keys sign",
    )
    await runSteps(service, named(names, service, printed, receipt), steps)
    await expectChain(service.root, "demo", [receipt])
  },
)

test(
  "the commands of docs/operating.md run, and the restored copy continues the ledger",
  { skip: without("bash", "curl") },
  async () => {
    await using service = await startDemo()
    const printed = await printedCommand(service)
    const receipt = JSON.parse(the((await bash(service, [printed])).outputs[0])) as MintedReceipt
    const names = the(blocksAfter(operating, "operating: names")[0]).text.replace(
      "8080",
      new URL(service.url).port,
    )
    const steps = stepsOf(operating, "operating")
    assert.ok(steps.length >= 6, `the page has ${steps.length} commands only`)
    await runSteps(service, `${names}exec 2> remarks`, steps)

    // The backup is from before the rotation, and both are complete.
    await expectChain(service.root, "demo", [receipt])
    assert.equal(await service.end(), 0)
    const folder = dirname(service.data)
    const environment = {
      TALLYSTICK_HEADS: join(folder, "newest.heads"),
      TALLYSTICK_SECRET_FILE: join(folder, "new.secret"),
      TALLYSTICK_ROOT_KEY: undefined,
    }
    await using restored = await startService({ data: join(folder, "monday"), environment })
    await expectChain(restored.root, "demo", [receipt])
    assert.equal(await restored.end(), 0)
  },
)

test(
  "docs/postgresql.md sets up a database that a service starts on",
  { skip: onOwnServer.skip || without("bash") },
  async () => {
    await using server = await startPostgres()
    const admin = new pg.Client(server.url("postgres"))
    await admin.connect()
    for (const marker of ["postgres: set up", "postgres: pooled"])
      for (const statement of the(blocksAfter(postgresql, marker)[0]).text.split(";\n"))
        await admin.query(statement)
    await admin.end()

    await using folder = await makeFolder()
    const [step] = stepsOf(postgresql, "postgres")
    const made = spawnSync("bash", ["-c", the(step).command], {
      cwd: folder.path,
      encoding: "utf8",
    })
    assert.deepEqual([made.status, made.stderr], [0, ""])
    const secret = (name: string) => join(folder.path, "secrets", name)
    const url = new URL(server.url("ledger"))
    url.username = "ledger"
    url.password = "choose-one"
    const environment = {
      TALLYSTICK_DATABASE_URL: url.href,
      TALLYSTICK_SECRET_FILE: secret("secret"),
    }
    await using service = await startService({ environment })
    const { id } = await makeWorkspace(service)
    await expectChain(service.root, id)
    assert.equal(await service.end(), 0)
    assert.match(
      readFileSync(secret("database-url"), "utf8"),
      /^postgres:\/\/ledger:[0-9a-f]{64}@postgres:5432\/ledger\n$/,
    )
  },
)

test("every command in the documents runs, and a wrong answer in a document is detected", () => {
  const commands = (text: string) => blocksIn(text).filter(({ kind }) => kind === "sh").length
  // Two blocks are not steps: the start itself, and the names of things.
  assert.equal(commands(readme), 2 + stepsOf(readme, "tour").length)
  assert.equal(commands(tour), stepsOf(tour, "tour").length)
  const checks = ["checked", "segment"].flatMap((marker) => stepsOf(format, marker))
  assert.equal(commands(format), checks.length)
  assert.equal(commands(operating), 1 + stepsOf(operating, "operating").length)
  assert.equal(commands(postgresql), stepsOf(postgresql, "postgres").length)
  const { scripts } = JSON.parse(read("package.json")) as { scripts: { start: string } }
  assert.ok(
    scripts.start.endsWith("packages/server/bin/tallystick.mjs serve --demo"),
    "what is tried here is not what npm start does",
  )

  const lies: readonly (readonly [answer: string, shown: string])[] = [
    ['{"a":1}', '{"a":2}'],
    ['{"a":1}', '{"b":"…"}'],
    ['{"a":"rcp_1"}', '{"a":"evt_…"}'],
    ['{"a":[1,2]}', '{"a":[1]}'],
    ['{"a":null}', '{"a":{"b":1}}'],
  ]
  for (const [answer, shown] of lies)
    assert.throws(() => expectJson(answer, shown), `${shown} is not ${answer}`)
  for (const shown of ["one\n", "one\ntwo…more\n", "two\n…\n"])
    assert.throws(() => expectText("one\ntwo\n", shown))
  for (const shown of ["one\ntwo", "one\n…\n", "…\ntwo\n…\n", "o…\nt…\n"])
    expectText("one\ntwo\n", shown)
})

// Tables ------------------------------------------------------------------------------------------

test("docs/configuration.md has the settings of config.ts, with their defaults and manuals", () => {
  for (const [marker, table] of [
    ["settings", settings],
    ["command settings", commandSettings],
  ] as const) {
    const expected = Object.entries(table).map(([name, { fallback, manual }]) => [
      name,
      plain(fallback),
      manual,
    ])
    assert.deepEqual(
      rowsAfter(configuration, marker).map(([name = "", fallback = "", manual = ""]) => [
        plain(name),
        plain(fallback),
        manual,
      ]),
      expected,
    )
  }
  for (const [name, setting] of Object.entries({ ...settings, ...commandSettings })) {
    if ("secret" in setting)
      assert.ok(
        configuration.includes("`_FILE`"),
        `${name} may be given as a file, and the page does not say so`,
      )
  }
})

test("docs/configuration.md has the limits of limits.ts, and says which variable sets them", () => {
  const rows = rowsAfter(configuration, "limits")
  assert.deepEqual(
    rows.map(([name = "", value = ""]) => [plain(name), Number(value)]),
    Object.entries(defaultLimits),
  )
  for (const [name, , what = ""] of rows) assert.ok(what.length > 10, `${name} is not explained`)
  const [, limit = "", variable] = /`(\w+)` is `(TALLYSTICK_LIMIT_\w+)`/.exec(configuration) ?? []
  assert.ok(limit in defaultLimits)
  assert.equal(variable, limitVariable(limit))
})

test("docs/api.md has the table of endpoints that `npm run openapi` writes", () => {
  assert.equal(
    api,
    withTable(api, JSON.parse(read("docs/openapi.json")) as Parameters<typeof withTable>[1]),
  )
})

test("docs/api.md has the errors of the service with their statuses, and its lanes", () => {
  const errors = rowsAfter(api, "errors").map(([code = "", status = ""]) => [
    plain(code),
    Number(status),
  ])
  assert.deepEqual(errors, Object.entries(statusOf))
  const lanes = rowsAfter(api, "lanes").flatMap(([lane = "", prefixes = ""]) =>
    plain(prefixes)
      .split(" ")
      .map((prefix) => [plain(lane), prefix] as const),
  )
  assert.ok(lanes.length >= 28)
  for (const [lane, prefix] of lanes) assert.equal(laneOf(`${prefix}.done`, []), lane, prefix)
})

test("the README is short", () => {
  const lines = readme.split("\n").length
  assert.ok(lines <= 250, `the README has ${lines} lines`)
})

test("the README defends every dependency, and no other", () => {
  const shipped = globSync("packages/*/package.json", { cwd: root }).flatMap((path) =>
    Object.keys((JSON.parse(read(path)) as { dependencies?: object }).dependencies ?? {}),
  )
  const foreign = new Set(shipped.filter((name) => !name.startsWith("@tallystick/")))
  assert.deepEqual(
    new Set(rowsAfter(readme, "dependencies").map(([name = ""]) => plain(name))),
    foreign,
  )
  const { devDependencies, optionalDependencies } = JSON.parse(read("package.json")) as Record<
    string,
    object
  >
  for (const name of Object.keys({ ...devDependencies, ...optionalDependencies })) {
    assert.ok(readme.includes(`\`${name}\``), `the README does not name ${name}`)
  }
})

test("links between the documents lead somewhere", () => {
  const documents = globSync(["*.md", "docs/*.md", "packages/*/README.md"], { cwd: root })
  assert.ok(documents.length >= 6, `looked at ${documents.length} documents only`)
  for (const path of documents) {
    const text = read(path)
    for (const [, target = "", anchor] of text.matchAll(/\]\(([^)#\s]*)(?:#([^)\s]+))?\)/g)) {
      if (/^https?:/.test(target)) continue
      const file = target === "" ? path : join(dirname(path), target)
      assert.ok(existsSync(join(root, file)), `${path} links to ${target}, which is not there`)
      if (anchor !== undefined)
        assert.ok(
          anchorsOf(read(file)).has(anchor),
          `${path} links to #${anchor}, which is not there`,
        )
    }
  }
})

test("files that the documents name are there", () => {
  const places = [".", "packages/server", "packages/server/src"]
  // Files that a command makes exist only after it has run.
  const made = new Set(read(".gitignore").split("\n"))
  let looked = 0
  for (const path of globSync(["*.md", "docs/*.md", "packages/*/README.md"], { cwd: root })) {
    for (const [, file = ""] of read(path).matchAll(
      /`((?:[\w-]+\/)*(?:[\w-]+\/|[\w.-]+\.(?:ts|mjs|sql)))`/g,
    )) {
      looked += 1
      assert.ok(
        made.has(file) || places.some((place) => existsSync(join(root, place, file))),
        `${path} names ${file}, which is not there`,
      )
    }
  }
  assert.ok(looked >= 50, `looked at ${looked} names only`)
})

// The service -------------------------------------------------------------------------------------

/** Runs it as `npm start` does, in a folder like a clone after its first start. */
async function startDemo(): Promise<Service> {
  const service = await startService({
    arguments: ["serve", "--demo"],
    environment: { TALLYSTICK_ROOT_KEY: undefined },
  })
  await symlink(join(root, "node_modules"), join(dirname(service.data), "node_modules"))
  await symlink(join(root, "packages"), join(dirname(service.data), "packages"))
  return service
}

/**
 * The command that writes a first event, exactly as it is printed: from the line that begins with
 * curl to the empty line.
 */
function printedCommand(service: Service): Promise<string> {
  return eventually("the printed command", async () => {
    const [, command] = /^(curl [^]*?)\n\n/m.exec(service.output()) ?? []
    return command
  })
}

/** The tour's names for things, with this run's values in the places that a reader fills in. */
function named(
  names: string,
  service: Service,
  printed: string,
  { receipt }: MintedReceipt,
): string {
  const [key = ""] = /tsk_\w+/.exec(printed) ?? []
  const filled = names
    .replace("http://127.0.0.1:8080", service.url)
    .replace("tsk_…", key)
    .replace("rcp_…", receipt)
  assert.ok(
    !filled.includes("…") && filled.includes(service.url),
    "the tour names its address, its key and its receipt",
  )
  return filled
}

// Running -----------------------------------------------------------------------------------------

/** A command of a document, and the output that the document shows. */
interface Step {
  readonly command: string
  readonly expected: Block | undefined
}

async function runSteps(service: Service, names: string, steps: readonly Step[]): Promise<void> {
  const { outputs, code, errors } = await bash(service, [
    names,
    ...steps.map(({ command }) => command),
  ])
  for (const [at, { command, expected }] of steps.entries()) {
    const output = outputs[at + 1]
    assert.ok(output !== undefined, `this was not reached:\n${command}\n${errors}`)
    assert.ok(code === 0 || outputs[at + 2] !== undefined, `this failed:\n${command}\n${errors}`)
    if (expected?.kind === "json") expectJson(output, expected.text)
    else if (expected !== undefined) expectText(output, expected.text)
    else assert.equal(output, "", `this prints what its document does not say:\n${command}`)
  }
  assert.equal(code, 0, errors)
  assert.equal(errors, "")
}

interface Ran {
  readonly outputs: readonly string[]
  readonly errors: string
  readonly code: number | null
}

/** Runs the commands in one shell, beside the data folder; stops at the first that fails. */
async function bash(service: Service, commands: readonly string[]): Promise<Ran> {
  const cwd = dirname(service.data)
  const script = [
    "set -euo pipefail",
    ...commands.map((command, at) => `exec > output.${at}\n${command}`),
  ].join("\n")
  const { errors, code } = await run("bash", ["-c", script], {
    cwd,
    // The machine's own Node first, as for a reader. Ours is only for a machine without one.
    environment: { PATH: `${machinePath}:${dirname(process.execPath)}`, HOME: cwd },
    killAfterMs: 300_000,
  })
  const outputs: string[] = []
  for (let at = 0; at < commands.length && existsSync(join(cwd, `output.${at}`)); at++)
    outputs.push(readFileSync(join(cwd, `output.${at}`), "utf8"))
  return { outputs, errors, code }
}

/** Why a test cannot run here: the programs that it needs and that are not there. */
function without(...programs: readonly string[]): string | false {
  const missing = programs.filter(
    (program) => spawnSync(program, ["--version"]).error !== undefined,
  )
  return missing.length === 0 ? false : `${missing.join(", ")} is not installed here`
}

// Comparing ---------------------------------------------------------------------------------------

/**
 * In what a document shows, "…" stands for anything, and objects may have more members than are
 * shown.
 */
function expectJson(output: string, shown: string): void {
  const fault = difference(JSON.parse(output), JSON.parse(shown), "the answer")
  assert.equal(fault, undefined, `${fault}\n${output}`)
}

function difference(actual: unknown, shown: unknown, place: string): string | undefined {
  if (typeof shown === "string" && shown.includes("…")) {
    if (shown === "…") return actual === undefined ? `${place} is not there` : undefined
    return typeof actual === "string" && patternOf(shown).test(actual)
      ? undefined
      : `${place} is not like ${shown}`
  }
  if (typeof shown !== "object" || shown === null)
    return actual === shown ? undefined : `${place} is not ${JSON.stringify(shown)}`
  if (typeof actual !== "object" || actual === null) return `${place} is no object`
  if (Array.isArray(shown) && (actual as readonly unknown[]).length !== shown.length)
    return `${place} has another length than ${shown.length}`
  for (const [name, value] of Object.entries(shown)) {
    // The value that the answer has under this name, if any.
    const fault = difference((actual as Record<string, unknown>)[name], value, `${place}.${name}`)
    if (fault !== undefined) return fault
  }
  return undefined
}

/** A line that is "…" alone stands for any number of lines. */
function expectText(output: string, shown: string): void {
  const pattern = shown
    .trimEnd()
    .split("\n")
    .map((line) => (line === "…" ? "(?:.*\n)*?" : `${patternOf(line).source.slice(1, -1)}\n`))
    .join("")
  assert.match(output.endsWith("\n") ? output : `${output}\n`, new RegExp(`^${pattern}$`))
}

function patternOf(shown: string): RegExp {
  return new RegExp(
    `^${shown
      .split("…")
      .map((part) => RegExp.escape(part))
      .join(".*")}$`,
  )
}

// Reading documents -------------------------------------------------------------------------------

interface Block {
  readonly kind: string
  readonly text: string
}

/** The commands after each marker, each with the block of JSON or text that follows it, if any. */
function stepsOf(document: string, marker: string): readonly Step[] {
  const parts = document.split(`<!-- ${marker} -->`).slice(1)
  return parts.map((part) => {
    const [command, expected] = blocksIn(part)
    assert.equal(command?.kind, "sh", `a marker "${marker}" stands before commands`)
    return {
      command: the(command).text,
      expected: expected?.kind === "json" || expected?.kind === "text" ? expected : undefined,
    }
  })
}

function blocksAfter(document: string, marker: string): readonly Block[] {
  return blocksIn(the(document.split(`<!-- ${marker} -->`)[1]))
}

function blocksIn(text: string): readonly Block[] {
  return [...text.matchAll(/^```(\w*)\n([^]*?)^```$/gm)].map(([, kind = "", block = ""]) => ({
    kind,
    text: block,
  }))
}

/** The cells of the table after a marker, without its head. */
function rowsAfter(document: string, marker: string): readonly (readonly string[])[] {
  const [, table = ""] = /^\n((?:\|.*\n)+)/.exec(the(document.split(`<!-- ${marker} -->`)[1])) ?? []
  const rows = table.trimEnd().split("\n").slice(2)
  assert.ok(rows.length > 0, `no table stands behind "${marker}"`)
  return rows.map((row) => row.slice(2, -2).split(" | "))
}

/** As GitHub makes them of headings. */
function anchorsOf(document: string): ReadonlySet<string> {
  const headings = [...document.matchAll(/^#+ (.+)$/gm)].map(([, heading = ""]) =>
    heading.toLowerCase(),
  )
  return new Set(
    headings.map((heading) => heading.replaceAll(/[^\p{L}\p{N}\s_-]/gu, "").replaceAll(" ", "-")),
  )
}

function plain(cell: string): string {
  return cell.replaceAll("`", "")
}

function read(path: string): string {
  return readFileSync(join(root, path), "utf8")
}

function the<T>(value: T | undefined): T {
  assert.ok(value !== undefined, "the document has less than this test expects")
  return value
}
