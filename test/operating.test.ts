import assert from "node:assert/strict"
import { spawnSync } from "node:child_process"
import { chmod, readdir, readFile, writeFile } from "node:fs/promises"
import { createServer } from "node:http"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { before, test } from "node:test"
import { verifyReceipt } from "@tallystick/proof"
import { makeFolder } from "./folder.ts"
import { expectChain } from "./chain.ts"
import { freePort } from "./free-port.ts"
import { listening } from "./listening.ts"
import { program, run, tallystick } from "./program.ts"
import {
  eventFor,
  logKeyOf,
  makeWorkspace,
  startService,
  settingsOf,
  clockAhead,
} from "./service.ts"

// Commands for an operator of a running service: config, doctor, completion, rotate.

interface Look {
  readonly name: string
  readonly state: "ok" | "warn" | "bad"
  readonly found: string
  readonly advice?: string
}

async function diagnose(
  environment: Readonly<Record<string, string>>,
  ...options: readonly string[]
): Promise<{ code: number | null; looks: Readonly<Record<string, Look>> }> {
  const { code, output, errors } = await tallystick(["doctor", "--json", ...options], environment)
  assert.equal(errors, "")
  return {
    code,
    looks: Object.fromEntries((JSON.parse(output) as Look[]).map((look) => [look.name, look])),
  }
}

// config ------------------------------------------------------------------------------------------

test("config: every value and its source, and no secret", async () => {
  await using folder = await makeFolder()
  const secret = "5e".repeat(32)
  const rootKey = "a-root-key-of-thirty-two-characters-or-more"
  await writeFile(join(folder.path, "secret"), `${secret}\n`)
  const environment = {
    TALLYSTICK_PORT: "9000",
    TALLYSTICK_DATA: "/srv/ledger/",
    TALLYSTICK_SECRET_FILE: join(folder.path, "secret"),
    TALLYSTICK_ROOT_KEY: rootKey,
    TALLYSTICK_LIMIT_PROOF_WAIT_MS: "1500",
  }
  const { code, output } = await tallystick(["config", "--json"], environment)
  assert.equal(code, 0)
  const shown = new Map(
    (JSON.parse(output) as { name: string; value: string; from: string }[]).map(
      ({ name, ...rest }) => [name, rest],
    ),
  )
  assert.deepEqual(shown.get("TALLYSTICK_PORT"), { value: "9000", from: "environment" })
  assert.deepEqual(shown.get("TALLYSTICK_HEADS"), { value: "/srv/ledger.heads", from: "default" })
  assert.deepEqual(shown.get("TALLYSTICK_SECRET"), { value: "(not shown)", from: "file" })
  assert.deepEqual(shown.get("TALLYSTICK_ROOT_KEY"), { value: "(not shown)", from: "environment" })
  assert.deepEqual(shown.get("TALLYSTICK_LIMIT_PROOF_WAIT_MS"), {
    value: "1500",
    from: "environment",
  })
  assert.deepEqual(shown.get("TALLYSTICK_LOG_LEVEL"), { value: "info", from: "default" })
  const table = (await tallystick(["config"], environment)).output
  assert.equal(table.trimEnd().split("\n").length, shown.size)
  for (const hidden of [secret, Buffer.from(secret, "hex").toString("base64"), rootKey])
    assert.ok(!(output + table).includes(hidden))

  const wrong = await tallystick(["config"], { TALLYSTICK_PROT: "1" })
  assert.deepEqual([wrong.code, wrong.output], [1, ""])
  assert.match(wrong.errors, /^tallystick: TALLYSTICK_PROT is not a setting/)
  const empty = await tallystick(["config"], { TALLYSTICK_DATA: "" })
  assert.deepEqual([empty.code, empty.output], [1, ""])
  assert.match(empty.errors, /^tallystick: TALLYSTICK_DATA is set to nothing/)
  const network = await tallystick(["config"], { TALLYSTICK_TRUST_PROXY: "127.0.0.1, 10.0.0.0/33" })
  assert.deepEqual([network.code, network.output], [1, ""])
  assert.match(network.errors, /^tallystick: TALLYSTICK_TRUST_PROXY must be/)
  // Container platforms set this variable to a service's address if the service is called
  // tallystick.
  const injected = {
    TALLYSTICK_PORT: "tcp://10.0.0.7:8080",
    TALLYSTICK_PORT_8080_TCP: "tcp://10.0.0.7:8080",
    TALLYSTICK_SERVICE_HOST: "10.0.0.7",
    TALLYSTICK_SERVICE_PORT: "8080",
  }
  const inContainer = await tallystick(["config", "--json"], injected)
  assert.equal(inContainer.code, 0, inContainer.errors)
  const fromDefault = (JSON.parse(inContainer.output) as { name: string }[]).find(
    ({ name }) => name === "TALLYSTICK_PORT",
  )
  assert.deepEqual(fromDefault, { name: "TALLYSTICK_PORT", value: "8080", from: "default" })
  const { output: everywhere } = await tallystick(["config"], { TALLYSTICK_HOST: "::" })
  assert.match(everywhere, /^TALLYSTICK_PUBLIC_URL .* http:\/\/\[::\]:8080$/m)
})

