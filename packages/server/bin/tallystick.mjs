#!/usr/bin/env node
// The entry point. It is plain JavaScript that Node 18 reads as well, so that an older Node than
// the program needs can look for a newer one, or say what to do.

import module from "node:module"

// An `import` reads every name of a module, and for some names of node:fs Node loads others.
const require = module.createRequire(import.meta.url)
const { dirname, join } = require("node:path")
const { fileURLToPath } = require("node:url")

const path = fileURLToPath(import.meta.url)
const folder = dirname(path)
// By this name a process of this file knows that another one started it.
const child = "tallystick"

const [, needed] = /(\d+\.\d+)/.exec(require("../package.json").engines.node)
if (isAtLeast(process.versions.node, needed)) await run()
else if (process.argv0 === child) refuse()
else runOnPinned(join(folder, "..", "..", "..", "node_modules", ".bin", "node"))

async function run() {
  if (process.argv0 === child && process.connected) endWithParent()
  // Code is compiled, and types are taken out of it, once and not at every start in each
  // thread, where the means to do so would stay in memory. Threads find the folder in the
  // environment; where it cannot be written, everything goes on without it.
  process.env.NODE_COMPILE_CACHE ??= join(folder, "..", ".cache")
  module.enableCompileCache(process.env.NODE_COMPILE_CACHE)
  await import("../src/main.ts")
}

/**
 * Has the Node that the clone pins do all of it: output, signals and exit code are those of that
 * process.
 */
function runOnPinned(node) {
  const { spawn } = require("node:child_process")
  // In a group of its own: a Ctrl-C reaches the whole group of a terminal, and would arrive twice,
  // which is a kill.
  const options = { argv0: child, detached: true, stdio: ["inherit", "inherit", "inherit", "ipc"] }
  const pinned = spawn(node, [path, ...process.argv.slice(2)], options)
  pinned.once("error", refuse)
  const signals = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"]
  for (const signal of signals) process.on(signal, () => pinned.kill(signal))
  pinned.once("exit", (code, signal) => {
    process.exitCode = code ?? 1
    for (const each of signals) process.removeAllListeners(each)
    if (signal !== null) process.kill(process.pid, signal)
  })
}

/** A kill of the process that a person or a supervisor started is a kill of this one. */
function endWithParent() {
  process.once("disconnect", () => process.kill(process.pid, "SIGTERM"))
  process.channel.unref()
}

function refuse() {
  const advice = `install that, or run \`node scripts/ready.mjs\` in a clone, which brings its own Node`
  process.stderr.write(
    `tallystick: this needs Node ${needed} or later and runs on ${process.versions.node}: ${advice}\n`,
  )
  process.exitCode = 1
}

function isAtLeast(version, oldest) {
  const [major, minor] = version.split(".").map(Number)
  const [oldestMajor, oldestMinor] = oldest.split(".").map(Number)
  return major > oldestMajor || (major === oldestMajor && minor >= oldestMinor)
}
