// Puts another instance key in the place of one. The key itself is nowhere in the data; what is recorded is that it was exchanged, and whether
// the tokens that the one before has made live on.

import { isoTime, systemClock } from "../clock.ts"
import { StartError } from "../error.ts"
import { instanceKeyName, type Keyring } from "../secrets/keyring.ts"
import { openStopped } from "../store/sqlite/offline.ts"
import type { Registry } from "../store/store.ts"
import { actSaid, recordPlanned } from "../workspace/admin-entries.ts"
import { instanceWorkspace } from "../workspace/permissions.ts"
import { instanceOf, makeInstance } from "../workspace/open-session.ts"
import { keptKeyring, keyringChange, openKeyring, type GivenSecrets } from "../workspace/stored-keyring.ts"
import { administrationOf, withOfflineStore, type OfflineOptions } from "./offline-ledger.ts"
import { assertMinters, mintersOut, type KeepingKey } from "./instance-key-tokens.ts"

export interface RotateRootKeyOptions extends OfflineOptions {
  readonly secrets: GivenSecrets
  /** The instance key that goes, whose tokens live on; undefined: they end, and so do those of all that went before. */
  readonly previous: KeepingKey | undefined
  /** The instance keys that are given, and good from now on. */
  readonly given: readonly string[]
}

/** Until it returns, the key before is the good one: what is recorded here takes nothing from it. */
export async function rotateRootKey(options: RotateRootKeyOptions): Promise<void> {
  // Where there is no ledger, none is made.
  await openStopped(options.data).close()
  await withOfflineStore(options, async (store) => {
    const { registry } = store
    const keyring = await openKeyring(registry, options.secrets)
    if (keyring.before !== undefined) throw new StartError("the secret is being rotated: have `tallystick secret rotate` end that first")
    const { previous, given } = options
    await (previous === undefined ? assertNew(registry, keyring, given) : assertMinters(registry, keyring, [previous]))
    const { ledger, workspaces } = administrationOf(options, store, keyring)
    await makeInstance(registry, workspaces)
    const instanceKeys =
      previous === undefined ? [] : [...new Set([...keyring.instanceKeys, instanceKeyName(keyring.secret, previous.rootKey)])]
    const formerNames = previous === undefined ? {} : keyring.formerNames
    await recordPlanned(ledger, await instanceOf(workspaces), async () => {
      const nowMs = systemClock.now()
      const kept = await keptKeyring(registry)
      const { change, recorded } = keyringChange({ ...keyring, instanceKeys, formerNames }, kept, kept?.value.endedAt ?? isoTime(nowMs))
      const about = { tokens: previous === undefined ? "revoked" : "kept", ...recorded }
      const target = { id: instanceWorkspace, type: "instance_key" }
      return { said: [actSaid({ kind: "instance" }, "security.instance_key.rotate", target, about, nowMs)], changes: [change] }
    })
  })
}

/** What a key has made lives as long as the key is given, whatever is recorded. */
async function assertNew(registry: Registry, keyring: Keyring, given: readonly string[]): Promise<void> {
  const known = new Set([...(await mintersOut(registry, keyring)), ...keyring.instanceKeys])
  if (given.some((key) => known.has(instanceKeyName(keyring.secret, key))))
    throw new StartError(
      "an instance key that is given has made tokens, and they would live on with it: set TALLYSTICK_ROOT_KEY to a new one, without TALLYSTICK_ROOT_KEY_PREVIOUS",
    )
}