// doctor ------------------------------------------------------------------------------------------

test("doctor: finds nothing wrong with a running service, changes nothing, and names each planted fault", async () => {
  await using service = await startService()
  const acme = await makeWorkspace(service)
  for (let count = 0; count < 5; count++) await acme.writer.write(eventFor(acme.id))
  await acme.reader.get(`${acme.path}/tlog/checkpoint`)
  await expectChain(acme.reader, acme.id)
  const settings = settingsOf(service)
  await using folder = await makeFolder()

  const well = await diagnose(settings)
  const states = Object.values(well.looks)
  assert.deepEqual(
    states.filter(({ state }) => state !== "ok"),
    [],
  )
  assert.ok(states.length >= 10, `looked at ${states.length} things only`)
  assert.equal(well.code, 0)
  assert.match(well.looks["service"]?.found ?? "", /^ready at/)
  assert.deepEqual(
    (await readdir(service.data)).filter((name) => name.startsWith("doctor")),
    [],
  )
  // In a container, the next process has the number of one that was killed.
  const script = 'echo kept > "$TALLYSTICK_DATA/doctor.$$"; exec "$@"'
  const again = await run("sh", ["-c", script, "sh", process.execPath, program, "doctor"], {
    environment: { PATH: process.env["PATH"], ...settings },
  })
  assert.equal(again.code, 0, again.output)
  assert.equal(await service.end(), 0)

  // Each of these is done, found, named, and undone.
  const expectBad = async (
    name: string,
    found: RegExp,
    advice: RegExp,
    environment: Readonly<Record<string, string>> = settings,
  ) => {
    const { code, looks } = await diagnose(environment)
    assert.deepEqual([code, looks[name]?.state], [1, "bad"], JSON.stringify(looks))
    assert.match(looks[name]?.found ?? "", found)
    assert.match(looks[name]?.advice ?? "", advice)
  }
  const stopped = await diagnose(settings)
  assert.deepEqual([stopped.code, stopped.looks["service"]?.state], [0, "warn"])

  await chmod(join(service.data, "secret"), 0o644)
  await expectBad("secret", /open to other accounts, mode 644/, /^chmod 600 /)
  await chmod(join(service.data, "secret"), 0o600)
  await chmod(service.data, 0o755)
  await expectBad("data", /mode 755/, /^chmod 700 /)
  await chmod(service.data, 0o700)
  // It holds no secret, and whoever makes an empty one by hand makes it with the usual mode.
  await chmod(`${service.data}.heads`, 0o644)
  const shown = await diagnose(settings)
  assert.deepEqual([shown.code, shown.looks["heads"]?.state], [0, "warn"])
  assert.match(shown.looks["heads"]?.found ?? "", /can be read by other accounts, mode 644$/)
  assert.match(shown.looks["heads"]?.advice ?? "", /^chmod 600 /)
  await chmod(`${service.data}.heads`, 0o620)
  await expectBad("heads", /open to other accounts, mode 620/, /^chmod 600 /)
  await chmod(`${service.data}.heads`, 0o600)
  await expectBad(
    "keys",
    /is not the secret that this data was made with/,
    /bring the secret back/,
    {
      ...settings,
      TALLYSTICK_SECRET: "ab".repeat(32),
    },
  )
  await expectBad("disk", /MiB free$/, /free some space/, {
    ...settings,
    TALLYSTICK_LIMIT_DISK_RESERVE_BYTES: String(Number.MAX_SAFE_INTEGER),
  })
  // An unreadable file is named, too, and everything else is still checked.
  const secret = await readFile(join(service.data, "secret"), "utf8")
  await writeFile(join(service.data, "secret"), "half a sec")
  await expectBad("keys", /secret must be 32 bytes/, /check the file/)
  assert.equal((await diagnose(settings)).looks["chains"]?.state, "ok")
  await writeFile(join(service.data, "secret"), secret)
  await expectBad("checkpoints", /must be a file, and is a folder$/, /check the file/, {
    ...settings,
    TALLYSTICK_HEADS: tmpdir(),
  })
  await expectBad("archive", /^cannot write: ENOTDIR/, /TALLYSTICK_ARCHIVE/, {
    ...settings,
    TALLYSTICK_ARCHIVE: join(service.data, "secret"),
  })
  await expectBad("data", /is not a folder/, /set TALLYSTICK_DATA/, {
    ...settings,
    TALLYSTICK_DATA: join(service.data, "secret"),
  })
  await expectBad("configuration", /TALLYSTICK_PORT must be/, /correct it/, {
    ...settings,
    TALLYSTICK_PORT: "x",
  })

  const heads = await readFile(`${service.data}.heads`, "utf8")
  const ahead = heads.trimEnd().replace(/ (\d+) (\S+)$/, " 999999 $2")
  assert.notEqual(ahead, heads.trimEnd())
  await writeFile(`${service.data}.heads`, `${ahead}\n`)
  await expectBad("checkpoints", /and 999999 were signed/, /put the newer data back/)
  const [origin, size] = heads.trimEnd().split("\n").at(-1)?.split(" ") ?? []
  await writeFile(
    `${service.data}.heads`,
    `${heads}${origin} ${size} ${Buffer.alloc(32, 7).toString("base64")}\n`,
  )
  await expectBad("checkpoints", /are not those that were signed$/, /tallystick fsck/)
  await writeFile(
    `${service.data}.heads`,
    `${heads}ledger.example/ledgers/elsewhere ${size} ${Buffer.alloc(32, 7).toString("base64")}\n`,
  )
  const strange = await diagnose(settings)
  assert.deepEqual([strange.code, strange.looks["checkpoints"]?.state], [0, "warn"])
  assert.match(
    strange.looks["checkpoints"]?.found ?? "",
    /has 1 ledger that is not here: ledger\.example\/ledgers\/elsewhere$/,
  )
  await writeFile(`${service.data}.heads`, heads)
  await expectBad(
    "ledger",
    /holds no ledger, and .* says that something was signed$/,
    /put the data back/,
    {
      ...settings,
      TALLYSTICK_DATA: folder.path,
      TALLYSTICK_HEADS: `${service.data}.heads`,
    },
  )

  await expectBad("clock", /the last entry was recorded at/, /set the clock right/, {
    ...settings,
    ...clockAhead(-1),
  })
  assert.equal((await diagnose(settings)).code, 0, "all of it is undone")
  const lost = await diagnose({ ...settings, TALLYSTICK_HEADS: join(folder.path, "lost") })
  assert.deepEqual([lost.code, lost.looks["checkpoints"]?.state], [1, "bad"])
  assert.match(lost.looks["checkpoints"]?.found ?? "", /so nobody knows what was signed$/)
  const empty = join(folder.path, "empty")
  await writeFile(empty, "", { mode: 0o600 })
  const anew = await diagnose({ ...settings, TALLYSTICK_HEADS: empty })
  assert.deepEqual([anew.code, anew.looks["checkpoints"]?.state], [0, "warn"])
  assert.match(anew.looks["checkpoints"]?.found ?? "", /so entries may be missing there$/)

  const text = await tallystick(["doctor"], settings)
  assert.equal(text.code, 0)
  assert.match(text.output, /^warn {2}service .*\n +→ if it should run, start it/m)
})

