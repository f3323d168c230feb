// Merges stored segments into a larger one. The result is stored in pieces, so that a merge of a
// million entries holds little of it.

import { assert } from "@tallystick/proof"
import type { Clock } from "../clock.ts"
import type { Limits } from "../limits.ts"
import {
  headerOf,
  openSource,
  packPart,
  sumOf,
  type Segment,
} from "../store/search/segment-format.ts"
import { mergeInto } from "../store/search/segment-merge.ts"
import type { PlannedSegment } from "../store/search/segment-plan.ts"
import type { SegmentKeeper, SegmentParts, StagedParts } from "../store/search/segments.ts"

export interface MergingParts {
  readonly segments: Pick<SegmentKeeper, "part" | "stage">
  readonly clock: Pick<Clock, "elapsed">
  readonly limits: Pick<Limits, "mergedBytesMax">
}

const stepMs = 20

/**
 * Works in steps. Returns the header with all parts, or only the header if the parts were staged.
 */
export async function* mergeInPieces(
  { segments, clock, limits }: MergingParts,
  workspace: string,
  { name: merged, absorbs }: PlannedSegment,
): AsyncGenerator<
  undefined,
  { readonly parts: SegmentParts; readonly staged: StagedParts | undefined }
> {
  const names = new Map(absorbs.map((one) => [one.hash, one]))
  const opened: Segment[] = []
  for (const one of absorbs) {
    const header = await segments.part(workspace, one, 0)
    assert(header !== undefined, "a listed segment has a header")
    opened.push(openSource(header))
  }
  let parts: Uint8Array[] = []
  let bytes = 0
  let staged: StagedParts | undefined
  const steps = mergeInto(opened, (part) => {
    const packed = packPart(part)
    parts.push(packed)
    bytes += packed.length
    return sumOf(part)
  })
  const stage = async (): Promise<void> => {
    const { count, bytes: before } = staged ?? { count: 0, bytes: 0 }
    await segments.stage(workspace, merged, count + 1, parts)
    staged = { count: count + parts.length, bytes: before + bytes }
    parts = []
    bytes = 0
  }
  let begunMs = clock.elapsed()
  for (let step = steps.next(); ;) {
    if (step.done === true) {
      if (staged !== undefined) await stage()
      return { parts: [headerOf(step.value), ...parts], staged }
    }
    if (bytes > limits.mergedBytesMax) await stage()
    if (clock.elapsed() - begunMs >= stepMs) {
      yield
      begunMs = clock.elapsed()
    }
    const asked = step.value
    const name = asked && names.get(asked.segment.hash)
    step = steps.next(name && (await segments.part(workspace, name, asked.part)))
  }
}
