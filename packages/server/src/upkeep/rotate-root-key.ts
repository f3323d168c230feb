// Puts another instance key in the place of one. The key itself is nowhere in the data; what is recorded is that it was exchanged, and whether
// the tokens that the one before has made live on.

import { isoTime, systemClock } from "../clock.ts"
import { StartError } from "../error.ts"
import { instanceKeyName } from "../keyring.ts"
import { openStopped } from "../store/open.ts"
import { actSaid, recordPlanned } from "../workspace/acts.ts"
import { instanceWorkspace } from "../workspace/allow.ts"
import { instanceOf, makeInstance } from "../workspace/opening.ts"
import { keptKeyring, keyringChange, openKeyring, type GivenSecrets } from "../workspace/opening-keyring.ts"
import { administrationOf, alone, type AloneOptions } from "./alone.ts"

export interface RotateRootKeyOptions extends AloneOptions {
  readonly secrets: GivenSecrets
  /** The instance key that goes, whose tokens live on; undefined: they end, and so do those of all that went before. */
  readonly previous: string | undefined
}

/** Until it returns, the key before is the good one: what is recorded here takes nothing from it. */
export async function rotateRootKey(options: RotateRootKeyOptions): Promise<void> {
  // Where there is no ledger, none is made.
  await openStopped(options.data).close()
  await alone(options, async (store) => {
    const { registry } = store
    const keyring = await openKeyring(registry, options.secrets)
    if (keyring.before !== undefined) throw new StartError("the secret is being rotated: have `tallystick secret rotate` end that first")
    const { ledger, workspaces } = administrationOf(options, store, keyring)
    await makeInstance(registry, workspaces)
    const { previous } = options
    const instanceKeys = previous === undefined ? [] : [...new Set([...keyring.instanceKeys, instanceKeyName(keyring.secret, previous)])]
    await recordPlanned(ledger, await instanceOf(workspaces), async () => {
      const nowMs = systemClock.now()
      const kept = await keptKeyring(registry)
      const { change, recorded } = keyringChange({ ...keyring, instanceKeys }, kept, kept?.value.endedAt ?? isoTime(nowMs))
      const about = { tokens: previous === undefined ? "revoked" : "kept", ...recorded }
      const target = { id: instanceWorkspace, type: "instance_key" }
      return { said: [actSaid({ kind: "instance" }, "security.instance_key.rotate", target, about, nowMs)], changes: [change] }
    })
  })
}
