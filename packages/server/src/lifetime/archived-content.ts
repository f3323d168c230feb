// The content of entries wherever it lies: what is destroyed in the database is destroyed in the
// archive, too, by whoever asks for it.

import type { SegmentArchiving } from "../followers/segment-archiving.ts"
import { createSegmentDirectory } from "../store/archive/segment-directory.ts"
import type { ContentKeeperBeside } from "../store/content-keeper.ts"
import type { AdminParts } from "../workspace/admin-entries.ts"
import { required } from "../workspace/required-document.ts"
import { removeDestroyed } from "./archive-segments.ts"

export function withArchivedContent(
  content: ContentKeeperBeside,
  parts: Pick<AdminParts, "registry" | "ledger" | "clock"> & {
    readonly archiving: SegmentArchiving
  },
): ContentKeeperBeside {
  return {
    ...content,
    async destroyBodies(workspace, ranges) {
      const done = await content.destroyBodies(workspace, ranges)
      const segments = await createSegmentDirectory(parts.registry).list(workspace)
      // A segment is written anew once, after the last step in it.
      const hit = segments.filter((segment) => {
        const within = ranges.filter(
          ({ first, last }) => first <= segment.last && last >= segment.first,
        )
        return within.length > 0 && within.every(({ last }) => last <= done)
      })
      if (hit.length > 0)
        await removeDestroyed(
          parts,
          await required(parts.registry, "workspace", workspace, workspace),
          hit,
        )
      return done
    },
  }
}
