// The document that serialises decisions about destroying content (`RetentionStateDocument`), and
// its changes. fsck rebuilds it from the entries with the same functions.

import { lengthOfRanges, type SequenceRange } from "@tallystick/proof"
import {
  changed,
  type Change,
  type ExpiryRun,
  type RetentionStateDocument,
  type Document,
} from "./documents.ts"
import type { Registry } from "./store.ts"

const id = "state"

export type RetentionState = Pick<Document<"retention-state">, "kind" | "id" | "version" | "value">

export async function readState(
  registry: Pick<Registry, "get">,
  workspace: string,
): Promise<RetentionState> {
  const kept = await registry.get("retention-state", workspace, id)
  return kept ?? { kind: "retention-state", id, version: 0, value: { holds: 0 } }
}

export function stateChange(state: RetentionState, value: RetentionStateDocument): Change {
  return changed(state, value)
}

/** Adds these ranges to the run. Begins a new run if the last one was another or is done. */
export function grownRun(
  before: ExpiryRun | undefined,
  runId: string,
  ranges: readonly SequenceRange[],
): ExpiryRun {
  const same = before?.id === runId && before.doneAt === undefined ? before : undefined
  return {
    id: runId,
    first: Math.min(same?.first ?? Infinity, ranges[0]?.first ?? Infinity),
    last: Math.max(same?.last ?? 0, ranges.at(-1)?.last ?? 0),
    entries: (same?.entries ?? 0) + lengthOfRanges(ranges),
  }
}
