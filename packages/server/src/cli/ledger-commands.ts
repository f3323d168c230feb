// The commands `events` and `receipts`, which write to a ledger and read it with an API key: their
// options and their help.

import { Option } from "commander"
import { lanes, sources, storageClasses } from "../http/shapes/enumeration.ts"
import { definedOf } from "@tallystick/proof"
import type { ExportOptions } from "./events-export-command.ts"
import type { Filter } from "./events-list-command.ts"
import type { PutOptions } from "./events-put-command.ts"
import { countOf, gathered, sequenceOf, timeOf } from "./option-values.ts"
import type { ProgramCommand } from "./program-command.ts"
import type { GetOptions } from "./receipts-command.ts"
import type { Format } from "./rows-output.ts"
import type { Terminal } from "./terminal.ts"

export function addLedgerCommands(program: ProgramCommand, terminal: Terminal): void {
  program.commandsGroup("With an API key, from any machine:")
  const events = program
    .command("events")
    .description("record events in a ledger and read its entries")
  addPut(events, terminal)
  addList(events, terminal)
  addExport(events, terminal)
  addTail(events, terminal)
  addValues(events, terminal)
  addTimeline(events, terminal)
  const receipts = program
    .command("receipts")
    .description("get a receipt and check it, or get its proof")
  addGet(receipts, terminal)
  addProof(receipts, terminal)
}

const atUrl = new Option(
  "--url <address>",
  "address of the service (default: TALLYSTICK_URL, else this machine at TALLYSTICK_PORT)",
)
function ofWorkspace(group: ProgramCommand, name: string, description: string): ProgramCommand {
  const command = group.command(name).description(description)
  return command.argument("<workspace>", "the workspace's id")
}
const keyHelp = (scope: string): string =>
  `The API key is in TALLYSTICK_KEY, or in the file that TALLYSTICK_KEY_FILE names. It needs the scope \`${scope}\`.`

// Writing -----------------------------------------------------------------------------------------

interface PutFlags extends PutOptions {
  readonly url?: string
}

function addPut(events: ProgramCommand, terminal: Terminal): void {
  const what = "record one event from options, or many from JSON, and print their receipts"
  ofWorkspace(events, "put", what)
    .argument(
      "[file]",
      "JSON of one event, or an event on each line; `-` for standard input, which is also read without --action, --actor and --target",
    )
    .option("--action <name>", "what was done, such as billing.invoice.approve")
    .option("--actor <type:id>", "who did it, such as user:usr_1")
    .option("--actor-email <address>", "its e-mail, which is sealed")
    .option("--target <type:id>", "what it was done to, such as invoice:inv_9")
    .option("--target-name <name>", "its name, which is sealed")
    .option("--project <id>", "the project that it belongs to (default: core)")
    .addOption(
      new Option("--source <source>", "where it came from (default: api)").choices(sources),
    )
    .option(
      "--occurred-at <time>",
      "such as 2026-01-31T09:30:00Z, 2026-01-31 or 5m for five minutes ago (default: now)",
      timeOf,
    )
    .option("--metadata <json>", "anything else about it, as a JSON object")
    .option("--user-visible", "the actor and the target see it in their own activity")
    .option("--idempotency-key <key>", "12 to 255 characters that name this event for ever")
    .option("--json", "print each result as JSON, on a line of its own", false)
    .addOption(atUrl)
    .notes(`
A key makes it safe to run the command again: what is recorded is not recorded twice. In JSON, it is the member
\`idempotencyKey\`. Without one, the key is made from the event's content, so events with the same content are one event. An event by options
without --occurred-at occurs now and is a new one each time, unless you give --idempotency-key.

JSON is as POST /v1/events takes it; the options that you give fill in what an event leaves out, and defaults do not. It is sent while it arrives,
in batches. A refused line does not stop the others. If no answer comes, the command tries again with the same keys. It goes on if nobody reads its output any more.

${keyHelp("write")}

Exit codes: 0 everything is recorded; 1 something is not; 2 nobody knows, because no complete answer came: run the command again.

Example:
  $ tallystick events put acme --action billing.invoice.approve --actor user:usr_1 --target invoice:inv_9
  $ tallystick events put acme < events.jsonl > receipts.txt`)
    .action(
      async (workspaceId: string, file: string | undefined, { url, ...options }: PutFlags) => {
        const { putEvents } = await import("./events-put-command.ts")
        process.exitCode = await putEvents({ ...terminal, url }, workspaceId, file, options)
      },
    )
}

// Reading -----------------------------------------------------------------------------------------

interface ReadFlags {
  readonly project?: string
  readonly lane?: NonNullable<Filter["lane"]>
  readonly storage?: NonNullable<Filter["storage"]>
  readonly includeSystem?: true
  readonly from?: string
  readonly to?: string
  readonly format?: Format
  readonly json: boolean
  readonly url?: string
}

