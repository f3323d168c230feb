// The texts of an entry whose content was destroyed on purpose. Its place, its hash and its time
// remain.

import type { ListedEntry } from "@tallystick/client/wire"

/** Replaces its action; undefined if it still has one. */
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

export const heldText = "Held: it neither expires nor is erased"

/** When it occurred, or when it was recorded if that is no longer known. */
export function timeOf({ occurredAt, timestamp }: ListedEntry): string {
  return occurredAt === "" ? timestamp : occurredAt
}
