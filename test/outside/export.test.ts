import assert from "node:assert/strict"
import { spawn, spawnSync } from "node:child_process"
import {
  copyFileSync,
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs"
import { tmpdir, userInfo } from "node:os"
import { dirname, join } from "node:path"
import { test } from "node:test"
import { setTimeout as sleep } from "node:timers/promises"
import { expectChain } from "../chain.ts"
import { startProgram } from "../crash/programs.ts"
import { freePort } from "../free-port.ts"
import { program, run, tallystick as runCommand, type Ended } from "../program.ts"
import {
  eventually,
  makeWorkspace,
  type Client,
  settingsOf,
  type Service,
  type Workspace,
  writeMany,
} from "../service.ts"
import { flipped } from "../flipped.ts"
import { erase, untilSigned } from "../until.ts"

// A ledger is exported while it is served, and checked by the offline verifier and, where Go is, by
// what Go checks its own module log with.

const tallystick = (
  service: Pick<Service, "data" | "url" | "rootKey">,
  ...args: readonly string[]
): Promise<Ended> => runCommand(args, settingsOf(service))

async function fill(workspace: Workspace, events: number, from = 0): Promise<number> {
  await writeMany(workspace, events)
  return eventually("a checkpoint over all of them", async () => {
    const size = await sizeOf(workspace.reader, workspace.path)
    return size > from + events ? size : undefined
  })
}

async function sizeOf(reader: Client, path: string): Promise<number> {
  return Number((await reader.get(`${path}/tlog/checkpoint`)).text.split("\n")[1])
}

async function exported(service: Service, workspace: Workspace, folder: string): Promise<string> {
  const ran = await tallystick(service, "export", workspace.id, folder)
  assert.deepEqual([ran.code, ran.errors], [0, ""], ran.output)
  return ran.output
}

const filesOf = (folder: string): readonly string[] =>
  globSync("**/*", { cwd: folder, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .toSorted()

test("an export is genuine, equals what the log serves, and continues after an interruption", async () => {
  await using service = await startProgram()
  const workspace = await makeWorkspace(service)
  const folder = join(dirname(service.data), "export")
  const size = await fill(workspace, 300)
  assert.match(
    await exported(service, workspace, folder),
    new RegExp(`^${size} entries of .*, ${size} of them new`),
  )
  const vkey = readFileSync(join(folder, "log.vkey"), "utf8").trim()
  for (const name of [folder, join(folder, "checkpoint")]) {
    const ran = await tallystick(service, "verify", "--json", name, "--key", vkey)
    assert.deepEqual([ran.code, ran.errors], [0, ""], ran.output)
    const [found] = JSON.parse(ran.output) as [
      { what: string; verdict: string; facts: Record<string, number> },
    ]
    assert.deepEqual(
      [found.what, found.verdict, found.facts["entries"], found.facts["bodies"]],
      ["export", "genuine", size, size],
    )
    assert.ok((found.facts["disclosures"] ?? 0) >= 600, "each event has two sealed fields")
  }
  assert.equal(
    (await tallystick(service, "verify", folder)).code,
    2,
    "a key that nobody trusts confirms nothing",
  )

  // As after an interruption: no checkpoint, and half a group.
  for (const path of ["checkpoint", "tile/0/000", "log.vkey"]) rmSync(join(folder, path))
  writeFileSync(join(folder, "bodies", "001.jsonl.new"), "half a l")
  await fill(workspace, 400, 300)
  await exported(service, workspace, folder)
  // Nothing is signed while no service runs, so the next export has no more entries.
  assert.equal(await service.end(), 0)
  await exported(service, workspace, folder)
  const afresh = join(dirname(service.data), "afresh")
  await exported(service, workspace, afresh)
  assert.deepEqual(filesOf(folder), filesOf(afresh))
  for (const path of filesOf(afresh))
    assert.deepEqual(readFileSync(join(folder, path)), readFileSync(join(afresh, path)), path)
  assert.match(await exported(service, workspace, folder), /^70\d entries of .*, 0 of them new/)
  await using again = await startProgram({ data: service.data })
  const reader = again.client(workspace.reader.bearer)
  for (const path of filesOf(afresh).filter((one) => one.startsWith("tile/"))) {
    const served = await reader.get(`${workspace.path}/tlog/${path}`)
    assert.deepEqual([served.status, served.bytes], [200, readFileSync(join(afresh, path))], path)
  }
  assert.equal((await tallystick(service, "verify", folder, "--key", vkey)).code, 0)

  // Nothing sealed is left in the last group, which is written again.
  await erase(again.root, workspace.path, { subject: { id: "usr_1" }, scope: "entries" })
  await untilSigned(again.root, workspace.path)
  assert.ok(existsSync(join(folder, "disclosures", "002.jsonl")))
  await exported(again, workspace, folder)
  assert.ok(!existsSync(join(folder, "disclosures", "002.jsonl")))
  const { code, output } = await tallystick(service, "verify", folder, "--key", vkey)
  assert.equal(code, 0, output)
  await expectChain(reader, workspace.id)
  assert.equal(await again.end(), 0)
})

test("an export is an entry before anything is given out, or it is not made", async () => {
  await using service = await startProgram()
  const workspace = await makeWorkspace(service)
  const size = await fill(workspace, 10)
  const folder = join(dirname(service.data), "export")
  const acts = async ({ root }: Service) => {
    const { events } = (
      await root.get(`${workspace.path}/events?projectId=system&query=action:workspace.export`)
    ).json()
    return events.map(({ actor, target, metadata }: Record<string, object>) => ({
      actor,
      target,
      metadata,
    }))
  }
  const stranger = await tallystick(
    { ...service, rootKey: "x".repeat(40) },
    "export",
    workspace.id,
    folder,
  )
  assert.deepEqual(
    [stranger.code, /malformed, unknown or wrong/.test(stranger.errors)],
    [1, true],
    stranger.errors,
  )
  const elsewhere = await tallystick(
    { ...service, url: `http://127.0.0.1:${await freePort()}` },
    "export",
    workspace.id,
    folder,
  )
  assert.deepEqual(
    [elsewhere.code, /nothing answers at/.test(elsewhere.errors)],
    [1, true],
    elsewhere.errors,
  )
  assert.deepEqual([filesOf(folder), await acts(service)], [["genesis.json"], []])

  await exported(service, workspace, folder)
  const target = { id: workspace.id, type: "workspace", name: workspace.id }
  const act = (entries: number) => ({
    actor: { id: "instance", type: "instance" },
    target,
    metadata: { entries },
  })
  assert.deepEqual(await acts(service), [act(size)])
  await eventually(
    "that entry to be signed",
    async () => (await sizeOf(workspace.reader, workspace.path)) === size + 1,
  )
  assert.equal(await service.end(), 0)

  // Without a service the command records the export itself, but not in a copy, which is read-only.
  await exported(service, workspace, folder)
  const copy = `${service.data}-copy`
  assert.equal((await tallystick(service, "backup", copy)).code, 0)
  const ofCopy = await tallystick(
    { ...service, data: copy },
    "export",
    workspace.id,
    join(dirname(service.data), "of-copy"),
  )
  assert.deepEqual(
    [ofCopy.code, ofCopy.errors],
    [0, "tallystick: this data is read-only, so no entry records the export\n"],
  )
  await using again = await startProgram({ data: service.data })
  assert.deepEqual(await acts(again), [act(size + 1), act(size)])
  await expectChain(again.client(workspace.reader.bearer), workspace.id)
})

test("an export that is killed again and again continues, and equals an uninterrupted one", async (t) => {
  await using service = await startProgram()
  const workspace = await makeWorkspace(service)
  const size = await fill(workspace, 2000)
  await expectChain(workspace.reader, workspace.id)
  assert.equal(await service.end(), 0)
  const [folder, afresh] = ["killed", "afresh"].map((name) =>
    join(dirname(service.data), name),
  ) as [string, string]
  await exported(service, workspace, afresh)

  const isDone = () => existsSync(join(folder, "checkpoint"))
  let [kills, had, roundsLeft] = [0, -1, 20]
  while (kills < 3 || !isDone()) {
    if (isDone()) {
      // It was done before the kill, as happens on a busy machine.
      assert.ok((roundsLeft -= 1) > 0, "it was never interrupted")
      rmSync(folder, { recursive: true })
      kills = 0
      had = -1
    }
    const child = spawn(process.execPath, [program, "export", workspace.id, folder], {
      env: { PATH: process.env["PATH"], TALLYSTICK_DATA: service.data },
      stdio: "ignore",
    })
    const ended = new Promise<NodeJS.Signals | null>((resolve) =>
      child.once("close", (_, signal) => resolve(signal)),
    )
    // As soon as it has added some files to what was there.
    const before = Math.max(had, countOf(folder))
    had = before + 7
    while (child.exitCode === null && countOf(folder) < had) await sleep(1)
    child.kill("SIGKILL")
    if ((await ended) === "SIGKILL") kills += 1
  }
  t.diagnostic(`${kills} kills, ${size} entries`)
  await exported(service, workspace, folder)
  assert.deepEqual(filesOf(folder), filesOf(afresh))
  for (const path of filesOf(afresh))
    assert.deepEqual(readFileSync(join(folder, path)), readFileSync(join(afresh, path)), path)
})

const countOf = (folder: string): number =>
  existsSync(folder) ? filesOf(folder).filter((path) => !path.endsWith(".new")).length : 0

test("an export never overwrites other files, and one changed byte of it is found", async () => {
  await using service = await startProgram()
  const [workspace, other] = [await makeWorkspace(service), await makeWorkspace(service)]
  await fill(workspace, 300)
  await fill(other, 1)
  const folder = join(dirname(service.data), "export")
  await exported(service, workspace, folder)
  const refused = await tallystick(service, "export", other.id, folder)
  assert.deepEqual(
    [refused.code, /is an export of another ledger/.test(refused.errors)],
    [1, true],
    refused.errors,
  )
  const something = await tallystick(service, "export", other.id, dirname(service.data))
  assert.deepEqual(
    [something.code, /holds something else/.test(something.errors)],
    [1, true],
    something.errors,
  )
  const none = await tallystick(service, "export", "nobody", join(dirname(service.data), "none"))
  assert.deepEqual(
    [none.code, /there is no workspace nobody/.test(none.errors)],
    [1, true],
    none.errors,
  )
  const tile = join(folder, "tile/0/000")
  const hashes = readFileSync(tile)
  rmSync(tile)
  symlinkSync("000", tile)
  const unread = await tallystick(service, "export", workspace.id, folder)
  assert.deepEqual(
    [unread.code, /tile\/0\/000: too many symbolic links/.test(unread.errors)],
    [1, true],
    unread.errors,
  )
  rmSync(tile)
  writeFileSync(tile, hashes)

  const vkey = readFileSync(join(folder, "log.vkey"), "utf8").trim()
  const files = filesOf(folder)
  assert.ok(files.length >= 12, files.join(" "))
  for (const path of files) {
    const good = readFileSync(join(folder, path))
    writeFileSync(join(folder, path), flipped(good, good.length >> 1))
    const ran = await tallystick(service, "verify", folder, "--key", vkey)
    assert.deepEqual([ran.code, ran.errors], [3, ""], `${path}: ${ran.output}`)
    writeFileSync(join(folder, path), good)
  }
  const added = async (path: string, content: Uint8Array | string) => {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), content)
    const { code, output } = await tallystick(service, "verify", folder, "--key", vkey)
    rmSync(join(folder, path))
    return [code, output.includes(path)]
  }
  const copy = readFileSync(join(folder, "bodies/000.jsonl"))
  for (const path of [
    "bodies/009.jsonl",
    "bodies/000 (copy).jsonl",
    "epochs/2/genesis.json",
    "tile/0/000x",
  ])
    assert.deepEqual(await added(path, copy), [3, true], path)
  for (const path of ["approved-by-ceo.txt", "bodies/009.jsonl.new"])
    assert.deepEqual(await added(path, copy), [0, true], path)
  rmSync(join(folder, "disclosures"), { recursive: true })
  const withheld = await tallystick(service, "verify", folder, "--key", vkey)
  assert.equal(withheld.code, 0, "what is sealed may be withheld")
  assert.match(withheld.output, /withheld: \d{3}/)
  await expectChain(workspace.reader, workspace.id)
})

// Go ----------------------------------------------------------------------------------------------

/** Where the sources of Go's log are: a Debian package has them, and Go has them among its own. */
function sourcesOfGo(): { readonly go: string; readonly sources: string } | string {
  const go = [process.env["GO"] ?? "go", "/usr/local/go/bin/go"].find(
    (one) => spawnSync(one, ["version"]).error === undefined,
  )
  if (go === undefined) return "Go is not installed here"
  const root = spawnSync(go, ["env", "GOROOT"], { encoding: "utf8" }).stdout.trim()
  const places = [
    "/usr/share/gocode/src/golang.org/x/mod",
    join(root, "src", "cmd", "vendor", "golang.org", "x", "mod"),
  ]
  const sources = places.find(
    (place) => existsSync(join(place, "sumdb", "tlog")) && existsSync(join(place, "sumdb", "note")),
  )
  return sources === undefined ? "the sources of golang.org/x/mod are not here" : { go, sources }
}

test("Go's own log code accepts an export, and rejects a changed one", async (context) => {
  const found = sourcesOfGo()
  if (typeof found === "string") return context.skip(found)
  await using service = await startProgram()
  const workspace = await makeWorkspace(service)
  const folder = join(dirname(service.data), "export")
  const size = await fill(workspace, 700)
  await exported(service, workspace, folder)
  const check = await buildWithGo(found, join(dirname(service.data), "go"))
  assert.deepEqual(await run(check, [folder]), {
    code: 0,
    output: `${size} entries are genuine\n`,
    errors: "",
  })

  for (const path of [
    "checkpoint",
    "tile/0/001",
    "tile/entries/001",
    "tile/1/000.p/2",
    "log.vkey",
  ]) {
    const changed = join(dirname(service.data), "changed")
    cpSync(folder, changed, { recursive: true })
    const bytes = readFileSync(join(changed, path))
    writeFileSync(join(changed, path), flipped(bytes, bytes.length >> 1))
    const ran = await run(check, [changed])
    assert.equal(ran.code, 3, `${path}: ${ran.output}${ran.errors}`)
    rmSync(changed, { recursive: true })
  }
  await expectChain(workspace.reader, workspace.id)
})

/** Without a network: the module that it needs is what lies on this machine. */
async function buildWithGo(
  { go, sources }: { readonly go: string; readonly sources: string },
  folder: string,
): Promise<string> {
  mkdirSync(folder)
  copyFileSync(join(import.meta.dirname, "verify.go"), join(folder, "verify.go"))
  for (const part of ["tlog", "note"])
    cpSync(join(sources, "sumdb", part), join(folder, "mod", "sumdb", part), { recursive: true })
  writeFileSync(join(folder, "mod", "go.mod"), "module golang.org/x/mod\n\ngo 1.23\n")
  writeFileSync(
    join(folder, "go.mod"),
    "module outside\n\ngo 1.23\n\nrequire golang.org/x/mod v0.0.0\n\nreplace golang.org/x/mod => ./mod\n",
  )
  // Go compiles its own library once, not for every run nor for every clone.
  const cache = join(tmpdir(), `tallystick-go-build-${userInfo().uid}`)
  const env = {
    PATH: process.env["PATH"],
    HOME: folder,
    GOCACHE: cache,
    GOPROXY: "off",
    GOFLAGS: "-mod=mod",
    GOTOOLCHAIN: "local",
    CGO_ENABLED: "0",
  }
  const ran = await run(go, ["build", "-o", "check", "."], {
    cwd: folder,
    environment: env,
    killAfterMs: 120_000,
  })
  assert.equal(ran.code, 0, ran.errors)
  return join(folder, "check")
}