test("doctor: says when what answers is not the service of the data, and takes its address", async () => {
  await using service = await startService()
  await using folder = await makeFolder()
  const settings = settingsOf(service)
  const elsewhere = { ...settings, TALLYSTICK_PORT: String(await freePort()) }
  const moved = await diagnose(elsewhere)
  assert.deepEqual([moved.code, moved.looks["service"]?.state], [0, "warn"])
  assert.match(
    moved.looks["service"]?.found ?? "",
    /^nothing answers at .* \(ECONNREFUSED\), and .* is in use$/,
  )
  assert.match(moved.looks["service"]?.advice ?? "", /TALLYSTICK_PORT.* --url/)
  const encrypted = await diagnose(settings, "--url", service.url.replace("http:", "https:"))
  assert.match(encrypted.looks["service"]?.found ?? "", /\(ERR_SSL_WRONG_VERSION_NUMBER\)/)
  for (const port of [elsewhere, { ...elsewhere, TALLYSTICK_PORT: "0" }]) {
    const found = await diagnose(port, "--url", service.url)
    assert.deepEqual(
      [found.code, found.looks["service"]?.found],
      [0, `ready at ${service.url}`],
      JSON.stringify(found),
    )
  }

  const other = await diagnose({ ...settings, TALLYSTICK_DATA: folder.path })
  assert.equal(other.looks["service"]?.state, "warn")
  assert.match(other.looks["service"]?.found ?? "", /^ready at .*, and nothing uses .*$/)
  assert.match(other.looks["service"]?.advice ?? "", /TALLYSTICK_DATA/)

  await using stranger = await listening(createServer((_, response) => response.end("welcome")))
  const { code, looks } = await diagnose(settings, "--url", stranger.url)
  assert.deepEqual([code, looks["service"]?.state], [1, "bad"])
  assert.match(looks["service"]?.found ?? "", /is not a Tallystick service$/)
})

