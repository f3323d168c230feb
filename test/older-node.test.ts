import assert from "node:assert/strict"
import { spawnSync } from "node:child_process"
import { cp, mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { test } from "node:test"
import { machinePath } from "./machine.ts"
import { eventually, startService } from "./service.ts"

// The command under an older Node than it needs, which most machines have.

const server = join(import.meta.dirname, "..", "packages", "server")
const program = join(server, "bin", "tallystick.mjs")

const { stdout: machineNode } = spawnSync("node", ["--version"], {
  env: { PATH: machinePath },
  encoding: "utf8",
})

/** The machine's own Node if it is older. Otherwise this one, with an older version number. */
const { prefix, environment } =
  Number(/^v(\d+)/.exec(machineNode)?.[1]) < 24
    ? { prefix: ["sh", "-c", 'shift; exec node "$@"', "sh"], environment: { PATH: machinePath } }
    : {
        prefix: [],
        environment: {
          NODE_OPTIONS: `--import=data:text/javascript,process.argv0==='tallystick'||Object.defineProperty(process.versions,'node',{value:'20.0.0'})`,
        },
      }

function run(path: string, ...words: readonly string[]) {
  const [command = "", ...args] = [...prefix, process.execPath]
  return spawnSync(command, [...args, path, ...words], {
    env: environment,
    encoding: "utf8",
    timeout: 60_000,
  })
}

test("the pinned Node runs the command, with its output and exit code", async () => {
  const version = run(program, "--version")
  assert.deepEqual([version.status, version.stderr], [0, ""])
  assert.match(version.stdout, /^\d+\.\d+\.\d+\n$/)
  const unreadable = run(program, "verify", "no such file")
  assert.deepEqual([unreadable.status, unreadable.stderr], [1, ""])
  assert.match(unreadable.stdout, /^no such file: not readable\n  there is no such file$/m)
  const refused = run(program, "frobnicate")
  assert.deepEqual([refused.status, refused.stdout], [1, ""])
  assert.match(refused.stderr, /frobnicate/)
})

test("signals reach the service, and a kill of the command ends it too", async () => {
  for (const [signal, code] of [
    ["SIGTERM", 0],
    ["SIGHUP", null],
    ["SIGKILL", null],
  ] as const) {
    await using service = await startService({ program, prefix, environment })
    assert.equal(await service.end(signal), code, signal)
    if (code === null) assert.equal(service.process.signalCode, signal)
    // The port and the data are free again.
    await eventually(`the service to have ended after ${signal}`, () =>
      fetch(service.url).then(
        () => undefined,
        () => true,
      ),
    )
  }
})

test("without a newer Node, one sentence says what to do", async () => {
  const folder = await mkdtemp(join(tmpdir(), "tallystick-older-"))
  try {
    for (const part of ["bin", "package.json"])
      await cp(join(server, part), join(folder, "packages", "server", part), { recursive: true })
    const { status, stdout, stderr } = run(
      join(folder, "packages", "server", "bin", "tallystick.mjs"),
      "serve",
    )
    assert.deepEqual([status, stdout], [1, ""])
    assert.match(
      stderr,
      /^tallystick: this needs Node 24\.15 or later and runs on \d+\.\d+\.\d+: .* `node scripts\/ready\.mjs` .*\n$/,
    )
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
})
