import assert from "node:assert/strict"
import { chmod, readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { test } from "node:test"
import { makeFolder } from "./folder.ts"
import { run } from "./program.ts"

// `npm run release`, with an npm that notes what it is asked and publishes nothing.

const root = join(import.meta.dirname, "..")

test("a release says what it would publish where, and without consent publishes nothing", async () => {
  const { version } = JSON.parse(
    await readFile(join(root, "packages", "server", "package.json"), "utf8"),
  ) as { version: string }
  await using folder = await makeFolder()
  const [npm, asked] = [join(folder.path, "npm"), join(folder.path, "asked")]
  await writeFile(asked, "")
  await writeFile(npm, `#!/bin/sh\necho "$@" >> ${asked}\necho https://registry.example/\n`)
  await chmod(npm, 0o755)
  const environment = { PATH: `${folder.path}:${process.env["PATH"]}` }
  // Nobody answers, somebody hesitates, and somebody has another version in mind.
  for (const input of ["", "y\n", "9.9.9\n"]) {
    const { code, output, errors } = await run(
      process.execPath,
      [join(root, "scripts", "release.mjs")],
      { environment, input },
    )
    assert.equal(code, 1, output)
    for (const name of ["@tallystick/proof", "@tallystick/client", "tallystick", "@tallystick/web"])
      assert.ok(output.includes(`${name}@${version} to https://registry.example/\n`), output)
    assert.match(errors, /^release: nothing was made or published; .* --yes$/m)
  }
  const calls = (await readFile(asked, "utf8")).trimEnd().split("\n")
  assert.ok(calls.length > 0)
  assert.deepEqual(
    calls.filter((line) => !line.startsWith("config get ")),
    [],
  )
})
