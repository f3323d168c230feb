import assert from "node:assert/strict"
import { spawn, spawnSync } from "node:child_process"
import { createHash } from "node:crypto"
import { once } from "node:events"
import {
  chmod,
  chown,
  cp,
  mkdir,
  mkdtemp,
  mkdtempDisposable,
  open,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  truncate,
  writeFile,
} from "node:fs/promises"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { test } from "node:test"
import { readZip } from "@tallystick/proof"
import { expectChain } from "./chain.ts"
import { startProgram } from "./crash/programs.ts"
import { flipped } from "./flipped.ts"
import { freePort } from "./free-port.ts"
import { listening } from "./listening.ts"
import { program, tallystick } from "./program.ts"
import {
  eventFor,
  eventually,
  logKeyOf,
  makeWorkspace,
  settingsOf,
  writeMany,
  type Service,
  type Workspace,
} from "./service.ts"
import { untilSigned } from "./until.ts"

// The commands, run as an operator or an auditor runs them.

const notRoot = process.getuid?.() === 0 ? false : "only root may run a command as another account"
const noBash =
  spawnSync("bash", ["--version"]).error === undefined ? false : "bash is not installed here"

async function makeFolder(): Promise<
  AsyncDisposable & { file(name: string, content: string | Uint8Array): Promise<string> }
> {
  const folder = await mkdtemp(join(tmpdir(), "tallystick-cli-"))
  return {
    async file(name, content) {
      await writeFile(join(folder, name), content)
      return join(folder, name)
    },
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  }
}

// serve -------------------------------------------------------------------------------------------

test("serve: a start goes on if nobody reads its greeting, or its file is on a full disk", async () => {
  await using folder = await makeFolder()
  const data = join(dirname(await folder.file("heads", "")), "data")
  for (const redirected of ["> /dev/full", "| true"]) {
    const port = await freePort()
    const child = spawn("sh", ["-c", `"$0" "$1" serve ${redirected}`, process.execPath, program], {
      env: { PATH: process.env["PATH"], TALLYSTICK_DATA: data, TALLYSTICK_PORT: String(port) },
      stdio: ["ignore", "ignore", "pipe"],
      detached: true,
    })
    let log = ""
    child.stderr.setEncoding("utf8").on("data", (text: string) => (log += text))
    const closed = new Promise((resolve) => child.once("close", resolve))
    try {
      await eventually(`a service to listen: ${redirected}`, async () => {
        assert.doesNotMatch(log, /^tallystick: /m)
        return log.includes('"msg":"listening"')
      })
      assert.equal((await fetch(`http://127.0.0.1:${port}/healthz`)).status, 200)
    } finally {
      if (child.exitCode === null) process.kill(-(child.pid ?? 0), "SIGTERM")
      await closed
    }
  }
})

// verify ------------------------------------------------------------------------------------------

/**
 * What an auditor is given of a workspace: an answer about a receipt, its proof, a page, a pack,
 * and the log's key.
 */
async function evidence(service: Service, workspace: Workspace) {
  const { receipt } = (
    await workspace.writer.write(
      eventFor(workspace.id, { target: { id: "inv_9", type: "invoice", name: "\u001b[2J" } }),
    )
  ).json()
  const proof = (await workspace.reader.get(`${workspace.path}/receipts/${receipt}/proof`)).text
  const answer = (await workspace.reader.get(`${workspace.path}/receipts/${receipt}`)).json()
  const page = (await workspace.reader.get(`${workspace.path}/events?include=proof`)).json()
  const { packId } = (
    await workspace.reader.post(`${workspace.path}/evidence-packs`, {
      title: "Audit",
      receiptIds: [receipt],
    })
  ).json()
  const pack = (await workspace.reader.get(`${workspace.path}/evidence-packs/${packId}/download`))
    .bytes
  const packJson = (
    await workspace.reader.get(`${workspace.path}/evidence-packs/${packId}/download?format=json`)
  ).text
  const vkey = await logKeyOf(workspace.reader, workspace.path)
  return { receipt: receipt as string, proof, answer, page, pack, packJson, vkey }
}

test("verify: evidence is genuine with the trusted key, and unconfirmed without", async () => {
  await using service = await startProgram()
  const workspace = await makeWorkspace(service)
  const { proof, answer, page, pack, packJson, vkey } = await evidence(service, workspace)
  await service.end()
  await using folder = await makeFolder()
  const files = [
    await folder.file("receipt.json", JSON.stringify(answer)),
    await folder.file("page.json", JSON.stringify(page)),
    await folder.file("entry.tlog-proof", proof),
    await folder.file("pack.zip", pack),
    await folder.file("pack.json", packJson),
  ]
  assert.equal(
    (await tallystick(["verify", "--key", vkey, ...files])).code,
    0,
    "keys may come first",
  )
  const trusting = await tallystick(["verify", ...files, "--key", vkey])
  assert.deepEqual([trusting.code, trusting.errors], [0, ""], trusting.output)
  assert.equal(trusting.output.match(/: genuine$/gm)?.length, 5)

  const told = await tallystick(["verify", ...files])
  assert.deepEqual([told.code, told.errors], [2, ""], told.output)
  assert.equal(told.output.match(/: not confirmed$/gm)?.length, 4)
  assert.equal(told.output.match(/entry\.tlog-proof: not checked$/gm)?.length, 1)
  assert.equal(told.output.match(/^ {2}\? {5}key$/gm)?.length, 5)
  assert.doesNotMatch(told.output, /FAIL/, "nothing is wrong")
  const doubting = await tallystick(["verify", "--json", ...files])
  assert.equal(doubting.code, 2)
  const findings = JSON.parse(doubting.output) as {
    what: string
    verdict: string
    reason: string
    checks: { name: string; ok: unknown }[]
  }[]
  for (const { checks } of findings)
    assert.deepEqual(
      checks.filter(({ ok }) => ok !== true),
      [{ name: "key", ok: null }],
    )
  assert.deepEqual(
    findings.map(({ what, verdict }) => [what, verdict]),
    ["receipt", "entry", "proof", "pack", "pack"].map((what) => [what, "unconfirmed"]),
  )
  for (const { reason } of findings) assert.match(reason, /no key that you trust has signed/)
})

