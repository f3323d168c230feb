// What rows call actors, by their ids: a name, or else an e-mail address. The newest loaded row
// wins.

import type { Row } from "./rows.ts"

/** Ids are compared without regard to case, as searches do. */
export type NameOf = ActorNames["nameOf"]

export type ActorNames = ReturnType<typeof createActorNames>

export function createActorNames() {
  const names = new Map<string, string>()
  return {
    learn(rows: readonly Row[]): void {
      for (const { entry } of rows.toReversed()) {
        const name = entry?.actor.name ?? entry?.actor.email
        if (entry !== undefined && typeof name === "string")
          names.set(entry.actor.id.toLowerCase(), name)
      }
    },
    nameOf: (id: string): string | undefined => names.get(id.toLowerCase()),
    idsOf: (text: string): readonly string[] =>
      [...names.keys()].filter((id) => names.get(id)?.toLowerCase().includes(text.toLowerCase())),
  }
}
