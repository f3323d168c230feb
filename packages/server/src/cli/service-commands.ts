// Commands that ask the running service with the instance key: `keys`, `retention`, `erasures` and
// `rotate`.

import { definedOf } from "@tallystick/proof"
import { gathered, secondsOf, serviceUrl, someOf } from "./option-values.ts"
import type { ProgramCommand } from "./program-command.ts"
import type { Terminal } from "./terminal.ts"

export function addServiceCommands(program: ProgramCommand, terminal: Terminal): void {
  program.commandsGroup("With the instance key, through the running service:")
  const keys = program
    .command("keys")
    .description("list, create and revoke API keys of a workspace")
  addKeysList(keys, terminal)
  addKeysCreate(keys, terminal)
  addKeysRevoke(keys, terminal)
  addRetention(program, terminal)
  const erasures = program
    .command("erasures")
    .description("list, show and request the erasures of a workspace")
  addErasuresList(erasures, terminal)
  addErasuresShow(erasures, terminal)
  addErasuresRequest(erasures, terminal)
  addRotate(program, terminal)
}

const keyHelp = `
The command uses the instance key in TALLYSTICK_ROOT_KEY or in the data folder.

Example:
  $ `

function ofWorkspace(group: ProgramCommand, name: string, description: string): ProgramCommand {
  const command = group.command(name).description(description)
  return command.argument("<workspace>").addOption(serviceUrl)
}

function addKeysList(keys: ProgramCommand, terminal: Terminal): void {
  ofWorkspace(keys, "list", "list the keys of a workspace, without their secrets")
    .option("--json", "print them as JSON", false)
    .notes(`${keyHelp}tallystick keys list acme`)
    .action(async (workspace: string, { url, json }: { url?: string; json: boolean }) => {
      const { listKeys } = await import("./keys-command.ts")
      await listKeys({ ...terminal, url }, workspace, json)
    })
}

interface CreateOptions {
  readonly name: string
  readonly scope: readonly ("write" | "read" | "admin")[]
  readonly project?: readonly string[]
  readonly expiresIn?: number
  readonly url?: string
}

function addKeysCreate(keys: ProgramCommand, terminal: Terminal): void {
  keys
    .command("create")
    .description("create a key and print it on standard output, only this once")
    .argument("<workspace>")
    .requiredOption("--name <name>", "name of the key in lists")
    .addOption(
      someOf("--scope <scope>", "what the key may do; repeat for more", [
        "write",
        "read",
        "admin",
      ]).makeOptionMandatory(),
    )
    .option("--project <id>", "limit the key to this project; repeat for more", gathered)
    .option("--expires-in <time>", "such as 90d, 12h or 30m", secondsOf)
    .addOption(serviceUrl)
    .notes(
      `${keyHelp}export TALLYSTICK_KEY=$(tallystick keys create acme --name billing --scope write)`,
    )
    .action(async (workspace: string, options: CreateOptions) => {
      const { createKey } = await import("./keys-command.ts")
      const { name, scope, project, expiresIn, url } = options
      const limits = definedOf({ projectIds: project, expiresInSeconds: expiresIn })
      await createKey({ ...terminal, url }, workspace, { name, scopes: scope, ...limits })
    })
}

function addKeysRevoke(keys: ProgramCommand, terminal: Terminal): void {
  ofWorkspace(keys, "revoke", "revoke a key, and every token made with it")
    .argument("<key-id>", "the id that `keys list` shows")
    .notes(`${keyHelp}tallystick keys revoke acme 4cVx0Zp3QmT7a`)
    .action(async (workspace: string, keyId: string, { url }: { url?: string }) => {
      const { revokeKey } = await import("./keys-command.ts")
      await revokeKey({ ...terminal, url }, workspace, keyId)
    })
}

function addRetention(program: ProgramCommand, terminal: Terminal): void {
  const retention = program.command("retention").description("destroy expired contents now")
  ofWorkspace(retention, "run", "destroy expired contents now, as the service does each day")
    .notes(`${keyHelp}tallystick retention run acme`)
    .action(async (workspace: string, { url }: { url?: string }) => {
      const { runRetention } = await import("./retention-command.ts")
      await runRetention({ ...terminal, url }, workspace)
    })
}

function addErasuresList(erasures: ProgramCommand, terminal: Terminal): void {
  ofWorkspace(erasures, "list", "list erasures and their progress, newest first")
    .option("--json", "print them as JSON", false)
    .notes(`${keyHelp}tallystick erasures list acme`)
    .action(async (workspace: string, { url, json }: { url?: string; json: boolean }) => {
      const { listErasures } = await import("./erasures-command.ts")
      await listErasures({ ...terminal, url }, workspace, json)
    })
}

function addErasuresShow(erasures: ProgramCommand, terminal: Terminal): void {
  ofWorkspace(
    erasures,
    "show",
    "show an erasure as JSON, with the packs, tokens and exports that had some of the data",
  )
    .argument("<erasure-id>", "the id that `erasures list` shows")
    .notes(`${keyHelp}tallystick erasures show acme era_4cVx0Zp3QmT7a`)
    .action(async (workspace: string, erasureId: string, { url }: { url?: string }) => {
      const { showErasure } = await import("./erasures-command.ts")
      await showErasure({ ...terminal, url }, workspace, erasureId)
    })
}

interface ErasureOptions {
  readonly reason: string
  readonly reference?: string
  readonly type?: readonly string[]
  readonly entries: boolean
  readonly dryRun: boolean
  readonly url?: string
}

function addErasuresRequest(erasures: ProgramCommand, terminal: Terminal): void {
  erasures
    .command("request")
    .description("destroy the sealed fields about a person, for ever")
    .argument("<workspace>")
    .argument("<subject>", "the id of the person")
    .requiredOption("--reason <text>", "why; it stays readable for ever, so it must name nobody")
    .option("--reference <text>", "such as the number of a letter; it stays readable, too")
    .option(
      "--type <type>",
      "only entries where the person has this type; repeat for more",
      gathered,
    )
    .option("--entries", "destroy the whole content of their entries, with the id", false)
    .option("--dry-run", "say what would be destroyed, and destroy nothing", false)
    .addOption(serviceUrl)
    .notes(`${keyHelp}tallystick erasures request acme usr_4711 --reason "Their request" --dry-run`)
    .action(async (workspace: string, id: string, options: ErasureOptions) => {
      const { requestErasure } = await import("./erasures-command.ts")
      const { reason, reference, type, entries, dryRun, url } = options
      await requestErasure({ ...terminal, url }, workspace, {
        subject: { id, ...definedOf({ types: type }) },
        reason,
        ...definedOf({ reference }),
        scope: entries ? "entries" : "fields",
        dryRun,
      })
    })
}

function addRotate(program: ProgramCommand, terminal: Terminal): void {
  ofWorkspace(
    program,
    "rotate",
    "give a workspace's log a new signing key, and print its announcement, which both keys sign",
  )
    .notes(`
The old key keeps signing for a week. Until then, anyone who trusts the old key checks the announcement with \`tallystick verify\`, and trusts
the new key from then on. Earlier receipts, proofs and packs stay valid under the key that signed them.
${keyHelp}tallystick rotate acme > announcement.json`)
    .action(async (workspace: string, { url }: { url?: string }) => {
      const { rotateKey } = await import("./rotate-log-key-command.ts")
      await rotateKey({ ...terminal, url }, workspace)
    })
}
