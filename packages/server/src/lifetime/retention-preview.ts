// Counts what rules would expire, without doing anything. A large ledger is counted in the
// background, and a later request finds the result: it stays the same until the next midnight.

import { createHmac } from "node:crypto"
import { canonicalize } from "@tallystick/proof"
import type { RetentionPreview } from "@tallystick/client/wire"
import { dayMs, type Clock } from "../clock.ts"
import { createFairQueue } from "../runtime/fair-queue.ts"
import { createLru, type Lru } from "../runtime/lru-cache.ts"
import { deriveKey } from "../secrets/crypto.ts"
import type { RetentionRule, Workspace } from "../store/documents.ts"
import { readState } from "../store/retention-state.ts"
import type { Registry, Store } from "../store/store.ts"
import { sameText } from "../workspace/credential-format.ts"
import type { DueCount, DueEntries, DueQuestion } from "./due-entries.ts"
import { activeHolds } from "./holds.ts"

export interface PreviewParts {
  readonly registry: Registry
  readonly journal: Pick<Store["journal"], "head">
  readonly clock: Clock
  readonly due: (question: DueQuestion) => Promise<DueEntries>
  readonly secret: Uint8Array
}

export interface Counting {
  /** The last sequence that was counted. */
  readonly counted: number
  readonly of: number
  readonly preview: RetentionPreview | undefined
}

export interface Previews {
  /** Waits for the result this long. */
  count(workspace: Workspace, rules: readonly RetentionRule[], waitMs: number): Promise<Counting>
  /** Whether a preview of these rules gave this token, today or yesterday. */
  isConfirmed(workspace: string, rules: readonly RetentionRule[], token: string): boolean
}

/** Results that are remembered, and counts that are under way, of one workspace. */
const rememberedMax = 8
/** Workspaces of which they are. */
const workspacesMax = 1000
/**
 * Counts at once: each reads a whole ledger, on the thread that makes segments for all workspaces.
 */
const counts = { atOnceMax: 4, perWorkspaceMax: 1, waitingMax: 64, waitMs: 20_000 }

export function createPreviews({ registry, journal, clock, due, secret }: PreviewParts): Previews {
  const key = deriveKey(secret, "retention previews")
  const tokenOf = (workspace: string, rules: readonly RetentionRule[], day: number): string =>
    createHmac("sha256", key)
      .update(canonicalize({ workspace, rules: rules.map((rule) => ({ ...rule })), day }))
      .digest("base64url")
      .slice(0, 22)
  const known = createLru<Lru<Under>>(workspacesMax)
  const counting = createFairQueue(clock, { ...counts, of: "previews to be counted" })

  return {
    isConfirmed(workspace, rules, token) {
      const today = Math.floor(clock.now() / dayMs)
      return [today, today - 1].some((day) => sameText(tokenOf(workspace, rules, day), token))
    },

    async count({ id }, rules, waitMs) {
      const nowMs = clock.now()
      const day = Math.floor(nowMs / dayMs)
      const { version } = await readState(registry, id)
      const token = tokenOf(id, rules, day)
      // Entries that were recorded meanwhile cannot have expired today.
      const name = `${version} ${token}`
      const own = known.get(id) ?? createLru<Under>(rememberedMax)
      known.set(id, own)
      const under = own.get(name) ?? begin(own, name, { id, rules, nowMs, token })
      await Promise.race([under.done, clock.sleep(waitMs)])
      const { counted, of, preview } = under
      return { counted, of, preview }
    },
  }

  interface Begun {
    readonly id: string
    readonly rules: readonly RetentionRule[]
    readonly nowMs: number
    readonly token: string
  }

  function begin(own: Lru<Under>, name: string, begun: Begun): Under {
    const under: Under = { counted: 0, of: 0, preview: undefined, done: Promise.resolve() }
    under.done = counting.run(begun.id, undefined, () => countAll(under, begun))
    // Waiting requests get the error; the next request begins again.
    under.done.catch(() => own.delete(name))
    own.set(name, under)
    return under
  }

  async function countAll(under: Under, { id, rules, nowMs, token }: Begun): Promise<void> {
    under.of = (await journal.head(id))?.sequence ?? 0
    const holds = await activeHolds(registry, id)
    const counts: DueCount[] = []
    let held = 0
    for (let isEnd = rules.length === 0; !isEnd;) {
      const question = { workspace: id, rules, holds, nowMs, after: under.counted, upTo: under.of }
      const found = await due(question)
      counts.push(...found.counts)
      held += found.held
      under.counted = found.last
      isEnd = found.isEnd
    }
    under.preview = {
      ...sum(counts),
      held,
      rules: by(counts, "rule"),
      lanes: by(counts, "lane"),
      projects: by(counts, "projectId"),
      months: by(counts, "month"),
      token,
    }
  }
}

interface Under {
  counted: number
  of: number
  preview: RetentionPreview | undefined
  done: Promise<void>
}

function sum(counts: readonly DueCount[]): { readonly entries: number; readonly bytes: number } {
  let [entries, bytes] = [0, 0]
  for (const count of counts) {
    entries += count.entries
    bytes += count.bytes
  }
  return { entries, bytes }
}

function by<K extends "rule" | "lane" | "projectId" | "month">(
  counts: readonly DueCount[],
  name: K,
): readonly (Pick<DueCount, K> & ReturnType<typeof sum>)[] {
  const groups = [...Map.groupBy(counts, (count) => count[name])]
  return groups
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([value, some]) => {
      // TypeScript does not see that a computed member has the type of its name.
      const named = { [name]: value } as Pick<DueCount, K>
      return { ...named, ...sum(some) }
    })
}
