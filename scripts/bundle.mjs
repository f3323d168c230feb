// Bundles the program for the tests. A run starts the service hundreds of times; from a bundle a
// start takes little more than half the processor time, because seven threads load a few files
// instead of hundreds.

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
import { basename, join } from "node:path"

const root = join(import.meta.dirname, "..")
const server = join(root, "packages", "server")

/** Programs of the tests that run the service with a fault in it. */
const faulty = ["faults.ts", "rotate-killed.ts"].map((name) => join(root, "test", "crash", name))

/**
 * Returns a folder below `cache` with `bin/tallystick.mjs` and the faulty programs in `lib/`. The
 * folder is named after its content, so runs at the same time share it, and none changes it.
 */
export async function bundleProgram(cache) {
  const { rolldown } = await import("rolldown")
  // A thread starts at the file that asks for its own name.
  const threads = globSync("src/**/*.ts", { cwd: server, exclude: ["**/*.test.ts"] })
    .map((path) => join(server, path))
    .filter((path) => readFileSync(path, "utf8").includes("import.meta.filename"))
  const inputs = [join(server, "src", "main.ts"), ...threads, ...faulty]
  const bundle = await rolldown({
    input: Object.fromEntries(inputs.map((path) => [basename(path, ".ts"), path])),
    platform: "node",
    // Nothing is dropped: rolldown takes decodeURIComponent(target), which is there to throw, for a
    // call without effect.
    treeshake: false,
    external: (name) => /^[@\w]/.test(name) && !name.startsWith("@tallystick/"),
  })
  const { output } = await bundle.generate({ format: "esm", minify: false })
  const hash = createHash("sha256")
  for (const { code } of output) hash.update(code)
  hash.update(readFileSync(join(server, "pages", "pages.json")))
  const folder = join(cache, `program-${hash.digest("hex").slice(0, 16)}`)
  if (!existsSync(folder)) write(folder, output)
  return folder
}

/** Writes beside the folder and renames, so that no other run sees half of it. */
function write(folder, output) {
  mkdirSync(join(folder, ".."), { recursive: true })
  const making = mkdtempSync(`${folder}-`)
  // Some tests run the program as another account.
  chmodSync(making, 0o755)
  mkdirSync(join(making, "lib"))
  for (const { fileName, code } of output) writeFileSync(join(making, "lib", fileName), code)
  for (const path of globSync("src/**/migrations", { cwd: server }))
    cpSync(join(server, path), join(making, "lib", "migrations"), { recursive: true })
  cpSync(join(server, "package.json"), join(making, "package.json"))
  cpSync(join(server, "pages"), join(making, "pages"), { recursive: true })
  const entry = readFileSync(join(server, "bin", "tallystick.mjs"), "utf8")
  mkdirSync(join(making, "bin"))
  writeFileSync(
    join(making, "bin", "tallystick.mjs"),
    entry.replace("../src/main.ts", "../lib/main.js"),
  )
  if (existsSync(folder)) rmSync(making, { recursive: true })
  else renameSync(making, folder)
}
