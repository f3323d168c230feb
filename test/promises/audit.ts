import assert from "node:assert/strict"
import { expectChain, type MintedReceipt } from "../chain.ts"
import type { Service, Workspace } from "../service.ts"
import type { Chance } from "../chance.ts"
import { expectStoredChain } from "./stored-chain.ts"
import { note, sendUntilKnown, type Sending, type Write } from "./writes.ts"

// Every suite ends with this: it looks for every acknowledged write, and recomputes everything that
// is stored.

export interface Audited {
  /** Entries whose record, link, body and disclosures were computed again. */
  readonly entries: number
  /** Receipts that were read one by one and compared with the chain, field by field. */
  readonly lookedUp: number
  /** Writes that were sent once more, and answered with the same bytes. */
  readonly sentAgain: number
}

export interface AuditOptions {
  readonly workspaces: readonly Workspace[]
  /** All that was ever sent and not refused; each has been acknowledged. */
  readonly writes: readonly Write[]
  /** How many of each workspace, chosen at random. All, if absent. */
  readonly lookUpsMax?: number
  readonly replaysMax?: number
  readonly chance: Chance
}

/** Fails unless each write has exactly one entry with its receipt, and the chains are intact. */
export async function audit(
  service: Service,
  { workspaces, writes, lookUpsMax = Infinity, replaysMax = Infinity, chance }: AuditOptions,
): Promise<Audited> {
  let [entries, lookedUp, sentAgain] = [0, 0, 0]
  for (const workspace of workspaces) {
    const mine = writes.filter(({ workspaceId }) => workspaceId === workspace.id)
    const kept = await expectStoredChain(service.data, workspace.id)
    const receipts = mine.map(receiptOf)
    const last = expectPlaces(kept.hashes, kept.ledgerId, receipts)

    // With the last one among them, the log that is read has every entry of the clients.
    const some = [
      ...sample(receipts, lookUpsMax - 1, chance).filter((receipt) => receipt !== last),
      last,
    ]
    const reader = service.client(workspace.reader.bearer)
    const chain = await expectChain(reader, workspace.id, some, undefined, Infinity)
    assert.deepEqual(
      chain.hashes,
      kept.hashes.slice(0, chain.size),
      "what is served is not what is kept",
    )
    const sent = chain.records.filter((record) => record[4] === 1 || record[4] === 2)
    assert.equal(sent.length, mine.length, `${workspace.id}: there are not as many entries as keys`)

    entries += chain.size
    lookedUp += some.length
    sentAgain += await replayAll(service, workspace, sample(mine, replaysMax, chance))
  }
  return { entries, lookedUp, sentAgain }
}

/**
 * Checks that every receipt has its own entry and names the entry before it. Returns the last one
 * in the chain.
 */
function expectPlaces(
  hashes: readonly string[],
  ledgerId: string | undefined,
  receipts: readonly MintedReceipt[],
): MintedReceipt {
  const places = new Map(hashes.map((hash, place) => [hash, place]))
  const seen = new Set<string>()
  let last: { readonly place: number; readonly receipt: MintedReceipt } | undefined
  for (const minted of receipts) {
    const { receipt, eventHash, previousHash } = minted
    const place = places.get(eventHash)
    assert.ok(place !== undefined, `${receipt} was acknowledged, and its entry is lost`)
    assert.equal(
      previousHash,
      place === 0 ? ledgerId : hashes[place - 1],
      `${receipt} names another entry before it than there is`,
    )
    assert.ok(!seen.has(eventHash), `${receipt} has its entry for itself`)
    seen.add(eventHash)
    if (last === undefined || last.place < place) last = { place, receipt: minted }
  }
  assert.ok(last !== undefined, "something was written to each workspace")
  return last.receipt
}

/** Sends every write again: events in batches, under the same keys; consents one by one. */
async function replayAll(
  service: Service,
  { writer }: Workspace,
  writes: readonly Write[],
): Promise<number> {
  const client = service.client(writer.bearer)
  const events = writes.filter(({ route }) => route === "/v1/events")
  const consents = writes.filter(({ route }) => route === "/v1/consents")
  let replayed = 0
  for (let at = 0; at < events.length; at += 500) {
    const sending = events.slice(at, at + 500) as [Write, ...Write[]] // there is one, as the loop says
    replayed += note(sending, (await sendUntilKnown(client, sending, true)).reply, true).replayed
  }
  for (const consent of consents) {
    const sending: Sending = [consent]
    replayed += note(sending, (await sendUntilKnown(client, sending)).reply).replayed
  }
  assert.equal(replayed, writes.length)
  return replayed
}

function receiptOf({ key, receipt }: Write): MintedReceipt {
  assert.ok(receipt !== undefined, `${key} was never acknowledged`)
  return JSON.parse(receipt) as MintedReceipt
}

/** Up to so many, none of them twice. */
function sample<T>(all: readonly T[], max: number, chance: Chance): readonly T[] {
  if (all.length <= max) return all
  const picked = new Set<T>()
  while (picked.size < max) picked.add(chance.pick(all))
  return [...picked]
}
