// The key that signs a workspace's log, and how another takes its place: an entry of kind 05 announces it, and the old key signs
// beside it for a while, so that whoever trusts the old one learns of the new one from the log itself.

import { createVkey, ed25519PublicKey, formatVkey, toHex } from "@tallystick/proof"
import { isoTime, type Clock } from "../clock.ts"
import type { Opened } from "../entry.ts"
import { LedgerError } from "../error.ts"
import type { Ledger } from "../ledger/ledger.ts"
import type { Random } from "../ledger/random.ts"
import type { Limits } from "../limits.ts"
import { deriveKey, wrap } from "../secrets.ts"
import { sha256 } from "../sha256.ts"
import type { Change, Document, Journal, Registry } from "../store/store.ts"
import { actSaid } from "./acts.ts"
import type { Principal } from "./allow.ts"

/** What was announced, and the entry that announces it. */
export interface Rotated {
  readonly vkey: string
  readonly announced: Opened
}

export interface LogKeys {
  rotate(by: Principal, workspace: Document<"workspace">): Promise<Rotated>
}

export interface LogKeyParts {
  readonly registry: Registry
  readonly journal: Pick<Journal, "head">
  readonly ledger: Ledger
  readonly clock: Clock
  readonly secret: Uint8Array
  readonly limits: Pick<Limits, "keyOverlapMs">
}

/** Keys that one rotation looks back at to destroy them; each before it has done so with those before it. */
const lookedBackAt = 10

export function createLogKeys({ registry, journal, ledger, clock, secret, limits }: LogKeyParts): LogKeys {
  return {
    async rotate(by, workspace) {
      // Two who rotate at once both change the key that is to go: one of them is refused by the commit, and plans again.
      for (;;) {
        const { id, value } = workspace
        const [current, ...older] = await registry.list("log-key", id, Number.MAX_SAFE_INTEGER, lookedBackAt)
        const head = await journal.head(id)
        if (current === undefined || head === undefined) throw new Error(`workspace ${id} has no key that another could follow`)
        const nowMs = clock.now()
        const made = { workspace: id, origin: value.origin, createdAt: isoTime(nowMs), announcedAfter: head.sequence }
        const { vkey, change: fresh } = makeLogKey(secret, ledger.random, made)
        const overlapUntil = isoTime(nowMs + limits.keyOverlapMs)
        const leaving: Change = { ...current, value: { ...current.value, overlapUntil } }
        const gone = older
          .filter((key) => key.value.wrapped !== "")
          .map((key): Change => ({ ...key, value: { ...key.value, wrapped: "" } }))
        const said = actSaid(by, "ledger.key.rotate", { id: fresh.id, type: "log_key" }, { vkey, previousVkey: current.value.vkey }, nowMs)
        try {
          const [recorded] = await ledger.record(workspace, [{ ...said, kind: "key" }], [fresh, leaving, ...gone])
          if (recorded?.kind !== "recorded") throw new Error("what has no key of its own is recorded")
          return { vkey, announced: recorded.opened }
        } catch (error) {
          if (!(error instanceof LedgerError) || error.code !== "conflict") throw error
        }
      }
    },
  }
}

type LogKeyChange = Extract<Change, { readonly kind: "log-key" }>

interface Made {
  readonly workspace: string
  readonly origin: string
  readonly createdAt: string
  readonly announcedAfter?: number
}

/** A key and the document that keeps it; its private half leaves here sealed only. */
export function makeLogKey(
  secret: Uint8Array,
  random: Random,
  { workspace, origin, ...times }: Made,
): { readonly vkey: string; readonly change: LogKeyChange } {
  const seed = new Uint8Array(32)
  random(seed)
  const key = createVkey(origin, ed25519PublicKey(seed), "log", sha256)
  const vkey = formatVkey(key)
  const value = { vkey, wrapped: wrap(deriveKey(secret, "log keys"), vkey, seed), ...times }
  return { vkey, change: { kind: "log-key", workspace, id: toHex(key.keyId), version: 0, value } }
}
