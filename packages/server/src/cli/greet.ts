// What a start says on standard output, terminal or not: where the service listens, and on empty data how to write a first event.
// It holds a key, and so it never passes through the log.

import { isoTime } from "../clock.ts"
import { setupUrl } from "../http/v1/members.ts"
import type { Running } from "../serve.ts"

export interface Greeting {
  readonly demo: boolean
  readonly newRootKeyPath: string | undefined
  readonly say: (text: string) => void
}

const demoWorkspace = "demo"

export async function greet({ url, listensOn, service }: Running, { demo, newRootKeyPath, say }: Greeting): Promise<void> {
  const isEmpty = (await service.workspaces.list(Number.MAX_SAFE_INTEGER, 1)).length === 0
  say(`tallystick listens on ${listensOn}\n`)
  if (url !== listensOn) say(`Its public address is ${url}\n`)
  if (newRootKeyPath !== undefined) say(`The instance key was made and is kept in ${newRootKeyPath}\n`)
  const token = service.halted() === undefined ? await service.accounts.offerFirst() : undefined
  if (token !== undefined) say(`Nobody administers the instance yet. Set up its first admin within a day: ${setupUrl(url, token)}\n`)
  if (!demo || !isEmpty || service.halted() !== undefined) return
  const by = { kind: "instance" } as const
  const workspace = await service.workspaces.create(by, { id: demoWorkspace, name: "Demo" })
  const { key } = await service.keys.create(by, workspace, { name: "first start", scopes: ["write", "read"] })
  say(
    `\nWrite a first event into the workspace "${demoWorkspace}" (the key is shown this once):\n\n${firstEvent(url, key, service.clock.now())}\n\n`,
  )
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
  return [
    `curl -sS ${url}/v1/events`,
    `  -H "Authorization: Bearer ${key}"`,
    '  -H "Idempotency-Key: invoice-9-approved"',
    '  -H "Content-Type: application/json"',
    `  -d '${JSON.stringify(event)}'`,
  ].join(" \\\n")
}
