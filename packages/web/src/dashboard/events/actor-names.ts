// Names of actors by their ids, from the loaded rows; the newest row wins.

import type { Row } from "./rows.ts"

/** The name of an actor. Ids are compared without regard to case, as searches do. */
export type NameOf = (id: string) => string | undefined

export interface ActorNames {
  learn(rows: readonly Row[]): void
  readonly nameOf: NameOf
  idsOf(text: string): readonly string[]
}

export function createActorNames(): ActorNames {
  const names = new Map<string, string>()
  return {
    learn(rows) {
      for (const { entry } of rows.toReversed())
        if (typeof entry?.actor.name === "string")
          names.set(entry.actor.id.toLowerCase(), entry.actor.name)
    },
    nameOf: (id) => names.get(id.toLowerCase()),
    idsOf: (text) =>
      [...names.keys()].filter((id) => names.get(id)?.toLowerCase().includes(text.toLowerCase())),
  }
}
