import assert from "node:assert/strict"
import { spawn, spawnSync } from "node:child_process"
import {
  cpSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { basename, dirname, join } from "node:path"
import { after, test } from "node:test"
import { gzipSync } from "node:zlib"
import { checkPackage, createPackageFromTarballData } from "@arethetypeswrong/core"
import { publint } from "publint"
import { rolldown } from "rolldown"
import { expectChain, type MintedReceipt } from "../chain.ts"
import { run as runCommand } from "../program.ts"
import { eventFor, eventually, logKeyOf, makeKey, makeWorkspace, startService } from "../service.ts"
import { nodesOf } from "./nodes.ts"

// The npm packages, as users install them: on the oldest promised Node of each line, in TypeScript,
// and in a bundle for browsers.

const root = join(import.meta.dirname, "..", "..")
const folder = mkdtempSync(join(tmpdir(), "tallystick-installed-"))
after(() => rmSync(folder, { recursive: true, force: true }))

interface Ran {
  readonly code: number | null
  readonly said: string
}

async function run(
  command: string,
  args: readonly string[],
  { cwd = folder, path = "" } = {},
): Promise<Ran> {
  // A cache of its own: npm has left files out when another npm filled the same cache.
  const environment = {
    ...process.env,
    PATH: `${path}:${process.env["PATH"]}`,
    npm_config_loglevel: "error",
    npm_config_cache: join(folder, "cache"),
  }
  const options = { cwd, environment, killAfterMs: 120_000 }
  const { code, output, errors } = await runCommand(command, args, options)
  return { code, said: output + errors }
}

async function expectRun(...ran: Parameters<typeof run>): Promise<string> {
  const { code, said } = await run(...ran)
  assert.equal(code, 0, said)
  return said
}

// Made, packed and unpacked once, for all tests.
const packages = ["proof", "client", "server", "web"] as const
const names = {
  proof: "@tallystick/proof",
  client: "@tallystick/client",
  server: "tallystick",
  web: "@tallystick/web",
}
const declarations = (): readonly string[] =>
  globSync("{scripts,test,packages}/**/*.d.ts", { cwd: root, exclude: ["**/node_modules/**"] })
const declared = declarations()
await expectRun(process.execPath, [join(root, "scripts", "release.mjs"), "--dry-run"])
assert.deepEqual(declarations(), declared, "a release writes to dist/ alone")
await expectRun("npm", ["pack", ...packages.map((name) => join(root, "dist", name))])
const { version } = JSON.parse(
  readFileSync(join(root, "packages", "server", "package.json"), "utf8"),
) as { version: string }
const tarballOf = (name: (typeof packages)[number]): string =>
  join(folder, `${names[name].replace("@", "").replace("/", "-")}-${version}.tgz`)
for (const name of packages) {
  mkdirSync(join(folder, name))
  await expectRun("tar", [
    "-xzf",
    tarballOf(name),
    "-C",
    join(folder, name),
    "--strip-components=1",
  ])
}

// And installed in an empty folder.
const app = join(folder, "app")
mkdirSync(app)
const write = (file: string, text: string): void => writeFileSync(join(app, file), text)
write("package.json", JSON.stringify({ private: true, type: "module" }))
const registry = await run("npm", [
  "view",
  "@noble/hashes",
  "version",
  "--fetch-retries=0",
  "--fetch-timeout=10000",
])
const skip = registry.code === 0 ? false : "npm's registry cannot be reached"
if (skip === false)
  await expectRun("npm", ["install", "--no-audit", ...packages.map(tarballOf)], { cwd: app })

// The oldest of each line that `engines` names, but for the newest, which runs the tests.
const nodes = skip === false ? nodesOf(["20.3.0", "22.12.0", "24.15.0"]) : skip
const binOf = (node: string): string =>
  node === process.versions.node || typeof nodes === "string"
    ? dirname(process.execPath)
    : nodes.bin(node)

// Packed ------------------------------------------------------------------------------------------

const filesIn = (path: string): readonly string[] =>
  globSync("**/*", { cwd: path, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(path.length + 1))

/** What a package has beside its licence, its README and its manifest, and how many files at least. */
const contents = {
  proof: [/^lib\/.*(\.js|\.d\.ts)$/, 30],
  client: [/^lib\/.*(\.js|\.d\.ts)$/, 30],
  server: [/^(bin\/tallystick\.mjs|lib\/.*\.(js|sql)|monitoring\/.*|pages\/.*)$/, 30],
  web: [/^(lib\/.*(\.js|\.d\.ts)|example\/index\.html)$/, 10],
} as const

test("a package has its code, licence and README, and nothing else", () => {
  for (const name of packages) {
    const files = filesIn(join(folder, name))
    const [own, least] = contents[name]
    const others = files.filter(
      (file) => !own.test(file) && !["LICENSE", "README.md", "package.json"].includes(file),
    )
    assert.deepEqual(others, [], name)
    assert.deepEqual(
      files.filter((file) => /test|contract|memory/.test(file)),
      [],
      name,
    )
    assert.ok(
      files.length >= least && files.includes("LICENSE") && files.includes("README.md"),
      name,
    )
    // npm shows it without the repository around it.
    const links = [
      ...readFileSync(join(folder, name, "README.md"), "utf8").matchAll(/\]\(([^)]*)\)/g),
    ].map(([, link]) => link)
    assert.deepEqual(
      links.filter((link = "") => !/^(https:|#)/.test(link) && !files.includes(link)),
      [],
      `links in the README of ${name}`,
    )
    const manifest = JSON.parse(readFileSync(join(folder, name, "package.json"), "utf8")) as Record<
      string,
      unknown
    >
    assert.deepEqual(
      [manifest["name"], manifest["license"], manifest["private"]],
      [names[name], "Apache-2.0", undefined],
    )
    assert.match((manifest["engines"] as { node: string }).node, /^>=\d/)
  }
  // TypeScript leaves the comments out of methods whose types it repeats here.
  const client = readFileSync(join(folder, "client", "lib", "client.d.ts"), "utf8")
  assert.match(client, /createClient\(options: ClientOptions\): Client/)
  assert.doesNotMatch(client, /Promise</, "an editor shows the comments of methods")
  const pages = filesIn(join(folder, "server", "pages"))
  assert.ok(pages.includes("pages.json") && pages.includes("verify.html.br"), "the pages are built")
  const migrations = (path: string): readonly string[] =>
    filesIn(path)
      .filter((file) => file.endsWith(".sql"))
      .map((file) => basename(file))
      .toSorted()
  assert.deepEqual(
    migrations(join(folder, "server", "lib")),
    migrations(join(root, "packages", "server", "src")),
  )
})

/** What publint and Are The Types Wrong say of a package. */
async function remarksOf(path: string, tarball: Uint8Array): Promise<readonly string[]> {
  const { messages } = await publint({ pkgDir: path, pack: false, strict: true })
  const types = await checkPackage(createPackageFromTarballData(tarball))
  // The packages are ES modules alone: TypeScript 7 has no `node10` any more, and `require` of them
  // is tried below.
  const problems = (types.types === false ? [] : types.problems).filter(
    (problem) =>
      !("resolutionKind" in problem && ["node10", "node16-cjs"].includes(problem.resolutionKind)),
  )
  return [...messages.map(({ code }) => code), ...problems.map(({ kind }) => kind)]
}

test("publint and Are The Types Wrong find nothing", async () => {
  for (const name of packages)
    assert.deepEqual(await remarksOf(join(folder, name), readFileSync(tarballOf(name))), [], name)
})

test("canary: both detect types of a missing file", async () => {
  const planted = join(folder, "planted")
  cpSync(join(folder, "proof"), planted, { recursive: true })
  const manifest = join(planted, "package.json")
  writeFileSync(
    manifest,
    readFileSync(manifest, "utf8").replace("lib/index.d.ts", "lib/nothing.d.ts"),
  )
  await expectRun("npm", ["pack", planted, "--pack-destination", planted])
  const [tarball = ""] = globSync("*.tgz", { cwd: planted })
  assert.deepEqual(await remarksOf(planted, readFileSync(join(planted, tarball))), [
    "FILE_DOES_NOT_EXIST",
    "FallbackCondition",
    "FallbackCondition",
  ])
})

// Installed ---------------------------------------------------------------------------------------

/** The examples of a document, with the things that they leave to their reader. */
function examplesIn(path: string): readonly string[] {
  const given = `import type { AuditEvent, ListedEntry } from "@tallystick/client/wire"
    declare const key: string, vkey: string, trustedKeys: readonly string[], event: AuditEvent, answer: unknown
    declare function show(entry: ListedEntry): void
    declare function tokenFromYourServer(): Promise<string>\n`
  return [...readFileSync(path, "utf8").matchAll(/^```ts\n([^]*?)^```$/gm)].map(
    ([, example = ""]) => given + example,
  )
}

test(
  "a strict program and the examples of the documents compile, and one with a mistake does not",
  { skip },
  async () => {
    write(
      "program.ts",
      `import { createClient, TallystickError, type Verdict } from "@tallystick/client"
    import type { AuditEvent } from "@tallystick/client/wire"
    import { parseQuery } from "@tallystick/client/grammar"
    import { verifyExport, verifyReceipt, type ExportVerdict } from "@tallystick/proof"
    import { TallystickActivity, type ActivityPhrases } from "@tallystick/web"

    declare const environment: Record<string, string | undefined>
    const ledger = createClient({ baseUrl: "https://ledger.example.com", key: environment["KEY"] })
    export const found = (signal?: AbortSignal, cursor?: number): Promise<unknown> => ledger.events.list("acme", { cursor }, { signal })
    export async function record(event: AuditEvent): Promise<string> {
      const { receipt, replayed } = await ledger.events.write(event, { idempotencyKey: "order-4711-created" })
      const verdict: Verdict = await ledger.receipts.verify("acme", receipt.receipt)
      // @ts-expect-error: no such verdict
      if (verdict.verdict === "fine") return ""
      // @ts-expect-error: no such member
      return replayed ? receipt.number : receipt.receipt
    }
    // @ts-expect-error: an event needs more
    export const incomplete: Promise<string> = record({ workspaceId: "acme" })
    export const checked: Verdict = verifyReceipt("{}", { trustedKeys: [] })
    export const exported: ExportVerdict = verifyExport((path) => new TextEncoder().encode(path))
    export const asked = parseQuery("actor:usr_1")
    const phrases: ActivityPhrases = { today: "Heute", actions: { "invoice.paid": ["Bezahlt", "Wurde bezahlt"] } }
    export const embedded: TallystickActivity = Object.assign(document.createElement("tallystick-activity"), { phrases })
    // @ts-expect-error: no such phrase
    embedded.phrases = { tomorrow: "Morgen" }
    export const failed = (error: unknown): string => (error instanceof TallystickError ? error.outcome : "unknown")\n`,
    )
    const examples = [
      ...packages.map((name) => join(folder, name, "README.md")),
      join(root, "docs", "embedding.md"),
    ].flatMap(examplesIn)
    assert.ok(examples.length >= 4, `the documents have ${examples.length} examples only`)
    const files = ["program.ts", ...examples.map((_, at) => `example-${at}.ts`)]
    for (const [at, example] of examples.entries()) write(`example-${at}.ts`, example)
    const strict = {
      strict: true,
      exactOptionalPropertyTypes: true,
      noUncheckedIndexedAccess: true,
      skipLibCheck: false,
      noEmit: true,
    }
    const resolutions = {
      node16: { module: "node16" },
      bundler: { module: "esnext", moduleResolution: "bundler" },
    }
    await Promise.all(
      Object.entries(resolutions).map(([name, resolution]) => {
        const compilerOptions = {
          ...strict,
          ...resolution,
          target: "es2022",
          lib: ["es2022", "dom"],
          types: [],
        }
        write(`tsconfig.${name}.json`, JSON.stringify({ compilerOptions, files }))
        return expectRun(
          join(root, "node_modules", ".bin", "tsc"),
          ["-p", `tsconfig.${name}.json`],
          {
            cwd: app,
          },
        )
      }),
    )
  },
)

/** A program for browsers that has this of the packages, and nothing that it does not need. */
async function bundleOf(
  text: string,
): Promise<{ readonly code: string; readonly gzipped: number }> {
  write("page.js", text)
  const bundle = await rolldown({ input: join(app, "page.js"), platform: "browser" })
  const { output } = await bundle.generate({ format: "esm", minify: true })
  assert.deepEqual([output.length, output[0].imports, output[0].dynamicImports], [1, [], []])
  return { code: output[0].code, gzipped: gzipSync(output[0].code, { level: 9 }).length }
}

test("bundles for browsers are small: 14 kB verify a receipt", { skip }, async (context) => {
  const receipt = await bundleOf('export { verifyReceipt } from "@tallystick/proof"')
  const whole = await bundleOf('export * from "@tallystick/client"')
  const proof = await bundleOf('export { verifyTlogProof } from "@tallystick/proof"')
  const key = await bundleOf('export { parseVkey } from "@tallystick/proof"')
  context.diagnostic(
    `verifyReceipt ${receipt.gzipped}, verifyTlogProof ${proof.gzipped}, the client ${whole.gzipped}, parseVkey ${key.gzipped} bytes`,
  )
  assert.ok(receipt.gzipped <= 14_000, `${receipt.gzipped} bytes`)
  assert.ok(proof.gzipped <= 8_000, `${proof.gzipped} bytes`)
  assert.ok(key.gzipped < receipt.gzipped / 3, `${key.gzipped} bytes`)
  assert.ok(whole.gzipped < 30_000, `${whole.gzipped} bytes`)
  write("bundle.mjs", whole.code)
  // It cannot use what only Node has.
  const program = `
    for (const name of ["Buffer", "process", "global", "setImmediate", "clearImmediate"]) delete globalThis[name]
    const { createClient, verifyReceipt } = await import("./bundle.mjs")
    console.log(typeof createClient({ baseUrl: "http://127.0.0.1:1" }).events.write, verifyReceipt("{}").verdict)`
  assert.equal(
    await expectRun(process.execPath, ["--input-type=module", "--eval", program], { cwd: app }),
    "function unconfirmed\n",
  )
})

test(
  "the element is what the service serves, needs no other package, and a program for servers may import it",
  { skip },
  async () => {
    const element = "tallystick-activity.js"
    const served = readFileSync(join(folder, "server", "pages", element), "utf8")
    assert.equal(readFileSync(join(folder, "web", "lib", element), "utf8"), served)
    write("page.js", 'import "@tallystick/web"')
    const bundle = await rolldown({ input: join(app, "page.js"), platform: "browser" })
    const { output } = await bundle.generate({ format: "esm", minify: true })
    const texts = output.map((one) => (one.type === "chunk" ? one.code : ""))
    assert.deepEqual(
      output
        .flatMap((one) => (one.type === "chunk" ? one.imports : []))
        .filter((name) => !name.endsWith(".js")),
      [],
    )
    assert.ok(
      texts.some((text) => text.includes("tallystick-activity")),
      "it is not dropped",
    )
    const program =
      'import("@tallystick/web").then(({ TallystickActivity }) => console.log(typeof TallystickActivity))'
    assert.equal(
      await expectRun(process.execPath, ["--input-type=module", "--eval", program], { cwd: app }),
      "function\n",
    )
  },
)

const lines = [
  { node: "20.3.0", requires: "ERR_REQUIRE_ESM", serves: false },
  { node: "22.12.0", requires: "function", serves: false },
  { node: "24.15.0", requires: "function", serves: true },
  { node: process.versions.node, requires: "function", serves: true },
]
const skipOf = (node: string): string | false =>
  skip || (typeof nodes === "string" && node !== process.versions.node && nodes)

write(
  "program.mjs",
  `import { readFileSync } from "node:fs"
  import { createRequire } from "node:module"
  import { join } from "node:path"
  import { createClient, verifyPack, verifyReceipt } from "@tallystick/client"
  import { parseQuery } from "@tallystick/client/grammar"
  import { verifyExport } from "@tallystick/proof"

  const { url, key, event, vkey, folder } = JSON.parse(process.argv[2])
  const ledger = createClient({ baseUrl: url, key, trustedKeys: [vkey] })
  const { signal } = new AbortController()
  const { receipt } = await ledger.events.write(event, { signal })
  const online = await ledger.receipts.verify(event.workspaceId, receipt.receipt)

  const read = (file) => readFileSync(join(folder, file))
  const trusted = { trustedKeys: [vkey] }
  const offline = [
    verifyReceipt(read("receipt.json").toString("utf8"), trusted),
    verifyPack(read("pack.zip"), trusted),
    verifyExport((path) => { try { return read("export/" + path) } catch { return undefined } }, trusted),
  ]
  let required
  try {
    required = typeof createRequire(import.meta.url)("@tallystick/client").createClient
  } catch (error) {
    required = error.code
  }
  const verdicts = [online, ...offline].map(({ verdict }) => verdict)
  console.log(JSON.stringify({ receipt, verdicts, required, terms: parseQuery("actor:usr_1").query.terms.length }))\n`,
)

test(
  "on each Node a program writes and verifies, and the command serves or says which Node it needs",
  { skip },
  async (context) => {
    const program = join(app, "node_modules", "tallystick", "bin", "tallystick.mjs")
    await using service = await startService({ program })
    const { id, path, writer } = await makeWorkspace(service)
    const reader = await makeKey(service, id, { scopes: ["write", "read"] })
    const receipts: MintedReceipt[] = [(await writer.write(eventFor(id))).json()]
    const vkey = await logKeyOf(reader, path)
    const evidence = join(folder, "evidence")
    mkdirSync(evidence)
    const answer = `${path}/receipts/${receipts[0]?.receipt}`
    assert.equal((await reader.get(`${answer}/proof`)).status, 200)
    writeFileSync(join(evidence, "receipt.json"), (await reader.get(answer)).bytes)
    const pack = await reader.post(`${path}/evidence-packs`, {
      title: "All of it",
      receiptIds: receipts.map(({ receipt }) => receipt),
    })
    writeFileSync(
      join(evidence, "pack.zip"),
      (await reader.get(`${path}/evidence-packs/${pack.json().packId}/download`)).bytes,
    )
    const environment = {
      TALLYSTICK_DATA: service.data,
      TALLYSTICK_PORT: new URL(service.url).port,
      TALLYSTICK_ROOT_KEY: service.rootKey,
    }
    const exporting = spawnSync(
      process.execPath,
      [program, "export", id, join(evidence, "export")],
      { env: environment, encoding: "utf8" },
    )
    assert.equal(exporting.status, 0, exporting.stderr)

    for (const { node, requires, serves } of lines) {
      await context.test(`Node ${node}`, { skip: skipOf(node) }, async () => {
        const given = {
          url: service.url,
          key: reader.bearer,
          event: eventFor(id),
          vkey,
          folder: evidence,
        }
        const said = await expectRun("node", ["program.mjs", JSON.stringify(given)], {
          cwd: app,
          path: binOf(node),
        })
        // After it an older Node warns that require of an ES module is experimental.
        const { receipt, verdicts, required, terms } = JSON.parse(said.split("\n", 1)[0] ?? "")
        receipts.push(receipt)
        assert.deepEqual(
          [verdicts, required, terms],
          [["genuine", "genuine", "genuine", "genuine"], requires, 1],
        )
        const asked = await run("npx", ["tallystick", "--version"], { cwd: app, path: binOf(node) })
        if (serves) assert.deepEqual(asked, { code: 0, said: `${version}\n` })
        else
          assert.match(
            asked.said,
            new RegExp(`^tallystick: this needs Node 24\\.15 or later and runs on ${node}: .*\\n$`),
          )
        assert.equal(asked.code, serves ? 0 : 1)
      })
    }
    await expectChain(service.root, id, receipts)
    assert.equal(await service.end(), 0)
  },
)

for (const { node } of lines.filter(({ serves }) => serves)) {
  test(
    `npx tallystick serve --demo takes a first event on Node ${node}`,
    { skip: skipOf(node) },
    async () => {
      const data = join(folder, `data-${node}`)
      const env = {
        PATH: `${binOf(node)}:${process.env["PATH"]}`,
        HOME: folder,
        TALLYSTICK_DATA: data,
        TALLYSTICK_PORT: "0",
      }
      const child = spawn("npx", ["tallystick", "serve", "--demo"], {
        cwd: app,
        env,
        stdio: ["ignore", "pipe", "inherit"],
        detached: true,
      })
      let said = ""
      child.stdout.setEncoding("utf8").on("data", (text: string) => (said += text))
      const closed = new Promise((resolve) => child.once("close", resolve))
      // npx, a shell and the service are one group, which does not outlive the tests.
      const stop = (): void => {
        if (child.exitCode === null && child.pid !== undefined) process.kill(-child.pid, "SIGTERM")
      }
      process.once("exit", stop)
      try {
        const [, url = "", key = "", body = ""] = await eventually(
          "the printed command",
          async () =>
            /^curl .*(http:\S+\/v1\/events) [^]*?Bearer (tsk_\w+)[^]*? -d '(\{.*\})'\n/m.exec(
              said,
            ) ?? undefined,
          20_000,
        )
        const headers = {
          authorization: `Bearer ${key}`,
          "idempotency-key": "invoice-9-approved",
          "content-type": "application/json",
        }
        assert.equal((await fetch(url, { method: "POST", headers, body })).status, 202)
        // The same by the command, under another key: it is another entry.
        writeFileSync(join(folder, "event.json"), body)
        const asked = `TALLYSTICK_URL=${new URL(url).origin} TALLYSTICK_KEY=${key} npx tallystick`
        const script = [
          "set -e",
          `receipt=$(${asked} events put demo ../event.json 2>&1 | head -1)`,
          `${asked} events list demo action:billing.invoice.approve --format csv | wc -l`,
          `${asked} receipts get demo "$receipt" 2>&1 | head -1`,
        ].join("\n")
        const shown = await expectRun("bash", ["-c", script], { cwd: app, path: binOf(node) })
        assert.match(shown, /^\s*3\nrcp_\w+: not confirmed\n$/)
      } finally {
        stop()
        await closed
        process.off("exit", stop)
      }
    },
  )
}
