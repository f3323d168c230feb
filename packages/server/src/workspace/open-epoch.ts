// A workspace's ledger goes on from what was kept of it, as another ledger: a new epoch, with a genesis that says what it goes on from, an
// origin and a key of its own. What was signed of the former one stays as it was, and its keys are destroyed: nothing is signed under its
// name again.

import { canonicalize, ledgerId, toHex } from "@tallystick/proof"
import { isoTime, type Clock } from "../clock.ts"
import type { Keyring } from "../secrets/keyring.ts"
import type { Ledger } from "../ledger/ledger.ts"
import { sha256 } from "../runtime/sha256.ts"
import type { FormerEpoch } from "../store/documents.ts"
import type { SignedHead } from "../store/heads.ts"
import type { Checkpoint, Document, Registry } from "../store/store.ts"
import { actSaid, recordAct } from "./admin-entries.ts"
import { destroyed, makeLogKey } from "./log-key-rotation.ts"
import { makeGenesis } from "./workspaces.ts"

/** What there is of the epoch that ends. */
export interface Kept {
  readonly size: number
  readonly root: Uint8Array
  /** The last checkpoint of it, whose root is that of its first entries here. */
  readonly checkpoint: Checkpoint | undefined
  /** What it signed last, if anybody knows. */
  readonly lost: SignedHead | undefined
}

export interface EpochParts {
  readonly registry: Registry
  readonly ledger: Ledger
  readonly clock: Clock
  readonly keyring: Keyring
}

/** Keys that a workspace has had: those of former epochs, and of the one that ends. */
const keysMax = 1000

/** The origin of the new epoch, and its head: the entry that opens it is the only one. */
export async function openEpoch(
  { registry, ledger, clock, keyring }: EpochParts,
  workspace: Document<"workspace">,
  { size, root, checkpoint, lost }: Kept,
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
  const value = { ...before, genesis: text, ledgerId: toHex(ledgerId(text, sha256)), origin, former }
  const { change, vkey } = makeLogKey(keyring, ledger.random, { origin, createdAt })
  const said = actSaid(
    { kind: "instance" },
    "ledger.epoch.open",
    { id, type: "workspace", name: before.name },
    { genesis, vkey, epoch: former.length + 1 },
    nowMs,
  )
  const opened = { ...workspace, value }
  const keys = await registry.list("log-key", id, undefined, keysMax)
  const [{ link }] = await recordAct(ledger, opened, { said: [said], changes: [opened, change, ...destroyed(keys)] })
  return { origin, head: { size: 1, root: link.hash } }
}

/** The name under which ledgers are published was chosen with the first of them. */
function hostOf(origin: string): string {
  return origin.slice(0, origin.lastIndexOf("/ledgers/"))
}