test("verify: an export of JSON lines is checked line by line, to its last line", async () => {
  await using service = await startProgram()
  const workspace = await makeWorkspace(service)
  // Some programs take U+2028 for the end of a line.
  const metadata = { text: "one\u2028two" }
  for (const id of ["inv_1", "inv_2", "inv_3"])
    await workspace.writer.write(
      eventFor(workspace.id, { target: { id, type: "invoice" }, metadata }),
    )
  const vkey = await logKeyOf(workspace.reader, workspace.path)
  const exported = async (query: string): Promise<string> =>
    (await workspace.reader.get(`${workspace.path}/events/export?${query}`)).text
  const proven = await eventually("the export is sealed", async () => {
    const text = await exported("include=proof")
    return text.includes('"tlogProof":null') ? undefined : text
  })
  const [bare, none] = [await exported(""), await exported("query=nothing&include=proof")]
  await service.end()
  await using folder = await makeFolder()
  const lines = proven.split(/(?<=\n)/)
  const [first = "", second = "", third = "", end = ""] = lines
  assert.equal(lines.length, 4)
  const ended = (...entries: readonly string[]): string => {
    const sha256 = createHash("sha256").update(entries.join("")).digest("hex")
    const { end: said } = JSON.parse(end)
    return `${entries.join("")}${JSON.stringify({ end: { ...said, count: entries.length, sha256 } })}\n`
  }
  const cases: readonly (readonly [
    name: string,
    text: string,
    verdict: string,
    reason?: RegExp,
  ])[] = [
    ["whole", proven, "genuine"],
    ["less, and ended again", ended(first, third), "genuine"],
    ["cut after a line", first + second, "unconfirmed", /^its last line is missing.* after=\d+$/],
    ["cut in a line", first + second.slice(0, 99), "unconfirmed", /^its last line is missing/],
    ["without proofs", bare, "unconfirmed", /no proof.*include=proof/],
    ["without entries", none, "unreadable", /no entries/],
    ["no entry", ended(first, "{}\n"), "unreadable", /^line 2: it is not an entry/],
    ["not JSON", ended(first, "{\n"), "unreadable", /^line 2: it is not JSON/],
    ["two ends", ended(first, end), "unreadable", /^line 2: /],
    ["a line after the end", proven + first, "unreadable", /^line 4: /],
    [
      "a member twice",
      ended(first.replace("{", '{"hash":"",')),
      "refuted",
      /^line 1: .*"hash" twice/,
    ],
    ["a word changed", ended(first, second.replaceAll("inv_2", "inv_9")), "refuted", /^line 2: /],
    ["a line left out", first + third + end, "refuted", /end .* count: expected 2, found 3/],
    ["a space more", proven.replace('{"', '{ "'), "refuted", /end does not hold, in sha256: /],
    ["another order", ended(first, third, second), "refuted", /^line 3: .*oldest first/],
    ["a line twice", ended(first, first), "refuted", /^line 2: .*once/],
  ]
  const files = await Promise.all(
    cases.map(([name, text]) => folder.file(`${name.replaceAll(" ", "-")}.jsonl`, text)),
  )
  const told = await tallystick(["verify", "--json", "--key", vkey, ...files])
  assert.deepEqual([told.code, told.errors], [3, ""])
  const findings = JSON.parse(told.output) as {
    what: string
    verdict: string
    reason?: string
    facts: { entries: number }
  }[]
  for (const [at, [name, , verdict, reason]] of cases.entries()) {
    const found = findings[at]
    assert.deepEqual([found?.what, found?.verdict], ["list", verdict], `${name}: ${told.output}`)
    if (reason !== undefined) assert.match(found?.reason ?? "", reason, name)
  }
  assert.deepEqual([findings[0]?.facts.entries, findings[1]?.facts.entries], [3, 2])
  const trusting = await tallystick(["verify", files[0] ?? "", "--key", vkey])
  assert.deepEqual([trusting.code, trusting.errors], [0, ""])
  assert.match(trusting.output, /: genuine\n[^]* {2}ok {4}end\n {2}entries: 3\n/)
  const trustless = await tallystick(["verify", files[0] ?? ""])
  assert.deepEqual([trustless.code, trustless.errors], [2, ""])
  assert.match(trustless.output, /: not confirmed\n.*no key that you trust/)
})

test("verify: during a key's overlap, evidence is genuine under either key", async () => {
  await using service = await startProgram()
  const workspace = await makeWorkspace(service)
  const before = await logKeyOf(workspace.reader, workspace.path)
  assert.equal((await service.root.post(`${workspace.path}/tlog/keys`, undefined)).status, 201)
  const { proof, answer, page, pack, packJson, vkey } = await evidence(service, workspace)
  assert.notEqual(vkey, before)
  await using folder = await makeFolder()
  const exported = join(dirname(service.data), "export")
  assert.equal((await tallystick(["export", workspace.id, exported], settingsOf(service))).code, 0)
  const files = [
    await folder.file("receipt.json", JSON.stringify(answer)),
    await folder.file("page.json", JSON.stringify(page)),
    await folder.file("entry.tlog-proof", proof),
    await folder.file("pack.zip", pack),
    await folder.file("pack.json", packJson),
    exported,
  ]
  for (const key of [before, vkey]) {
    const { code, output } = await tallystick(["verify", ...files, "--key", key])
    assert.deepEqual([code, output.match(/: genuine$/gm)?.length], [0, files.length], output)
  }
  assert.equal((await tallystick(["verify", ...files])).code, 2)
  await expectChain(workspace.reader, workspace.id)
})

