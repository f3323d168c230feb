import assert from "node:assert/strict"
import { spawn, spawnSync } from "node:child_process"
import { createHash } from "node:crypto"
import { existsSync, statSync } from "node:fs"
import { readdir, readFile, writeFile } from "node:fs/promises"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { connect, createServer as createTcpServer } from "node:net"
import { buffer } from "node:stream/consumers"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { test } from "node:test"
import { makeFolder } from "./folder.ts"
import { expectChain, type MintedReceipt } from "./chain.ts"
import { startProgram } from "./crash/programs.ts"
import { freePort } from "./free-port.ts"
import { listening } from "./listening.ts"
import { program, run, tallystick, type Ended, type Run } from "./program.ts"
import { damage } from "./promises/damaged.ts"
import {
  eventFor,
  eventually,
  logKeyOf,
  makeWorkspace,
  startService,
  writeMany,
  type Client,
  type Service,
} from "./service.ts"
import { untilSigned } from "./until.ts"

// `events` and `receipts`: the commands that write to a ledger and read it with an API key.

/** Runs a command with the key of a client. */
function as(client: Client, { url }: Pick<Service, "url">) {
  const environment = { TALLYSTICK_URL: url, TALLYSTICK_KEY: client.bearer }
  return {
    environment,
    run: (args: readonly string[], input?: Run["input"]): Promise<Ended> =>
      tallystick(args, environment, input === undefined ? {} : { input }),
  }
}

const receiptForm = /^rcp_\w{36}$/

const linesOf = (text: string): readonly string[] => text.trimEnd().split("\n")

// put ---------------------------------------------------------------------------------------------

const invoice = ["--action", "billing.invoice.approve", "--actor", "user:usr_1"]
const complete = [...invoice, "--target", "invoice:inv:9"]

test("events put: options make an event, which is recorded once under its key", async () => {
  await using service = await startService()
  const { id, path, writer, reader } = await makeWorkspace(service)
  const put = (...args: string[]) => as(writer, service).run(["events", "put", id, ...args])
  const plain =
    "--actor-email ada@example.com --project billing --source automation --occurred-at 2026-01-31T09:30:00Z --user-visible"
  const metadata = ["--metadata", '{"amount":1299.5}']
  const details = [...plain.split(" "), "--target-name", "Invoice 9", ...metadata]
  const first = await put(...complete, ...details)
  assert.deepEqual([first.code, first.errors], [0, ""])
  assert.match(first.output.trimEnd(), receiptForm)
  const { entry } = (await reader.get(`${path}/receipts/${first.output.trimEnd()}`)).json()
  assert.partialDeepStrictEqual(entry, {
    projectId: "billing",
    action: "billing.invoice.approve",
    actor: { type: "user", id: "usr_1", email: "ada@example.com" },
    target: { type: "invoice", id: "inv:9", name: "Invoice 9" },
    source: "automation",
    occurredAt: "2026-01-31T09:30:00Z",
    metadata: { amount: 1299.5 },
    userVisible: true,
  })

  const repeated = await put(...complete, ...details)
  assert.deepEqual([repeated.code, repeated.output], [0, first.output])
  assert.match(repeated.errors, /recorded before/)
  const now = [await put(...complete, "--json"), await put(...complete, "--json")].map(
    ({ output }) => JSON.parse(output) as { receipt: MintedReceipt; replayed: boolean },
  )
  assert.notEqual(now[0]?.receipt.receipt, now[1]?.receipt.receipt, "each occurs now")
  const key = ["--idempotency-key", "invoice-9-approved"]
  const given = await put(...complete, ...key)
  assert.equal(given.code, 0, given.errors)
  const reused = await put(...complete, ...key)
  assert.deepEqual([reused.code, reused.output], [1, ""], "it occurs at another time")
  assert.match(reused.errors, /its receipt is rcp_/)
  const receipts = now.map(({ receipt }) => receipt)
  await expectChain(reader, id, receipts)
})

test("events put: each mistake in the options is one sentence, and records nothing", async () => {
  await using service = await startService()
  const { id, path, writer, reader } = await makeWorkspace(service)
  const cases: readonly (readonly [readonly string[], RegExp])[] = [
    [invoice, /^tallystick: an event by options also needs --target; /],
    [["--actor-email", "a@example.com", ...complete.slice(0, 2)], /--actor-email also needs --act/],
    [[...invoice, "--target", "inv_9"], /^tallystick: --target must be a type and an id, such as/],
    [[...complete, "--metadata", "{"], /^tallystick: --metadata: it ends before its JSON does/],
    [[...complete, "--metadata", "[]"], /^tallystick: --metadata: it must be a JSON object/],
    [[...complete, "--metadata", '{"n":9007199254740993}'], /: n is a number that would lose dig/],
    [[...complete, "--source", "cli"], /Allowed choices are api, automation, dashboard, system/],
    [[...complete, "--occurred-at", "noon"], /'noon' is invalid\. It must be a time such as 2/],
    [[...complete, "--occurred-at", "2026-01-31T9"], /^tallystick: occurredAt must be a date/],
    [[...complete, "--idempotency-key", "short"], /^tallystick: .*12 to 255/],
    [["--action", "approve", ...complete.slice(2)], /^tallystick: action must be a dotted name/],
    [["-", "--idempotency-key", "invoice-9-approved"], /JSON has it as the member idempotencyKey/],
    [[join(tmpdir(), "no-such-file")], /^tallystick: .*no-such-file: no such file or directory$/m],
    [[tmpdir()], /^tallystick: .* is a folder/],
  ]
  const put = as(writer, service).run
  await Promise.all(
    cases.map(async ([args, sentence]) => {
      const { code, output, errors } = await put(["events", "put", id, ...args])
      assert.deepEqual([code, output], [1, ""], args.join(" "))
      assert.match(errors, sentence)
      assert.ok(!errors.includes("    at "), errors)
    }),
  )
  assert.equal((await reader.get(`${path}/events`)).json().total, 0)
  await expectChain(reader, id)
})

