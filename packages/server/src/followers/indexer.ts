// Moves the index's position: entries up to it can be found.

import type { Index } from "../store/store.ts"
import type { Follower } from "./follow.ts"

export function createIndexer(index: Index): Follower {
  return {
    name: "indexer",
    position: (workspace) => index.position(workspace),
    take: (workspace, pieces) =>
      index.add(
        workspace,
        pieces.flatMap(({ sequences }) => sequences),
      ),
  }
}
