// Rotates the key that signs a workspace's log. An entry of kind 05 announces the new key. Both
// keys sign for a while, so a verifier that trusts the old key learns of the new one from the log
// itself.

import { createVkey, ed25519PublicKey, formatVkey, toHex } from "@tallystick/proof"
import { isoTime } from "../clock.ts"
import type { OpenedEntry } from "../store/opened-entry.ts"
import { LedgerError } from "../error.ts"
import { seal, type Keyring } from "../secrets/keyring.ts"
import type { Random } from "../ledger/random.ts"
import { sha256 } from "../runtime/sha256.ts"
import { epochsOf } from "../store/epochs.ts"
import { logKeys, logKeysMax } from "../store/log-keys.ts"
import {
  changed,
  created,
  type LogKeyDocument,
  type Change,
  type Document,
  type Workspace,
} from "../store/documents.ts"
import type { Journal } from "../store/store.ts"
import { recordPlanned, type AdminParts } from "./admin-entries.ts"
import type { Principal } from "./permissions.ts"
import { signedFor, type SigningParts } from "./covering-checkpoint.ts"

export interface KeyRotation {
  readonly vkey: string
  readonly announced: OpenedEntry
}

export interface LogKeys {
  rotate(by: Principal, workspace: Workspace): Promise<KeyRotation>
}

export interface LogKeyParts extends SigningParts, AdminParts {
  readonly journal: Pick<Journal, "head" | "records">
  readonly limits: AdminParts["limits"]
}

/** Other rotations may add keys while one runs. With more than this many, it fails. */
const lookedBackAt = 10

export function createLogKeys(parts: LogKeyParts): LogKeys {
  const { registry, journal, ledger, keyring, limits } = parts
  return {
    async rotate(by, workspace) {
      // Two rotations at once both change the current key: the commit refuses one of them, and it
      // plans again.
      const { vkey, entries } = await recordPlanned(parts, workspace, async (nowMs) => {
        const { id, value } = workspace
        const keys = await registry.list("log-key", id, undefined, logKeysMax)
        // The keys of former epochs were destroyed when this epoch was opened.
        const [current, ...older] = keys.filter((key) =>
          key.value.vkey.startsWith(`${value.origin}+`),
        )
        if (older.length + 1 >= logKeysMax)
          throw new LedgerError(
            "conflict",
            `this log has had ${logKeysMax} keys, and can have no other`,
          )
        const head = await journal.head(id)
        if (current === undefined || head === undefined)
          throw new Error(`workspace ${id} has no key that another could follow`)
        if (older.length > 0)
          await signedFor(parts, workspace, await announcedAt(workspace, current))
        const { origin } = value
        const times = { createdAt: isoTime(nowMs), announcedAfter: head.sequence }
        const { id: keyId, vkey, change } = makeLogKey(keyring, ledger.random, { origin, ...times })
        const overlapUntil = isoTime(nowMs + limits.keyOverlapMs)
        return {
          by,
          kind: "key",
          action: "ledger.key.rotate",
          target: { id: keyId, type: "log_key" },
          metadata: { vkey, previousVkey: current.value.vkey },
          changes: [
            change,
            changed(current, { ...current.value, overlapUntil }),
            ...destroyed(older),
          ],
          vkey,
        } as const
      })
      return { vkey, announced: entries[0] }
    },
  }

  /**
   * The entry that announces the current key. The key before it is about to be destroyed, so a tree
   * that both have signed must cover this entry first: a verifier may trust the older key only.
   */
  async function announcedAt(
    workspace: Workspace,
    { value }: Document<"log-key">,
  ): Promise<number> {
    const [epoch] = epochsOf(workspace)
    const known = await logKeys({ registry, journal }, epoch, lookedBackAt)
    const announced = known.find(({ vkey }) => vkey === value.vkey)
    if (announced === undefined)
      throw new Error(`the key ${value.vkey} has no entry that announces it`)
    return epoch.before + announced.fromSize
  }
}

/** Deletes the private halves of these keys, so they can never sign again. */
export function destroyed(keys: readonly Document<"log-key">[]): readonly Change[] {
  return keys
    .filter(({ value }) => value.wrapped !== "")
    .map((key) => changed(key, { ...key.value, wrapped: "" }))
}

/** A new key and its document. The private half leaves this function sealed only. */
export function makeLogKey(
  keyring: Keyring,
  random: Random,
  {
    origin,
    ...times
  }: Pick<LogKeyDocument, "createdAt" | "announcedAfter"> & {
    readonly origin: string
  },
): { readonly id: string; readonly vkey: string; readonly change: Change } {
  const seed = new Uint8Array(32)
  random(seed)
  const key = createVkey(origin, ed25519PublicKey(seed), "log", sha256)
  const [id, vkey] = [toHex(key.keyId), formatVkey(key)]
  const value = { vkey, wrapped: seal(keyring, "log keys", vkey, seed), ...times }
  return { id, vkey, change: created("log-key", id, value) }
}
