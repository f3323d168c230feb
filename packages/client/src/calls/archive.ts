import type { Call } from "../call.ts"
import { listing } from "../listing.ts"
import type { ArchiveSegmentList } from "../wire.ts"

export function archiveCalls(call: Call) {
  const { list, each } = listing(call, "segments", (page: ArchiveSegmentList) => page.segments)
  return {
    /** The files that have the bodies of old entries, newest first. */
    segments: list,

    /** All of them, a segment at a time. */
    eachSegment: each,
  }
}