test("verify: a pack that was unpacked is one, also without its disclosures", async () => {
  await using service = await startProgram()
  const workspace = await makeWorkspace(service)
  const { pack, vkey } = await evidence(service, workspace)
  await service.end()
  await using unpacked = await mkdtempDisposable(join(tmpdir(), "tallystick-unpacked-"))
  for (const [path, content] of readZip(pack) ?? []) {
    await mkdir(dirname(join(unpacked.path, path)), { recursive: true })
    await writeFile(join(unpacked.path, path), content)
  }
  const verified = () => tallystick(["verify", unpacked.path, "--key", vkey])
  assert.match((await verified()).output, /: genuine\n[^]*title: Audit\n/)
  await rm(join(unpacked.path, "disclosures"), { recursive: true })
  await writeFile(join(unpacked.path, ".DS_Store"), "")
  const { code, output } = await verified()
  assert.match(output, /withheld: [1-9]/)
  assert.match(output, /not covered by the proof: \.DS_Store\n/)
  assert.equal(code, 0)
  await writeFile(join(unpacked.path, "entries.csv"), "")
  const changed = await verified()
  assert.match(changed.output, /manifest does not hold, in entries\.csv/)
  assert.equal(changed.code, 3)
})

test("verify: one changed byte anywhere is found, and the exit code is 3", async () => {
  await using service = await startProgram()
  const workspace = await makeWorkspace(service)
  const { proof, answer, pack, vkey } = await evidence(service, workspace)
  await service.end()
  await using folder = await makeFolder()
  const body = answer.proof.body.replace("inv_9", "inv_8")
  const shown = {
    ...answer,
    receipt: { ...answer.receipt, target: { ...answer.receipt.target, id: "\u001b[2Jinv_8" } },
  }
  const changedPack = flipped(pack, pack.length >> 1)
  const changed: readonly (readonly [string, string | Uint8Array, RegExp])[] = [
    [
      "body.json",
      JSON.stringify({ ...answer, proof: { ...answer.proof, body } }),
      /content does not hold, in proof\.body/,
    ],
    ["shown.json", JSON.stringify(shown), /receipt does not hold, in receipt\.target/],
    [
      "key.tlog-proof",
      proof.replace(/^index \d+$/m, "index 0"),
      /inclusion does not hold|malformed|record/,
    ],
    ["pack.zip", changedPack, /does not hold/],
    ["cut.zip", pack.subarray(0, pack.length - 1), /archive does not hold/],
  ]
  for (const [name, content, reason] of changed) {
    const { code, output, errors } = await tallystick([
      "verify",
      await folder.file(name, content),
      "--key",
      vkey,
    ])
    assert.deepEqual([code, errors], [3, ""], output)
    assert.match(output, new RegExp(`${RegExp.escape(name)}: NOT GENUINE`))
    assert.match(output, /^ {2}FAIL {2}\w+$/m)
    assert.match(output, reason)
    assert.ok(!output.includes("\u001b"), "a file can move the cursor")
  }
  const hostile = JSON.stringify({ ...answer, "\u009b2J\u202e": 1 })
  const file = await folder.file("hostile.json", hostile)
  const { output } = await tallystick(["verify", "--json", file, "--key", vkey])
  assert.doesNotMatch(output, /[\u009b\u202e]/)
  assert.equal(JSON.parse(output)[0].notCovered.at(-1), "\u009b2J\u202e")
})

