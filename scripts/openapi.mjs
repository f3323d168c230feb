// Writes docs/openapi.json, what the service says of itself at /openapi.json, and the table of
// endpoints in docs/api.md. Tests fail when they differ.

import { spawn } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { withTable } from "../test/endpoint-table.ts"

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const folder = mkdtempSync(join(tmpdir(), "tallystick-openapi-"))
const settings = { TALLYSTICK_DATA: join(folder, "data"), TALLYSTICK_PORT: "0" }
const service = spawn(
  process.execPath,
  [join(root, "packages", "server", "bin", "tallystick.mjs"), "serve"],
  {
    env: { PATH: process.env.PATH, ...settings },
    stdio: ["ignore", "pipe", "inherit"],
  },
)
try {
  const url = await new Promise((resolve, reject) => {
    let said = ""
    service.stdout.on("data", (text) => {
      said += text
      const [, address] = /listens on (http:\S+)/.exec(said) ?? []
      if (address) resolve(address)
    })
    service.once("exit", () => reject(new Error("the service did not start")))
  })
  const description = await (await fetch(`${url}/openapi.json`)).json()
  writeFileSync(join(root, "docs", "openapi.json"), `${JSON.stringify(description, null, 2)}\n`)
  const api = join(root, "docs", "api.md")
  writeFileSync(api, withTable(readFileSync(api, "utf8"), description))
} finally {
  service.kill("SIGTERM")
  await new Promise((resolve) =>
    service.exitCode === null ? service.once("exit", resolve) : resolve(),
  )
  rmSync(folder, { recursive: true, force: true })
}
