// When API keys and scoped tokens were used last, and keys from where. Noted in memory, because each
// request passes here, and stored once in a while.

import type { Clock } from "../clock.ts"
import type { CredentialUse } from "../store/index-state.ts"

export interface CredentialUses {
  note(credential: UsedCredential, request: UsingRequest): void
  of(ids: readonly string[]): Promise<ReadonlyMap<string, CredentialUse>>
  /** Stores what was noted since the last time. */
  save(): Promise<void>
}

interface UsedCredential {
  readonly kind: "api-key" | "token"
  readonly id: string
}

interface UsingRequest {
  readonly receivedAtMs: number
  readonly address: string
}

export interface CredentialUsesParts {
  readonly clock: Pick<Clock, "sleep">
  readonly read: (ids: readonly string[]) => Promise<readonly CredentialUse[]>
  readonly write: (uses: readonly CredentialUse[]) => Promise<void>
  readonly failed: (error: unknown) => void
}

/** Minimum time between two noted uses: most requests of a busy key cost only one look-up. */
const exactToMs = 1000
/** How often uses are stored, and so what a crash loses at most. */
const saveEveryMs = 60_000
/** Some 20 MB. Beyond it, uses that are already stored are dropped from memory. */
const notedMax = 100_000
/** Uses in one message, so that the thread that writes does other work in between. */
const writtenAtOnce = 1000

export function createCredentialUses({
  clock,
  read,
  write,
  failed,
}: CredentialUsesParts): CredentialUses {
  const noted = new Map<string, CredentialUse>()
  const unsaved = new Set<string>()
  let isDue = false
  let saved = Promise.resolve()

  return {
    note({ kind, id }, request) {
      const atMs = request.receivedAtMs
      if (atMs - (noted.get(id)?.atMs ?? -Infinity) < exactToMs) return
      // A token is a person's link, so its address is not kept.
      noted.set(id, { id, atMs, from: kind === "api-key" ? request.address : "" })
      unsaved.add(id)
      if (unsaved.size === notedMax) void save()
      if (isDue) return
      isDue = true
      void clock.sleep(saveEveryMs).then(save)
    },

    async of(ids) {
      // What is noted is newer than what is stored, and is looked up before it may be forgotten.
      const known = ids.flatMap((id) => noted.get(id) ?? [])
      const stored = await read(ids)
      return new Map([...stored, ...known].map((use) => [use.id, use]))
    },

    save,
  }

  function save(): Promise<void> {
    isDue = false
    saved = saved.then(saveAll).catch(failed)
    return saved
  }

  async function saveAll(): Promise<void> {
    const uses = [...unsaved].flatMap((id) => noted.get(id) ?? [])
    unsaved.clear()
    for (let at = 0; at < uses.length; at += writtenAtOnce) {
      try {
        await write(uses.slice(at, at + writtenAtOnce))
      } catch (error) {
        for (const { id } of uses.slice(at)) unsaved.add(id)
        throw error
      }
    }
    if (noted.size < notedMax) return
    for (const id of noted.keys()) if (!unsaved.has(id)) noted.delete(id)
  }
}