/** The options of all commands that show entries. */
function reading(command: ProgramCommand): ProgramCommand {
  return filtering(command)
    .addOption(
      new Option("--format <format>", "(default: table)").choices(["table", "jsonl", "csv"]),
    )
    .addOption(
      new Option("--json", "the same as --format jsonl").default(false).conflicts("format"),
    )
    .addOption(atUrl)
}

/** The options that filter the entries of a command. */
function filtering(command: ProgramCommand): ProgramCommand {
  return command
    .argument(
      "[query]",
      "a search, such as 'approve actor:usr_1'; put -- before one that begins with -",
    )
    .option("--project <id>", "entries of one project; `system` for the service's own entries")
    .addOption(new Option("--lane <lane>", "entries of one lane").choices(lanes))
    .addOption(
      new Option("--storage <tier>", "hot entries, archived ones, or all").choices([
        ...storageClasses,
        "all",
      ]),
    )
    .option("--include-system", "the service's own entries as well")
}

function withTimes(command: ProgramCommand): ProgramCommand {
  return command
    .option(
      "--from <time>",
      "occurred at this time or later: 2026-01-31T09:30:00Z, 2026-01-31, now, or 7d for seven days ago",
      timeOf,
    )
    .option("--to <time>", "occurred before this time", timeOf)
}

function filterOf(query: string | undefined, flags: Omit<ReadFlags, "format" | "json">): Filter {
  const { project, lane, storage, includeSystem, from, to } = flags
  return definedOf({ query, projectId: project, lane, storage, includeSystem, from, to })
}

function formatOf({ format, json }: ReadFlags): Format {
  return json ? "jsonl" : (format ?? "table")
}

const outputHelp = `
A table is as wide as the terminal: it cuts names, and leaves out columns on the right. \`jsonl\` has each entry as the API shows it. In \`csv\`, a
cell that a spreadsheet would take for a formula has a ' in front, and so has one that begins with '.

${keyHelp("read")}
`

function addList(events: ProgramCommand, terminal: Terminal): void {
  withTimes(reading(ofWorkspace(events, "list", "list entries, newest first")))
    .addOption(
      new Option("--limit <count>", "show so many").argParser(countOf).default(50).conflicts("all"),
    )
    .option("--all", "show all of them", false)
    .notes(`${outputHelp}
Exit codes: 0 the entries are listed; 3 one of them is not what was recorded; 1 they cannot be listed.

Example:
  $ tallystick events list acme 'approve actor:usr_1' --from 7d
  $ tallystick events list acme --all --format csv > entries.csv`)
    .action(async (workspaceId: string, query: string | undefined, flags: ListFlags) => {
      const { listEvents } = await import("./events-list-command.ts")
      const limit = flags.all ? Infinity : flags.limit
      const { url } = flags
      process.exitCode = await listEvents(
        { ...terminal, url },
        workspaceId,
        filterOf(query, flags),
        { limit, format: formatOf(flags) },
      )
    })
}

interface ListFlags extends ReadFlags {
  readonly limit: number
  readonly all: boolean
}

function addExport(events: ProgramCommand, terminal: Terminal): void {
  const what = "write all entries of a filter into one file, oldest first"
  withTimes(filtering(ofWorkspace(events, "export", what)))
    .addOption(
      new Option("--format <format>", "format of the file")
        .choices(["jsonl", "csv", "parquet"])
        .default("jsonl"),
    )
    .option("--output <file>", "write to this file instead of standard output")
    .option("--after <sequence>", "begin after this entry", sequenceOf, 0)
    .option("--proof", "each line of jsonl brings what is needed to check it", false)
    .option("--resume", "continue an incomplete file of jsonl", false)
    .addOption(atUrl)
    .notes(`
The file has what was recorded when the export began, archived entries too, unless --storage says otherwise. Each export is recorded in the ledger. The
last line of jsonl has the number of lines and the SHA-256 of all before it; the command checks it, and \`sha256sum\` can later. A file of csv or parquet
has the suffix .part until it is complete. In csv, a cell that a spreadsheet would take for a formula has a ' in front.

${keyHelp("read")}

Exit codes: 0 the file is complete; 3 it is, and an entry in it is not what was recorded; 1 it is not complete.

Example:
  $ tallystick events export acme --format parquet --output entries.parquet
  $ tallystick events export acme lane:security --from 30d | gzip > security.jsonl.gz`)
    .action(async (workspaceId: string, query: string | undefined, flags: ExportFlags) => {
      const { exportEvents } = await import("./events-export-command.ts")
      const filter = { storage: "all", ...filterOf(query, flags) } as const
      process.exitCode = await exportEvents(
        { ...terminal, url: flags.url },
        workspaceId,
        filter,
        flags,
      )
    })
}

type ExportFlags = Omit<ReadFlags, "format" | "json"> & ExportOptions

