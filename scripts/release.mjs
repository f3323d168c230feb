// Makes the packages that npm gets, in dist/, and publishes them. It asks first, unless it is given
// --yes. With --dry-run it only makes them.
//
// Node runs no TypeScript below node_modules, so what is published is JavaScript, with a
// package.json of its own that names it. The service is one bundle, which starts faster.

import { spawnSync } from "node:child_process"
import { cpSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"
import { writeProgram } from "./bundle.mjs"

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const dist = join(root, "dist")

/** In the order in which they need each other. */
const names = ["proof", "client", "server", "web"]

const isOff = { type: "boolean", default: false }
const { values } = parseArgs({ options: { "dry-run": isOff, yes: isOff } })
// `npm run release --dry-run` gives the option to npm, which passes it on like this.
const isTrial = values["dry-run"] || process.env.npm_config_dry_run === "true"
const sources = names.map((name) =>
  JSON.parse(readFileSync(join(root, "packages", name, "package.json"), "utf8")),
)
const ownNames = new Set(sources.map(({ name }) => name))
expectOneVersion(sources)
if (!isTrial && !values.yes) await requireConsent(sources)

rmSync(dist, { recursive: true, force: true })
run(process.execPath, join(root, "scripts", "pages.mjs"))
const tsc = join(root, "node_modules", ".bin", "tsc")
run(tsc, "-p", "tsconfig.release.json")
// Declarations are of what is imported, so not of the command; they would take ten times as long as
// all the rest.
const declarations =
  "--noEmit false --declaration --emitDeclarationOnly --noCheck --rootDir packages --outDir dist"
for (const project of ["tsconfig.browser.json", "packages/web/tsconfig.release.json"])
  run(tsc, "-p", project, ...declarations.split(" "))
for (const [at, name] of names.entries())
  if (name === "web") makeElements(sources[at])
  else if (name === "server") await makeProgram(sources[at])
  else makePackage(name, sources[at])
for (const name of names) {
  if (isTrial) console.log(`release: dist/${name} is made and not published`)
  else run("npm", "publish", join(dist, name), "--access", "public")
}

/** They are published together, and depend on each other by exact version. */
function expectOneVersion(packages) {
  const { version } = packages[0]
  for (const { name, version: has, dependencies } of packages) {
    const named = Object.entries(dependencies).filter(([dependency]) => ownNames.has(dependency))
    for (const [what, which] of [[name, has], ...named])
      if (which !== version)
        throw new Error(`${name} says ${what} ${which}, and ${packages[0].name} is ${version}`)
  }
}

/** What npm has got cannot be taken back. */
async function requireConsent(packages) {
  const { version } = packages[0]
  for (const { name } of packages)
    console.log(`release: would publish ${name}@${version} to ${registryOf(name)}`)
  process.stdout.write("release: type the version to publish it: ")
  const lines = createInterface({ input: process.stdin })
  const { value: answer } = await lines[Symbol.asyncIterator]().next()
  lines.close()
  if (answer?.trim() === version) return
  console.error(
    `\nrelease: nothing was made or published; type ${version}, or run npm run release -- --yes`,
  )
  process.exit(1)
}

function registryOf(name) {
  const [scope] = name.split("/")
  const ownRegistry = name === scope ? "undefined" : npmSetting(`${scope}:registry`)
  return ownRegistry === "undefined" ? npmSetting("registry") : ownRegistry
}

function npmSetting(name) {
  return spawnSync("npm", ["config", "get", name], { cwd: root, encoding: "utf8" }).stdout.trim()
}

/** tsc has left `src`, compiled, in dist/. The rest is copied beside it. */
function makePackage(name, source) {
  const to = join(dist, name)
  renameSync(join(to, "src"), join(to, "lib"))
  complete(name, { ...manifestOf(source), files: ["lib"] })
}

/**
 * The service, with our other packages in it, so it needs what they need. What else is in it stays a
 * dependency as well: its licence comes along, and whoever audits dependencies sees it.
 */
async function makeProgram({ private: _, ...source }) {
  const [from, to] = [join(root, "packages", "server"), join(dist, "server")]
  await writeProgram(to)
  copy(join(from, "monitoring"), join(to, "monitoring"))
  const needed = sources.filter(({ name }) => name === source.name || name in source.dependencies)
  const dependencies = needed
    .flatMap((each) => Object.entries(each.dependencies))
    .filter(([name]) => !ownNames.has(name))
  complete("server", {
    ...source,
    dependencies: Object.fromEntries(dependencies),
    exports: {},
    files: ["bin", "lib", "monitoring", "pages"],
  })
}

function complete(name, manifest) {
  const to = join(dist, name)
  copy(join(root, "packages", name, "README.md"), join(to, "README.md"))
  copy(join(root, "LICENSE"), join(to, "LICENSE"))
  writeFileSync(join(to, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`)
}

/**
 * Of `web`, the elements that other pages embed: as they are built for the service, with what they
 * load later beside them, so that they need no other package. The pages come with the service.
 */
function makeElements(source) {
  const [from, built, to] = [
    join(root, "packages", "web"),
    join(root, "packages", "server", "pages"),
    join(dist, "web"),
  ]
  const declared = join(dist, "declared")
  renameSync(join(to, "src"), declared)
  const entry = "tallystick-activity"
  for (const path of reached(built, `${entry}.js`)) copy(join(built, path), join(to, "lib", path))
  const types = `component/${entry}.d.ts`
  for (const path of reached(declared, types)) copy(join(declared, path), join(to, "lib", path))
  rmSync(declared, { recursive: true })
  copy(join(from, "example"), join(to, "example"))
  const { private: _, dependencies: __, devDependencies: ___, ...manifest } = source
  const exports = { ".": { types: `./lib/${types}`, default: `./lib/${entry}.js` } }
  complete("web", { ...manifest, exports, files: ["lib", "example"] })
}

/** A file and all that it imports, by paths below the folder. */
function reached(folder, path, found = new Set()) {
  if (found.has(path)) return found
  found.add(path)
  const imports = /(?:from|import)\s*\(?[`"'](\.[^`"']+)/g
  for (const [, other] of readFileSync(join(folder, path), "utf8").matchAll(imports)) {
    const next = join(dirname(path), other)
    reached(
      folder,
      path.endsWith(".d.ts") ? next.replace(/\.(?:jsx?|tsx?)$/, ".d.ts") : next,
      found,
    )
  }
  return found
}

/** The source's package.json, with what is compiled in the place of the sources. */
function manifestOf({ private: _, exports = {}, ...source }) {
  const compiled = (path, ending) => path.replace(/^\.\/src\/(.*)\.ts$/, `./lib/$1${ending}`)
  const entries = Object.entries(exports).map(([entry, path]) => [
    entry,
    { types: compiled(path, ".d.ts"), default: compiled(path, ".js") },
  ])
  return { ...source, exports: Object.fromEntries(entries) }
}

function copy(from, to) {
  mkdirSync(dirname(to), { recursive: true })
  cpSync(from, to, { recursive: true })
}

function run(command, ...args) {
  const { status, error } = spawnSync(command, args, { cwd: root, stdio: "inherit" })
  if (status !== 0) throw error ?? new Error(`${command} ${args.join(" ")} ended with ${status}`)
}