test("verify: members that no hash covers are named, and contradictions are not genuine", async () => {
  await using service = await startProgram()
  const workspace = await makeWorkspace(service)
  const { answer, page, packJson, vkey } = await evidence(service, workspace)
  const systemPage = (
    await workspace.reader.get(`${workspace.path}/events?include=proof&projectId=system`)
  ).json()
  assert.ok(systemPage.events.length >= 2)
  await service.end()
  await using folder = await makeFolder()
  const verified = async (name: string, content: unknown) => {
    const file = await folder.file(
      name,
      typeof content === "string" ? content : JSON.stringify(content),
    )
    const { code, output } = await tallystick(["verify", "--json", file, "--key", vkey])
    const [{ verdict, reason = "", notCovered }] = JSON.parse(output) as [
      { verdict: string; reason?: string; notCovered: string[] },
    ]
    return { code, verdict, reason, notCovered }
  }
  const always = [
    "receipt.storageClass",
    "receipt.verificationUrl",
    "receipt.queued",
    "entry.storageTier",
  ]
  assert.deepEqual((await verified("good.json", answer)).notCovered, always)
  const added = {
    ...answer,
    approvedBy: "the CFO",
    entry: { ...answer.entry, approvedBy: "\u001b[2J" },
  }
  assert.partialDeepStrictEqual(await verified("added.json", added), {
    code: 0,
    notCovered: [...always, "entry.approvedBy", "approvedBy"],
  })
  const { output } = await tallystick([
    "verify",
    await folder.file("text.json", JSON.stringify(added)),
    "--key",
    vkey,
  ])
  assert.match(
    output,
    /^ {2}not covered by the proof: receipt\.storageClass, .*, entry\.approvedBy, approvedBy$/m,
  )
  const pageOf = (change: object) => verified("page.json", { ...page, ...change })
  assert.deepEqual((await pageOf({ approvedBy: 1 })).notCovered, [
    "entry.storageTier",
    "page.total",
    "page.hasMore",
    "page.approvedBy",
  ])
  assert.deepEqual(
    (await verified("pack.json", packJson.replace("{", '{"approvedBy":1,'))).notCovered,
    ["approvedBy"],
  )

  const text = JSON.stringify(answer)
  const wrong: readonly (readonly [content: unknown, reason: RegExp])[] = [
    [text.replace('"entry":{', '"entry":{"action":"x.y",'), /has the member "action" twice/],
    [
      text.replace(`/receipts/${answer.receipt.receipt}"`, '/receipts/rcp_1"'),
      /receipt\.verificationUrl/,
    ],
    [text.replace('"integrity":"verified"', '"integrity":"broken"'), /entry\.integrity/],
    [{ ...page, returned: 2 }, /page does not hold, in returned: expected 1, found 2/],
    [{ ...page, nextCursor: 0 }, /page does not hold, in nextCursor/],
    [
      { ...answer, entry: { ...answer.entry, action: "x.y" }, events: page.events },
      /both a page and an answer about a receipt/,
    ],
    [
      { ...page, events: [page.events[0], page.events[0]], returned: 2 },
      /page does not hold, in events\[1\]: entries must come once each/,
    ],
    [
      {
        ...systemPage,
        events: systemPage.events.toReversed(),
        nextCursor: systemPage.events[0].sequence,
      },
      /page does not hold, in events\[1\]/,
    ],
    [packJson.replace(/"README\.txt":"./, '"README.txt":"x'), /manifest does not hold/],
  ]
  for (const [content, expected] of wrong) {
    const { code, reason } = await verified("wrong.json", content)
    assert.equal(code, 3, reason)
    assert.match(reason, expected)
  }
})

test("verify: a file that never ends, waits, is too large or lies elsewhere is not read", async () => {
  await using service = await startProgram()
  const workspace = await makeWorkspace(service)
  const { pack } = await evidence(service, workspace)
  await using folder = await makeFolder()
  const good = join(dirname(service.data), "export")
  assert.equal((await tallystick(["export", workspace.id, good], settingsOf(service))).code, 0)
  await service.end()
  const exported = async (
    name: string,
    change: (folder: string) => Promise<unknown>,
  ): Promise<string> => {
    const path = join(dirname(service.data), name)
    await cp(good, path, { recursive: true })
    await change(path)
    return path
  }
  const replaced = (name: string, file: string, by: (path: string) => unknown) =>
    exported(name, async (path) => {
      await rm(join(path, file), { recursive: true })
      await by(join(path, file))
    })
  const larger = async (path: string, bytes: number): Promise<string> => {
    await truncate(path, bytes)
    return path
  }
  const fifo = (path: string) => assert.equal(spawnSync("mkfifo", [path]).status, 0)
  const waiting = join(good, "..", "fifo")
  fifo(waiting)
  // Its name is no path of a file `checkpoint` in the export.
  const beside = `${good}checkpoint`
  await writeFile(beside, "{}")
  const cases: readonly (readonly [path: string, reason: RegExp])[] = [
    [beside, /it is not a receipt/],
    ["/dev/zero", /is not a regular file/],
    [waiting, /is not a regular file/],
    [
      await larger(await folder.file("large.json", "{"), 2 ** 31),
      /has 2147483648 bytes; at most \d+ are read/,
    ],
    // Lines are read one at a time, so there may be more of them than of a text.
    [
      await larger(await folder.file("many.jsonl", '{"a":1}\n{'), 300 * 2 ** 20),
      /line 1: it is not an entry/,
    ],
    [
      await larger(await folder.file("large.jsonl", '{"a":1}\n{'), 2 ** 31),
      /has 2147483648 bytes; at most \d+ are read/,
    ],
    [
      await larger(await folder.file("large.zip", pack), 2 ** 32),
      /has 4294967296 bytes; at most \d+ are read/,
    ],
    [await folder.file("many.json", `[${"[],".repeat(6_000_000)}0]`), /it is not a receipt/],
    [
      await replaced("endless", "genesis.json", (path) => symlink("/dev/zero", path)),
      /genesis\.json is a link or is reached through one/,
    ],
    [await replaced("waiting", "log.vkey", fifo), /log\.vkey is not a regular file/],
    [
      await exported("wide", (path) => larger(join(path, "checkpoint"), 2 ** 31)),
      /checkpoint has 2147483648 bytes/,
    ],
    [
      await exported("tall", (path) => larger(join(path, "bodies", "000.jsonl"), 2 ** 31)),
      /000\.jsonl has 2147483648 bytes/,
    ],
    [
      await exported("elsewhere", async (path) => {
        await rename(join(path, "tile"), join(good, "..", "tile"))
        await symlink("../tile", join(path, "tile"))
      }),
      /is a link or is reached through one/,
    ],
  ]
  for (const [path, reason] of cases) {
    const { code, output, errors } = await tallystick(["verify", path])
    assert.deepEqual([code, errors], [1, ""], `${path}: ${output}`)
    assert.match(output, reason)
  }
  const { code, output } = await tallystick([
    "verify",
    await folder.file("good.zip", pack),
    "--epochs",
    join(dirname(service.data), "endless"),
  ])
  assert.deepEqual([code, /do not fit together/.test(output)], [1, true], output)
  for (const genesis of ['{"toString":1}', `${"[".repeat(100_000)}${"]".repeat(100_000)}`]) {
    const epochs = await folder.file("epochs.json", `{"epochs":[{"genesis":${genesis}}]}`)
    const ran = await tallystick([
      "verify",
      await folder.file("good.zip", pack),
      "--epochs",
      epochs,
    ])
    assert.deepEqual(
      [ran.code, ran.errors, /do not fit together/.test(ran.output)],
      [1, "", true],
      ran.output,
    )
  }
})

test("verify: a file that is no evidence gives exit code 1, and the worst of several files counts", async () => {
  await using service = await startProgram()
  const workspace = await makeWorkspace(service)
  const { answer, vkey } = await evidence(service, workspace)
  await using folder = await makeFolder()
  const good = await folder.file("good.json", JSON.stringify(answer))
  const alone = await folder.file("alone.json", JSON.stringify(answer.receipt))
  const other = await folder.file("other.txt", "hello")
  const { sequence: _, ...entry } = answer.entry
  const bad = await folder.file(
    "bad.json",
    JSON.stringify({ ...answer, entry: { ...entry, sequence: 99 } }),
  )
  const codes = async (...files: string[]) =>
    (await tallystick(["verify", ...files, "--key", vkey])).code
  assert.equal(await codes(good), 0)
  assert.equal(await codes(good, alone), 2)
  assert.equal(await codes(good, alone, other), 1)
  assert.equal(await codes(join(tmpdir(), "no-such-file")), 1)
  assert.equal(await codes(other, bad, good), 3)
  // As a folder that may not be entered, which root may.
  assert.equal(await codes("x".repeat(300), bad), 3)
  for (const args of [
    ["verify"],
    ["verify", good, "--key", "nonsense"],
    ["verify", good, "--unknown"],
    ["verfy"],
  ]) {
    assert.equal((await tallystick(args)).code, 1, args.join(" "))
  }
  const said = async (...options: string[]) =>
    (await tallystick(["verify", good, ...options])).output
  assert.match(
    await said("--key", "log.vkey"),
    /log\.vkey is not the vkey .* --key "\$\(cat log\.vkey\)"$/m,
  )
  assert.match(
    await said("--epochs", "no-such-file"),
    /^--epochs no-such-file: .*\n  there is no such file$/m,
  )
})

// keys --------------------------------------------------------------------------------------------

test("keys: create, list and revoke use the instance key of the data folder, and print only the key", async () => {
  await using service = await startProgram({ environment: { TALLYSTICK_ROOT_KEY: undefined } })
  const workspace = await makeWorkspace(service)
  const environment = { TALLYSTICK_DATA: service.data, TALLYSTICK_PORT: new URL(service.url).port }
  const made = await tallystick(
    [
      "keys",
      "create",
      workspace.id,
      "--name",
      "billing",
      "--scope",
      "write",
      "--scope",
      "read",
      "--expires-in",
      "90d",
    ],
    environment,
  )
  assert.equal(made.code, 0, made.errors)
  assert.match(made.output, /^tsk_\w+\n$/)
  const key = made.output.trim()
  assert.ok(!made.errors.includes(key), "the key is shown once")
  assert.equal((await service.client(key).write(eventFor(workspace.id))).status, 202)

  const [, keyId = ""] = key.split("_")
  const listed = await tallystick(["keys", "list", workspace.id], environment)
  assert.match(listed.output, new RegExp(`^${keyId} +live +write,read +all .* billing$`, "m"))
  assert.ok(!listed.output.includes(key))
  const ended = await tallystick(["keys", "revoke", workspace.id, keyId], {
    TALLYSTICK_ROOT_KEY: service.rootKey,
    ...environment,
  })
  assert.deepEqual([ended.code, ended.output], [0, ""])
  assert.equal(
    (await service.client(key).write(eventFor(workspace.id))).json().error,
    "token_revoked",
  )
  const json = await tallystick(
    ["keys", "list", workspace.id, "--json", "--url", service.url],
    environment,
  )
  assert.equal((JSON.parse(json.output) as object[]).length, 3)
})

test("keys: a mistake gives one sentence and exit code 1", async () => {
  await using service = await startProgram()
  const environment = {
    TALLYSTICK_ROOT_KEY: service.rootKey,
    TALLYSTICK_PORT: new URL(service.url).port,
  }
  const nowhere = `http://127.0.0.1:${await freePort()}`
  await using cutter = await listening(
    createServer((socket) => socket.once("data", () => socket.destroy())),
  )
  const cases: readonly (readonly [readonly string[], Record<string, string>, RegExp])[] = [
    [["list", "nobody"], environment, /^tallystick: there is no /],
    [["list", ".."], environment, /^tallystick: an id in a path/],
    [["list", "acme", "--url", "here"], environment, /^tallystick: --url must be an http or/],
    [
      ["list", "acme"],
      { ...environment, TALLYSTICK_ROOT_KEY: "x".repeat(40) },
      /^tallystick: .*credential .*; it came from TALLYSTICK_ROOT_KEY, and http:.* was asked$/m,
    ],
    [
      ["list", "acme"],
      { TALLYSTICK_DATA: "/nowhere" },
      /^tallystick: TALLYSTICK_ROOT_KEY is not set, and there is no \/nowhere\/root-key/,
    ],
    [
      ["list", "acme"],
      { ...environment, TALLYSTICK_PORT: "0" },
      /^tallystick: TALLYSTICK_PORT is 0/,
    ],
    [
      ["list", "acme", "--url", nowhere],
      environment,
      new RegExp(`^tallystick: nothing answers at ${nowhere} \\(ECONNREFUSED\\); `),
    ],
    [
      ["list", "acme", "--url", cutter.url],
      environment,
      new RegExp(`^tallystick: no complete answer came from ${cutter.url} `),
    ],
    [["create", "acme", "--name", "a"], environment, /--scope/],
    [
      ["create", "acme", "--name", "a", "--scope", "read", "--expires-in", "soon"],
      environment,
      /--expires-in/,
    ],
  ]
  for (const [args, settings, sentence] of cases) {
    const { code, output, errors } = await tallystick(["keys", ...args], settings)
    assert.deepEqual([code, output], [1, ""], args.join(" "))
    assert.match(errors, sentence)
    assert.ok(!errors.includes("    at ") && !errors.includes(service.rootKey), errors)
  }
})

// reindex -----------------------------------------------------------------------------------------

test("reindex: rebuilds the index and the search, and everything is found and verified as before", async () => {
  await using first = await startProgram()
  const workspace = await makeWorkspace(first)
  for (let at = 0; at < 30; at++)
    await workspace.writer.write(
      eventFor(workspace.id, { target: { id: `inv_${at}`, type: "invoice" } }),
    )
  const found = (await workspace.reader.get(`${workspace.path}/events?query=inv_7`)).json()
  assert.equal(found.total, 1)

  const busy = await tallystick(["reindex"], { TALLYSTICK_DATA: first.data })
  assert.equal(busy.code, 1)
  assert.match(busy.errors, /another tallystick is using the data folder/)
  assert.equal(await first.end(), 0)
  using index = new DatabaseSync(join(first.data, "index.db"))
  index.exec("UPDATE trees SET hashes = zeroblob(length(hashes))")
  index.close()
  const checked = await tallystick(["fsck"], { TALLYSTICK_DATA: first.data })
  assert.equal(checked.code, 3, checked.errors)
  assert.match(checked.errors, /the tree in index\.db is not the tree over them/)
  assert.match(
    checked.output,
    /Run tallystick reindex, which makes both again from the entries\.\n$/,
  )
  const unread = spawn(process.execPath, [program, "fsck"], {
    env: { PATH: process.env["PATH"], TALLYSTICK_DATA: first.data },
    stdio: ["ignore", "ignore", "pipe"],
  })
  unread.stderr.destroy()
  assert.deepEqual(await once(unread, "exit"), [3, null], "whoever reads its errors")
  for (const file of ["index.db", "search.db"]) await rm(join(first.data, file))
  const done = await tallystick(["reindex"], { TALLYSTICK_DATA: first.data })
  assert.deepEqual([done.code, done.errors], [0, ""])
  assert.match(done.output, /^Indexed \d+ entries of \d+ workspaces?\.\n$/)

  await using again = await startProgram({ data: first.data })
  const reader = again.client(workspace.reader.bearer)
  const receipt = found.events[0].receipt as string
  assert.equal(
    (await reader.get(`${workspace.path}/events?query=inv_7`)).json().events[0].receipt,
    receipt,
  )
  await untilSigned(reader, workspace.path)
  const { entry } = (await reader.get(`${workspace.path}/receipts/${receipt}`)).json()
  assert.equal(entry.integrity, "verified")
})

test("compact: refuses while a service runs, and says what it gave back", async () => {
  await using first = await startProgram()
  const workspace = await makeWorkspace(first)
  const receipt = await workspace.writer.write(eventFor(workspace.id))
  const busy = await tallystick(["compact"], { TALLYSTICK_DATA: first.data })
  assert.equal(busy.code, 1)
  assert.match(busy.errors, /another tallystick is using the data folder/)
  assert.equal(await first.end(), 0)
  const done = await tallystick(["compact"], { TALLYSTICK_DATA: first.data })
  assert.deepEqual([done.code, done.errors], [0, ""])
  assert.match(done.output, /^journal\.db has \d+\.\d MiB, \d+\.\d MiB before\.\n$/)
  const checked = await tallystick(["fsck"], { TALLYSTICK_DATA: first.data })
  assert.equal(checked.code, 0, checked.errors)
  await using again = await startProgram({ data: first.data })
  const found = await again
    .client(workspace.reader.bearer)
    .get(`${workspace.path}/receipts/${receipt.json().receipt}`)
  assert.equal(found.status, 200)
})

test("backup: with a secret that does not open the copy there is none", async () => {
  await using service = await startProgram()
  await makeWorkspace(service)
  const settings = { TALLYSTICK_DATA: service.data }
  const backups = join(dirname(service.data), "backups")
  const made = await tallystick(["backup", join(backups, "good")], settings)
  assert.deepEqual([made.code, made.errors], [0, ""])
  // As if the secret had been rotated meanwhile.
  await writeFile(join(service.data, "secret"), "ab".repeat(32))
  const refused = await tallystick(["backup", join(backups, "bad")], settings)
  assert.deepEqual([refused.code, refused.output], [1, ""])
  assert.match(refused.errors, /\/secret does not open the copy, so no backup was made: /)
  assert.deepEqual(await readdir(backups), ["good"])
  const without = await tallystick(["backup", join(backups, "bare"), "--without-secrets"], settings)
  assert.deepEqual([without.code, without.errors], [0, ""])
})

/** Overwrites the head of the first or the last page of a table. */
async function damagePage(
  data: string,
  which: "min" | "max",
  [name, table] = ["journal.db", "entries"],
): Promise<void> {
  const path = join(data, name)
  using database = new DatabaseSync(path)
  database.exec("PRAGMA wal_checkpoint(TRUNCATE)")
  const { page } =
    database.prepare(`SELECT ${which}(pageno) - 1 AS page FROM dbstat WHERE name = ?`).get(table) ??
    {}
  const { page_size: bytes } = database.prepare("PRAGMA page_size").get() ?? {}
  database.close()
  await using file = await open(path, "r+")
  await file.write(Buffer.alloc(200, 0xff), 0, 200, Number(page) * Number(bytes))
}

test("a damaged page is one sentence for every command, and that of an index names what mends it", async () => {
  await using service = await startProgram()
  await writeMany(await makeWorkspace(service), 3)
  assert.equal(await service.end(), 0)
  await damagePage(service.data, "min", ["index.db", "runs"])
  const refused = await tallystick(["serve"], settingsOf(service))
  assert.match(refused.errors, /: tallystick reindex makes index\.db and search\.db again/)
  const mended = await tallystick(["reindex"], settingsOf(service))
  assert.deepEqual([mended.code, mended.errors], [0, ""])
  await damagePage(service.data, "min")
  for (const args of [
    ["serve"],
    ["backup", `${service.data}-copy`],
    ["resume"],
    ["compact"],
    ["reindex"],
  ]) {
    const { code, output, errors } = await tallystick(args, settingsOf(service))
    assert.deepEqual([code, output], [1, ""], args.join(" "))
    assert.match(
      errors,
      /^tallystick: [^\n]*(database disk image is malformed|journal\.db is damaged)[^\n]*\n$/,
      args.join(" "),
    )
  }
})

test("reindex: keeps what it cannot make again, because a page of the journal is damaged", async () => {
  await using service = await startProgram()
  await writeMany(await makeWorkspace(service), 300)
  assert.equal(await service.end(), 0)
  await damagePage(service.data, "max")
  const derived = () =>
    Promise.all(["index.db", "search.db"].map((name) => readFile(join(service.data, name))))
  const before = await derived()
  const { code, output, errors } = await tallystick(["reindex"], settingsOf(service))
  assert.deepEqual([code, output], [1, ""])
  assert.match(errors, /^tallystick: .*journal.db is damaged \(.*\), so nothing was changed: .*\n$/)
  assert.deepEqual(await derived(), before)
})

test("reindex and fsck: do not change a folder without a ledger", async () => {
  await using folder = await makeFolder()
  const file = await folder.file("other.txt", "mine")
  for (const command of ["reindex", "fsck"]) {
    const { code, errors } = await tallystick([command], { TALLYSTICK_DATA: join(file, "..") })
    assert.equal(code, 1)
    assert.match(
      errors,
      /^tallystick: there is no ledger in .*: TALLYSTICK_DATA must name its folder\n$/,
    )
  }
  assert.equal(await readFile(file, "utf8"), "mine")
})

test("copy: without the secret it says what helps", async () => {
  await using folder = await makeFolder()
  const data = dirname(await folder.file("other.txt", "mine"))
  const database = "postgres://nobody@127.0.0.1:1/nothing"
  for (const [from, to, helps] of [
    [data, database, "name the data of the service with --from"],
    [database, join(data, "new"), "set TALLYSTICK_DATA to the data of the service"],
  ] as const) {
    const { code, output, errors } = await tallystick(["copy", "--from", from, "--to", to], {
      TALLYSTICK_DATA: join(data, "nothing"),
    })
    assert.deepEqual([code, output], [1, ""])
    assert.match(errors, /^tallystick: TALLYSTICK_SECRET is not set, and there is no .*\/secret: /)
    assert.ok(errors.endsWith(`: set it, or ${helps}\n`), errors)
  }
})

test("copy: a secret of another ledger is named by its file, and no password is shown", async () => {
  await using first = await makeFolder()
  await using second = await makeFolder()
  const from = dirname(await first.file("secret", "ab".repeat(32)))
  const other = dirname(await second.file("secret", "cd".repeat(32)))
  const database = "postgres://ledger:hidden@127.0.0.1:1/ledger"
  const { code, errors } = await tallystick(["copy", "--from", from, "--to", database], {
    TALLYSTICK_DATA: other,
  })
  assert.equal(code, 1)
  assert.equal(
    errors,
    `tallystick: the secret for the database 127.0.0.1:1/ledger, in ${join(other, "secret")}, is not the one of ${from}: a copied ledger keeps its secret\n`,
  )
})

test(
  "a folder of another account is reported as unreadable, not as absent",
  { skip: notRoot },
  async () => {
    await using first = await startProgram()
    assert.equal(await first.end(), 0)
    const environment = { TALLYSTICK_DATA: first.data }
    const refused = async (sentence: RegExp, ...also: readonly string[][]): Promise<void> => {
      for (const command of [["reindex"], ["backup", `${first.data}-backup`], ...also]) {
        const { code, output, errors } = await tallystick(command, environment, { uid: nobody })
        assert.deepEqual([code, output], [1, ""], command.join(" "))
        assert.match(errors, sentence, command.join(" "))
        assert.ok(!errors.includes("    at "), errors)
      }
    }
    await chmod(dirname(first.data), 0o755)
    const elsewhere = await tallystick(["backup", `${first.data}-backup`], environment, {
      uid: nobody,
    })
    const folder = `tallystick: ${dirname(first.data)}: permission denied; run this as the account`
    assert.ok(elsewhere.errors.startsWith(folder), elsewhere.errors)
    await chmod(dirname(first.data), 0o777)
    const denied = "/.*: permission denied; run this as .*"
    await refused(new RegExp(`^tallystick: ${denied}$`, "m"), ["keys", "list", "demo"], ["serve"])
    await chmod(first.data, 0o755)
    await refused(
      new RegExp(
        `^tallystick: (.* cannot be (opened|written to); check its owner, .*|${denied})$`,
        "m",
      ),
    )
  },
)

test(
  "root changes no data of another account, and what its other commands leave belongs to that account",
  { skip: notRoot },
  async () => {
    await using first = await startProgram()
    assert.equal(await first.end(), 0)
    for (const name of [".", ...(await readdir(first.data))])
      await chown(join(first.data, name), nobody, nobody)
    const environment = { TALLYSTICK_DATA: first.data, TALLYSTICK_ROOT_KEY: first.rootKey }
    for (const command of ["compact", "reindex", "secret rotate", "archive now", "resume"]) {
      const { code, output, errors } = await tallystick(command.split(" "), environment)
      assert.deepEqual([code, output], [1, ""], `${command}: ${errors}`)
      assert.match(errors, /^tallystick: .* belongs to account 65534: run this as that account/)
    }
    // A backup that is put back has none.
    await rm(join(first.data, "lock"))
    for (const command of [["backup", `${first.data}-copy`], ["fsck"]]) {
      const { code, errors } = await tallystick(command, environment)
      assert.deepEqual([code, errors], [0, ""])
    }
    for (const name of await readdir(first.data))
      assert.equal((await stat(join(first.data, name))).uid, nobody, name)
    assert.ok((await readdir(first.data)).includes("last-backup.json"))
  },
)

test(
  "serve: says in a sentence that its folder or a file in it is read-only",
  { skip: notRoot },
  async () => {
    await using first = await startProgram()
    assert.equal(await first.end(), 0)
    await chmod(dirname(first.data), 0o777)
    const files = await readdir(first.data)
    for (const one of [first.data, ...files.map((name) => join(first.data, name))])
      await chown(one, nobody, nobody)
    const environment = { TALLYSTICK_DATA: first.data, TALLYSTICK_PORT: "0" }
    for (const [name, mode] of [
      ["journal.db", 0o600],
      ["search.db", 0o600],
      ["lock", 0o600],
      [".", 0o700],
    ] as const) {
      await chmod(join(first.data, name), mode & 0o500)
      const { code, errors } = await tallystick(["serve"], environment, { uid: nobody })
      await chmod(join(first.data, name), mode)
      assert.equal(code, 1, name)
      assert.match(errors, /^tallystick: \/.* cannot be written to; check its owner, .*\n$/)
    }
  },
)

/** The account that owns nothing. */
const nobody = 65_534

test("the reader of the output may close the pipe", { skip: noBash }, () => {
  const { stderr } = spawnSync(
    "bash",
    ["-c", `"${process.execPath}" "${program}" completion bash | true`],
    { encoding: "utf8" },
  )
  assert.equal(stderr, "")
})

// Mistyped ----------------------------------------------------------------------------------------

test("a mistyped command gives one line with what was meant or where help is", async () => {
  const cases: readonly (readonly [string, string])[] = [
    ["verfy", "unknown command 'verfy' (Did you mean verify?)"],
    ["keys lst acme", "unknown command 'lst' (Did you mean list?)"],
    ["verify receipt.json --kye x", "unknown option '--kye' (Did you mean --key?)"],
    ["event list acme", "unknown command 'event' (Did you mean events?)"],
    ["events lst acme", "unknown command 'lst' (Did you mean list?)"],
    ["events list acme --formt csv", "unknown option '--formt' (Did you mean --format?)"],
    ["serve --dmo", "unknown option '--dmo' (Did you mean --demo?)"],
    ["help frobnicate", "unknown command 'frobnicate' (--help says more)"],
    ["help events lst", "unknown command 'lst' (--help says more)"],
    ["help verify now", "unknown command 'now' (--help says more)"],
    ["frobnicate", "unknown command 'frobnicate' (--help says more)"],
    ["verify", "missing required argument 'files' (--help says more)"],
    [
      "keys create acme --name a",
      "required option '--scope <scope>' not specified (--help says more)",
    ],
    [
      "doctor now",
      "too many arguments for 'doctor'. Expected 0 arguments but got 1: now (--help says more)",
    ],
  ]
  for (const [typed, sentence] of cases) {
    const { code, output, errors } = await tallystick(typed.split(" "))
    assert.deepEqual([code, output, errors], [1, "", `tallystick: ${sentence}\n`])
  }
})

// Help --------------------------------------------------------------------------------------------

test("help shows the help of the command that it is given", async () => {
  for (const [words, ...parts] of [
    ["help"],
    ["help verify", "verify"],
    ["help events", "events"],
    ["help events put", "events", "put"],
    ["events help put", "events", "put"],
  ] as const) {
    const shown = await tallystick(words.split(" "))
    assert.deepEqual(shown, await tallystick([...parts, "--help"]), words)
  }
})

test("serve --demo: a full disk is one sentence, which the log may say before it", async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), "tallystick-"))
  const { code, errors } = await tallystick(["serve", "--demo"], {
    TALLYSTICK_DATA: join(folder.path, "data"),
    TALLYSTICK_PORT: "0",
    TALLYSTICK_LIMIT_DISK_RESERVE_BYTES: String(Number.MAX_SAFE_INTEGER),
  })
  assert.deepEqual(
    [code, errors.replace(/^\{.*"the disk is nearly full, so writes are refused"\}\n/, "")],
    [1, "tallystick: the disk of the data is full, or nearly: make room, and run this again\n"],
  )
})