function addTail(events: ProgramCommand, terminal: Terminal): void {
  reading(ofWorkspace(events, "tail", "print entries as they are recorded, until Ctrl-C"))
    .option("--after <sequence>", "begin after this entry; 0 for all (default: now)", sequenceOf)
    .notes(`
If the connection is cut, or the service restarts, it goes on where it was: no entry is missed and none comes twice. Archived entries are
printed too, unless --storage says otherwise.
${outputHelp}
Exit codes: 130 after Ctrl-C; 1 the service refuses, or does not answer at the beginning.

Example:
  $ tallystick events tail acme lane:security --json`)
    .action(async (workspaceId: string, query: string | undefined, flags: TailFlags) => {
      const { tailEvents } = await import("./events-tail-command.ts")
      const filter = { storage: "all", ...filterOf(query, flags) } as const
      const { after, url } = flags
      const options = { after, format: formatOf(flags) }
      await tailEvents({ ...terminal, url }, workspaceId, filter, options)
    })
}

interface TailFlags extends ReadFlags {
  readonly after?: number
}

function addValues(events: ProgramCommand, terminal: Terminal): void {
  const what = "list the commonest values of a field, and how many entries have each"
  const command = ofWorkspace(events, "values", what)
  withTimes(reading(command.argument("<field>", "such as actor, action or metadata.currency")))
    .option("--limit <count>", "number of values, at most 50", countOf, 20)
    .notes(`${outputHelp}\nExample:\n  $ tallystick events values acme actor --from 7d`)
    .action(
      async (workspaceId: string, field: string, query: string | undefined, flags: ListFlags) => {
        const { listValues } = await import("./events-list-command.ts")
        const asked = { ...filterOf(query, flags), field, limit: flags.limit }
        await listValues({ ...terminal, url: flags.url }, workspaceId, asked, formatOf(flags))
      },
    )
}

function addTimeline(events: ProgramCommand, terminal: Terminal): void {
  withTimes(reading(ofWorkspace(events, "timeline", "count how many entries occurred when")))
    .option("--buckets <count>", "number of spans of time, at most 240", countOf, 24)
    .addOption(
      new Option("--by <group>", "how the counts are divided")
        .choices(["lane", "project"])
        .default("lane"),
    )
    .notes(
      `${outputHelp}\nWithout --from and --to it counts the last day.\n\nExample:\n  $ tallystick events timeline acme --from 7d --buckets 7`,
    )
    .action(async (workspaceId: string, query: string | undefined, flags: TimelineFlags) => {
      const { showTimeline } = await import("./events-list-command.ts")
      const { buckets, by, from = timeOf("1d"), to = timeOf("now"), url } = flags
      const asked = { ...filterOf(query, flags), from, to, buckets, by }
      await showTimeline({ ...terminal, url }, workspaceId, asked, formatOf(flags))
    })
}

interface TimelineFlags extends ReadFlags {
  readonly buckets: number
  readonly by: "lane" | "project"
}

// Receipts ----------------------------------------------------------------------------------------

function addGet(receipts: ProgramCommand, terminal: Terminal): void {
  const what = "get a receipt with its entry, and check them as `verify` does"
  ofWorkspace(receipts, "get", what)
    .argument("<receipt>", "the receipt's id")
    .option(
      "--key <vkey>",
      "a log's key that you trust, from another source than the service; repeat for more",
      gathered,
    )
    .option("--out <file>", "also write the answer into a new file, which `verify` reads")
    .option("--json", "print receipt, entry and the result of the checks as JSON", false)
    .addOption(atUrl)
    .notes(`
Everything is computed here, from bytes, hashes and signatures; nothing that the service says of itself counts. Without --key it is \`not
confirmed\`: everything may agree, but the service itself names the key that signed, and anyone can make a key.

${keyHelp("read")} A public receipt needs no key.

Exit codes as of \`verify\`: 0 it is genuine; 2 nothing is found wrong, but the proof, a trusted key's signature or a checkpoint is missing; 3 it is not genuine;
1 it cannot be got.

Example:
  $ tallystick receipts get acme rcp_01KB8JQ5T9QKX4M3W2P7N6V5B4C3D2F1G0HJ --key "$(cat log.vkey)" --out receipt.json`)
    .action(async (workspaceId: string, receipt: string, flags: GetFlags) => {
      const { getReceipt } = await import("./receipts-command.ts")
      process.exitCode = await getReceipt(
        { ...terminal, url: flags.url },
        workspaceId,
        receipt,
        flags,
      )
    })
}

interface GetFlags extends GetOptions {
  readonly url?: string
}

function addProof(receipts: ProgramCommand, terminal: Terminal): void {
  const what = "print the proof of a receipt as a tlog-proof, which `verify` reads"
  ofWorkspace(receipts, "proof", what)
    .argument("<receipt>", "the receipt's id")
    .addOption(atUrl)
    .notes(`
${keyHelp("read")} A public receipt needs no key.

Example:
  $ tallystick receipts proof acme rcp_01KB8JQ5T9QKX4M3W2P7N6V5B4C3D2F1G0HJ > entry.tlog-proof`)
    .action(async (workspaceId: string, receipt: string, { url }: { url?: string }) => {
      const { printProof } = await import("./receipts-command.ts")
      await printProof({ ...terminal, url }, workspaceId, receipt)
    })
}
