import { spawnSync } from "node:child_process"
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs"
import { tmpdir, userInfo } from "node:os"
import { dirname, isAbsolute, join } from "node:path"

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
  const found = { go, program: join(folder, name), environment }
  if (existsSync(folder)) return found
  mkdirSync(cache, { recursive: true })
  // Made beside, and moved when it is complete: two runs may come at once.
  const making = mkdtempSync(`${folder}-`)
  // To compile it well takes longer than what it then does.
  const quickly = ["-gcflags=all=-N -l", "-ldflags=-s -w"]
  const { status } = spawnSync(go, ["install", ...quickly, module], {
    env: { ...process.env, ...environment, GOBIN: making },
    timeout: 400_000,
  })
  if (status === 0 && !existsSync(folder)) renameSync(making, folder)
  else rmSync(making, { recursive: true })
  return existsSync(folder) ? found : `${module} could not be installed from Go's module proxy`
}
