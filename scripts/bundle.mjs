// Bundles the program, for the tests, the npm package and the image: from a bundle a start takes
// little more than half the processor time, because its threads load a few files instead of
// hundreds. `scripts/bundle.mjs <folder>` writes it there. Nothing is minified, so a stack trace
// names functions as the sources do.

import { createHash } from "node:crypto"
import {
  chmodSync,
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs"
import { isBuiltin } from "node:module"
import { basename, join, relative } from "node:path"

const root = join(import.meta.dirname, "..")
const server = join(root, "packages", "server")

/** Programs of the tests that run the service with a fault in it. */
const faulty = ["faults.ts", "rotate-killed.ts"].map((name) => join(root, "test", "crash", name))

/**
 * For the tests: returns a folder below `cache` with the program, and the faulty ones in `lib/`. The
 * folder is named after its content, so runs at the same time share it, and none changes it.
 */
export async function bundleProgram(cache) {
  const output = await bundled(faulty)
  const hash = createHash("sha256")
  for (const { code } of output) hash.update(code)
  hash.update(readFileSync(join(server, "pages", "pages.json")))
  const folder = join(cache, `program-${hash.digest("hex").slice(0, 16)}`)
  if (existsSync(folder)) return folder
  mkdirSync(cache, { recursive: true })
  // Beside it, and renamed, so that no other run sees half of it.
  const making = mkdtempSync(`${folder}-`)
  // Some tests run the program as another account.
  chmodSync(making, 0o755)
  write(making, output)
  if (existsSync(folder)) rmSync(making, { recursive: true })
  else renameSync(making, folder)
  return folder
}

/** Writes `bin/tallystick.mjs`, and what it needs beside the packages that others publish. */
export async function writeProgram(folder) {
  write(folder, await bundled([]))
}

/**
 * Each program and each thread is a bundle of its own: what it loads first is one file or two, and not
 * one for each set of threads that share some code.
 */
async function bundled(others) {
  const { rolldown } = await import("rolldown")
  // A thread starts at the file that asks for its own name.
  const threads = globSync("src/**/*.ts", { cwd: server, exclude: ["**/*.test.ts"] })
    .map((path) => join(server, path))
    .filter((path) => readFileSync(path, "utf8").includes("import.meta.filename"))
  const namesOfThreads = {
    name: "names of threads",
    transform: (code, path) =>
      threads.includes(path)
        ? code.replaceAll("import.meta.filename", `(import.meta.dirname + "/${nameOf(path)}.js")`)
        : undefined,
  }
  const inputs = [join(server, "src", "main.ts"), ...threads, ...others]
  const outputs = inputs.map(async (path) => {
    const bundle = await rolldown({
      input: { [nameOf(path)]: path },
      platform: "node",
      // Nothing is dropped: rolldown takes decodeURIComponent(target), which is there to throw, for a
      // call without effect.
      treeshake: false,
      external: isOutside,
      plugins: [namesOfThreads, onlyWhatIsAsked()],
    })
    const { output } = await bundle.generate({
      format: "esm",
      minify: false,
      comments: { legal: true, annotation: false, jsdoc: false },
      chunkFileNames: ({ name }) => `${nameOf(path)}-${name.split("~")[0]}-[hash].js`,
      codeSplitting: { groups: loadedTogether(path) },
    })
    expectNoWayBack(output)
    return output
  })
  return (await Promise.all(outputs)).flat()
}

/**
 * Of what an `import` reads and nobody asks, nothing is loaded: other files of the proof package, and what
 * Node loads for some names of its own modules, such as a dozen more for `node:fs`.
 */
function onlyWhatIsAsked() {
  const folder = join(root, "packages", "proof", "src")
  const index = readFileSync(join(folder, "index.ts"), "utf8")
  const fileOf = new Map(
    [...index.matchAll(/^export \{([^}]+)\} from "(.+)"$/gm)].flatMap(([, names, file]) =>
      listed(names).map((name) => [name, join(folder, file)]),
    ),
  )
  return {
    name: "only what is asked",
    transform: (code) =>
      code.replaceAll(/^import \{([^}]+)\} from "@tallystick\/proof"$/gm, (_, names) =>
        listed(names)
          .map((name) => `import { ${name} } from ${JSON.stringify(fileOf.get(name))}`)
          .join(";"),
      ),
    renderChunk: (code) =>
      code.replaceAll(
        /^import (?:\{ (.+) \}|(.+)) from ("node:.+");$/gm,
        (_, names = "", whole = `{ ${names.replaceAll(" as ", ": ")} }`, module) =>
          `const ${whole} = process.getBuiltinModule(${module});`,
      ),
  }
}

/** The values of a list of names that are imported or exported. */
function listed(names) {
  return names
    .split(",")
    .map((name) => name.trim())
    .filter((name) => /^(?!type )./.test(name))
}

/**
 * Code that several commands of a program share is in a file for each set of them. Merged into fewer
 * files, these would import each other in circles, and some code would run before what it needs;
 * if only the smallest are merged, a start on SQLite reads `pg`.
 */
function loadedTogether(entry) {
  const test = (path) => path !== entry
  return [
    { name: "first", test, tags: ["$initial"], priority: 1 },
    { name: "shared", test, minShareCount: 2, entriesAware: true },
  ]
}

/** An entry waits for what it starts, which must not wait for it in turn; nor may any file for itself. */
function expectNoWayBack(output) {
  const entry = output.find(({ isEntry }) => isEntry).fileName
  const waiting = output.find(({ imports }) => imports.includes(entry))
  if (waiting !== undefined)
    throw new Error(`${waiting.fileName} imports ${entry}, which awaits it`)
  const importsOf = new Map(output.map(({ fileName, imports = [] }) => [fileName, imports]))
  const left = new Set(importsOf.keys())
  const isFree = (name) => !importsOf.get(name).some((other) => left.has(other))
  for (let free; (free = [...left].filter(isFree)).length > 0;)
    for (const name of free) left.delete(name)
  if (left.size > 0) throw new Error(`these import each other in a circle: ${[...left].join(", ")}`)
}

/** Of others' packages, those are inside that every start or every thread reads, in many files. */
function isOutside(name, importer = "") {
  if (isBuiltin(name)) return true
  const isInside = /^(@tallystick\/|@noble\/|commander$)/.test(name)
  return /^[@\w]/.test(name) && !isInside && !importer.includes("node_modules")
}

/** Two engines have a `reader.ts` each. */
function nameOf(path) {
  const within = relative(join(server, "src"), path).replace(/\.ts$/, "")
  return within.startsWith("..") ? basename(path, ".ts") : within.replaceAll("/", "-")
}

function write(folder, output) {
  mkdirSync(join(folder, "lib"), { recursive: true })
  for (const { fileName, code } of output) writeFileSync(join(folder, "lib", fileName), code)
  for (const path of globSync("src/**/migrations", { cwd: server }))
    cpSync(join(server, path), join(folder, "lib", "migrations"), { recursive: true })
  cpSync(join(server, "package.json"), join(folder, "package.json"))
  cpSync(join(server, "pages"), join(folder, "pages"), { recursive: true })
  const entry = readFileSync(join(server, "bin", "tallystick.mjs"), "utf8")
  mkdirSync(join(folder, "bin"), { recursive: true })
  writeFileSync(
    join(folder, "bin", "tallystick.mjs"),
    entry.replace("../src/main.ts", "../lib/main.js"),
    { mode: 0o755 },
  )
}

if (import.meta.main) await writeProgram(process.argv[2] ?? "program")
