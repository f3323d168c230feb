// Replaces the instance key. The data does not contain the key itself: the entry records that it
// was replaced, and whether tokens made with the old key stay valid.

import { isoTime } from "../clock.ts"
import { StartError } from "../error.ts"
import { instanceKeyName, type Keyring } from "../secrets/keyring.ts"
import { openStopped } from "../store/open-offline.ts"
import type { Registry } from "../store/store.ts"
import { recordPlanned } from "../workspace/admin-entries.ts"
import { instanceWorkspace } from "../workspace/permissions.ts"
import { makeInstance } from "../workspace/open-session.ts"
import {
  keptKeyring,
  keyringChange,
  openKeyring,
  type GivenSecrets,
} from "../workspace/stored-keyring.ts"
import { administrationOf, withOfflineStore, type OfflineOptions } from "./offline-ledger.ts"
import { assertKeysWithTokens, keysWithTokens, type KeepingKey } from "./instance-key-tokens.ts"

export interface RotateRootKeyOptions extends OfflineOptions {
  readonly secrets: GivenSecrets
  /**
   * The old instance key, whose tokens stay valid. Undefined: tokens of all old instance keys end.
   */
  readonly previous: KeepingKey | undefined
  /** The configured instance keys, which are valid from now on. */
  readonly given: readonly string[]
}

/** The old key stays valid until this returns, whatever is recorded here. */
export async function rotateRootKey(options: RotateRootKeyOptions): Promise<void> {
  // Throws if there is no ledger. Otherwise the next line would make one.
  await (await openStopped(options)).close()
  await withOfflineStore(options, async (store) => {
    const { registry } = store
    const keyring = await openKeyring(registry, options.secrets)
    if (keyring.before !== undefined)
      throw new StartError(
        "a rotation of the secret is not finished: run `tallystick secret rotate` first",
      )
    const { previous, given } = options
    await (previous === undefined
      ? assertNew(registry, keyring, given)
      : assertKeysWithTokens(registry, keyring, [previous]))
    const administration = administrationOf(options, store, keyring)
    const { workspaces } = administration
    await makeInstance(registry, workspaces)
    const names = previous === undefined ? [] : [instanceKeyName(keyring.secret, previous.rootKey)]
    const next =
      previous === undefined
        ? { ...keyring, instanceKeys: [], formerNames: {} }
        : { ...keyring, instanceKeys: [...new Set([...keyring.instanceKeys, ...names])] }
    await recordPlanned(administration, await workspaces.get(instanceWorkspace), async (nowMs) => {
      const kept = await keptKeyring(registry)
      const { change, recorded } = keyringChange(next, kept, kept?.value.endedAt ?? isoTime(nowMs))
      return {
        by: { kind: "instance" },
        action: "security.instance_key.rotate",
        target: { id: instanceWorkspace, type: "instance_key" },
        metadata: { tokens: previous === undefined ? "revoked" : "kept", ...recorded },
        changes: [change],
      } as const
    })
  })
}

/** Refuses a configured key that has live tokens: they would stay valid, whatever is recorded. */
async function assertNew(
  registry: Registry,
  keyring: Keyring,
  given: readonly string[],
): Promise<void> {
  const known = new Set([...(await keysWithTokens(registry, keyring)), ...keyring.instanceKeys])
  if (given.some((key) => known.has(instanceKeyName(keyring.secret, key))))
    throw new StartError(
      "a configured instance key has live tokens, which would stay valid: set TALLYSTICK_ROOT_KEY to a new key, without TALLYSTICK_ROOT_KEY_PREVIOUS",
    )
}