test("events put: lines of JSON become entries in their order, and a repeated run records nothing", async () => {
  await using service = await startService()
  const { id, path, writer, reader } = await makeWorkspace(service)
  await using folder = await makeFolder()
  const put = (args: readonly string[], input?: Run["input"]) =>
    as(writer, service).run(["events", "put", id, ...args], input)
  const count = 2500
  const { workspaceId: _, projectId: __, ...event } = eventFor(id)
  const lines = Array.from({ length: count }, (_, at) =>
    JSON.stringify({ ...event, metadata: { line: at + 1 } }),
  )
  const file = join(folder.path, "events.jsonl")
  await writeFile(file, lines.join("\n"))
  const first = await put([file, "--project", "imports"])
  assert.deepEqual(
    [first.code, first.errors],
    [0, "tallystick: 2500 events recorded\n"],
    first.errors,
  )
  const receipts = linesOf(first.output)
  assert.equal(new Set(receipts).size, count)
  const last = (await reader.get(`${path}/receipts/${receipts.at(-1)}`)).json()
  assert.deepEqual([last.entry.metadata, last.entry.projectId], [{ line: count }, "imports"])

  // The same events in another form: from standard input, with other line ends, with members in
  // another order, and with refused lines between.
  const other = [
    lines[0],
    "",
    '{"action":"billing"}',
    `{"metadata":{"line":2},${JSON.stringify({ ...event }).slice(1)}`,
    "nonsense\u001b[2J",
    '{"action":"a.b","metadata":{"n":9007199254740993}}',
    JSON.stringify({ ...event, workspaceId: "other" }),
    "[]",
    JSON.stringify({ ...event, idempotencyKey: "line-nine-is-new" }),
  ]
  const again = await put(["-", "--project", "imports", "--json"], `${other.join("\r\n")}\r\n`)
  assert.equal(again.code, 1)
  const results = linesOf(again.output).map(
    (line) => JSON.parse(line) as { line: number; receipt?: MintedReceipt; replayed?: boolean },
  )
  assert.deepEqual(
    results.map(({ line, receipt, replayed }) => [line, receipt?.receipt, replayed]),
    [
      [1, receipts[0], true],
      [3, undefined, undefined],
      [4, receipts[1], true],
      [5, undefined, undefined],
      [6, undefined, undefined],
      [7, undefined, undefined],
      [8, undefined, undefined],
      [9, results.at(-1)?.receipt?.receipt, undefined],
    ],
  )
  for (const sentence of [
    /^tallystick: line 3 is not recorded: action must be a dotted name/m,
    /^tallystick: line 5 is not recorded: it is not JSON: see character 1$/m,
    /^tallystick: line 6 is not recorded: metadata\.n is a number that would lose digits/m,
    /^tallystick: line 7 is not recorded: its workspaceId is not /m,
    /^tallystick: line 8 is not recorded: it must be a JSON object$/m,
    /^tallystick: 1 event recorded, 2 recorded before, 5 refused$/m,
  ])
    assert.match(again.errors, sentence)
  assert.ok(!again.errors.includes("\u001b"))

  const pretty = JSON.stringify({ projectId: "imports", ...JSON.parse(lines[2] ?? "") }, null, 2)
  const object = await put([], pretty)
  assert.deepEqual([object.code, object.output], [0, `${receipts[2]}\n`], object.errors)
  const empty = await put([], "")
  assert.deepEqual([empty.code, empty.output], [0, ""])
  const endless = await put([], `{"action":"${"a".repeat(300_000)}`)
  assert.deepEqual([endless.code, endless.output], [1, ""])
  assert.match(endless.errors, /^tallystick: the input has an event of more than 262144 bytes/)
  assert.equal((await reader.get(`${path}/events`)).json().total, count + 1)
  await expectChain(
    reader,
    id,
    results.flatMap(({ receipt }) => receipt ?? []),
  )
})

test("events put: what arrives on standard input is recorded while the input goes on", async () => {
  await using service = await startService()
  const { id, path, writer, reader } = await makeWorkspace(service)
  const put = startCommand(["events", "put", id], as(writer, service).environment)
  for (let count = 1; count <= 3; count++) {
    put.child.stdin.write(`${JSON.stringify(eventFor(id, { metadata: { count } }))}\n`)
    await eventually(
      "its receipt",
      async () => linesOf(put.said.output).length === count && put.said.output.endsWith("\n"),
    )
  }
  // The reader closes the pipe, as `head` does; the other events are still recorded.
  put.child.stdout.destroy()
  for (let count = 4; count <= 6; count++) {
    put.child.stdin.write(`${JSON.stringify(eventFor(id, { metadata: { count } }))}\n`)
    await eventually(
      "the event",
      async () => (await reader.get(`${path}/events`)).json().total === count,
    )
  }
  put.child.stdin.end()
  assert.deepEqual(await put.ended, [0, null])
  assert.equal(put.said.errors, "tallystick: 6 events recorded\n")
  await expectChain(reader, id)
})

test("events put: an answer that does not arrive is asked for again, and is called unknown in the end", async () => {
  await using service = await startService()
  const { id, path, writer, reader } = await makeWorkspace(service)
  await using cutting = await startCutting(service.url)
  const environment = { TALLYSTICK_URL: cutting.url, TALLYSTICK_KEY: writer.bearer }
  const put = (args: readonly string[], input?: string) =>
    tallystick(["events", "put", id, ...args], environment, input === undefined ? {} : { input })
  cutting.answers("POST", 2)
  const written = await put(complete)
  assert.deepEqual([written.code, written.errors], [0, replayed], "the third attempt is answered")
  assert.match(written.output.trimEnd(), receiptForm)

  cutting.answers("POST", Infinity)
  const unknown = await put(complete)
  assert.deepEqual([unknown.code, unknown.output], [2, ""])
  const [, again = ""] =
    /^tallystick: it may have been recorded: .* add (.*)\n$/.exec(unknown.errors) ?? []
  cutting.answers("POST", 0)
  const found = await put([...complete, ...again.split(" ")])
  assert.deepEqual([found.code, found.errors], [0, replayed])
  assert.equal((await reader.get(`${path}/events`)).json().total, 2)
  await expectChain(reader, id)
})