test("doctor: says only that nothing was started yet", async () => {
  await using folder = await makeFolder()
  const { code, looks } = await diagnose({
    TALLYSTICK_DATA: join(folder.path, "data"),
    TALLYSTICK_PORT: "1",
  })
  assert.equal(code, 0)
  assert.deepEqual([looks["data"]?.state, looks["ledger"]?.state], ["warn", "warn"])
  assert.deepEqual(await readdir(folder.path), [], "it makes nothing")
})

test("doctor: a database that does not answer is one fault, with advice for a database", async () => {
  await using folder = await makeFolder()
  const { code, looks } = await diagnose({
    TALLYSTICK_DATA: join(folder.path, "data"),
    TALLYSTICK_DATABASE_URL: "postgres://ledger:not-to-be-shown@127.0.0.1:1/ledger",
    TALLYSTICK_PORT: "1",
  })
  assert.equal(code, 1)
  const { database } = looks
  assert.match(
    database?.found ?? "",
    /TALLYSTICK_DATABASE_URL cannot be used: connect ECONNREFUSED/,
  )
  assert.match(database?.advice ?? "", /TALLYSTICK_DATABASE_URL/)
  assert.equal(looks["ledger"], undefined)
  assert.ok(!JSON.stringify(looks).includes("not-to-be-shown"))
})

// archive -----------------------------------------------------------------------------------------

test("archive verify and doctor say that object storage does not answer", async () => {
  await using service = await startService()
  await makeWorkspace(service)
  assert.equal(await service.end(), 0)
  const settings = {
    ...settingsOf(service),
    TALLYSTICK_ARCHIVE: "s3://records/ledger",
    AWS_ENDPOINT_URL: `http://127.0.0.1:${await freePort()}`,
    AWS_ACCESS_KEY_ID: "id",
    AWS_SECRET_ACCESS_KEY: "not-to-be-shown",
  }
  // It tries several times, with pauses in which nothing else keeps the process alive.
  const verified = await tallystick(["archive", "verify"], settings)
  assert.deepEqual([verified.code, verified.output], [1, ""])
  assert.match(verified.errors, /^tallystick: the archive s3:\/\/records failed at .*ECONNREFUSED/)

  const { code, looks } = await diagnose(settings)
  assert.deepEqual([code, looks["archive"]?.state], [1, "bad"])
  assert.match(
    looks["archive"]?.found ?? "",
    /^the archive s3:\/\/records failed at .*ECONNREFUSED/,
  )
  assert.match(looks["archive"]?.advice ?? "", /TALLYSTICK_ARCHIVE/)
  assert.ok(!(verified.errors + JSON.stringify(looks)).includes("not-to-be-shown"))
})

// completion --------------------------------------------------------------------------------------

const bash =
  spawnSync("bash", ["--version"]).error === undefined ? false : "bash is not installed here"

/** The help of all commands, by their words, in order. */
const helps = new Map<string, string>()

async function readHelp(...words: readonly string[]): Promise<void> {
  const { code, output } = await tallystick([...words, "--help"])
  assert.equal(code, 0)
  helps.set(words.join(" "), output)
  for (const name of commandsOf(output)) if (name !== "help") await readHelp(...words, name)
}

/** All groups of them. */
function commandsOf(help: string): readonly string[] {
  const commands = help.split("\nCommands:\n")[1] ?? ""
  return [...commands.matchAll(/^ {2}([\w-]+)/gm)].map(([, name = ""]) => name)
}

before(() => readHelp())

test("every command has an example in its help", () => {
  assert.ok(helps.size >= 30, `looked at ${helps.size} commands only`)
  for (const [command, help] of helps) {
    if (commandsOf(help).length === 0)
      assert.match(help, new RegExp(`Example:\\n  \\$ .*tallystick ${command}`), command)
    assert.ok(!help.includes("default: false"), "what is off is not said")
    const wide = help.split("\n").filter((line) => line.length > 80 && !line.startsWith("  $ "))
    assert.deepEqual(wide, [], "it fits a narrow terminal")
  }
})

