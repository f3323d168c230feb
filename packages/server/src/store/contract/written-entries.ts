// Entries for contracts and tests. The name of a ledger is derived from its workspace, and keys and
// receipts from the names in the test.

import { strict as assert } from "node:assert"
import { hash } from "node:crypto"
import { encodeRecord } from "@tallystick/proof"
import type { ApiKeyDocument, ProjectDocument, Change } from "../documents.ts"
import type { Head, Linked, Stored } from "../entries.ts"
import type { Store } from "../store.ts"

/** The head of an empty chain. */
export function genesisOf(workspace: string): Head {
  return { sequence: 0, hash: digest(`ledger ${workspace}`), timeMs: 0 }
}

export function keyNamed(name: string): string {
  return digest(`key ${name}`).toString("base64url").slice(0, 22)
}

/** A name that is a receipt already stays one. */
export function receiptNamed(name: string): string {
  if (name.startsWith("rcp_")) return name
  return `rcp_${digest(`receipt ${name}`).toString("hex").slice(0, 36).toUpperCase()}`
}

/**
 * Entries that follow a head, one for each name; an entry whose name begins with "-" has no key.
 */
export function entriesAfter(
  workspace: string,
  from: Head,
  names: readonly string[],
): { readonly entries: Linked[]; readonly head: Head } {
  const entries: Linked[] = []
  let head = from
  const ledgerId = digest(`ledger ${workspace}`)
  for (const name of names) {
    const [receipt, idem] = [receiptNamed(name), name.startsWith("-") ? undefined : keyNamed(name)]
    const body = Buffer.from(
      `{${idem === undefined ? "" : `"idem":"${idem}",`}"receipt":"${receipt}","workspaceId":"${workspace}"}`,
    )
    const bodySalt = digest(`salt ${name}`).subarray(0, 16)
    const record = encodeRecord({
      kind: "event",
      index: head.sequence,
      timeMs: head.timeMs + 1,
      ledgerId,
      previousHash: head.hash,
      bodyHash: sha256(Buffer.concat([Buffer.from("ALB1"), bodySalt, body])),
    })
    entries.push({ record, receipt, idem, bodySalt, body, disclosures: "" })
    head = {
      sequence: head.sequence + 1,
      hash: sha256(Buffer.concat([Buffer.of(0), record])),
      timeMs: head.timeMs + 1,
    }
  }
  return { entries, head }
}

/** Appends to the end of a chain, and fails unless it is done. */
export async function write(
  store: Store,
  workspace: string,
  names: readonly string[],
  changes: readonly Change[] = [],
): Promise<Head> {
  const from = (await store.journal.head(workspace)) ?? genesisOf(workspace)
  const { entries, head } = entriesAfter(workspace, from, names)
  assert.deepEqual(await store.journal.append({ workspace, from, entries, changes }), {
    kind: "done",
  })
  return head
}

/** The change that makes a workspace. */
export function workspaceNamed(id: string): Change {
  const settings = {
    policyVisibility: "private",
    projects: "open",
    transparency: "private",
    hotDays: 90,
  } as const
  const more = {
    requirePublishedPolicy: false,
    personalKeys: [],
    laneRules: [],
    name: id,
    createdAt: "2026-01-01T00:00:00.000Z",
  }
  const value = { ...settings, ...more, genesis: "", ledgerId: "", origin: `test/${id}` }
  return { kind: "workspace", id, version: 0, value }
}

/**
 * Asks which of these keys were used, without writing: a group that has a used key is refused as a
 * whole.
 */
export async function usedOf(
  store: Store,
  workspace: string,
  names: readonly string[],
): Promise<readonly [name: string, sequence: number][]> {
  const from = { ...genesisOf(workspace), sequence: 1, hash: digest("no entry has this hash") }
  const outcome = await store.journal.append({
    workspace,
    from,
    entries: entriesAfter(workspace, from, names).entries,
  })
  assert.ok(outcome.kind === "used" || outcome.kind === "moved")
  const keys = outcome.kind === "used" ? outcome.keys : []
  return keys
    .toSorted((a, b) => a.place - b.place)
    .map(({ place, sequence }) => [names[place] ?? "", sequence])
}

export function project(id: string, version: number, name: string | null): Change {
  const value: ProjectDocument = {
    name: name ?? "",
    receipts: "private",
    activityLinks: false,
    createdAt: "2026-01-01T00:00:00.000Z",
  }
  return { kind: "project", id, version, value: name === null ? null : value }
}

export function apiKey(id: string, version: number): Change {
  const value: ApiKeyDocument = {
    name: id,
    scopes: ["read"],
    mac: "00",
    createdAt: "2026-01-01T00:00:00.000Z",
    createdBy: "instance",
  }
  return { kind: "api-key", id, version, value }
}

export function digest(text: string): Buffer {
  return sha256(text)
}

/** In one call: some tests write a hundred thousand entries. */
function sha256(data: string | Uint8Array): Buffer {
  return hash("sha256", data, "buffer")
}

/** A stored entry in a comparable form, because a driver may return any kind of bytes. */
export function plain(entry: Stored | undefined): unknown {
  if (entry === undefined) return undefined
  const hex = (bytes: Uint8Array | undefined) =>
    bytes === undefined ? undefined : Buffer.from(bytes).toString("hex")
  const { workspace, sequence, record, receipt, idem, bodySalt, body, disclosures } = entry
  const bytes = { record: hex(record), body: hex(body), bodySalt: hex(bodySalt) }
  return { workspace, sequence, receipt, idem, disclosures, ...bytes }
}