test("events put: a batch without an answer is called unknown, and what follows a refused one is not sent", async () => {
  await using service = await startService()
  const { id, path, writer, reader } = await makeWorkspace(service)
  const lines = Array.from({ length: 2500 }, (_, line) =>
    JSON.stringify(eventFor(id, { metadata: { line } })),
  ).join("\n")
  await using folder = await makeFolder()
  const file = join(folder.path, "events.jsonl")
  await writeFile(file, lines)
  const run = (url: string) =>
    tallystick(["events", "put", id, file], { TALLYSTICK_URL: url, TALLYSTICK_KEY: writer.bearer })
  const total = async () => (await reader.get(`${path}/events`)).json().total as number

  // The second batch: refused before it arrives, then answered with an unknown outcome.
  await using full = await startFailing(service.url, "storage_full", { forwards: false })
  const refused = await run(full.url)
  const { length } = linesOf(refused.output)
  assert.deepEqual([refused.code, await total()], [1, length])
  assert.ok(length > 0 && length < 2500)
  assert.match(
    refused.errors,
    new RegExp(
      `^tallystick: from line ${length + 1} on nothing is recorded: storage_full. You can r`,
    ),
  )
  await using vague = await startFailing(service.url, "ledger_unavailable", { forwards: true })
  const unknown = await run(vague.url)
  assert.equal(unknown.code, 2, unknown.errors)
  const [, first, last] =
    /^tallystick: lines (\d+) to (\d+) may be recorded, and none after them is: ledger_un/.exec(
      unknown.errors,
    ) ?? []
  assert.deepEqual([Number(first), await total()], [length + 1, Number(last)])
  assert.match(
    unknown.errors,
    new RegExp(`^tallystick: 0 events recorded, ${length} recorded b`, "m"),
  )
  const again = await run(service.url)
  assert.deepEqual(
    [again.code, linesOf(again.output).length, await total()],
    [0, 2500, 2500],
    again.errors,
  )
  await expectChain(reader, id)
})

const replayed = "tallystick: it was recorded before; this is its receipt\n"

// list --------------------------------------------------------------------------------------------

/** A name with everything that a terminal or a spreadsheet would execute. */
const hostile = '=HYPERLINK("http://x")\u001b[2J\u202e,\r\n"'