test(
  "completion: bash offers every command and every option that the program's own help names",
  { skip: bash },
  async () => {
    await using folder = await makeFolder()
    const script = join(folder.path, "completion")
    await writeFile(script, (await tallystick(["completion", "bash"])).output)
    const offered = (...words: string[]): readonly string[] => {
      const line = ["tallystick", ...words].map((word) => `'${word}'`).join(" ")
      const typed = `source ${script}; COMP_WORDS=(${line}); COMP_CWORD=${words.length}; _tallystick; printf '%s\\n' "\${COMPREPLY[@]}"`
      const { stdout, stderr, status } = spawnSync("bash", ["-c", typed], { encoding: "utf8" })
      assert.deepEqual([status, stderr], [0, ""])
      return stdout.split("\n").filter((one) => one !== "")
    }
    for (const [command, help] of helps) {
      const [options = ""] = (help.split("\nOptions:\n")[1] ?? "").split("\n\n")
      const flags = [...options.matchAll(/^ {2}(?:-\w, )?(--[\w-]+)/gm)].map(([, flag]) => flag)
      assert.ok(flags.length > 0)
      const words = command.split(" ").filter((word) => word !== "")
      assert.deepEqual(new Set(offered(...words, "-")), new Set(flags), `tallystick ${command}`)
      if (command === "completion") continue
      // Where there are none, bash offers files.
      assert.deepEqual(new Set(offered(...words, "")), new Set(commandsOf(help)), command)
    }
    assert.deepEqual(offered("completion", ""), ["bash", "zsh", "fish"])
    assert.deepEqual(offered("events", "list", "--format", ""), ["table", "jsonl", "csv"])
    assert.deepEqual(offered("events", "export", "acme", "--output", ""), [])
    assert.deepEqual(offered("events", "export", "--proof", "--format", "p"), ["parquet"])
    assert.deepEqual(offered("keys", "cr"), ["create"])
    assert.deepEqual(offered("keys", "create", "acme", "--sc"), ["--scope"])
    assert.deepEqual(
      offered("nothing-like-it", "verif"),
      ["verify"],
      "a word that is no command leads nowhere",
    )
  },
)

for (const [shell, check] of [
  ["zsh", ["-n"]],
  ["fish", ["--no-execute"]],
] as const) {
  const missing =
    spawnSync(shell, ["--version"]).error === undefined ? false : `${shell} is not installed here`
  test(`completion: ${shell} takes the script`, { skip: missing }, async () => {
    await using folder = await makeFolder()
    await writeFile(join(folder.path, "script"), (await tallystick(["completion", shell])).output)
    const { status, stderr } = spawnSync(shell, [...check, join(folder.path, "script")], {
      encoding: "utf8",
    })
    assert.deepEqual([status, stderr], [0, ""])
  })
}

test("completion: every shell's script names every command, and another shell is refused", async () => {
  for (const shell of ["zsh", "fish"]) {
    const { code, output } = await tallystick(["completion", shell])
    assert.equal(code, 0)
    for (const name of ["serve", "verify", "doctor", "rotate", "revoke", "completion"])
      assert.ok(output.includes(name), `${shell}: ${name}`)
  }
  const other = await tallystick(["completion", "tcsh"])
  assert.equal(other.code, 1)
  assert.match(other.errors, /Allowed choices are bash, zsh, fish/)
})

// rotate ------------------------------------------------------------------------------------------

test("rotate: its announcement is genuine under the former key, and verify shows the new key", async () => {
  await using service = await startService()
  const acme = await makeWorkspace(service)
  const before = await logKeyOf(acme.reader, acme.path)
  const { code, output, errors } = await tallystick(["rotate", acme.id], settingsOf(service))
  assert.equal(code, 0, errors)
  const now = await logKeyOf(acme.reader, acme.path)
  assert.notEqual(now, before)
  assert.ok(errors.includes(now))
  assert.equal(verifyReceipt(JSON.parse(output), { trustedKeys: [before] }).verdict, "genuine")

  const announcement = join(dirname(service.data), "announcement.json")
  await writeFile(announcement, output)
  const checked = await tallystick(["verify", announcement, "--key", before])
  assert.equal(checked.code, 0, checked.output)
  assert.ok(checked.output.includes(`newKey: ${now}`), checked.output)
  assert.equal((await tallystick(["rotate", "unheard-of"], settingsOf(service))).code, 1)
  await expectChain(acme.reader, acme.id)
})
