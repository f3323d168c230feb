// Opens a new epoch of a workspace: its ledger continues from the entries that survived, as a
// ledger with a genesis, origin and key of its own. The genesis names what it continues. Signatures
// of the former epoch stay valid. Its keys are destroyed, so nothing is signed under its name
// again.

import { canonicalize, ledgerId, toHex } from "@tallystick/proof"
import { isoTime } from "../clock.ts"
import { sha256 } from "../runtime/sha256.ts"
import { changed, type FormerEpoch, type Workspace } from "../store/documents.ts"
import type { SignedHead } from "../store/heads.ts"
import type { Checkpoint } from "../store/index-state.ts"
import { recordActs, type AdminParts } from "./admin-entries.ts"
import { destroyed, makeLogKey } from "./log-key-rotation.ts"
import { makeGenesis } from "./workspaces.ts"

/** What survives of the epoch that ends. */
export interface SurvivingEpoch {
  readonly size: number
  readonly root: Uint8Array
  /** Its last checkpoint that matches the surviving entries. */
  readonly checkpoint: Checkpoint | undefined
  /** What it signed last, if that is known. */
  readonly lost: SignedHead | undefined
}

/** The most keys of a workspace, in all its epochs. */
const keysMax = 1000

/** Returns the origin and the head of the new epoch. The entry that opens it is its only one. */
export async function openEpoch(
  { registry, ledger, clock, keyring }: Omit<AdminParts, "limits">,
  workspace: Workspace,
  { size, root, checkpoint, lost }: SurvivingEpoch,
): Promise<{ readonly origin: string; readonly head: SignedHead }> {
  const { id, value: before } = workspace
  const nowMs = clock.now()
  const createdAt = isoTime(nowMs)
  const genesis = {
    ...makeGenesis(ledger.random, hostOf(before.origin), id, createdAt),
    continues: {
      ledgerId: before.ledgerId,
      origin: before.origin,
      size,
      root: toHex(root),
      lostSize: lost?.size ?? null,
      lostRoot: lost === undefined ? null : toHex(lost.root),
    },
  }
  const ended: FormerEpoch = {
    genesis: before.genesis,
    ledgerId: before.ledgerId,
    origin: before.origin,
    size,
    root: toHex(root),
    ...(checkpoint && { checkpoint: { note: checkpoint.note, signedMs: checkpoint.signedMs } }),
  }
  const text = canonicalize(genesis)
  const { origin } = genesis
  const former = [...(before.former ?? []), ended]
  const begun = { genesis: text, ledgerId: toHex(ledgerId(text, sha256)), origin }
  const value = { ...before, ...begun, former }
  const { change, vkey } = makeLogKey(keyring, ledger.random, { origin, createdAt })
  const opened = { ...workspace, value }
  const keys = await registry.list("log-key", id, undefined, keysMax)
  const act = {
    by: { kind: "instance" },
    action: "ledger.epoch.open",
    target: { id, type: "workspace", name: before.name },
    metadata: { genesis, vkey, epoch: former.length + 1 },
    changes: [changed(workspace, value), change, ...destroyed(keys)],
  } as const
  const [{ link }] = await recordActs(ledger, opened, [act], nowMs)
  return { origin, head: { size: 1, root: link.hash } }
}

/** The host of an origin. All epochs of a workspace have the same. */
function hostOf(origin: string): string {
  return origin.slice(0, origin.lastIndexOf("/ledgers/"))
}
