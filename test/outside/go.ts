import { spawnSync } from "node:child_process"
import { tmpdir, userInfo } from "node:os"
import { dirname, isAbsolute, join } from "node:path"
import { madeOnce } from "../made-once.ts"

export interface GoProgram {
  readonly go: string
  readonly program: string
  readonly environment: Readonly<Record<string, string>>
}

/** A Go, and a program that it built once for all clones from `module`; or why there is none. */
export function goProgram(module: string): GoProgram | string {
  const go = [process.env["GO"] ?? "go", "/usr/local/go/bin/go"].find(
    (one) => spawnSync(one, ["version"]).error === undefined,
  )
  if (go === undefined) return "Go is not installed here"
  const cache = join(tmpdir(), `tallystick-go-${userInfo().uid}`)
  const environment = {
    GOCACHE: join(cache, "build"),
    GOMODCACHE: join(cache, "modules"),
    GOFLAGS: "-modcacherw",
    GOTOOLCHAIN: "local",
    CGO_ENABLED: "0",
    // What it builds may call it.
    PATH: isAbsolute(go) ? `${dirname(go)}:${process.env["PATH"]}` : String(process.env["PATH"]),
  }
  const folder = join(cache, module.replaceAll(/[^\w.-]/g, "_"))
  const name = /([^/@]+)@/.exec(module)?.[1] ?? ""
  // To compile it well takes longer than what it then does.
  const install = ["install", "-gcflags=all=-N -l", "-ldflags=-s -w", module]
  const isThere = madeOnce(folder, (making) => {
    const env = { ...process.env, ...environment, GOBIN: making }
    return spawnSync(go, install, { env, timeout: 400_000 }).status === 0
  })
  return isThere
    ? { go, program: join(folder, name), environment }
    : `${module} could not be installed from Go's module proxy`
}