test("events list: JSON lines are the API's entries, CSV is safe, and a table shows what is hidden", async () => {
  await using service = await startService()
  const workspace = await makeWorkspace(service)
  const { id, path, reader } = workspace
  const changes = (place: number) => ({
    projectId: place % 2 === 0 ? "core" : "billing",
    occurredAt: `2026-01-${String(1 + (place % 30)).padStart(2, "0")}T09:30:00Z`,
    target: { id: `inv_${place}`, type: "invoice", name: hostile },
  })
  await writeMany(workspace, 250, { changes })
  const list = (...args: string[]) => as(reader, service).run(["events", "list", id, ...args])

  const all = await list("--all", "--json")
  assert.deepEqual([all.code, all.errors], [0, ""])
  assert.ok(!all.output.includes("\u001b") && !all.output.includes("\u202e"))
  const entries = linesOf(all.output).map((line) => JSON.parse(line) as { integrity: string })
  assert.equal(entries.length, 250)
  const page = (await reader.get(`${path}/events?limit=100`)).json()
  await untilSigned(reader, path)
  const withoutIntegrity = ({ integrity: _, ...entry }: { integrity: string }) => entry
  assert.deepEqual(entries.slice(0, 100).map(withoutIntegrity), page.events.map(withoutIntegrity))

  const some = await list("--format", "jsonl", "--limit", "120")
  assert.deepEqual([some.code, linesOf(some.output).length], [0, 120])
  assert.equal(some.errors, "tallystick: 120 of 250 entries; --limit or --all shows more\n")
  const filtered = ["target:inv_*", "--project", "billing", "--from", "2026-01-02", "--json"]
  const few = await list(...filtered, "--to", "2026-01-05T00:00:00Z", "--lane", "operations")
  const asked = "query=target:inv_*&projectId=billing&lane=operations&limit=100"
  const times = "from=2026-01-02T00:00:00Z&to=2026-01-05T00:00:00Z"
  const expected = (await reader.get(`${path}/events?${asked}&${times}`)).json()
  assert.ok(expected.total > 0 && expected.total < 50)
  assert.deepEqual(
    linesOf(few.output).map((line) => JSON.parse(line)),
    expected.events,
  )
  const none = await list("--", "-target:inv_*")
  assert.deepEqual([none.code, none.output], [0, ""])
  assert.match(none.errors, /^tallystick: no entry matches; --storage all looks into the archive/)
  const mistyped = await list('actor:usr_1 "a: b" actro:usr_1', "--storage", "all")
  assert.equal(
    mistyped.errors,
    "tallystick: no entry matches; actro is no field of a search, so it was searched as text\n",
  )
  assert.equal((await list("--from", "1h", "--json")).output, "", "they occurred in January")

  const [titles, ...rows] = parseCsv((await list("--format", "csv", "--all")).output)
  assert.equal(rows.length, 250)
  const name = titles?.indexOf("target.name") ?? -1
  for (const row of rows) assert.equal(row[name], `'${hostile}`, "an apostrophe, and no formula")
  assert.deepEqual(parseCsv((await list("nothing", "--format", "csv")).output), [titles])

  const table = linesOf((await list("--limit", "2")).output)
  assert.equal(table.length, 3)
  assert.match(table[1] ?? "", /⟨U\+001B⟩\[2J⟨U\+202E⟩,⟨U\+000D⟩⟨U\+000A⟩".* rcp_\w{36} +billing/)
  for (const format of [
    ["--json", "--format", "csv"],
    ["--format", "xml"],
    ["--limit", "0"],
  ]) {
    const { code, output, errors } = await list(...format)
    assert.deepEqual([code, output, linesOf(errors).length], [1, "", 1], errors)
  }
  await expectChain(reader, id)
})

const noTerminal =
  spawnSync("script", ["--version"]).error === undefined && process.platform === "linux"
    ? false
    : "script is not installed here"

test(
  "on a terminal a table is as wide as that, CSV moves no cursor, and nothing waits for typing",
  { skip: noTerminal },
  async () => {
    await using service = await startService()
    const workspace = await makeWorkspace(service)
    const changes = (place: number) => ({
      action: `billing.invoice.${"approve".repeat(1 + place)}`,
      target: { id: `inv_${place}`, type: "invoice", name: hostile },
    })
    await writeMany(workspace, 10, { changes })
    const { id, reader } = workspace
    const typed = async (command: string): Promise<string> => {
      const shown = `stty cols 70; "${process.execPath}" "${program}" ${command}; echo "code $?"`
      const { output } = await run("script", ["-qec", shown, "/dev/null"], {
        environment: { ...process.env, ...as(reader, service).environment },
      })
      return output
    }
    const table = linesOf(await typed(`events list ${id}`))
    assert.equal(table.length, 12, "titles, ten rows and the code")
    for (const line of table) assert.ok(line.trimEnd().length <= 70, line)
    assert.match(
      table[1] ?? "",
      /^1\d +2026-01-31 09:30:00Z {2}billing\.\S*… +usr_1 ada\S*… +inv_9 =\S*…\r$/,
    )
    const csv = await typed(`events list ${id} --format csv`)
    assert.ok(csv.includes("⟨U+001B⟩[2J⟨U+202E⟩") && !csv.includes("\u001b"))
    assert.match(
      await typed(`events put ${id}`),
      /^tallystick: nothing to record: .*\r\ncode 1\r\n$/,
    )
    await expectChain(reader, id)
  },
)

test("events list: a broken entry is named, and the exit code is 3", async () => {
  await using service = await startService()
  const workspace = await makeWorkspace(service)
  const [, second] = await writeMany(workspace, 3)
  await expectChain(workspace.reader, workspace.id)
  const { sequence } = damage(service.data, second?.receipt ?? "", "a byte of the body")
  const list = ["events", "list", workspace.id, "--format", "csv"]
  const { code, output, errors } = await as(workspace.reader, service).run(list)
  assert.equal(code, 3)
  // One that is not signed yet cannot be distinguished from its broken neighbour.
  const sentence = `^tallystick: entry ${sequence} is broken: it is not what was recorded$`
  assert.match(errors, new RegExp(sentence, "m"))
  assert.equal(parseCsv(output).length, 4, "it is shown all the same")
})

test("events values and timeline: the API's counts as a table and as CSV", async () => {
  await using service = await startService()
  const workspace = await makeWorkspace(service)
  const { id, reader } = workspace
  const changes = (place: number) => ({ actor: { id: `usr_${place % 3}`, type: "user" } })
  await writeMany(workspace, 7, { changes })
  const events = (...args: string[]) => as(reader, service).run(["events", ...args])
  const values = await events("values", id, "actor", "action:billing.*")
  assert.equal(values.output, "VALUE  COUNT\nusr_0  3\nusr_1  2\nusr_2  2\n")
  const span = ["--from", "2026-01-31", "--to", "2026-02-02", "--buckets", "2", "--format", "csv"]
  const timeline = await events("timeline", id, ...span)
  assert.equal(
    timeline.output,
    '"start","total","operations"\r\n"2026-01-31T00:00:00.000Z","7","7"\r\n"2026-02-01T00:00:00.000Z","0","0"\r\n',
  )
  assert.equal((await events("values", id, "colour")).code, 1)
  assert.equal((await events("timeline", id)).errors, "", "of the last day")
  const week = await events("timeline", id, "--from", "7d", "--buckets", "7", "--json")
  const days = linesOf(week.output).map((line) => (JSON.parse(line) as { start: string }).start)
  assert.equal(days.length, 7)
  assert.equal(Date.parse(days[1] ?? "") - Date.parse(days[0] ?? ""), 86_400_000)
  await expectChain(reader, id)
})

// export ------------------------------------------------------------------------------------------

test("events export: a file is whole, is checked, and goes on where it was cut short", async () => {
  await using service = await startService()
  const acme = await makeWorkspace(service)
  // Some programs take U+2028 for the end of a line.
  const changes = (at: number) => ({ metadata: { at, text: "one\u2028two" } })
  const receipts = await writeMany(acme, 300, { changes })
  await using folder = await makeFolder()
  const file = join(folder.path, "entries.jsonl")
  const { run } = as(acme.reader, service)
  const exporting = (...args: string[]) => run(["events", "export", acme.id, ...args])
  const sequencesIn = async (): Promise<readonly number[]> => {
    const text = await readFile(file, "utf8")
    const lines = linesOf(text).map((line) => JSON.parse(line))
    const { end } = lines.pop()
    const before = text.slice(0, text.lastIndexOf("\n", text.length - 2) + 1)
    assert.equal(end.sha256, createHash("sha256").update(before).digest("hex"))
    assert.deepEqual([end.count, end.broken], [lines.length, 0])
    return lines.map(({ sequence }) => sequence)
  }
  const first = await exporting("--output", file)
  assert.deepEqual([first.code, first.output, first.errors], [0, "", ""])
  const whole = await sequencesIn()
  assert.equal(whole.length, 300)
  const again = await exporting("--output", file)
  assert.equal(again.code, 1)
  assert.match(again.errors, /entries\.jsonl already exists; --resume continues/)
  assert.match((await exporting("--output", file, "--resume")).errors, /is complete/)

  const text = await readFile(file, "utf8")
  const cuts = [0, 1, text.indexOf("\n"), text.indexOf("\n") + 1, text.length >> 1, text.length - 1]
  for (const cut of cuts) {
    await writeFile(file, text.slice(0, cut))
    const resumed = await exporting("--output", file, "--resume")
    assert.deepEqual([resumed.code, resumed.errors], [0, ""], `cut at ${cut}`)
    assert.deepEqual(await sequencesIn(), whole, `cut at ${cut}`)
  }

  // A file that is no export is left alone.
  const foreign = ["notes\nof a year\n", '{"a":1}\n', "null\n", `${linesOf(text)[0]}\n5\n`]
  for (const content of foreign) {
    await writeFile(file, content)
    const refused = await exporting("--output", file, "--resume")
    assert.equal(refused.code, 1, content)
    assert.match(
      refused.errors,
      /^tallystick: .*entries\.jsonl is no incomplete export: line [12] /,
    )
    assert.equal(await readFile(file, "utf8"), content)
  }

  const parquet = join(folder.path, "entries.parquet")
  assert.equal((await exporting("--format", "parquet", "--output", parquet)).code, 0)
  assert.equal((await readFile(parquet)).subarray(-4).toString(), "PAR1")
  const csv = await exporting("--format", "csv", "metadata.at:7")
  assert.equal(parseCsv(csv.output).length, 2)
  const proven = await exporting("--proof", "metadata.at:7")
  assert.ok(JSON.parse(linesOf(proven.output)[0] ?? "").proof.record.length > 100)
  for (const wrong of [["--resume"], ["--proof", "--format", "csv"]])
    assert.equal((await exporting(...wrong)).code, 1)
  await expectChain(acme.reader, acme.id, receipts)
})

test("events export: what is cut short or changed on the way is no success", async () => {
  await using folder = await makeFolder()
  const line = `${JSON.stringify({ sequence: 1, integrity: "verified" })}\n`
  const sha256 = createHash("sha256").update(line).digest("hex")
  const end = (changes: object) =>
    `${JSON.stringify({ end: { count: 1, broken: 0, sequence: 9, sha256, ...changes } })}\n`
  const cases: readonly (readonly [format: string, sent: string, code: number, kept: boolean])[] = [
    ["jsonl", line + end({}), 0, true],
    ["jsonl", line + end({ broken: 1 }), 3, true],
    ["jsonl", line, 1, true],
    ["jsonl", line + line + end({}), 1, true],
    ["jsonl", line.replace("1", "2") + end({}), 1, true],
    ["csv", '"sequence"\r\n', 0, true],
    ["csv", '"integrity"\r\n"broken"\r\n', 0, true],
    ["parquet", "PAR1....PAR1", 0, true],
    ["parquet", "PAR1....PAR1 and rows", 1, false],
    ["parquet", "PAR1", 1, false],
    ["csv", "cut", 1, false],
  ]
  for (const [at, [format, sent, code, kept]] of cases.entries()) {
    await using liar = await listening(
      createServer((_, response) => {
        response.writeHead(200, { "x-ledger-sequence": "9" }).write(sent)
        if (sent === "cut") setImmediate(() => response.destroy())
        else response.end()
      }),
    )
    const file = join(folder.path, `${at}`)
    const environment = { TALLYSTICK_URL: liar.url, TALLYSTICK_KEY: "tsk_none" }
    const args = ["events", "export", "acme", "--format", format, "--output", file]
    const ended = await tallystick(args, environment)
    assert.equal(ended.code, code, `${at}: ${ended.errors}`)
    assert.equal(existsSync(file), kept, `${at}`)
  }
})

test("events export: a broken entry is exported in each format; of JSON lines the exit code is 3", async () => {
  await using folder = await makeFolder()
  await using service = await startService()
  const marks = { jsonl: '"integrity":"broken"', csv: ',"broken"', parquet: '"broken":1' }
  for (const [format, mark] of Object.entries(marks)) {
    // A workspace that is known to be broken is not exported again.
    const acme = await makeWorkspace(service)
    const [, second] = await writeMany(acme, 3)
    await expectChain(acme.reader, acme.id)
    const exporting = (name: string) => {
      const args = ["--format", format, "--output", join(folder.path, `${name}.${format}`)]
      return as(acme.reader, service).run(["events", "export", acme.id, ...args])
    }
    assert.deepEqual((await exporting("good")).code, 0, format)
    damage(service.data, second?.receipt ?? "", "a byte of the body")
    const { code, errors } = await exporting("broken")
    const isSaid = format === "jsonl"
    assert.equal(code, isSaid ? 3 : 0, `${format}: ${errors}`)
    assert.equal(
      /^tallystick: 1 entry of it is not what was recorded\n$/.test(errors),
      isSaid,
      errors,
    )
    const file = (name: string) => readFile(join(folder.path, `${name}.${format}`), "latin1")
    assert.deepEqual(
      [(await file("good")).includes(mark), (await file("broken")).includes(mark)],
      [false, true],
    )
  }
})

test("events export: a kill leaves no file that looks complete, and the next run makes it", async () => {
  await using folder = await makeFolder()
  let isSlow = true
  await using service = await listening(
    createServer((_, response) => {
      response.writeHead(200, { "x-ledger-sequence": "9" }).write("one\r\n")
      if (!isSlow) response.end("two\r\n")
    }),
  )
  const file = join(folder.path, "entries.csv")
  const environment = { TALLYSTICK_URL: service.url, TALLYSTICK_KEY: "tsk_none" }
  const args = ["events", "export", "acme", "--format", "csv", "--output", file]
  const { child, ended } = startCommand(args, environment)
  await eventually("its first line", async () => {
    const [name] = await readdir(folder.path)
    return name !== undefined && statSync(join(folder.path, name)).size > 0
  })
  child.kill("SIGINT")
  assert.deepEqual(await ended, [null, "SIGINT"])
  assert.deepEqual(await readdir(folder.path), ["entries.csv.part"])
  isSlow = false
  assert.equal((await tallystick(args, environment)).code, 0)
  assert.deepEqual(await readdir(folder.path), ["entries.csv"])
  assert.equal(await readFile(file, "utf8"), "one\r\ntwo\r\n")
})

test("events export, receipts get: on a full disk no file looks complete", async () => {
  await using service = await startService()
  const acme = await makeWorkspace(service)
  const receipts = await writeMany(acme, 100)
  await using folder = await makeFolder()
  const { environment } = as(acme.reader, service)
  const exporting = (format: string, limit: string) => {
    const file = join(folder.path, format)
    const resuming = format === "jsonl" ? ["--resume"] : []
    const args = ["events", "export", acme.id, "--format", format, "--output", file, ...resuming]
    const node = [process.execPath, program, ...args]
    return run("sh", ["-c", `ulimit -f ${limit}; exec "$@"`, "sh", ...node], {
      environment: { PATH: process.env["PATH"], ...environment },
    })
  }
  for (const format of ["jsonl", "csv", "parquet"]) {
    // No file may have more than 8 KiB: the first write is cut short there.
    const cut = await exporting(format, "16")
    assert.equal(cut.code, 1, `${format}: ${cut.errors}`)
    assert.equal(existsSync(join(folder.path, format)), format === "jsonl", format)
    const whole = await exporting(format, "unlimited")
    assert.deepEqual([whole.code, whole.errors], [0, ""], format)
  }
  // Standard output may be a file, too.
  const script = 'ulimit -f 16; file=$1; shift; exec "$@" > "$file"'
  const node = [process.execPath, program, "events", "export", acme.id, "--format", "csv"]
  const cut = await run("sh", ["-c", script, "sh", join(folder.path, "output"), ...node], {
    environment: { PATH: process.env["PATH"], ...environment },
  })
  assert.equal(cut.code, 1)
  assert.match(cut.errors, /^tallystick: EFBIG: .*\n$/)
  const lines = linesOf(await readFile(join(folder.path, "jsonl"), "utf8"))
  assert.equal(JSON.parse(lines.at(-1) ?? "").end.count, 100)
  const out = join(folder.path, "receipt.json")
  const got = ["receipts", "get", acme.id, receipts[0]?.receipt ?? "", "--out", out]
  const half = await run(
    "sh",
    ["-c", 'ulimit -f 2; exec "$@"', "sh", process.execPath, program, ...got],
    {
      environment: { PATH: process.env["PATH"], ...environment },
    },
  )
  assert.deepEqual([half.code, existsSync(out)], [1, false], half.errors)
  await expectChain(acme.reader, acme.id, receipts)
})

// tail --------------------------------------------------------------------------------------------

test("events tail: prints what is recorded from now on, through a restart, until Ctrl-C", async () => {
  await using first = await startProgram()
  const { id, path, writer, reader } = await makeWorkspace(first)
  await writer.write(eventFor(id, { metadata: { count: 0 } }))
  const { environment } = as(reader, first)
  const tail = startCommand(["events", "tail", id, "--json"], environment)
  const counts = (text: string): readonly number[] =>
    text === ""
      ? []
      : linesOf(text).map(
          (line) => (JSON.parse(line) as { metadata: { count: number } }).metadata.count,
        )
  const printed = (until: number) =>
    eventually(`entry ${until}`, async () => counts(tail.said.output).includes(until), 30_000)
  // Once it follows, it knows the current end.
  await eventually("the tail to follow", async () => {
    await writer.write(eventFor(id, { metadata: { count: 1 } }))
    return counts(tail.said.output).length > 0
  })
  await writer.write(eventFor(id, { metadata: { count: 2 } }))
  await printed(2)
  assert.equal(await first.end(), 0)
  await eventually("a remark", async () => (tail.said.errors === "" ? undefined : true), 30_000)
  assert.equal(tail.said.errors, "tallystick: the service does not answer; trying again\n")
  await using again = await startProgram({ data: first.data })
  const later = again.client(writer.bearer)
  await later.write(eventFor(id, { metadata: { count: 3 } }))
  await printed(3)
  const seen = counts(tail.said.output).filter((count) => count > 1)
  assert.deepEqual(seen, [2, 3], "nothing twice and nothing missed")

  const { nextCursor } = (await again.client(reader.bearer).get(`${path}/events?limit=2`)).json()
  const after = startCommand(["events", "tail", id, "--after", `${nextCursor}`], environment)
  await eventually(
    "the entry behind it",
    async () => after.said.output.endsWith("\n") && linesOf(after.said.output).length === 2,
  )
  for (const [command, signal] of [
    [tail, "SIGINT"],
    [after, "SIGTERM"],
  ] as const) {
    const before = command.said.errors
    command.child.kill(signal)
    assert.deepEqual(await command.ended, [null, signal], "as a shell expects")
    assert.equal(command.said.errors, before)
  }
  await expectChain(again.client(reader.bearer), id)
})

test("events tail: a revoked key ends it with a sentence, and a reader may close the pipe", async () => {
  await using service = await startService()
  const workspace = await makeWorkspace(service)
  const { id, path, reader } = workspace
  await writeMany(workspace, 20)
  const { environment } = as(reader, service)
  const closed = startCommand(["events", "tail", id, "--after", "0"], environment)
  await eventually("some output", async () => (closed.said.output === "" ? undefined : true))
  closed.child.stdout.destroy()
  await writeMany(workspace, 20)
  assert.equal((await closed.ended)[1], null)
  assert.equal(closed.said.errors, "")

  const tail = startCommand(["events", "tail", id, "--after", "0"], environment)
  await eventually("some output", async () => (tail.said.output === "" ? undefined : true))
  const keyId = reader.bearer?.split("_")[1]
  assert.equal((await service.root.delete(`${path}/api-keys/${keyId}`)).status, 204)
  assert.deepEqual(await tail.ended, [1, null])
  assert.match(tail.said.errors, /^tallystick: .*revoked.*\n$/)
  await expectChain(service.root, id)
})

// receipts ----------------------------------------------------------------------------------------

test("receipts get: is genuine with a key from elsewhere alone, and verify reads what it writes", async () => {
  await using service = await startService()
  const { id, path, writer, reader } = await makeWorkspace(service)
  const { receipt } = (await writer.write(eventFor(id))).json<MintedReceipt>()
  const other = (await writer.write(eventFor(id))).json<MintedReceipt>()
  const vkey = await logKeyOf(reader, path)
  await using folder = await makeFolder()
  const out = join(folder.path, "receipt.json")
  const get = (...args: string[]) => as(reader, service).run(["receipts", "get", id, ...args])

  const doubted = await get(receipt)
  assert.equal(doubted.code, 2)
  assert.match(doubted.output, new RegExp(`^${receipt}: not confirmed\n`))
  assert.match(doubted.output, /^ {2}actor\.email: ada@example\.com$/m)
  assert.doesNotMatch(doubted.output, /verified|genuine/)
  assert.match(doubted.errors, /the service itself named this key/)
  const trusting = await get(receipt, "--key", vkey, "--out", out, "--json")
  assert.deepEqual([trusting.code, trusting.errors], [0, ""])
  assert.partialDeepStrictEqual(JSON.parse(trusting.output), {
    receipt: { receipt },
    entry: { receipt, action: "billing.invoice.approve" },
    finding: { what: "receipt", verdict: "genuine" },
  })
  const verified = await tallystick(["verify", out, "--key", vkey])
  assert.deepEqual([verified.code, linesOf(verified.output)[0]], [0, `${out}: genuine`])
  const kept = await readFile(out)
  assert.match((await get(receipt, "--out", out)).errors, /^tallystick: .* already exists$/m)
  assert.deepEqual(await readFile(out), kept)

  const proof = await as(reader, service).run(["receipts", "proof", id, receipt])
  const proofFile = join(folder.path, "entry.tlog-proof")
  await writeFile(proofFile, proof.output)
  assert.equal((await tallystick(["verify", proofFile, "--key", vkey])).code, 0)
  assert.match((await get("rcp_nothing")).errors, /^tallystick: there is no such resource/)
  assert.match((await get(receipt, "--key", "x")).errors, /^tallystick: --key: x is not the vkey/)

  // What the service adds is not printed among what the proof covers.
  const adding = JSON.parse((await reader.get(`${path}/receipts/${receipt}`)).text)
  Object.assign(adding.entry, { newKey: vkey.toLowerCase(), size: 99 })
  await using embellishing = await startLying(JSON.stringify(adding))
  const plain = await get(receipt, "--key", vkey, "--url", embellishing.url)
  assert.equal(plain.code, 0, plain.output)
  assert.match(plain.output, /not covered by the proof: .*entry\.newKey/)
  assert.doesNotMatch(plain.output, /^ {2}(?:newKey|storageTier): |: 99$/m)

  // A service may answer with anything: another receipt, a changed entry, no answer about a receipt.
  const answerOf = async (name: string) => (await reader.get(`${path}/receipts/${name}`)).text
  const [right, wrong] = [await answerOf(receipt), await answerOf(other.receipt)]
  const foreign =
    /^tallystick: the answer has status 200 and is not one of a Tallystick service; is http.* its address/
  for (const [answer, code, said] of [
    [wrong, 3, /^rcp_\w+: NOT GENUINE\n/],
    [right.replaceAll("inv_9", "inv_8"), 3, /^rcp_\w+: NOT GENUINE\n {2}content does not hold/],
    [right.replace('"lane":"operations"', '"lane":"\u009b2J"'), 3, /: NOT GENUINE\n/],
    ['{"receipt":{},"entry":{}}', 2, /^rcp_\w+: not checked\n {2}it has no proof/],
    ["{}", 1, /^tallystick: the service's answer is not about a receipt\n$/],
    ["[]", 1, foreign],
    ["null", 1, foreign],
    ["<html>", 1, foreign],
  ] as const) {
    await using lying = await startLying(answer)
    const url = ["--url", lying.url]
    const ran = await get(receipt, "--key", vkey, ...url)
    assert.equal(ran.code, code, ran.output + ran.errors)
    assert.match(ran.output + ran.errors, said)
    assert.doesNotMatch(ran.output, /\u009b/)
  }
  await expectChain(reader, id, [other])
})

// What is missing ---------------------------------------------------------------------------------

test("a missing or wrong address or key is one sentence that says what to set, and shows no key", async () => {
  await using service = await startService()
  const { id, reader, writer } = await makeWorkspace(service)
  const nowhere = `http://127.0.0.1:${await freePort()}`
  await using folder = await makeFolder()
  const file = join(folder.path, "key")
  await writeFile(file, `${reader.bearer}\n`)
  const list = ["events", "list", id]
  const good = { TALLYSTICK_URL: service.url, TALLYSTICK_KEY: reader.bearer }
  const cases: readonly (readonly [readonly string[], Run["environment"], RegExp])[] = [
    [list, { TALLYSTICK_URL: service.url }, /TALLYSTICK_KEY is not set; set it to an API key/],
    [list, { ...good, TALLYSTICK_KEY: "" }, /TALLYSTICK_KEY is set to nothing/],
    [list, { ...good, TALLYSTICK_KEY: "tsk a\nb" }, /TALLYSTICK_KEY must be one key/],
    [list, { ...good, TALLYSTICK_KEY_FILE: file }, /TALLYSTICK_KEY and TALLYSTICK_KEY_FILE/],
    [
      list,
      { ...good, TALLYSTICK_KEY: "tsk_wrong" },
      /or wrong; it came from TALLYSTICK_KEY, and http:.* was asked$/m,
    ],
    [list, { ...good, TALLYSTICK_KEY: writer.bearer }, /scope/],
    [list, { ...good, TALLYSTICK_URL: nowhere }, new RegExp(`nothing answers at ${nowhere} \\(EC`)],
    [list, { ...good, TALLYSTICK_URL: "ftp://x" }, /TALLYSTICK_URL must be an http or https add/],
    [
      [...list, "--url", service.url.replace("http:", "https:")],
      good,
      /https:.* does not speak TLS \(/,
    ],
    [[...list, "--url", `${service.url}/v1`], good, /must not end in \/v1/],
    [[...list, "--url", "here"], good, /--url must be an http or https address/],
    [[...list, "--url", nowhere], good, new RegExp(`nothing answers at ${nowhere} `)],
    [["events", "list", ".."], good, /an id in a path must be/],
    [["events", "list", "other"], good, /another workspace/],
    [["events", "tail", id], { ...good, TALLYSTICK_URL: nowhere }, /nothing answers at/],
    [["events", "put", id, ...complete], good, /scope/],
    [["receipts", "get", id, "rcp_x"], { TALLYSTICK_URL: service.url }, /KEY is not set$/m],
  ]
  await Promise.all(
    cases.map(async ([args, settings, sentence]) => {
      const { code, output, errors } = await tallystick(args, settings)
      assert.deepEqual([code, output], [1, ""], `${args.join(" ")}: ${errors}`)
      assert.match(errors, sentence)
      assert.match(errors, /^tallystick: .*\n$/)
      assert.ok(!errors.includes(reader.bearer ?? "") && !errors.includes("tsk a"), errors)
    }),
  )
  // Another service at the given address.
  await using other = await startLying("{}")
  const elsewhere = { ...good, TALLYSTICK_URL: other.url }
  const wrong =
    /^tallystick: (the answer does not come from|.*is not one of) a Tallystick service; is/
  await Promise.all(
    [
      ...["list", "tail", "timeline", "put", "export"].map((name) => [name, id]),
      ["values", id, "actor"],
      ["export", id, "--format", "csv"],
      ["put", id, ...complete],
    ].map(async (args) => {
      const run = await tallystick(["events", ...args], elsewhere, { input: "{}\n" })
      const { code, output, errors } = run
      // A write may have been recorded, whoever answered.
      assert.deepEqual([code, output], [args.includes("--action") ? 2 : 1, ""], args.join(" "))
      assert.match(errors, wrong)
    }),
  )

  const fromFile = { TALLYSTICK_URL: service.url, TALLYSTICK_KEY_FILE: file }
  assert.deepEqual((await tallystick(list, fromFile)).code, 0)
  const port = { TALLYSTICK_PORT: new URL(service.url).port, TALLYSTICK_KEY: reader.bearer }
  assert.equal((await tallystick(list, port)).code, 0, "without an address, on this machine")
  assert.equal((await tallystick(["config"], good)).code, 0, "they are no settings of the service")
  await expectChain(reader, id)
})

// Programs and services ---------------------------------------------------------------------------

/** A command that runs on. */
function startCommand(args: readonly string[], environment: NodeJS.ProcessEnv) {
  const env = { PATH: process.env["PATH"], ...environment }
  const child = spawn(process.execPath, [program, ...args], { env, stdio: "pipe" })
  const said = { output: "", errors: "" }
  child.stdout.setEncoding("utf8").on("data", (text: string) => (said.output += text))
  child.stderr.setEncoding("utf8").on("data", (text: string) => (said.errors += text))
  const ended = new Promise<readonly [code: number | null, signal: NodeJS.Signals | null]>(
    (resolve) => child.once("exit", (code, signal) => resolve([code, signal])),
  )
  return { child, said, ended }
}

/**
 * Forwards requests to a service, and cuts the connection instead of the first answers to a method.
 */
async function startCutting(url: string) {
  let cuts: { readonly method: string; left: number } = { method: "", left: 0 }
  const { port } = new URL(url)
  const server = createTcpServer((socket) => {
    const service = connect(Number(port), "127.0.0.1")
    let isCut = false
    socket.on("data", (data) => {
      isCut = cuts.left > 0 && data.toString("latin1").startsWith(cuts.method)
      service.write(data)
    })
    service.on("data", (data) => {
      if (!isCut) return socket.write(data)
      cuts.left -= 1
      socket.destroy()
      return service.destroy()
    })
    socket.on("error", () => {}).on("close", () => service.destroy())
    service.on("error", () => {}).on("close", () => socket.destroy())
  })
  return {
    ...(await listening(server)),
    answers: (method: string, left: number) => void (cuts = { method, left }),
  }
}

/** Fails the second batch, forwarded to the service or not, and the later ones. */
async function startFailing(service: string, error: string, { forwards }: { forwards: boolean }) {
  let batches = 0
  const respond = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { method = "", headers, url: path } = request
    const isBatch = method === "POST"
    const fails = isBatch && ++batches > 1
    const asked = isBatch ? { body: await buffer(request) } : {}
    const sent = { authorization: headers.authorization ?? "", "content-type": "application/json" }
    if (!fails || forwards) {
      const answer = await fetch(`${service}${path}`, { method, headers: sent, ...asked })
      const text = await answer.text()
      if (!fails) return void response.writeHead(answer.status).end(text)
    }
    // Longer than the command waits.
    response.writeHead(503, { "retry-after": "3600" })
    response.end(JSON.stringify({ error, detail: error }))
  }
  return await listening(createServer((request, response) => void respond(request, response)))
}

/** A service that always answers the same. */
async function startLying(answer: string) {
  return await listening(createServer((_, response) => response.end(answer)))
}

/** By RFC 4180. */
function parseCsv(text: string): readonly (readonly string[])[] {
  const cell = /"((?:[^"]|"")*)"(,|\r\n)/gy
  const rows: string[][] = [[]]
  let at = 0
  for (const [whole, value = "", end] of text.matchAll(cell)) {
    at += whole.length
    rows.at(-1)?.push(value.replaceAll('""', '"'))
    if (end !== ",") rows.push([])
  }
  assert.equal(at, text.length, "every cell is in quotation marks")
  return rows.slice(0, -1)
}
