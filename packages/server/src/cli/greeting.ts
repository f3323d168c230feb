// What a start prints on standard output: where the service listens, how to write a first event
// into empty data, and how to set up the first admin. The text contains a key and a token, so it
// never goes to the log.

import { isoTime } from "../clock.ts"
import { LedgerError } from "../error.ts"
import type { Service } from "../http/service.ts"
import type { Running } from "../serve.ts"

interface Greeting {
  readonly demo: boolean
  /** The file of the instance key; undefined if it is configured. */
  readonly rootKeyPath: string | undefined
  readonly say: (text: string) => void
}

const demoWorkspace = "demo"

export async function greet(running: Running, { demo, rootKeyPath, say }: Greeting): Promise<void> {
  const { url, listensOn } = running
  const commands = await commandsFor(running, demo).catch(ifAway)
  say(`tallystick listens on ${listensOn}\n`)
  if (url !== listensOn) say(`Its public address is ${url}\n`)
  say(`Documentation of the API: ${url}/docs\n`)
  if (rootKeyPath !== undefined) say(`The instance key is in ${rootKeyPath}\n`)
  if (commands.length > 0) say(`\n${commands.join("\n\n")}\n\n`)
}

async function commandsFor({ url, service }: Running, demo: boolean): Promise<readonly string[]> {
  const [anyWorkspace] = await service.store.registry.list("workspace", undefined, undefined, 1)
  if (service.halted() !== undefined) return []
  const token = await service.accounts.offerFirst()
  return [
    ...(demo && anyWorkspace === undefined ? [await demonstration(url, service)] : []),
    ...(token === undefined ? [] : [firstAdmin(url, token)]),
  ]
}

/** The service goes on, and serves when the ledger is back. */
function ifAway(error: unknown): readonly string[] {
  if (!(error instanceof LedgerError && error.code === "ledger_unavailable")) throw error
  return [
    "The ledger cannot be reached at this moment, so this text is incomplete: the next start prints the rest.",
  ]
}

async function demonstration(url: string, service: Service): Promise<string> {
  const by = { kind: "instance" } as const
  const workspace = await service.workspaces.create(by, { id: demoWorkspace, name: "Demo" })
  const { key } = await service.keys.create(by, workspace, {
    name: "first start",
    scopes: ["write", "read"],
  })
  const command = firstEvent(url, key, service.clock.now())
  return `Write a first event into the workspace "${demoWorkspace}" (the key is shown only once):\n\n${command}`
}

function firstEvent(url: string, key: string, nowMs: number): string {
  const event = {
    workspaceId: demoWorkspace,
    projectId: "core",
    action: "billing.invoice.approve",
    actor: { id: "usr_1", type: "user", email: "someone@example.com" },
    target: { id: "inv_9", type: "invoice", name: "Invoice 9" },
    occurredAt: isoTime(nowMs),
    source: "api",
    metadata: { amount: 1299.5, currency: "EUR" },
    userVisible: true,
  }
  // With a newline after the answer, which has none.
  return [
    `curl -sS -w '\\n' ${url}/v1/events`,
    `  -H "Authorization: Bearer ${key}"`,
    '  -H "Idempotency-Key: invoice-9-approved"',
    '  -H "Content-Type: application/json"',
    `  -d '${JSON.stringify(event)}'`,
  ].join(" \\\n")
}

function firstAdmin(url: string, token: string): string {
  return `The instance has no admin yet. Open this link to become the first one; it works once, for one day:\n\n  ${url}/ui/setup?first#t=${token}`
}
