import assert from "node:assert/strict"
import { spawnSync } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { test } from "node:test"
import { npmWith } from "./npm.ts"

// The description under Spectral's rules for OpenAPI. Redocly's are part of `npm run check`;
// Spectral is 242 packages and takes ten seconds.

const rules = {
  extends: ["spectral:oas"],
  rules: {
    // The contact is the operator of each service, who is not known here.
    "info-contact": "off",
    // A rule of OpenAPI 3.0. In 3.1 a requirement may name roles for any scheme, and nothing lists
    // them. Redocly looks whether the scheme is there.
    "oas3-operation-security-defined": "off",
  },
}

test("Spectral finds nothing in the description, and finds a planted fault", (t) => {
  const installed = npmWith("spectral", { "@stoplight/spectral-cli": "6.16.3" })
  if (typeof installed === "string") return t.skip(installed)
  const folder = mkdtempSync(join(tmpdir(), "tallystick-spectral-"))
  t.after(() => rmSync(folder, { recursive: true }))
  writeFileSync(join(folder, "rules.json"), JSON.stringify(rules))
  const wrong = join(folder, "wrong.json")
  writeFileSync(
    wrong,
    JSON.stringify({
      openapi: "3.1.0",
      info: { title: "A", version: "1" },
      paths: { "/a": { get: {} } },
    }),
  )
  const description = join(import.meta.dirname, "..", "..", "docs", "openapi.json")
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [
      join(installed.modules, "@stoplight", "spectral-cli", "dist", "index.js"),
      "lint",
      "--fail-severity=hint",
      "--format=json",
      "--fail-on-unmatched-globs",
      "--ruleset",
      join(folder, "rules.json"),
      description,
      wrong,
    ],
    { encoding: "utf8", timeout: 300_000 },
  )
  assert.equal(status, 1, stdout + stderr)
  const found = JSON.parse(stdout) as readonly { readonly source: string; readonly code: string }[]
  assert.deepEqual(
    found.filter(({ source }) => source !== wrong),
    [],
  )
  assert.ok(
    found.some(({ code }) => code === "operation-operationId"),
    stdout,
  )
})
