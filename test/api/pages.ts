import assert from "node:assert/strict"
import type { Chance } from "../chance.ts"
import { writeEvent, type Client, type Workspace } from "../service.ts"

// For tests of the read side: writes entries under labels, and finds them by these.

export interface Page {
  readonly events: readonly Entry[]
  readonly returned: number
  readonly total: number
  readonly nextCursor: number
  readonly hasMore: boolean
  readonly verified: boolean
}

export interface Entry {
  readonly sequence: number
  readonly receipt: string
  readonly hash: string
  readonly previousHash: string
  readonly kind: string
  readonly projectId: string
  readonly action: string
  readonly integrity: string
  readonly storageTier: string
  readonly metadata: Readonly<Record<string, unknown>>
  readonly provenance?: { readonly keyId?: string }
  readonly proof?: object
  readonly disclosures?: readonly string[]
}

export type Parameters = Readonly<Record<string, string | number | boolean>>

export async function find(
  client: Client,
  path: string,
  parameters: Parameters = {},
): Promise<Page> {
  const query = Object.entries(parameters).map(
    ([name, value]) => `${name}=${encodeURIComponent(value)}`,
  )
  const reply = await client.get(`${path}/events${query.length === 0 ? "" : `?${query.join("&")}`}`)
  assert.equal(reply.status, 200, reply.text)
  const page = reply.json<Page>()
  assert.equal(page.returned, page.events.length)
  assert.equal(page.nextCursor, page.events.at(-1)?.sequence ?? 0)
  return page
}

/** All entries of a list, oldest first. */
export async function listed(
  client: Client,
  path: string,
  filter: Parameters,
): Promise<readonly Entry[]> {
  const found: Entry[] = []
  for (let cursor = 0; ;) {
    const page = await find(client, path, { ...filter, cursor, limit: 100 })
    found.push(...page.events)
    if (!page.hasMore) return found.toReversed()
    cursor = page.nextCursor
  }
}

/** Filters that find none, some or all of the events of `randomEvent`. */
export const filters: readonly Parameters[] = [
  {},
  { projectId: "desk" },
  { query: "actor:usr_7" },
  { query: "label-1 -project:core" },
  { lane: "security" },
  { includeSystem: true, storage: "all" },
  { projectId: "system" },
  { userVisible: true },
  { query: "nobody-has-this" },
]

export function randomEvent(chance: Chance, place: number): object {
  return {
    projectId: chance.percent(30) ? "desk" : "core",
    action: chance.percent(10) ? "auth.login.start" : "billing.invoice.approve",
    actor: { id: `usr_${chance.below(10)}`, type: "user", email: `usr${place}@example.com` },
    userVisible: chance.percent(20),
    metadata: { label: `label-${place % 5}` },
  }
}

/** What tests call their entries. */
export const labels = ({ events }: Page): string =>
  events.map(({ metadata }) => String(metadata["label"])).join(" ")

/** Writes entries one after the other, under the given names. */
export async function writeAll(
  workspace: Pick<Workspace, "id" | "writer">,
  written: Readonly<Record<string, object>>,
): Promise<readonly string[]> {
  const receipts: string[] = []
  for (const [label, { metadata, ...changes }] of Object.entries<{ metadata?: object }>(written)) {
    const headers = { "x-trace-id": `Trace-${label}` }
    const event = { ...changes, metadata: { label, ...metadata } }
    receipts.push((await writeEvent(workspace, event, headers)).receipt)
  }
  return receipts
}
