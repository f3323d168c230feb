// What became of an entry whose content was destroyed on purpose. Its place, its hash and its time
// remain.

import type { ListedEntry } from "@tallystick/client/wire"

/** In place of its action; undefined while it has one. */
export function goneText({ integrity, action }: ListedEntry): string | undefined {
  if (action !== "") return undefined
  return integrity === "expired" || integrity === "erased" ? `Content ${integrity}` : undefined
}

/** What is left, in a sentence; undefined if nothing was destroyed. */
export function goneSentence(entry: ListedEntry): string | undefined {
  const isWhole = goneText(entry) !== undefined
  if (entry.integrity === "expired" && isWhole)
    return "A retention rule has destroyed what this entry said. That it was recorded, when, and in which place, still holds."
  if (entry.integrity !== "erased") return undefined
  return isWhole
    ? "An erasure has destroyed what this entry said. That it was recorded, when, and in which place, still holds."
    : "An erasure has destroyed personal data of this entry. Everything else is as it was recorded."
}

/** Of an entry whose content is there, and stays. */
export const heldText = "Held: it neither expires nor is erased"

/** When it occurred, or was recorded if that is not known any more. */
export function timeOf({ occurredAt, timestamp }: ListedEntry): string {
  return occurredAt === "" ? timestamp : occurredAt
}
